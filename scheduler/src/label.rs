//! Labels: places that the explored program passes, and the number of executions that pass them. Not part of its state.

use crate::report::Source;
use crate::runtime::{note, on_model, on_model_thread};
use std::panic::Location as Caller;

/// A label and its counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Number of complete executions that reached it and count.
    pub complete: u64,
    /// Number of executions that reached it, however they ended, including those thrown away because exploration
    /// started again.
    pub all: u64,
    /// The place at which the program has required that it be reached.
    pub required: Option<Source>,
}

dpor_explorer::codec!(struct Label { name, complete, all, required });

#[derive(Default)]
pub(crate) struct Labels(Vec<Entry>);

struct Entry {
    label: Label,
    /// Whether the current execution has reached it.
    now: bool,
}

impl Labels {
    fn entry(&mut self, name: &str) -> &mut Entry {
        let at = match self.0.iter().position(|entry| entry.label.name == name) {
            Some(at) => at,
            None => {
                self.0.push(Entry {
                    label: Label {
                        name: name.to_owned(),
                        complete: 0,
                        all: 0,
                        required: None,
                    },
                    now: false,
                });
                self.0.len() - 1
            }
        };
        &mut self.0[at]
    }

    /// Counts the labels of the current execution, which is complete.
    pub fn complete(&mut self) {
        for Entry { label, now } in &mut self.0 {
            label.complete += u64::from(*now);
        }
    }

    /// Ends the current execution.
    pub fn end(&mut self) {
        for Entry { label, now } in &mut self.0 {
            label.all += u64::from(std::mem::take(now));
        }
    }

    /// Whether the current execution has reached each label, in the order in which labels were first met.
    pub fn reached(&self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter().map(|entry| entry.now)
    }

    /// Begins an execution that has reached these labels.
    pub fn begin_with(&mut self, reached: &[bool]) {
        for (entry, &now) in self.0.iter_mut().zip(reached) {
            entry.now = now;
        }
    }

    /// Forgets the complete executions so far, as exploration starts again.
    pub fn start_again(&mut self) {
        self.0.iter_mut().for_each(|entry| entry.label.complete = 0);
    }

    /// Resumes counting from these labels.
    pub fn go_on_from(&mut self, labels: Vec<Label>) {
        self.0 = labels.into_iter().map(|label| Entry { label, now: false }).collect();
    }

    /// All labels, in the order in which they were met.
    pub fn all(&self) -> Vec<Label> {
        self.0.iter().map(|entry| entry.label.clone()).collect()
    }
}

/// Records that the explored program has reached a label; does nothing off model threads.
pub fn reach(label: &str) {
    if on_model_thread() {
        on_model(|runtime| runtime.labels.entry(label).now = true);
        note(|| format!("reached {label:?}"));
    }
}

/// Requires that some execution reaches a label; does nothing off model threads.
#[track_caller]
pub fn require(label: &str) {
    if on_model_thread() {
        let caller = Caller::caller();
        on_model(|runtime| {
            runtime
                .labels
                .entry(label)
                .label
                .required
                .get_or_insert_with(|| Source::from(caller));
        });
    }
}
