//! parking_lot's `RawRwLock`.
//!
//! A writer comes in two steps where readers hold the lock. One claims it: from then on, new readers wait, as do other
//! writers. The other is enabled when the readers have gone. So a thread that reads twice beside a writer is in a
//! deadlock, as it is in parking_lot; a recursive read goes in beside a claim as long as there are other readers. A
//! reader that may upgrade excludes writers and others of its kind, and claims the lock when it does.
//!
//! The lock is one location: readers that come and go are its `Update`s, and all else writes it.
//!
//! Releases are left movers (see [`dpor_scheduler::release`]): a claim that finds readers and waits until they have
//! gone and one that comes after they have gone lead to the same state, and nothing but a claim lies between for
//! others. A recursive read is possible *because* there is a reader. So it observes releases, like attempts and
//! timeouts.

use dpor_scheduler::{
    AccessKind, Condition, Guard, Library, Location, Operation, OperationKind, Touch, Word, access_of, gives_back,
    location, note, observe, order, perform, release, specified, sub_location, time,
};
use std::time::Duration;

const FREE: i64 = 0;
/// A reader that may upgrade has the lock, and counts as a reader.
const UPGRADABLE: i64 = 1;
/// A writer has the lock, or waits for the readers within to go.
const CLAIMED: i64 = 2;

/// A reader-writer lock without data and without poisoning.
pub struct RwLock {
    readers: Word,
    claim: Word,
}

/// An operation that takes the lock.
#[derive(Clone, Copy)]
enum Entry {
    Read,
    RecursiveRead,
    Upgradable,
    Write,
}

impl RwLock {
    /// A lock that is free.
    #[expect(clippy::new_without_default, reason = "a constant is asked for")]
    #[inline]
    #[must_use]
    pub const fn new() -> RwLock {
        RwLock {
            readers: Word::new(0),
            claim: Word::new(FREE),
        }
    }

    /// Locks it for reading.
    #[track_caller]
    pub fn read(&self) {
        self.enter(Entry::Read, None);
    }

    /// Locks it for reading if no writer has claimed it; says whether that is so.
    #[track_caller]
    pub fn try_read(&self) -> bool {
        self.try_enter(Entry::Read)
    }

    /// Locks it for reading within this time; says whether it did.
    #[track_caller]
    pub fn try_read_for(&self, timeout: Duration) -> bool {
        self.enter(Entry::Read, Some(timeout)).is_some()
    }

    /// Locks it for reading, before writers that wait for readers within.
    #[track_caller]
    pub fn read_recursive(&self) {
        self.enter(Entry::RecursiveRead, None);
    }

    /// Like [`RwLock::read_recursive`], if no writer has the lock; says whether that is so.
    #[track_caller]
    pub fn try_read_recursive(&self) -> bool {
        self.try_enter(Entry::RecursiveRead)
    }

    /// Like [`RwLock::read_recursive`], within this time; says whether it did.
    #[track_caller]
    pub fn try_read_recursive_for(&self, timeout: Duration) -> bool {
        self.enter(Entry::RecursiveRead, Some(timeout)).is_some()
    }

    /// Unlocks it, for a reader.
    #[track_caller]
    pub fn unlock_read(&self) {
        release(OperationKind::ReadUnlock, self.location(), |touch| {
            order::read_unlocked(self.location());
            self.count(-1);
            touch.relaxed().update(self.location());
        });
    }

    /// Locks it for writing.
    #[track_caller]
    pub fn write(&self) {
        let readers = self.enter(Entry::Write, None);
        self.await_readers(readers, None, FREE);
    }

    /// Locks it for writing if nobody has it; says whether that is so.
    #[track_caller]
    pub fn try_write(&self) -> bool {
        self.try_enter(Entry::Write)
    }

    /// Locks it for writing within this time; says whether it did.
    #[track_caller]
    pub fn try_write_for(&self, timeout: Duration) -> bool {
        let readers = self.enter(Entry::Write, Some(timeout));
        self.await_readers(readers, Some(timeout), FREE)
    }

