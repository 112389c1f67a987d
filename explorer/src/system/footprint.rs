//! Footprints: what a step touched, and when two steps are dependent.

use smallvec::SmallVec;

/// A shared location of the explored program. Locations may be finer than objects (one slot of a channel, say); the
/// system chooses them, and must give the same location the same number in every execution that reaches it in the same
/// way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location(pub u64);

crate::codec!(struct Location { 0 });

/// How a step touched a location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// The step's behaviour depends on the location, which it does not change.
    Read,
    /// The step changes the location without observing it, in a way that commutes with every other
    /// `Update` (a reference count, a number of readers).
    Update,
    /// The step may observe and may change the location.
    Write,
}

crate::codec!(enum AccessKind { 0 => Read, 1 => Update, 2 => Write });

/// One access of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The location.
    pub location: Location,
    /// How the step touched it.
    pub kind: AccessKind,
    /// What must have been done to the location before, in every execution.
    pub awaits: Awaits,
}

crate::codec!(struct Access { location, kind, awaits });

/// Which writes of a location a step waits for, so that no other order of them is possible. Knowing it saves work where
/// an exploration is cut; [`Awaits::Nothing`] is always right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Awaits {
    /// The step can come at any time, as far as the location is concerned.
    #[default]
    Nothing,
    /// The step comes after the first write of the location: a receiver waits for the message to be sent.
    FirstWrite,
    /// The step only reads, and comes after all writes and updates of the location, whichever threads make them: who
    /// waits for a message does not care who sends it.
    LastWrite,
    /// The step only reads, and comes after all writes of the location by other threads, which are the same threads in
    /// all executions: a join waits for the thread to end.
    AllWrites,
}

crate::codec!(enum Awaits { 0 => Nothing, 1 => FirstWrite, 2 => AllWrites, 3 => LastWrite });

impl AccessKind {
    /// Two accesses of one location are dependent if they are not both reads and not both updates.
    #[inline]
    pub fn conflicts_with(self, other: AccessKind) -> bool {
        !matches!(
            (self, other),
            (AccessKind::Read, AccessKind::Read) | (AccessKind::Update, AccessKind::Update)
        )
    }

    /// The weakest kind that conflicts with everything that either of the two conflicts with.
    pub fn join(self, other: AccessKind) -> AccessKind {
        if self == other { self } else { AccessKind::Write }
    }
}

/// The set of accesses of a step, at most one for each location.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Footprint {
    accesses: SmallVec<[Access; 3]>,
}

crate::codec!(struct Footprint { accesses });

impl Clone for Footprint {
    fn clone(&self) -> Self {
        Footprint {
            // `SmallVec::clone` copies element by element.
            accesses: SmallVec::from_slice(&self.accesses),
        }
    }
}

impl Footprint {
    /// The footprint that touches nothing.
    pub fn new() -> Self {
        Footprint {
            accesses: SmallVec::new(),
        }
    }

    /// Adds an access; two accesses of one location become the one that covers both.
    #[inline]
    pub fn add(&mut self, location: Location, kind: AccessKind) {
        self.insert(Access {
            location,
            kind,
            awaits: Awaits::Nothing,
        });
    }

    /// Adds an access, as [`Footprint::add`] does.
    #[inline]
    pub fn insert(&mut self, new: Access) {
        match self.accesses.iter_mut().find(|a| a.location == new.location) {
            Some(access) => {
                access.kind = access.kind.join(new.kind);
                if access.awaits != new.awaits {
                    access.awaits = Awaits::Nothing;
                }
            }
            None => self.accesses.push(new),
        }
    }

    /// Makes the access of a location one that is independent of others which are made in the same way.
    #[inline]
    pub fn make_update(&mut self, location: Location) {
        let access = self.accesses.iter_mut().find(|access| access.location == location);
        if let Some(access) = access {
            access.kind = AccessKind::Update;
        }
    }

    /// Says whether another access fits without an allocation.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.accesses.len() < self.accesses.capacity()
    }

    /// The accesses, in the order in which their locations were first touched.
    #[inline]
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Removes every access.
    #[inline]
    pub fn clear(&mut self) {
        self.accesses.clear();
    }

    /// Says whether two steps of different threads with these footprints are dependent.
    #[inline]
    pub fn conflicts_with(&self, other: &Footprint) -> bool {
        self.accesses.iter().any(|a| {
            other
                .accesses
                .iter()
                .any(|b| a.location == b.location && a.kind.conflicts_with(b.kind))
        })
    }
}

impl FromIterator<(Location, AccessKind)> for Footprint {
    fn from_iter<I: IntoIterator<Item = (Location, AccessKind)>>(accesses: I) -> Self {
        let mut footprint = Footprint::new();
        for (location, kind) in accesses {
            footprint.add(location, kind);
        }
        footprint
    }
}
