//! What guards depend on, as numbers that follow from the table.

use super::{ALWAYS, GREATEST, IN, Kind, NUMBER_BITS, Number, OUT, RDHUP, Table, VARIABLES};
use dpor_explorer::{Effect, SplitMix64, Variable};

/// What a variable says of what was opened by a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum VariableKind {
    /// How much there is to be read: 0 if a read would have to wait.
    Available,
    /// How much may be written: 0 if a write would have to wait.
    Room,
    /// Whether `poll` tells that it can be read.
    In,
    /// Whether `poll` tells that it can be written.
    Out,
    /// Whether `poll` tells of an error, or that nobody is at the other end.
    Gone,
    /// Whether `poll` tells that the other end writes no more.
    HalfGone,
    /// Whether calls return instead of waiting.
    Nonblocking,
    /// Number of watched descriptors of which `epoll_wait` would tell.
    Ready,
    /// Which descriptors are watched, and for what.
    Watched,
    /// The timeouts of a socket, the deadline of a timer, or which descriptors are watched, for what, and the deadlines
    /// of timers among them.
    Timeouts,
    /// Whether the descriptor is open: the only variable of a descriptor, and not of what it stands for.
    Open,
}

impl VariableKind {
    const ALL: [VariableKind; 11] = [
        VariableKind::Available,
        VariableKind::Room,
        VariableKind::In,
        VariableKind::Out,
        VariableKind::Gone,
        VariableKind::HalfGone,
        VariableKind::Nonblocking,
        VariableKind::Ready,
        VariableKind::Watched,
        VariableKind::Timeouts,
        VariableKind::Open,
    ];
}

impl Table {
    /// The value of a variable of a file.
    pub(super) fn value(&self, kind: VariableKind, file: Number) -> i64 {
        if kind == VariableKind::Open {
            return i64::from(self.opened(file).is_ok());
        }
        let Ok(at) = self.files.binary_search_by_key(&file, |other| other.number) else {
            return 0;
        };
        let opened = &self.files[at];
        let clamped = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let tells = |events| i64::from(self.mask(file) & events != 0);
        match (kind, &opened.kind) {
            (VariableKind::Nonblocking, _) => i64::from(opened.nonblocking),
            (VariableKind::Available, &Kind::Counter { value, .. }) => clamped(value),
            (VariableKind::Room, &Kind::Counter { value, .. }) => clamped(GREATEST - value),
            (VariableKind::Available, &Kind::End(end)) => {
                let pair = self.pair(end.pair);
                let stream = pair.read_by(end.side).map(|at| &pair.streams[at]);
                stream.map_or(i64::MAX, |stream| {
                    clamped(stream.bytes.len() as u64) + i64::from(stream.is_shut || end.is_reset)
                })
            }
            (VariableKind::Room, &Kind::End(end)) => {
                let pair = self.pair(end.pair);
                let stream = pair.written_by(end.side).map(|at| &pair.streams[at]);
                let stream = stream.filter(|stream| !stream.is_shut);
                stream.map_or(i64::MAX, |stream| {
                    clamped((pair.capacity() - stream.bytes.len()) as u64)
                })
            }
            (VariableKind::Available, Kind::Timer(timer)) => clamped(timer.expired),
            (VariableKind::Available | VariableKind::Room, Kind::Epoll { .. } | Kind::Timer(_)) => i64::MAX,
            (VariableKind::In, _) => tells(IN),
            (VariableKind::Out, _) => tells(OUT),
            (VariableKind::Gone, _) => tells(ALWAYS),
            (VariableKind::HalfGone, _) => tells(RDHUP),
            (VariableKind::Ready, Kind::Epoll { watches, .. }) => {
                watches.iter().filter(|watch| watch.is_ready).count() as i64
            }
            (VariableKind::Watched, Kind::Epoll { watches, .. }) => {
                let digests = watches.iter().map(|watch| {
                    let words = [watch.number.0, watch.file.0, watch.events].map(u64::from);
                    let words = words.iter().chain([&watch.data]);
                    name_of(words.fold(0, |digest, &word| mixed(digest ^ word)))
                });
                digests.sum()
            }
            (VariableKind::Timeouts, Kind::Epoll { .. }) => {
                let timers = self.watched(file);
                let deadlines: i64 = timers.iter().map(|&timer| name_of(self.deadline(timer))).sum();
                self.value(VariableKind::Watched, file) + deadlines
            }
            (VariableKind::Timeouts, &Kind::End(end)) if end.timeouts != [0; 2] => {
                name_of(mixed(mixed(end.timeouts[0]) ^ end.timeouts[1]))
            }
            (VariableKind::Timeouts, Kind::Timer(_)) => name_of(self.deadline(file)),
            _ => 0,
        }
    }

    /// Makes a call, and notes what it changes.
    pub fn change<R>(&mut self, call: impl FnOnce(&mut Table) -> R) -> R {
        let before: Vec<_> = self.variables().collect();
        let result = call(self);
        self.settle_watches();
        let change = |(variable, before): &(Variable, i64)| {
            let after = self.value_of(*variable).unwrap_or_default();
            (after != *before).then_some(Effect {
                variable: *variable,
                before: *before,
                after,
            })
        };
        let changes: Vec<_> = before.iter().filter_map(change).collect();
        self.changes.extend(changes);
        result
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (Variable, i64)> + '_ {
        let files = self.files.iter().map(|file| file.number);
        let of_files = files.flat_map(|file| VariableKind::ALL.map(|kind| (kind, file)));
        let copies = self.descriptors.iter().filter(|entry| entry.file != entry.number);
        let of_copies = copies.map(|entry| (VariableKind::Open, entry.number));
        let all = of_files.chain(of_copies);
        all.map(|(kind, number)| (number.variable(kind), self.value(kind, number)))
    }

    /// The value of a variable, if it is one of a descriptor.
    pub fn value_of(&self, variable: Variable) -> Option<i64> {
        if variable.0 >> 48 != VARIABLES {
            return None;
        }
        let kind = VariableKind::ALL[(variable.0 >> NUMBER_BITS & 0xF) as usize];
        Some(self.value(kind, Number(variable.0 as u32 & ((1 << NUMBER_BITS) - 1))))
    }

    /// Takes a change that is not noted yet.
    pub fn next_change(&mut self) -> Option<Effect> {
        self.changes.pop()
    }
}

/// A value of a variable that only names something. Such values are added up, as independent steps change different
/// ones: the sum of thousands is no greater than a number can be.
fn name_of(digest: u64) -> i64 {
    (digest >> 20) as i64
}

/// One step of SplitMix64.
pub(super) fn mixed(value: u64) -> u64 {
    SplitMix64::new(value).draw()
}
