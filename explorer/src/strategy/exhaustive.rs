//! Every interleaving of steps: the oracle for all other strategies.

use crate::search::node::Node;
use crate::search::policy::{Conduct, Policy};
use crate::system::{System, ThreadId};

pub(super) struct Exhaustive;

impl<S: System> Policy<S> for Exhaustive {
    fn conduct(&self) -> Conduct {
        Conduct::EVERYTHING
    }

    fn open(&mut self, node: &mut Node, _at: usize, _next: Option<ThreadId>) {
        node.backtrack = node.all_enabled();
    }
}
