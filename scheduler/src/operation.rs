//! Operations as data: a thread's next operation, so that it can be judged without running it.

use crate::image::variables::value_of;
use dpor_explorer::{Access, AccessKind, Awaits, Guard, Location, SplitMix64, Values, Variable};
use std::fmt;
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

/// The number of the part that the location belongs to, plus 1; 0 for a whole object.
pub(crate) fn part_of(location: Location) -> u64 {
    location.0 >> 48
}

macro_rules! operation_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The kind of an operation, for reports and to notice that a program has changed.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum OperationKind {
            $($(#[$doc])* #[doc = concat!("`", $name, "`")] $kind,)*
        }

        impl OperationKind {
            const ALL: &[OperationKind] = &[$(OperationKind::$kind,)*];

            /// The kind with this code, if there is one.
            pub fn from_code(code: u8) -> Option<OperationKind> {
                Self::ALL.get(usize::from(code)).copied()
            }

            /// A short, readable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(OperationKind::$kind => $name,)*
                }
            }
        }
    };
}

operation_kinds! {
    Start = "start",
    Load = "load",
    Store = "store",
    Swap = "swap",
    CompareExchange = "compare-exchange",
    Rmw = "read-modify-write",
    Fence = "fence",
    Lock = "lock",
    TryLock = "try-lock",
    Unlock = "unlock",
    ReadLock = "read-lock",
    TryReadLock = "try-read-lock",
    ReadUnlock = "read-unlock",
    WriteLock = "write-lock",
    TryWriteLock = "try-write-lock",
    WriteUnlock = "write-unlock",
    Downgrade = "downgrade",
    CondvarWait = "condvar-wait",
    CondvarWake = "condvar-wake",
    NotifyOne = "notify-one",
    NotifyAll = "notify-all",
    OnceBegin = "once-begin",
    OnceEnd = "once-end",
    OnceWait = "once-wait",
    OnceQuery = "once-query",
    BarrierWait = "barrier-wait",
    BarrierWake = "barrier-wake",
    Send = "send",
    TrySend = "try-send",
    Recv = "recv",
    TryRecv = "try-recv",
    RecvTimeout = "recv-timeout",
    DropSender = "drop-sender",
    DropReceiver = "drop-receiver",
    CloneSender = "clone-sender",
    Join = "join",
    IsFinished = "is-finished",
    Park = "park",
    ParkTimeout = "park-timeout",
    Unpark = "unpark",
    PoisonQuery = "is-poisoned",
    PoisonClear = "clear-poison",
    Yield = "yield",
    SpinLoop = "spin-loop",
    Exit = "exit",
    FutexWait = "futex-wait",
    FutexWake = "futex-wake",
    Detach = "detach",
    ScopeExit = "scope-exit",
    ArcClone = "clone-arc",
    ArcDrop = "drop-arc",
    ArcCount = "count-arcs",
    ArcUnique = "is-unique",
    ArcUnwrap = "unwrap-arc",
    ArcInit = "init-arc",
    WeakClone = "clone-weak",
    WeakDrop = "drop-weak",
    WeakCount = "count-weaks",
    Upgrade = "upgrade",
    Choose = "choose",
    FutexWoken = "futex-woken",
    FutexRequeue = "futex-requeue",
    SemaphoreWait = "semaphore-wait",
    SemaphoreTryWait = "semaphore-try-wait",
    SemaphorePost = "semaphore-post",
    SemaphoreQuery = "semaphore-query",
    SendMessage = "send-message",
    ProcessMessage = "process-message",
    ProcessRefused = "process-refused",
    EndTurn = "end-turn",
    AwaitTurn = "await",
    Look = "look",
    Settle = "settle",
    Answer = "answer",
    AwaitAnswer = "await-answer",
    TryAnswer = "try-answer",
    AsyncSend = "async-send",
    AsyncReceive = "async-receive",
    TestAny = "test",
    WaitAny = "wait",
    TakeMessage = "take-message",
    RequestLock = "request-lock",
    WithdrawRequest = "withdraw-request",
    Sleep = "sleep",
    EnterWait = "enter-wait",
    LookInWait = "look-in-wait",
    RecvWait = "recv-wait",
    SendWait = "send-wait",
    NotifyChannel = "notify-channel",
    WakeThread = "wake-thread",
    LeaveScope = "leave-scope",
    LookAtScope = "look-at-scope",
    ScopeWait = "scope-wait",
}

impl OperationKind {
    /// Whether an operation of this kind is one scheduling point in every exploration. Others become scheduling points
    /// only where exploration finds that they have to, or are several if there are more waiters than were known.
    pub(crate) fn is_always_point(self) -> bool {
        use OperationKind::*;
        let atomic = matches!(self, Load | Store | Swap | CompareExchange | Rmw);
        let lock = matches!(self, Lock | TryLock | ReadLock | TryReadLock | WriteLock | TryWriteLock);
        let wait = matches!(
            self,
            CondvarWait | CondvarWake | BarrierWait | BarrierWake | Park | Unpark
        );
        let channel = matches!(self, Send | TrySend | Recv | TryRecv | RecvTimeout);
        atomic || lock || wait || channel
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A pending operation. It lives on the stack of the thread that is about to run it.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The object on which it operates.
    pub object: Location,
    /// The accesses that it would make if it ran now. They contain every location whose change can enable or disable
    /// one of its alternatives.
    pub accesses: &'a [Access],
    /// The guard of each alternative. An empty slice is a single alternative that is always enabled.
    pub alternatives: &'a [Guard],
    /// The alternative that is a timeout, and the time that it takes off model threads; [`NEVER`] for one that does not
    /// fire.
    pub timeout: Option<(u32, Duration)>,
}

/// The number, of no alternative, that stands for a timeout for which no run of a program is long enough.
pub const NEVER: u32 = u32::MAX;

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
