//! Generates actor programs. Small numbers stand for simple things, so that proptest's shrinking makes them simpler.

use super::program::{Action, Handler, Program, Target};
use super::protocol::Constraint;
use proptest::collection::vec;
use proptest::prelude::*;

/// The raw material of an action: kind, receiver, handler, number.
type Gene = (u8, u8, u8, u8);

/// Programs of two to four actors and up to six handlers, some of which have constraints or fail.
pub fn programs() -> impl Strategy<Value = Program> {
    let gene = (0..12u8, any::<u8>(), any::<u8>(), 0..4u8);
    let handler = (0..8u8, 0..3u8, vec(gene, 0..=3));
    let first = vec((any::<u8>(), any::<u8>()), 2..=4);
    (2..=4usize, first, vec(handler, 2..=6)).prop_map(|(actors, first, handlers)| {
        let count = handlers.len();
        let handlers = handlers.into_iter().enumerate();
        Program {
            actors,
            first: first
                .into_iter()
                .map(|(to, handler)| (to as usize % actors, handler as usize % count))
                .collect(),
            handlers: handlers
                .map(|(index, (constraint, number, genes))| Handler {
                    constraint: match (constraint, i64::from(number)) {
                        (5, number) => Constraint::AtLeast(number),
                        (6, number) => Constraint::LessThan(number + 1),
                        (7, number) => Constraint::Equals(number),
                        _ => Constraint::Always,
                    },
                    actions: genes
                        .into_iter()
                        .filter_map(|gene| action(gene, actors, index + 1..count))
                        .collect(),
                })
                .collect(),
        }
    })
}

/// `None` for a message that no handler is left for.
fn action((kind, to, handler, number): Gene, actors: usize, later: std::ops::Range<usize>) -> Option<Action> {
    let number = i64::from(number);
    let target = match to as usize % (actors + 2) {
        n if n < actors => Target::First(n),
        n if n == actors => Target::Me,
        _ => Target::Sender,
    };
    let handler = (!later.is_empty()).then(|| later.start + handler as usize % later.len());
    Some(match kind {
        0 => Action::Add(1),
        1 => Action::Set(number),
        2 => Action::Create(handler?),
        3 | 4 => Action::SendFrom(number, target, handler?),
        5 if number > 0 => Action::AssertBelow(number),
        _ => Action::Send(target, handler?),
    })
}