    /// Unlocks it, for the writer.
    #[track_caller]
    pub fn unlock_write(&self) {
        self.leave(OperationKind::WriteUnlock, FREE, 0);
    }

    /// Makes the writer a reader.
    #[track_caller]
    pub fn downgrade(&self) {
        self.leave(OperationKind::Downgrade, FREE, 1);
    }

    /// Makes the writer a reader that may upgrade.
    #[track_caller]
    pub fn downgrade_to_upgradable(&self) {
        self.leave(OperationKind::Downgrade, UPGRADABLE, 1);
    }

    /// Locks it for reading, as the reader that may upgrade.
    #[track_caller]
    pub fn upgradable(&self) {
        self.enter(Entry::Upgradable, None);
    }

    /// Like [`RwLock::upgradable`], if there is no writer and no other reader that may; says whether that is so.
    #[track_caller]
    pub fn try_upgradable(&self) -> bool {
        self.try_enter(Entry::Upgradable)
    }

    /// Like [`RwLock::upgradable`], within this time; says whether it did.
    #[track_caller]
    pub fn try_upgradable_for(&self, timeout: Duration) -> bool {
        self.enter(Entry::Upgradable, Some(timeout)).is_some()
    }

    /// Unlocks it, for the reader that may upgrade.
    #[track_caller]
    pub fn unlock_upgradable(&self) {
        self.leave(OperationKind::UpgradableUnlock, FREE, -1);
    }

    /// Makes the reader that may upgrade an ordinary one.
    #[track_caller]
    pub fn downgrade_upgradable(&self) {
        self.leave(OperationKind::Downgrade, FREE, 0);
    }

    /// Makes the reader that may upgrade the writer, when the other readers have gone.
    #[track_caller]
    pub fn upgrade(&self) {
        let readers = self.claim_for_upgrade();
        self.await_readers(Some(readers), None, UPGRADABLE);
    }

    /// Makes the reader that may upgrade the writer if there are no other readers; says whether that is so.
    #[track_caller]
    pub fn try_upgrade(&self) -> bool {
        specified(Library::ParkingLot);
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let operation = Operation::always(OperationKind::TryUpgradeLock, self.location(), &accesses);
        perform(&operation, |_, touch| {
            let alone = self.readers.get() == 1;
            if alone {
                order::write_locked(self.location());
                self.count(-1);
                self.claim.set(CLAIMED);
                touch.relaxed().write(self.location());
            } else {
                self.refuse(touch);
            }
            alone
        })
    }

    /// Like [`RwLock::upgrade`], within this time; says whether it did. If not, the reader may still upgrade.
    #[track_caller]
    pub fn try_upgrade_for(&self, timeout: Duration) -> bool {
        let readers = self.claim_for_upgrade();
        self.await_readers(Some(readers), Some(timeout), UPGRADABLE)
    }

    /// Whether anybody has the lock, or has claimed it.
    #[track_caller]
    pub fn is_locked(&self) -> bool {
        self.look(|readers, claim| readers > 0 || claim == CLAIMED)
    }

    /// Whether a writer has the lock.
    #[track_caller]
    pub fn is_written(&self) -> bool {
        self.look(|readers, claim| readers == 0 && claim == CLAIMED)
    }

    /// Whether a writer has the lock, or has claimed it.
    #[track_caller]
    pub fn is_claimed(&self) -> bool {
        self.look(|_, claim| claim == CLAIMED)
    }

    /// Whether a writer has claimed the lock and waits for one reader only.
    #[track_caller]
    pub fn holds_up_writer_alone(&self) -> bool {
        self.look(|readers, claim| readers == 1 && claim == CLAIMED)
    }

    fn location(&self) -> Location {
        location(&self.readers)
    }

    fn count(&self, change: i64) {
        self.readers.set(self.readers.get() + change);
    }

    /// Part of the lock's location for readers that may upgrade, which take turns.
    fn upgradable_turns(&self) -> Location {
        const UPGRADABLE_TURNS: u64 = 0xFD00;
        sub_location(self.location(), UPGRADABLE_TURNS)
    }

