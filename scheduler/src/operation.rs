//! Operations as data: a thread's next operation, so that it can be judged without running it.

use crate::image::variables::value_of;
use dpor_explorer::{Access, AccessKind, Awaits, Guard, Location, SplitMix64, Values, Variable};
pub use dpor_protocol::OperationKind;
use std::time::Duration;

/// The location of an object, by its address.
pub fn location<T: ?Sized>(object: *const T) -> Location {
    Location(object.cast::<u8>().addr() as u64)
}

/// A part of an object that is accessed separately from the rest, such as one slot of a channel.
///
/// Parts whose numbers differ by a multiple of 65,536 share a location; that only makes steps dependent
/// that need not be.
pub fn sub_location(object: Location, part: u64) -> Location {
    // User space addresses have 47 bits.
    Location(object.0 ^ (part.wrapping_add(1) << 48))
}

/// The address of the object that the location is, or is a part of.
pub(crate) fn address_of(location: Location) -> usize {
    (location.0 & ((1 << 48) - 1)) as usize
}

/// The number of the part that the location belongs to, plus 1; 0 for a whole object.
pub(crate) fn part_of(location: Location) -> u64 {
    location.0 >> 48
}

/// A pending operation. It lives on the stack of the thread that is about to run it.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The object on which it operates.
    pub object: Location,
    /// The accesses that it would make if it ran now: all that [`Touch`](crate::Touch) can reach. They contain every
    /// location whose change can enable or disable one of its alternatives.
    pub accesses: &'a [Access],
    /// The guard of each alternative. An empty slice is a single alternative that is always enabled.
    pub alternatives: &'a [Guard],
    /// The alternative that is a timeout, and the time until it fires; [`NEVER`] for one that does not fire.
    pub timeout: Option<(u32, Duration)>,
}

impl Operation<'_> {
    /// The number, after those of all alternatives, under which a thread that waits in the operation lets time pass,
    /// where timeouts fire last.
    pub(crate) fn time_passes(&self) -> u32 {
        self.alternatives.len() as u32
    }
}

/// The number, of no alternative, that stands for a timeout for which no run of a program is long enough.
pub const NEVER: u32 = u32::MAX;

/// The duration above which a wait in a model never ends: a year, which no run of a program takes.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Maximum number of alternatives of [`Operation::choice`].
pub const MOST_CHOICES: usize = 1024;

/// The guards of alternatives that are always enabled.
static ALWAYS: [Guard; MOST_CHOICES] = [const { Guard::always() }; MOST_CHOICES];

impl Operation<'static> {
    /// An operation that touches nothing and has this number of alternatives, all of which are always enabled.
    ///
    /// # Panics
    /// If there are more than [`MOST_CHOICES`].
    pub fn choice(alternatives: usize) -> Self {
        Operation::guarded(OperationKind::Choose, Location(0), &[], &ALWAYS[..alternatives])
    }
}

impl<'a> Operation<'a> {
    /// An operation that never blocks.
    pub fn always(kind: OperationKind, object: Location, accesses: &'a [Access]) -> Self {
        Operation {
            kind,
            object,
            accesses,
            alternatives: &[],
            timeout: None,
        }
    }

    /// An operation that is enabled when one of the guards holds.
    pub fn guarded(kind: OperationKind, object: Location, accesses: &'a [Access], alternatives: &'a [Guard]) -> Self {
        Operation {
            kind,
            object,
            accesses,
            alternatives,
            timeout: None,
        }
    }

    /// Says whether an access of this kind was declared, or one of a kind that covers it.
    #[inline]
    pub(crate) fn declares(&self, location: Location, kind: AccessKind) -> bool {
        let covers = |declared: &Access| declared.location == location && declared.kind.join(kind) == declared.kind;
        self.accesses.iter().any(covers)
    }
}

/// An access, for [`Operation::accesses`].
pub fn access_of(location: Location, kind: AccessKind) -> Access {
    Access {
        location,
        kind,
        awaits: Awaits::Nothing,
    }
}

/// The access of an operation that is enabled only after something was done to the location, in every execution.
pub fn awaiting(location: Location, kind: AccessKind, awaits: Awaits) -> Access {
    Access { location, kind, awaits }
}

/// What a status depends on: variables, as a set that may hold more than was put into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variables(u64);

impl Variables {
    /// The bit that is in every set of changes. No variable has it.
    const ALWAYS: u64 = 1 << 63;

    /// Nothing.
    pub const NONE: Variables = Variables(0);
    /// More than variables, so that it may have changed at any time.
    pub const AND_MORE: Variables = Variables(u64::MAX);

    /// Adds a variable.
    #[inline]
    pub fn add(&mut self, variable: Variable) {
        self.0 |= 1 << ((variable.0.wrapping_mul(SplitMix64::GAMMA) >> 32) % 63);
    }

    /// Whether something in the set may be among these changes.
    #[inline]
    pub fn may_be_among(self, changes: Variables) -> bool {
        self.0 & (changes.0 | Self::ALWAYS) != 0
    }
}

impl Default for Variables {
    fn default() -> Variables {
        Variables::NONE
    }
}

/// Evaluates a guard in the present state, reading each variable where it lives.
pub(crate) fn holds_now(guard: &Guard) -> bool {
    guard.holds(|condition| condition.holds_for(value_of).unwrap_or(false))
}

/// Adds the present values of the guards' variables.
pub(crate) fn add_values_now(guards: &[Guard], values: &mut Values) {
    for variable in guards.iter().flat_map(Guard::variables) {
        if !values.iter().any(|(known, _)| *known == variable) {
            values.push((variable, value_of(variable)));
        }
    }
}
