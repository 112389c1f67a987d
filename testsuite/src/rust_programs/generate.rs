//! Generates programs.
//!
//! A program is built from *genes*, three small numbers each: a gene becomes one operation or a few that belong
//! together. Which operations is drawn from the program's palette of a few groups, so that threads meet at the same
//! objects.

use super::{Channel, LINES, Line, Op, Program, THREADS, Under};
use dpor_scheduler::Timeouts;
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Group {
    Atomic,
    Spin,
    Under,
    Mutex,
    Poison,
    RwLock,
    Condvar,
    Park,
    Channel,
    Receive,
    Once,
    Cell,
    Barrier,
    Finish,
}

const GROUPS: [Group; 14] = [
    Group::Atomic,
    Group::Mutex,
    Group::Channel,
    Group::Receive,
    Group::RwLock,
    Group::Condvar,
    Group::Park,
    Group::Spin,
    Group::Poison,
    Group::Once,
    Group::Cell,
    Group::Barrier,
    Group::Finish,
    Group::Under,
];

type Gene = (u8, u8, u8);

/// Programs of up to nine operations in two to four threads.
pub fn programs() -> impl Strategy<Value = Program> {
    programs_of(vec(0..GROUPS.len(), 1..=3))
}

/// Programs with loops that poll under locks.
pub fn polling_programs() -> impl Strategy<Value = Program> {
    let polls = GROUPS
        .iter()
        .position(|&group| group == Group::Under)
        .expect("it is one of them");
    let other = prop_oneof![
        2 => Just(vec![]),
        1 => vec(0..GROUPS.len(), 1..=1),
    ];
    programs_of(other.prop_map(move |other| [vec![polls], other].concat()))
}

fn programs_of(palette: impl Strategy<Value = Vec<usize>>) -> impl Strategy<Value = Program> {
    let gene = (any::<u8>(), any::<u8>(), any::<u8>());
    let threads = prop_oneof![
        3 => vec(vec(gene, 0..=3), 3..=3),
        3 => vec(vec(gene, 1..=3), 3..=3),
        3 => vec(vec(gene, 1..=4), 2..=2),
        1 => vec(vec(gene, 0..=2), 4..=4),
    ];
    let channel = (any::<u8>(), any::<u8>(), any::<u8>());
    let flags = (
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.3),
    );
    (threads, palette, channel, flags)
        .prop_map(|(genes, palette, channel, flags)| build(&genes, &palette, channel, flags))
}

fn build(genes: &[Vec<Gene>], palette: &[usize], channel: Gene, flags: (bool, bool, bool)) -> Program {
    let palette: Vec<Group> = palette.iter().map(|&group| GROUPS[group]).collect();
    let count = genes.len();
    let communicates = palette
        .iter()
        .any(|group| matches!(group, Group::Channel | Group::Receive));
    let channel = communicates.then(|| {
        let (capacity, senders, receiver) = channel;
        // Most often the main thread only receives, or takes no part.
        let receiver = receiver % count as u8;
        let mut senders = senders & ((1 << count) - 1) & !(1 << receiver);
        if senders == 0 {
            senders = 1 << ((receiver + 1) % count as u8);
        }
        Channel {
            capacity: [None, Some(0), Some(1), Some(2), Some(0)][usize::from(capacity % 5)],
            senders,
            receiver,
        }
    });
    let mut budget = LINES - 1;
    let mut threads = Vec::new();
    for (t, genes) in genes.iter().enumerate() {
        let mut lines: Vec<Line> = Vec::new();
        for (number, &(kind, a, b)) in genes.iter().enumerate() {
            let group = palette[usize::from(kind) % palette.len()];
            let choice = kind / palette.len() as u8;
            let mut ops = Vec::new();
            piece(group, choice, a, b, (t as u8, count as u8), channel, &mut ops);
            ops.truncate(budget);
            budget -= ops.len();
            for (i, op) in ops.into_iter().enumerate() {
                let conditional = number > 0 && i == 0 && b >= 216;
                lines.push(Line {
                    when: conditional.then_some(b & 1),
                    op,
                });
            }
        }
        threads.push(lines);
    }
    threads.truncate(THREADS);
    let (scoped, spurious_wakeups, spurious_cas) = flags;
    let program = Program {
        threads,
        channel,
        scoped,
        spurious_wakeups: false,
        spurious_cas: false,
        timeouts: Timeouts::Fire,
    };
    let waits = program
        .ops()
        .any(|op| matches!(op, Op::Wait | Op::WaitTimeout | Op::Park | Op::ParkTimeout));
    let weak = program.ops().any(|op| matches!(op, Op::CasWeak(..) | Op::Update(_)));
    Program {
        spurious_wakeups: spurious_wakeups && waits,
        spurious_cas: spurious_cas && weak,
        timeouts: Timeouts::Fire,
        ..program
    }
}

