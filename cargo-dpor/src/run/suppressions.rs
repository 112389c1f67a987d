//! Suppressions of data races that applied to nothing: mostly because the name of a function has changed, or because
//! its race is mended.

use crate::config::{Origin, Settings};
use crate::outcome::Outcome;
use dpor_protocol::{ModelOption, Verdict};

/// The suppressions of a run, each with its place in the configuration, and whether it has covered an access.
#[derive(Default)]
pub struct Suppressions {
    all: Vec<Suppression>,
    /// A test was not explored to its end.
    partly: bool,
}

struct Suppression {
    origin: Origin,
    entry: String,
    applied: bool,
}

impl Suppressions {
    /// Adds what a test with these settings has met.
    pub fn add(&mut self, settings: &Settings, outcome: &Outcome) {
        self.partly |= outcome.verdict != Verdict::Complete || outcome.shard.is_some();
        if !settings.options[ModelOption::DataRaces].value {
            return;
        }
        let origin = &settings.suppressed_races.origin;
        for rule in &settings.suppressed_races.value.0 {
            let entry = rule.to_string();
            let mut reports = outcome.suppressions.iter();
            let applied = reports.any(|report| report.entry == entry && report.accesses > 0);
            match self
                .all
                .iter_mut()
                .find(|own| own.origin == *origin && own.entry == entry)
            {
                Some(own) => own.applied |= applied,
                None => self.all.push(Suppression {
                    origin: origin.clone(),
                    entry,
                    applied,
                }),
            }
        }
    }

    /// Complaints about those that have applied to nothing, after a run that has explored all of its tests to the end
    /// and has left out this number of others.
    pub fn unused(&self, left_out: usize) -> Vec<String> {
        let unless = match left_out {
            0 => "",
            _ => ", unless it is for tests that were left out",
        };
        let unused = self.all.iter().filter(|own| !own.applied && !self.partly);
        let told = unused.map(|Suppression { origin, entry, .. }| {
            format!(
                "{origin}: `suppressed-races`: `{entry}` covers no access that another thread could see: correct or \
                 remove it{unless}"
            )
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::outcome;
    use dpor_protocol::SuppressionReport;
    use std::sync::Arc;

    fn settings(line: usize, entries: &str) -> Settings {
        let mut settings = Settings::default();
        let name = Arc::from("dpor.toml");
        let origin = Origin::File { name, line, of: None };
        settings.set("suppressed-races", entries, &origin).unwrap();
        settings
    }

    fn met(entry: &str, accesses: u64) -> Outcome {
        let report = SuppressionReport {
            entry: entry.into(),
            accesses,
            races: 0,
        };
        Outcome {
            suppressions: vec![report],
            ..outcome(Verdict::Complete)
        }
    }

    #[test]
    fn what_applies_to_nothing_is_told_once() {
        let mut suppressions = Suppressions::default();
        suppressions.add(&settings(1, "a\nb"), &met("a", 0));
        suppressions.add(&settings(1, "a\nb"), &met("a", 2));
        suppressions.add(&settings(1, "a\nb"), &met("a", 0));
        suppressions.add(&settings(5, "a"), &met("a", 0));
        let told = suppressions.unused(0);
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(
            told[0],
            "dpor.toml:1: `suppressed-races`: `b` covers no access that another thread could see: correct or remove it"
        );
        assert!(
            told[1].starts_with("dpor.toml:5: ") && told[1].contains("`a`"),
            "{told:?}"
        );
        assert!(suppressions.unused(2)[1].ends_with("remove it, unless it is for tests that were left out"));
    }

    #[test]
    fn nothing_is_told_unless_all_is_explored() {
        let unused = |change: fn(&mut Settings, &mut Outcome)| {
            let mut suppressions = Suppressions::default();
            let (mut settings, mut outcome) = (settings(1, "a"), met("a", 0));
            change(&mut settings, &mut outcome);
            suppressions.add(&settings, &outcome);
            suppressions.unused(0).len()
        };
        assert_eq!(unused(|_, _| {}), 1);
        assert_eq!(unused(|_, outcome| outcome.verdict = Verdict::Failed), 0);
        assert_eq!(unused(|_, outcome| outcome.verdict = Verdict::Incomplete), 0);
        assert_eq!(unused(|_, outcome| outcome.shard = "1/2".parse().ok()), 0);
        let without = |settings: &mut Settings, _: &mut Outcome| {
            settings.set("data-races", "false", &Origin::CommandLine).unwrap();
        };
        assert_eq!(unused(without), 0);
    }
}