    fn refuse(&self, touch: Touch<'_>) {
        touch.relaxed().read(self.location());
        note(|| "would block".to_string());
    }

    /// Waits until it can take the lock, but not longer than for `timeout`. Returns the number of readers beside;
    /// `None` if it has timed out.
    #[track_caller]
    fn enter(&self, entry: Entry, timeout: Option<Duration>) -> Option<i64> {
        specified(Library::ParkingLot);
        let fires = time::firing(timeout);
        // Only of ordinary readers nobody can tell who was there first.
        let plain = matches!(entry, Entry::Read) && fires.is_none();
        let access = if plain { AccessKind::Update } else { AccessKind::Write };
        if fires.is_some() || matches!(entry, Entry::RecursiveRead) {
            observe(self.location());
        }
        let accesses = [access_of(self.location(), access)];
        let alternatives = [entry.open(self), entry.closed(self)];
        let operation = Operation {
            kind: entry.kind(),
            object: self.location(),
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires.is_some())],
            timeout: time::alternative(1, timeout),
        };
        let beside = perform(&operation, |alternative, touch| {
            if alternative == 0 {
                let beside = self.readers.get();
                entry.take(self, touch);
                if matches!(entry, Entry::Write) && beside > 0 {
                    note(|| "new readers wait".to_string());
                }
                return Some(beside);
            }
            touch.relaxed().read(self.location());
            note(|| "timed out".to_string());
            None
        });
        if let Some(after) = fires.filter(|_| beside.is_none()) {
            time::timed_out(after);
        }
        beside
    }

    /// Takes the lock if it can; says whether it did.
    #[track_caller]
    fn try_enter(&self, entry: Entry) -> bool {
        specified(Library::ParkingLot);
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let operation = Operation::always(entry.attempt(), self.location(), &accesses);
        perform(&operation, |_, touch| {
            let open = entry.is_open(self);
            if open {
                entry.take(self, touch);
            } else {
                self.refuse(touch);
            }
            open
        })
    }

    /// Gives a lock back, or a part of it.
    #[track_caller]
    fn leave(&self, kind: OperationKind, claim: i64, readers: i64) {
        release(kind, self.location(), |touch| {
            match kind {
                OperationKind::UpgradableUnlock => {
                    order::release(self.upgradable_turns());
                    order::read_unlocked(self.location());
                }
                // It has been a reader, and is one.
                OperationKind::Downgrade if readers == 0 => order::release(self.upgradable_turns()),
                _ => order::write_unlocked(self.location()),
            }
            self.claim.set(claim);
            self.count(readers);
            touch.relaxed().write(self.location());
        });
    }

    /// The first step of an upgrade: the reader is no reader any more, and others wait. Returns the number of readers
    /// that are left.
    #[track_caller]
    fn claim_for_upgrade(&self) -> i64 {
        specified(Library::ParkingLot);
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let operation = Operation::always(OperationKind::UpgradeLock, self.location(), &accesses);
        perform(&operation, |_, touch| {
            self.count(-1);
            self.claim.set(CLAIMED);
            // Who is the last reader has the lock at once.
            order::write_locked(self.location());
            touch.relaxed().write(self.location());
            self.readers.get()
        })
    }

    /// The second step of a writer that has claimed the lock, and found this number of readers (`None` if it has not):
    /// waits for them, but not longer than for `timeout`, after which the claim is what it was `before`. Says whether
    /// they have gone.
    #[track_caller]
    fn await_readers(&self, readers: Option<i64>, timeout: Option<Duration>, before: i64) -> bool {
        match readers {
            None => return false,
            // None will come.
            Some(0) => return true,
            Some(_) => {}
        }
        let fires = time::firing(timeout);
        if fires.is_some() {
            observe(self.location());
        }
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let alternatives = [
            Guard::when(Condition::Equals(self.readers.variable(), 0)),
            Guard::when(Condition::AtLeast(self.readers.variable(), 1)),
        ];
        let operation = Operation {
            kind: OperationKind::AwaitReaders,
            object: self.location(),
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires.is_some())],
            timeout: time::alternative(1, timeout),
        };
        let alone = perform(&operation, |alternative, touch| {
            if alternative == 0 {
                // The claim has taken the lock.
                order::write_locked(self.location());
                touch.relaxed().read(self.location());
                return true;
            }
            self.claim.set(before);
            // To the trace, a step of this kind that changes something takes the lock.
            gives_back(self.location());
            match before {
                UPGRADABLE => self.count(1),
                _ => gives_back(self.location()),
            }
            touch.relaxed().write(self.location());
            note(|| "timed out".to_string());
            false
        });
        if let Some(after) = fires.filter(|_| !alone) {
            time::timed_out(after);
        }
        alone
    }

    #[track_caller]
    fn look(&self, what: impl FnOnce(i64, i64) -> bool) -> bool {
        specified(Library::ParkingLot);
        observe(self.location());
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let operation = Operation::always(OperationKind::IsRwLocked, self.location(), &accesses);
        perform(&operation, |_, touch| {
            touch.relaxed().read(self.location());
            what(self.readers.get(), self.claim.get())
        })
    }
}

