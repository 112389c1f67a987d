//! Code whose plain accesses to memory are in no data race, because the user says so.
//!
//! An access belongs to the innermost function of the explored program that makes it: what std does for a function is
//! the function's own. Such an access is not recorded, so that a later one cannot be in a race with it; what it is in a
//! race with itself is counted.

use crate::report::symbols::Caller;
use dpor_explorer::keys::KeyMap;
use dpor_protocol::RaceSuppression;

/// The suppressions, and how often they applied.
#[derive(Default)]
pub(crate) struct Suppressed {
    rules: Vec<Rule>,
    /// Whose the accesses are that are made from a return address.
    known: KeyMap<usize, Owner>,
}

struct Rule {
    rule: RaceSuppression,
    accesses: u64,
    races: u64,
}

/// How often a suppression of data races applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressedRaces {
    /// The suppression.
    pub rule: RaceSuppression,
    /// Number of accesses that it covered.
    pub accesses: u64,
    /// Number of those that were in a race with an earlier access.
    pub races: u64,
}

/// Whose accesses are made from a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Code that this suppression covers.
    Covered(usize),
    /// Other code of the program.
    Other,
    /// Code of std or of the checker, for whoever has called it.
    Library,
}

impl Suppressed {
    pub fn new(rules: &[RaceSuppression]) -> Suppressed {
        let rule = |rule: &RaceSuppression| Rule {
            rule: rule.clone(),
            accesses: 0,
            races: 0,
        };
        Suppressed {
            rules: rules.iter().map(rule).collect(),
            known: KeyMap::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The suppression that covers an access made from the first of these return addresses, innermost first, that is in
    /// the program's own code. `frames` tells the functions at an address, innermost first.
    pub fn covering(
        &mut self,
        callers: impl IntoIterator<Item = usize>,
        mut frames: impl FnMut(usize) -> Vec<Caller>,
    ) -> Option<usize> {
        let rules = &self.rules;
        let mut owner = |address| {
            let frames = frames(address);
            let Some(caller) = frames.iter().find(|caller| caller.of_program) else {
                return Owner::Library;
            };
            let file = caller.line.as_ref().map(|(file, _)| &**file);
            match rules.iter().position(|rule| rule.rule.covers(&caller.name, file)) {
                Some(rule) => Owner::Covered(rule),
                None => Owner::Other,
            }
        };
        for address in callers {
            match *self.known.entry(address).or_insert_with(|| owner(address)) {
                Owner::Covered(rule) => return Some(rule),
                Owner::Other => return None,
                Owner::Library => {}
            }
        }
        None
    }

    /// Counts an access that a suppression has covered.
    pub fn count(&mut self, rule: usize, is_race: bool) {
        let rule = &mut self.rules[rule];
        rule.accesses += 1;
        rule.races += u64::from(is_race);
    }

    /// The suppressions that have applied.
    pub fn all(&self) -> Vec<SuppressedRaces> {
        let applied = self.rules.iter().filter(|rule| rule.accesses > 0);
        let all = applied.map(|rule| SuppressedRaces {
            rule: rule.rule.clone(),
            accesses: rule.accesses,
            races: rule.races,
        });
        all.collect()
    }

    /// What each suppression has counted: accesses and races.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.rules.iter().map(|rule| (rule.accesses, rule.races)).collect()
    }

    /// Goes on from what another process has counted with the same suppressions.
    pub fn go_on_from(&mut self, counts: &[(u64, u64)]) {
        for (rule, &(accesses, races)) in self.rules.iter_mut().zip(counts) {
            rule.accesses += accesses;
            rule.races += races;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_belongs_to_the_innermost_function_of_the_program() {
        let rules = ["a::covered", "src/meant.rs"].map(|rule| rule.parse().unwrap());
        let mut suppressed = Suppressed::new(&rules);
        let caller = |name: &str, file: &str, of_program| Caller {
            name: name.into(),
            line: Some((file.into(), 1)),
            of_program,
        };
        let library = || caller("core::ptr::read", "src/meant.rs", false);
        let mut asked = 0;
        let mut frames = |address| {
            asked += 1;
            match address {
                1 => vec![library()],
                2 => vec![library(), caller("a::covered", "src/lib.rs", true)],
                3 => vec![
                    caller("a::other", "src/lib.rs", true),
                    caller("a::covered", "src/lib.rs", true),
                ],
                4 => vec![caller("a::other", "src/meant.rs", true)],
                _ => vec![],
            }
        };
        for (callers, covering) in [
            (&[2, 3][..], Some(0)),
            (&[1, 2], Some(0)),
            (&[1, 3, 2], None),
            (&[5, 1, 4], Some(1)),
            (&[1], None),
            (&[], None),
        ] {
            assert_eq!(
                suppressed.covering(callers.iter().copied(), &mut frames),
                covering,
                "{callers:?}"
            );
        }
        assert_eq!(asked, 5);
    }

    #[test]
    fn what_applied_is_counted_and_goes_on() {
        let rules = ["a", "b"].map(|rule| rule.parse().unwrap());
        let mut suppressed = Suppressed::new(&rules);
        suppressed.count(1, true);
        suppressed.count(1, false);
        let mut other = Suppressed::new(&rules);
        other.go_on_from(&suppressed.counts());
        other.count(1, false);
        let counted = SuppressedRaces {
            rule: rules[1].clone(),
            accesses: 3,
            races: 1,
        };
        assert_eq!(other.all(), [counted]);
    }
}