/// The operations of one gene, for thread `t` of `count`.
fn piece(group: Group, choice: u8, a: u8, b: u8, (t, count): (u8, u8), channel: Option<Channel>, ops: &mut Vec<Op>) {
    let object = a & 1;
    let value = 1 + (a >> 1) % 3;
    match group {
        Group::Atomic => ops.push(match choice % 8 {
            0 => Op::Load(object),
            1 => Op::Store(object, value),
            2 => Op::Add(object),
            3 => Op::Swap(object, value),
            4 => Op::Cas(object, (a >> 3) % 2, value),
            5 => Op::CasWeak(object, (a >> 3) % 2, value),
            6 => Op::Update(object),
            _ => Op::Load(object),
        }),
        Group::Spin => match choice % 8 {
            0 | 1 => ops.push(Op::Store(object, (a >> 1) % 3)),
            2 => ops.push(Op::Await(object, false)),
            3 => ops.push(Op::Await(object, true)),
            4 => ops.extend([Op::AwaitCas(object), Op::Store(object, 0)]),
            5 => ops.push(Op::Poll(object, 1 + (a >> 1) % 3)),
            6 => ops.push(Op::AwaitTryLock(object)),
            _ => ops.extend([Op::Lock(object), Op::Unlock(object)]),
        },
        Group::Under => {
            let under = match b % 8 {
                0..=2 => Under::Lock(object),
                3 => Under::TryLock(object),
                4 => Under::Read,
                5 => Under::Write,
                _ => Under::Spin(object),
            };
            // Most often what polls and what it waits for are different objects.
            let polled = if a & 0b11000 == 0 { object } else { 1 - object };
            match choice % 10 {
                0..=2 => ops.push(Op::AwaitUnder(under, polled)),
                3 => ops.push(Op::AwaitLocked(object)),
                4 => ops.push(Op::Store(object, (a >> 1) % 3)),
                5 => ops.extend([Op::Lock(object), Op::Store(1 - object, value), Op::Unlock(object)]),
                6 => ops.extend([Op::AwaitCas(object), Op::Store(1 - object, value), Op::Store(object, 0)]),
                7 => ops.extend([Op::Write, Op::Store(object, value), Op::WriteUnlock]),
                8 => ops.extend([Op::Lock(object), Op::Unlock(object)]),
                _ => ops.push([Op::TryLock(object), Op::Lock(object), Op::Add(object)][usize::from(b % 3)]),
            }
        }
        Group::Mutex => match choice % 8 {
            0 | 1 => ops.extend([Op::Lock(object), Op::Unlock(object)]),
            2 => ops.push(Op::Lock(object)),
            3 => ops.extend([Op::Lock(object), Op::Lock(1 - object), Op::Unlock(object)]),
            4 => ops.extend([Op::TryLock(object), Op::Unlock(object)]),
            5 => ops.push(Op::TryLock(object)),
            6 => ops.extend([Op::Lock(object), Op::Add(object), Op::Unlock(object)]),
            _ => ops.push(Op::Unlock(object)),
        },
        Group::Poison => match choice % 6 {
            0 => ops.push(Op::Lock(object)),
            1 if t > 0 => ops.extend([Op::Lock(object), Op::Panic]),
            2 => ops.push(Op::IsPoisoned(object)),
            3 => ops.push(Op::TryLock(object)),
            4 => ops.push(Op::ClearPoison(object)),
            _ if t > 0 && b & 1 == 0 => ops.push(Op::Panic),
            _ => ops.extend([Op::Lock(object), Op::Unlock(object)]),
        },
        Group::RwLock => match choice % 9 {
            0 => ops.extend([Op::Read, Op::ReadUnlock]),
            1 => ops.extend([Op::Write, Op::WriteUnlock]),
            2 => ops.push(Op::Read),
            3 => ops.push(Op::Write),
            4 => ops.push(Op::TryRead),
            5 => ops.push(Op::TryWrite),
            6 => ops.extend([Op::Write, Op::Downgrade]),
            7 => ops.extend([Op::TryWrite, Op::WriteUnlock]),
            _ => ops.extend([Op::Write, Op::Downgrade, Op::ReadUnlock]),
        },
        Group::Condvar => match choice % 8 {
            0 => ops.push(Op::NotifyOne),
            1 => ops.extend([Op::Lock(0), Op::Wait]),
            2 => ops.extend([Op::Lock(0), Op::Wait, Op::Unlock(0)]),
            3 => ops.extend([Op::Lock(0), Op::WaitTimeout]),
            4 => ops.extend([Op::Lock(0), Op::NotifyOne, Op::Unlock(0)]),
            5 => ops.push(Op::NotifyAll),
            6 => ops.extend([Op::Lock(0), Op::Unlock(0), Op::NotifyOne]),
            _ => ops.extend([Op::NotifyOne, Op::NotifyOne]),
        },
        Group::Park => ops.push(match choice % 4 {
            0 => Op::Unpark(if t == 0 { a % count } else { a % t }),
            1 if t == 0 && b & 1 == 0 => Op::Unpark(1),
            1 | 2 => Op::Park,
            _ => Op::ParkTimeout,
        }),
        Group::Channel | Group::Receive => {
            let receives = channel.is_some_and(|channel| channel.receiver == t);
            let sends = channel.is_some_and(|channel| channel.senders & 1 << t != 0);
            match choice % 8 {
                0..=2 if receives && group == Group::Receive => {
                    ops.push([Op::TryRecv, Op::RecvTimeout, Op::AwaitTryRecv][usize::from(choice % 8)]);
                }
                0..=4 if receives => ops.push(Op::Recv),
                5 if receives => ops.push(Op::TryRecv),
                6 if receives => ops.push(Op::DropRx),
                0..=3 if sends => ops.push(Op::Send(value)),
                4 | 5 if sends => ops.push(Op::TrySend(value)),
                6 if sends => ops.push(Op::DropTx),
                _ if sends => ops.extend([Op::CloneTx, Op::Send(value)]),
                _ => ops.push(Op::Add(object)),
            }
        }
        Group::Once => ops.push(match choice % 6 {
            0 | 1 => Op::CallOnce(false),
            2 => Op::CallOnce(true),
            3 => Op::OnceDone,
            4 => Op::OnceWait,
            _ => Op::Load(0),
        }),
        Group::Cell => ops.push(match choice % 6 {
            0 | 1 => Op::CellInit(value),
            2 => Op::CellSet(value),
            3 => Op::CellGet,
            4 => Op::CellWait,
            _ => Op::Load(1),
        }),
        Group::Barrier => ops.push(if choice.is_multiple_of(3) {
            Op::Add(object)
        } else {
            Op::Barrier
        }),
        Group::Finish => {
            let child = 1 + a % (count - 1);
            ops.push(match choice % 4 {
                0 | 1 if t == 0 => Op::IsFinished(child),
                2 if t == 0 => Op::Join(child),
                3 if t == 0 => Op::AwaitFinished(child),
                0 => Op::Add(object),
                _ => Op::Load(object),
            });
        }
    }
}
