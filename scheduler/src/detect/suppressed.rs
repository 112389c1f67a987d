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
    /// Which of them cover the same code.
    together: Vec<Vec<usize>>,
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

/// The suppressions that cover an access: one or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covering(usize);

/// Whose accesses are made from a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Code that these suppressions cover.
    Covered(Covering),
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
            together: Vec::new(),
            known: KeyMap::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The suppressions that cover an access made from the first of these return addresses, innermost first, that is in
    /// the program's own code. `frames` tells the functions at an address, innermost first.
    pub fn covering(
        &mut self,
        callers: impl IntoIterator<Item = usize>,
        mut frames: impl FnMut(usize) -> Vec<Caller>,
    ) -> Option<Covering> {
        let (rules, together) = (&self.rules, &mut self.together);
        let mut owner = |address| {
            let frames = frames(address);
            let Some(caller) = frames.iter().find(|caller| caller.of_program) else {
                return Owner::Library;
            };
            let file = caller.line.as_ref().map(|(file, _)| &**file);
            let covers = |rule: &usize| rules[*rule].rule.covers(&caller.name, file);
            let covering: Vec<_> = (0..rules.len()).filter(covers).collect();
            if covering.is_empty() {
                return Owner::Other;
            }
            let known = together.iter().position(|known| *known == covering);
            Owner::Covered(Covering(known.unwrap_or_else(|| {
                together.push(covering);
                together.len() - 1
            })))
        };
        for address in callers {
            match *self.known.entry(address).or_insert_with(|| owner(address)) {
                Owner::Covered(rules) => return Some(rules),
                Owner::Other => return None,
                Owner::Library => {}
            }
        }
        None
    }

    /// Counts an access that suppressions have covered.
    pub fn count(&mut self, Covering(covering): Covering, is_race: bool) {
        for &rule in &self.together[covering] {
            let rule = &mut self.rules[rule];
            rule.accesses += 1;
            rule.races += u64::from(is_race);
        }
    }

    /// All suppressions.
    pub fn all(&self) -> Vec<SuppressedRaces> {
        let all = self.rules.iter().map(|rule| SuppressedRaces {
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
        let rules = ["a::covered", "src/meant.rs", "a::cov*"].map(|rule| rule.parse().unwrap());
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
            (&[2, 3][..], &[0, 2][..]),
            (&[1, 2], &[0, 2]),
            (&[1, 3, 2], &[]),
            (&[5, 1, 4], &[1]),
            (&[1], &[]),
            (&[], &[]),
        ] {
            let found = suppressed.covering(callers.iter().copied(), &mut frames);
            let rules = found.map_or(&[][..], |found| &suppressed.together[found.0]);
            assert_eq!(rules, covering, "{callers:?}");
        }
        assert_eq!(asked, 5);
    }

    #[test]
    fn what_applied_is_counted_and_goes_on() {
        let rules = ["a", "b", "b::f"].map(|rule| rule.parse().unwrap());
        let meets = |suppressed: &mut Suppressed, is_race| {
            let covering = suppressed.covering([1], |_| {
                vec![Caller {
                    name: "b::f".into(),
                    line: None,
                    of_program: true,
                }]
            });
            suppressed.count(covering.unwrap(), is_race);
        };
        let mut suppressed = Suppressed::new(&rules);
        meets(&mut suppressed, true);
        meets(&mut suppressed, false);
        let mut other = Suppressed::new(&rules);
        other.go_on_from(&suppressed.counts());
        meets(&mut other, false);
        let counted = |rule: usize, accesses, races| SuppressedRaces {
            rule: rules[rule].clone(),
            accesses,
            races,
        };
        assert_eq!(other.all(), [counted(0, 0, 0), counted(1, 3, 1), counted(2, 3, 1)]);
    }
}
