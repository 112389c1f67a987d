//! The counts of an `Arc`, and their operations: everything that threads can see of each other in one.
//!
//! Parts of an object are locations of their own:
//!
//! * its *life*: whether shares are left. Written by drops and by whoever takes the value; updated by `upgrade`, which
//!   commutes with other upgrades; read by whoever asks whether its share is the only one. Clones do not touch it: a
//!   clone is made from a share that is there, and for as long as that is there, the object is alive and no other share
//!   is the only one.
//! * the *number of shares*: updated by clones, drops and upgrades, and read by `strong_count`.
//! * the *claims of weak pointers*: whether there are any, which `get_mut` and `make_mut` ask. Updated by drops of
//!   `Weak`; new ones are made from a share or from a weak pointer, either of which is answer enough.
//! * the *number of weak pointers*: updated by their clones and drops, and read by `weak_count`.
//!
//! Nothing of this is a scheduling point unless the location is [observed](dpor_scheduler::observe), which it is as
//! soon as some thread reaches an operation whose result depends on it. Then exploration starts again, and the
//! operations that change the location are points. Which locations an operation touches does not depend on what it
//! reads: an `upgrade` that fails still counts as an update of the number of shares.

use dpor_scheduler::order::Lent;
use dpor_scheduler::ownership::{self, perform_observing};
use dpor_scheduler::{
    Access, AccessKind, Location, OperationKind, Touch, access_of, location, note, order, sub_location,
};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicUsize, fence};

const LIFE: u64 = 0xFF00;
const SHARES: u64 = 0xFF01;
const CLAIMS: u64 = 0xFF02;
const WEAKS: u64 = 0xFF03;

/// Maximum count; more counts as an overflow.
const MOST: usize = isize::MAX as usize;

/// Value of the count of weak pointers while a share is examined that may be the only one.
const LOCKED: usize = usize::MAX;

/// The uniqueness of an object, for `make_mut`.
pub(super) enum Uniqueness {
    /// There are other shares.
    Shared,
    /// The share was the only one, but weak pointers are left. It has been dropped: the caller owns the value.
    Taken,
    /// Nobody else has the object.
    Unique,
}

/// The counts. The shares together hold one weak pointer, which is dropped with the value.
#[repr(C)]
pub(super) struct Counts {
    strong: AtomicUsize,
    weak: AtomicUsize,
}

fn checked(count: usize) {
    if count > MOST {
        crate::process::abort();
    }
}

impl Counts {
    /// The counts of an object with this number of shares, and with their weak pointer.
    pub(super) const fn new(strong: usize) -> Counts {
        Counts {
            strong: AtomicUsize::new(strong),
            weak: AtomicUsize::new(1),
        }
    }

    fn part(&self, part: u64) -> Location {
        sub_location(location(self), part)
    }

    pub(super) fn life(&self) -> Location {
        self.part(LIFE)
    }

    /// Adds a share to the caller's.
    #[track_caller]
    #[inline]
    pub(super) fn share(&self) {
        ownership::point_if_observed(
            OperationKind::ArcClone,
            [access_of(self.part(SHARES), AccessKind::Update)],
        );
        checked(self.strong.fetch_add(1, Relaxed));
    }