impl Entry {
    fn kind(self) -> OperationKind {
        match self {
            Entry::Read | Entry::RecursiveRead => OperationKind::ReadLock,
            Entry::Upgradable => OperationKind::UpgradableLock,
            Entry::Write => OperationKind::WriteLock,
        }
    }

    fn attempt(self) -> OperationKind {
        match self {
            Entry::Read | Entry::RecursiveRead => OperationKind::TryReadLock,
            Entry::Upgradable => OperationKind::TryUpgradableLock,
            Entry::Write => OperationKind::TryWriteLock,
        }
    }

    /// The guard of taking the lock, or of claiming it.
    fn open(self, lock: &RwLock) -> Guard {
        let claim = lock.claim.variable();
        match self {
            Entry::Read => Guard::when(Condition::LessThan(claim, CLAIMED)),
            Entry::RecursiveRead => Guard::always().and([
                Condition::LessThan(claim, CLAIMED),
                Condition::AtLeast(lock.readers.variable(), 1),
            ]),
            Entry::Upgradable | Entry::Write => Guard::when(Condition::Equals(claim, FREE)),
        }
    }

    /// The guard of giving up: the other one does not hold.
    fn closed(self, lock: &RwLock) -> Guard {
        let claim = lock.claim.variable();
        match self {
            Entry::Read => Guard::when(Condition::AtLeast(claim, CLAIMED)),
            Entry::RecursiveRead => {
                Guard::when(Condition::AtLeast(claim, CLAIMED)).and([Condition::LessThan(lock.readers.variable(), 1)])
            }
            Entry::Upgradable | Entry::Write => Guard::when(Condition::AtLeast(claim, UPGRADABLE)),
        }
    }

    /// Whether it can take the lock without waiting.
    fn is_open(self, lock: &RwLock) -> bool {
        let (readers, claim) = (lock.readers.get(), lock.claim.get());
        match self {
            Entry::Read => claim != CLAIMED,
            Entry::RecursiveRead => claim != CLAIMED || readers > 0,
            Entry::Upgradable => claim == FREE,
            Entry::Write => claim == FREE && readers == 0,
        }
    }

    /// Takes the lock, or claims it, in the current step.
    fn take(self, lock: &RwLock, touch: Touch<'_>) {
        match self {
            Entry::Read | Entry::RecursiveRead => lock.count(1),
            Entry::Upgradable => {
                lock.count(1);
                lock.claim.set(UPGRADABLE);
            }
            Entry::Write => lock.claim.set(CLAIMED),
        }
        match self {
            Entry::Read | Entry::RecursiveRead => order::read_locked(lock.location()),
            Entry::Upgradable => {
                order::acquire(lock.upgradable_turns());
                order::read_locked(lock.location());
            }
            Entry::Write => order::write_locked(lock.location()),
        }
        match self {
            Entry::Read => touch.relaxed().update(lock.location()),
            Entry::RecursiveRead | Entry::Upgradable | Entry::Write => touch.relaxed().write(lock.location()),
        }
    }
}
