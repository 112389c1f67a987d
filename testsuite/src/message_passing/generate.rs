//! Generates programs of the model from pieces: a communication with its test or wait, a critical section …

use super::program::{Action, Program};
use crate::enumerate::multinomial;
use proptest::collection::vec;
use proptest::prelude::*;

/// The raw material of a piece: kind, object, and two choices.
type Gene = (u8, u8, u8, u8);

/// Maximum number of actions in a program.
const MOST_ACTIONS: usize = 12;

/// Programs of two to four actors with about `most` interleavings at most, if nothing blocked.
pub fn programs(most: u64) -> impl Strategy<Value = Program> {
    let gene = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>());
    // Of communications only, of mutexes only, of both.
    let kinds = prop_oneof![3 => Just(0..COMMUNICATIONS), 1 => Just(MUTEXES..KINDS), 2 => Just(0..KINDS)];
    (vec(vec(gene, 1..=4), 2..=4), kinds, 1..=2u8).prop_map(move |(genes, kinds, objects)| {
        let mut actors = vec![Vec::new(); genes.len()];
        let mut handles = vec![0; genes.len()];
        for round in 0..genes.iter().map(Vec::len).max().unwrap_or(0) {
            for actor in 0..genes.len() {
                let Some(&(kind, object, choice, value)) = genes[actor].get(round) else {
                    continue;
                };
                let kind = kinds.start + kind % (kinds.end - kinds.start);
                let before = (actors[actor].len(), handles[actor]);
                let gene = (kind, object % objects, choice, value % 3);
                append(gene, &mut handles[actor], &mut actors[actor]);
                let counts: Vec<_> = actors.iter().map(Vec::len).collect();
                if counts.iter().sum::<usize>() > MOST_ACTIONS || multinomial(&counts) > most {
                    actors[actor].truncate(before.0);
                    handles[actor] = before.1;
                }
            }
        }
        Program::new(actors)
    })
}

const COMMUNICATIONS: u8 = 6;
const MUTEXES: u8 = 6;
const KINDS: u8 = 10;

/// Appends a piece to the actor's actions.
fn append((kind, object, choice, value): Gene, handles: &mut usize, actions: &mut Vec<Action>) {
    let object = usize::from(object);
    let otherwise_skip = usize::from(choice / 4 % 2);
    let mut post = |receives: bool| {
        let handle = *handles;
        *handles += 1;
        if receives {
            Action::Receive {
                mailbox: object,
                handle,
            }
        } else {
            Action::Send {
                mailbox: object,
                value: i64::from(value),
                handle,
            }
        }
    };
    match kind {
        0 => actions.push(post(choice % 2 == 0)),
        1 => {
            actions.push(post(choice % 2 == 0));
            actions.push(Action::wait(*handles - 1));
        }
        2 => {
            actions.push(post(choice % 2 == 0));
            actions.push(Action::TestAny {
                handles: vec![*handles - 1],
                otherwise_skip,
            });
        }
        // Of all that was posted, newest first or oldest first.
        3 | 4 => {
            actions.push(post(choice % 2 == 0));
            let all = 0..*handles;
            let handles = if choice / 2 % 2 == 0 {
                all.collect()
            } else {
                all.rev().collect()
            };
            actions.push(if kind == 3 {
                Action::WaitAny { handles }
            } else {
                Action::TestAny {
                    handles,
                    otherwise_skip,
                }
            });
        }
        5 => actions.push(Action::Compare {
            value: i64::from(value),
            otherwise_skip,
        }),
        6 => actions.push(Action::Lock(object)),
        7 => {
            actions.push(Action::Lock(object));
            let mutexes = if choice % 2 == 0 { vec![object] } else { vec![1, 0] };
            actions.push(Action::MutexWait { mutexes });
            if choice / 2 % 4 != 0 {
                actions.push(Action::Unlock(object));
            }
        }
        8 => {
            actions.push(Action::Lock(object));
            let mutexes = if choice % 2 == 0 { vec![object] } else { vec![0, 1] };
            actions.push(Action::MutexTest {
                mutexes,
                otherwise_skip,
            });
        }
        _ => actions.push(Action::Unlock(object)),
    }
}
