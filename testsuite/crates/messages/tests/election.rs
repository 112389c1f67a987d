//! Leader elections of two terms, in which the first leader resigns.

// ANCHOR: test
use messages::election::{Node, with_terms};
use shim_std::comm::Mailbox;
use std::thread::{Builder, scope};

/// Runs three nodes, each on a thread of its own. All must come to the same.
fn all_agree<V: Send, L: Send + PartialEq + std::fmt::Debug>(run: fn(usize, &[Mailbox<V>]) -> L, leaders: L) {
    let mailboxes: [_; 3] = std::array::from_fn(|_| Mailbox::new());
    scope(|scope| {
        let mailboxes = &mailboxes;
        let spawn = |id| {
            let thread = Builder::new().name(format!("node {id}"));
            thread.spawn_scoped(scope, move || run(id, mailboxes)).unwrap()
        };
        for node in [0, 1, 2].map(spawn) {
            assert_eq!(node.join().unwrap(), leaders);
        }
    });
}

#[test]
fn all_nodes_agree() {
    all_agree(
        |id, mailboxes| {
            let mut node = Node::new(id, mailboxes);
            let first = node.elect();
            if first == Some(id) {
                node.resign();
            }
            [first, node.elect()]
        },
        [Some(2), Some(1)],
    );
}
// ANCHOR_END: test

#[test]
fn all_nodes_agree_with_terms() {
    all_agree(
        |id, mailboxes| {
            let mut node = with_terms::Node::new(id, mailboxes);
            let first = node.elect();
            if first == Some(id) {
                node.resign();
            }
            [first, node.elect()]
        },
        [Some(2), Some(1)],
    );
}

/// With one term there is nothing to mix up.
#[test]
fn one_term_is_right() {
    all_agree(|id, mailboxes| Node::new(id, mailboxes).elect(), Some(2));
}
