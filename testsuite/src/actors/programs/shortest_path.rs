//! shortpath: the distances of a graph's nodes from the first, by messages (Chandy and Misra 1982, without the
//! detection of the end). A node that learns of a shorter way tells its neighbours.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// Shortest paths.
#[derive(Clone, Debug)]
pub struct ShortestPath {
    /// The edges: from, to, length.
    pub edges: Vec<(usize, usize, u64)>,
    /// Number of nodes.
    pub nodes: usize,
    /// The start of the ways.
    pub source: usize,
}

/// An actor of [`ShortestPath`]: the number of the node, and the length of the shortest way to it that is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node(usize, Option<u64>);

/// To a node: there is a way of this length.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Way(u64);

impl Protocol for ShortestPath {
    type State = Node;
    type Content = Way;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let nodes: Vec<_> = (0..self.nodes).map(|n| out.create(Node(n, None))).collect();
        out.send(nodes[self.source], Way(0));
    }

    fn process(&self, me: Actor, state: &mut Node, message: &Way, out: &mut Outbox<'_, Self>) -> Result<(), String> {
        debug_assert_eq!(me.0 as usize, state.0);
        if state.1.is_none_or(|known| message.0 < known) {
            state.1 = Some(message.0);
            for &(_, to, length) in self.edges.iter().filter(|edge| edge.0 == state.0) {
                out.send(Actor(to as u32), Way(message.0 + length));
            }
        }
        Ok(())
    }
}