    /// Drops a share. If it was the last, the caller destroys the value, and keeps what is returned until it has.
    #[track_caller]
    #[inline]
    pub(super) fn unshare(&self, needs_drop: bool) -> Option<Lent> {
        ownership::point_if_observed(
            OperationKind::ArcDrop,
            [
                access_of(self.life(), AccessKind::Write),
                access_of(self.part(SHARES), AccessKind::Update),
            ],
        );
        order::release(self.life());
        if self.strong.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            return Some(order::last_share(self.life()));
        }
        if needs_drop {
            ownership::dropped(self.life());
        }
        None
    }

    /// Adds the first share.
    #[track_caller]
    pub(super) fn init(&self) {
        ownership::point_if_observed(
            OperationKind::ArcInit,
            [
                access_of(self.life(), AccessKind::Write),
                access_of(self.part(SHARES), AccessKind::Update),
            ],
        );
        self.strong.store(1, Release);
        order::release(self.life());
    }

    /// Adds a share if there are any.
    #[track_caller]
    pub(super) fn upgrade(&self) -> bool {
        let (life, shares) = (self.life(), self.part(SHARES));
        // It updates the life, or else reads it.
        let accesses = [
            access_of(life, AccessKind::Write),
            access_of(shares, AccessKind::Update),
        ];
        perform_observing(OperationKind::Upgrade, &[life], &accesses, |touch| {
            let old = self.strong.fetch_update(Acquire, Relaxed, |strong| {
                assert!(strong <= MOST, "Arc counter overflow");
                (strong != 0).then(|| strong + 1)
            });
            let touch = touch.relaxed();
            touch.update(shares);
            if old.is_ok() {
                touch.update(life);
                order::acquire(life);
            } else {
                touch.read(life);
                note(|| "no share is left".to_string());
            }
            old.is_ok()
        })
    }

    /// The accesses of an operation that drops the only share, if it is that.
    fn take_accesses(&self) -> [Access; 2] {
        [
            access_of(self.life(), AccessKind::Write),
            access_of(self.part(SHARES), AccessKind::Update),
        ]
    }

    /// Records that the only share is dropped, whose value the caller owns from now on.
    fn taken(&self, touch: Touch<'_>) {
        fence(Acquire);
        order::acquire(self.life());
        touch.relaxed().write(self.life());
        touch.relaxed().update(self.part(SHARES));
    }

    /// Records that there are other shares.
    fn refused(&self, touch: Touch<'_>) {
        touch.relaxed().read(self.life());
        touch.relaxed().update(self.part(SHARES));
        note(|| "there are other shares".to_string());
    }

    /// Drops the caller's share if it is the only one. Then the caller owns the value.
    #[track_caller]
    pub(super) fn take(&self) -> bool {
        let accesses = self.take_accesses();
        perform_observing(OperationKind::ArcUnwrap, &[self.life()], &accesses, |touch| {
            let taken = self.strong.compare_exchange(1, 0, Relaxed, Relaxed).is_ok();
            if taken {
                self.taken(touch);
            } else {
                self.refused(touch);
            }
            taken
        })
    }

    /// Drops the caller's share. If it was the only one, the caller owns the value.
    #[track_caller]
    pub(super) fn take_or_drop(&self) -> bool {
        let accesses = self.take_accesses();
        perform_observing(OperationKind::ArcUnwrap, &[self.life()], &accesses, |touch| {
            order::release(self.life());
            let last = self.strong.fetch_sub(1, Release) == 1;
            touch.relaxed().write(self.life());
            touch.relaxed().update(self.part(SHARES));
            if last {
                fence(Acquire);
                order::acquire(self.life());
            }
            last
        })
    }

    /// Whether the caller's share is the only one, and there is no weak pointer.
    #[track_caller]
    pub(super) fn is_unique(&self) -> bool {
        let (life, claims) = (self.life(), self.part(CLAIMS));
        let accesses = [life, claims].map(|location| access_of(location, AccessKind::Read));
        perform_observing(OperationKind::ArcUnique, &[life, claims], &accesses, |touch| {
            touch.relaxed().all();
            // The count is held, so that no weak pointer is made of a share that is gone when the shares are counted.
            let locked = self.weak.compare_exchange(1, LOCKED, Acquire, Relaxed).is_ok();
            let unique = locked && self.strong.load(Acquire) == 1;
            if unique {
                order::acquire(life);
                order::acquire(claims);
            }
            if locked {
                self.weak.store(1, Release);
            }
            note(|| unique.to_string());
            unique
        })
    }

    /// Whether nobody else has the object; takes the value if only weak pointers are left.
    #[track_caller]
    pub(super) fn make_unique(&self) -> Uniqueness {
        let (life, claims) = (self.life(), self.part(CLAIMS));
        let accesses = [
            access_of(life, AccessKind::Write),
            access_of(claims, AccessKind::Read),
            access_of(self.part(SHARES), AccessKind::Update),
        ];
        perform_observing(OperationKind::ArcUnique, &[life, claims], &accesses, |touch| {
            touch.relaxed().read(claims);
            if self.strong.compare_exchange(1, 0, Acquire, Relaxed).is_err() {
                self.refused(touch);
                return Uniqueness::Shared;
            }
            self.taken(touch);
            if self.weak.load(Relaxed) != 1 {
                return Uniqueness::Taken;
            }
            self.strong.store(1, Release);
            Uniqueness::Unique
        })
    }

    /// The number of shares.
    #[track_caller]
    pub(super) fn shares(&self) -> usize {
        let shares = self.part(SHARES);
        let accesses = [access_of(shares, AccessKind::Read)];
        perform_observing(OperationKind::ArcCount, &[shares], &accesses, |touch| {
            touch.relaxed().all();
            let number = self.strong.load(Relaxed);
            note(|| number.to_string());
            number
        })
    }

    /// The number of weak pointers, as long as there are shares.
    #[track_caller]
    pub(super) fn weaks(&self) -> usize {
        let weaks = self.part(WEAKS);
        let accesses = [access_of(weaks, AccessKind::Read)];
        perform_observing(OperationKind::WeakCount, &[weaks], &accesses, |touch| {
            touch.relaxed().all();
            let number = match self.weak.load(Relaxed) {
                LOCKED => 0,
                number => number - 1,
            };
            note(|| number.to_string());
            number
        })
    }

    /// The number of weak pointers, for one of them; 0 if no share is left.
    #[track_caller]
    pub(super) fn weaks_of_weak(&self) -> usize {
        let looked_at = [self.life(), self.part(WEAKS)];
        let accesses = looked_at.map(|location| access_of(location, AccessKind::Read));
        perform_observing(OperationKind::WeakCount, &looked_at, &accesses, |touch| {
            touch.relaxed().all();
            let number = self.weak.load(Acquire);
            let number = if self.strong.load(Relaxed) == 0 { 0 } else { number - 1 };
            note(|| number.to_string());
            number
        })
    }

    /// Adds a weak pointer to a share.
    #[track_caller]
    #[inline]
    pub(super) fn downgrade(&self) {
        self.weak_point();
        let mut old = self.weak.load(Relaxed);
        loop {
            if old == LOCKED {
                std::hint::spin_loop();
                old = self.weak.load(Relaxed);
                continue;
            }
            checked(old);
            match self.weak.compare_exchange_weak(old, old + 1, Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Adds a weak pointer to another one.
    #[track_caller]
    #[inline]
    pub(super) fn clone_weak(&self) {
        self.weak_point();
        checked(self.weak.fetch_add(1, Relaxed));
    }

    #[track_caller]
    #[inline]
    fn weak_point(&self) {
        ownership::point_if_observed(
            OperationKind::WeakClone,
            [access_of(self.part(WEAKS), AccessKind::Update)],
        );
    }

    /// Drops a weak pointer. If it was the last, the caller frees the memory, and keeps what is returned until it has.
    #[track_caller]
    #[inline]
    pub(super) fn drop_weak(&self) -> Option<Lent> {
        ownership::point_if_observed(
            OperationKind::WeakDrop,
            [
                access_of(self.part(CLAIMS), AccessKind::Update),
                access_of(self.part(WEAKS), AccessKind::Update),
            ],
        );
        self.drop_weak_of_shares()
    }

    /// Like [`Counts::drop_weak`], for the weak pointer of the shares, which nobody can count.
    #[inline]
    pub(super) fn drop_weak_of_shares(&self) -> Option<Lent> {
        order::release(self.part(CLAIMS));
        (self.weak.fetch_sub(1, Release) == 1).then(|| {
            fence(Acquire);
            order::last_share(self.part(CLAIMS))
        })
    }
}
