//! Labels: places that the explored program passes, and the number of executions that pass them. Not part of its state.

use crate::report::Source;
use dpor_explorer::BitSet;

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

/// The labels that any execution has reached or required. A label's number is its index.
#[derive(Default)]
pub(crate) struct Labels(Vec<Label>);

impl Labels {
    /// The number of the label with this name.
    pub fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|label| label.name == name);
        let number = known.unwrap_or_else(|| {
            self.0.push(Label {
                name: name.to_owned(),
                complete: 0,
                all: 0,
                required: None,
            });
            self.0.len() - 1
        });
        number as u32
    }

    /// The label with this name.
    pub fn named(&mut self, name: &str) -> &mut Label {
        let number = self.number(name);
        &mut self.0[number as usize]
    }

    /// Counts the labels that an execution has reached which is complete.
    pub fn complete(&mut self, reached: &BitSet) {
        for number in reached.iter() {
            self.0[number as usize].complete += 1;
        }
    }

    /// Counts the labels that an execution has reached which has ended, and forgets which they were.
    pub fn count(&mut self, reached: &mut BitSet) {
        for number in reached.iter() {
            self.0[number as usize].all += 1;
        }
        reached.clear();
    }

    /// Voids the counts of complete executions, because exploration starts again.
    pub fn start_again(&mut self) {
        self.0.iter_mut().for_each(|label| label.complete = 0);
    }

    /// Resumes with the labels of an earlier exploration.
    pub fn go_on_from(&mut self, labels: Vec<Label>) {
        self.0 = labels;
    }

    /// All labels, in the order in which they were first met.
    pub fn all(&self) -> Vec<Label> {
        self.0.clone()
    }
}
