//! The kinds of operations.

use std::fmt;

/// What is passed from one step to another: the later step reads, receives, or is woken by what the earlier one has
/// done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The value of an atomic.
    Value,
    /// A message of a channel.
    Message,
    /// A notification of a condition variable.
    Notification,
    /// The token of a thread that is parked.
    Token,
    /// A unit of a semaphore.
    Unit,
    /// A wake-up of a futex.
    WakeUp,
}

/// What a thread that is blocked in an operation waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// That another thread gives the object back. A thread that would wait like this, although no thread holds the
    /// object, is held back because it repeats itself.
    Holder,
    /// The end of other threads.
    End,
    /// A notification of a condition variable.
    Notification,
    /// The token of its own thread.
    Token,
    /// That token, or time to pass.
    TokenOrTime,
    /// Time to pass.
    Time,
    /// A message.
    Message,
    /// A message, or time to pass.
    MessageOrTime,
    /// A receiver, or room in a queue.
    Receiver,
    /// Something for which reports have no words but the operation's name.
    Other,
}

/// The words of reports for a step: the template into which its object, its value and its effect are put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phrase {
    /// The operation, the object, and the effect.
    Operation,
    /// The operation without its object, and the effect.
    Bare,
    /// The operation, the object, its value, and the effect.
    WithValue,
    /// The object, and its value or the change of it.
    Access,
    /// The attempt to take a lock, and whether it has succeeded.
    Attempt,
    /// The begin of a wait on a condition variable, and the locks given back.
    WaitOn,
    /// The end of such a wait.
    Woken,
    /// The threads that a notification wakes.
    Notify,
    /// The message, and the channel to which it is sent.
    Send,
    /// The message that is received.
    Receive,
    /// The message, the mailbox to which it is sent, and whether it has met its receive.
    SendAsync,
    /// The message, the mailbox from which it is received, and whether it has met its send.
    ReceiveAsync,
    /// The thread that has ended, or all threads of a scope.
    Join,
    /// The object that is looked at, and what was seen.
    Look,
    /// The end of a wait for something of the object.
    Unparked,
    /// The thread that is unparked.
    Unpark,
    /// Words that say all of it.
    Fixed(&'static str),
}

/// A row of the table: what holds of all operations of a kind.
struct Row {
    name: &'static str,
    object: &'static str,
    is_point: bool,
    acquires: bool,
    releases: bool,
    gives_way: bool,
    waits: Option<Wait>,
    takes: Option<Flow>,
    gives: Option<Flow>,
    phrase: Phrase,
    plain: &'static str,
    otherwise: &'static str,
}

/// A row with this name, of operations on an object that has a name of this class in reports; `""` for none.
const fn row(name: &'static str, object: &'static str) -> Row {
    Row {
        name,
        object,
        is_point: false,
        acquires: false,
        releases: false,
        gives_way: false,
        waits: None,
        takes: None,
        gives: None,
        phrase: Phrase::Operation,
        plain: name,
        otherwise: "the step ends in another way",
    }
}

impl Row {
    /// It is one scheduling point in every exploration.
    const fn point(self) -> Row {
        Row { is_point: true, ..self }
    }

    /// It takes a lock that others wait for.
    const fn acquires(self) -> Row {
        Row { acquires: true, ..self }
    }

    /// It gives a lock back.
    const fn releases(self) -> Row {
        Row { releases: true, ..self }
    }

    /// It lets other threads go first.
    const fn gives_way(self) -> Row {
        Row {
            gives_way: true,
            ..self
        }
    }

    /// It can block.
    const fn waits(self, wait: Wait) -> Row {
        Row {
            waits: Some(wait),
            ..self
        }
    }

    /// What it takes that an earlier step has given.
    const fn takes(self, flow: Flow) -> Row {
        Row {
            takes: Some(flow),
            ..self
        }
    }

    /// What it gives that a later step takes.
    const fn gives(self, flow: Flow) -> Row {
        Row {
            gives: Some(flow),
            ..self
        }
    }

    /// The words for a step.
    const fn told(self, phrase: Phrase) -> Row {
        Row { phrase, ..self }
    }

    /// The name where nothing else explains it.
    const fn plain(self, plain: &'static str) -> Row {
        Row { plain, ..self }
    }

    /// The effect of another alternative.
    const fn otherwise(self, otherwise: &'static str) -> Row {
        Row { otherwise, ..self }
    }
}

macro_rules! operation_kinds {
    ($($code:literal $kind:ident = row($name:literal, $object:literal) $(.$property:ident($($value:expr)?))*;)*) => {
        /// The kind of an operation. Its number is its code in seeds.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum OperationKind {
            $(#[doc = concat!("`", $name, "`")] $kind = $code,)*
        }

        impl OperationKind {
            /// All kinds, in the order of their codes.
            pub const ALL: &[OperationKind] = &[$(OperationKind::$kind,)*];

            #[inline]
            const fn row(self) -> &'static Row {
                match self {
                    $(OperationKind::$kind => const { &row($name, $object)$(.$property($($value)?))* },)*
                }
            }
        }
    };
}

use Phrase::*;
use Wait::*;

// A new kind gets the next code. Code 6 belonged to a fence, of which there are none.
operation_kinds! {
    0 Start = row("start", "");
    // In stand-ins for other libraries, a load can also be a change.
    1 Load = row("load", "atomic").point().takes(Flow::Value).gives(Flow::Value).told(Access);
    2 Store = row("store", "atomic").point().gives(Flow::Value).told(Access);
    3 Swap = row("swap", "atomic").point().takes(Flow::Value).gives(Flow::Value).told(Access);
    4 CompareExchange = row("compare-exchange", "atomic").point().takes(Flow::Value).gives(Flow::Value).told(Access);
    5 Rmw = row("read-modify-write", "atomic").point().takes(Flow::Value).gives(Flow::Value).told(Access)
        .plain("update");
    7 Lock = row("lock", "mutex").point().acquires().waits(Holder).told(WithValue);
    8 TryLock = row("try-lock", "mutex").point().acquires().told(Attempt);
    9 Unlock = row("unlock", "mutex").releases();
    10 ReadLock = row("read-lock", "rwlock").point().acquires().waits(Holder).told(WithValue);
    11 TryReadLock = row("try-read-lock", "rwlock").point().acquires().told(WithValue);
    12 ReadUnlock = row("read-unlock", "rwlock").releases();
    13 WriteLock = row("write-lock", "rwlock").point().acquires().waits(Holder).told(WithValue);
    14 TryWriteLock = row("try-write-lock", "rwlock").point().acquires().told(WithValue);
    15 WriteUnlock = row("write-unlock", "rwlock").releases();
    16 Downgrade = row("downgrade", "rwlock");
    17 CondvarWait = row("condvar-wait", "condvar").point().told(WaitOn).plain("wait");
    18 CondvarWake = row("condvar-wake", "condvar").point().waits(Notification).takes(Flow::Notification).told(Woken)
        .plain("wake-up");
    19 NotifyOne = row("notify-one", "condvar").gives(Flow::Notification).told(Notify)
        .otherwise("another thread is woken");
    20 NotifyAll = row("notify-all", "condvar").gives(Flow::Notification).told(Notify);
    21 OnceBegin = row("once-begin", "once").waits(Other).told(WithValue);
    22 OnceEnd = row("once-end", "once").told(WithValue);
    23 OnceWait = row("once-wait", "once").waits(Other).told(WithValue);
    24 OnceQuery = row("once-query", "once").told(WithValue);
    25 BarrierWait = row("barrier-wait", "barrier").point();
    26 BarrierWake = row("barrier-wake", "barrier").point().waits(Other);
    27 Send = row("send", "channel").point().waits(Receiver).gives(Flow::Message).told(Send);
    28 TrySend = row("try-send", "channel").point().gives(Flow::Message).told(Send);
    29 Recv = row("recv", "channel").point().waits(Message).takes(Flow::Message).told(Receive);
    30 TryRecv = row("try-recv", "channel").point().takes(Flow::Message).told(Receive);
    31 RecvTimeout = row("recv-timeout", "channel").point().waits(MessageOrTime).takes(Flow::Message).told(Receive);
    32 DropSender = row("drop-sender", "channel");
    33 DropReceiver = row("drop-receiver", "channel");
    34 CloneSender = row("clone-sender", "channel");
    35 Join = row("join", "thread").waits(End).told(Join);
    36 IsFinished = row("is-finished", "thread");
    37 Park = row("park", "thread").point().waits(Token).takes(Flow::Token).told(Bare);
    38 ParkTimeout = row("park-timeout", "thread").waits(TokenOrTime).takes(Flow::Token).told(Bare);
    39 Unpark = row("unpark", "thread").point().gives(Flow::Token);
    40 PoisonQuery = row("is-poisoned", "lock");
    41 PoisonClear = row("clear-poison", "lock");
    42 Yield = row("yield", "").gives_way();
    43 SpinLoop = row("spin-loop", "").gives_way();
    44 Exit = row("exit", "thread");
    45 FutexWait = row("futex-wait", "futex");
    46 FutexWake = row("futex-wake", "futex").gives(Flow::WakeUp);
    47 Detach = row("detach", "");
    48 ScopeExit = row("scope-exit", "");
    49 ArcClone = row("clone-arc", "");
    50 ArcDrop = row("drop-arc", "");
    51 ArcCount = row("count-arcs", "");
    52 ArcUnique = row("is-unique", "");
    53 ArcUnwrap = row("unwrap-arc", "");
    54 ArcInit = row("init-arc", "");
    55 WeakClone = row("clone-weak", "");
    56 WeakDrop = row("drop-weak", "");
    57 WeakCount = row("count-weaks", "");
    58 Upgrade = row("upgrade", "");
    59 Choose = row("choose", "").otherwise("another value is chosen");
    60 FutexWoken = row("futex-woken", "futex").waits(Other).takes(Flow::WakeUp);
    61 FutexRequeue = row("futex-requeue", "futex").gives(Flow::WakeUp);
    62 SemaphoreWait = row("semaphore-wait", "semaphore").waits(Other).takes(Flow::Unit);
    63 SemaphoreTryWait = row("semaphore-try-wait", "semaphore").takes(Flow::Unit);
    64 SemaphorePost = row("semaphore-post", "semaphore").gives(Flow::Unit);
    65 SemaphoreQuery = row("semaphore-query", "semaphore");
    66 SendMessage = row("send-message", "");
    67 ProcessMessage = row("process-message", "actor").waits(Other);
    68 ProcessRefused = row("process-refused", "actor").waits(Other);
    69 EndTurn = row("end-turn", "");
    70 AwaitTurn = row("await", "actor").waits(Other);
    71 Look = row("look", "actor").waits(Other);
    72 Settle = row("settle", "").waits(Other);
    73 Answer = row("answer", "answer");
    74 AwaitAnswer = row("await-answer", "answer").waits(Other);
    75 TryAnswer = row("try-answer", "answer");
    76 AsyncSend = row("async-send", "mailbox").told(SendAsync);
    77 AsyncReceive = row("async-receive", "mailbox").told(ReceiveAsync);
    // The handle of what is known from where it was sent, received, or requested.
    78 TestAny = row("test", "handle");
    79 WaitAny = row("wait", "handle").waits(Other);
    80 TakeMessage = row("take-message", "");
    81 RequestLock = row("request-lock", "mutex");
    82 WithdrawRequest = row("withdraw-request", "mutex");
    83 Sleep = row("sleep", "").waits(Time);
    // The parts of std's waits in channels and scopes, which use the thread's park token.
    84 EnterWait = row("enter-wait", "channel").told(Look);
    85 LookInWait = row("look-in-wait", "channel").told(Look);
    86 RecvWait = row("recv-wait", "channel").waits(Message).takes(Flow::Token).told(Unparked);
    87 SendWait = row("send-wait", "channel").waits(Receiver).takes(Flow::Token).told(Unparked);
    88 NotifyChannel = row("notify-channel", "channel");
    89 WakeThread = row("wake-thread", "thread").gives(Flow::Token).told(Unpark);
    90 LeaveScope = row("leave-scope", "").told(Fixed("leave the scope"));
    91 LookAtScope = row("look-at-scope", "scope").told(Fixed("look at the scope"));
    92 ScopeWait = row("scope-wait", "scope").waits(End).takes(Flow::Token).told(Fixed("unparked in the scope"));
    // Of no thread's own: one that waits with a timeout stands for the clock.
    93 TimePasses = row("time-passes", "").gives_way().told(Bare);
    94 IsLocked = row("is-locked", "mutex").told(Look);
    // A reader that may become the writer, and a writer that keeps new readers out while it waits for those within.
    95 UpgradableLock = row("upgradable-lock", "rwlock").point().acquires().waits(Holder);
    96 TryUpgradableLock = row("try-upgradable-lock", "rwlock").point().acquires().told(Attempt);
    97 UpgradableUnlock = row("upgradable-unlock", "rwlock").releases();
    98 UpgradeLock = row("upgrade-lock", "rwlock").point();
    99 TryUpgradeLock = row("try-upgrade-lock", "rwlock").point();
    100 AwaitReaders = row("await-readers", "rwlock").point().acquires().waits(Holder);
    101 IsRwLocked = row("is-rwlocked", "rwlock").told(Look).plain("is-locked");
    // Calls of the system on descriptors that are the model's own.
    102 ReadDescriptor = row("read-descriptor", "descriptor").waits(Other).takes(Flow::WakeUp).plain("read");
    103 WriteDescriptor = row("write-descriptor", "descriptor").waits(Other).gives(Flow::WakeUp).plain("write");
    104 ControlDescriptor = row("control-descriptor", "descriptor");
    105 CloseDescriptor = row("close-descriptor", "descriptor").gives(Flow::WakeUp).plain("close");
    106 PollDescriptors = row("poll-descriptors", "").waits(Other).takes(Flow::WakeUp).plain("poll");
    107 EpollControl = row("epoll-control", "epoll").gives(Flow::WakeUp);
    // The first step of a wait: which descriptors are watched.
    108 EpollLook = row("epoll-look", "epoll");
    109 EpollWait = row("epoll-wait", "epoll").waits(Other).takes(Flow::WakeUp);
}

impl OperationKind {
    /// The kind with this code, if there is one.
    pub fn from_code(code: u8) -> Option<OperationKind> {
        let at = Self::ALL.binary_search_by_key(&code, |kind| *kind as u8);
        at.ok().map(|at| Self::ALL[at])
    }

    /// The kind with this name, if there is one: a message may be from another version.
    pub fn named(name: &str) -> Option<OperationKind> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// A short, readable name.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The class in the names of the objects of these operations, such as `mutex`; empty if reports name no object.
    pub const fn object(self) -> &'static str {
        self.row().object
    }

    /// Whether an operation of this kind is one scheduling point in every exploration. Others become scheduling points
    /// only where exploration finds that they have to, or are several if there are more waiters than were known.
    #[inline]
    pub const fn is_always_point(self) -> bool {
        self.row().is_point
    }

    /// Whether it reads or writes an atomic.
    pub fn is_atomic(self) -> bool {
        self.row().gives == Some(Flow::Value)
    }

    /// Whether it takes a lock, or tries to.
    #[inline]
    pub const fn acquires(self) -> bool {
        self.row().acquires
    }

    /// Whether it gives back a lock.
    #[inline]
    pub const fn releases(self) -> bool {
        self.row().releases
    }

    /// Whether it only lets other threads go first.
    #[inline]
    pub const fn gives_way(self) -> bool {
        self.row().gives_way
    }

    /// What a thread waits for that is blocked in it; `None` if it never blocks.
    pub const fn waits_for(self) -> Option<Wait> {
        self.row().waits
    }

    /// What it gives to later steps.
    pub const fn gives(self) -> Option<Flow> {
        self.row().gives
    }

    /// Whether a step of this kind can read from, receive from, or be woken by a step of kind `writer`.
    pub fn takes_from(self, writer: OperationKind) -> bool {
        self.row().takes.is_some() && self.row().takes == writer.row().gives
    }

    /// The template for the words about a step.
    pub const fn phrase(self) -> Phrase {
        self.row().phrase
    }

    /// The name where nothing else explains it.
    pub const fn plain_name(self) -> &'static str {
        self.row().plain
    }

    /// The effect of another alternative of the same operation, in words.
    pub const fn otherwise(self) -> &'static str {
        self.row().otherwise
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_kind_has_a_name_and_words() {
        let names: HashSet<_> = OperationKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), OperationKind::ALL.len());
        for &kind in OperationKind::ALL {
            let of_name = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(!kind.name().is_empty() && kind.name().chars().all(of_name), "{kind}");
            assert!(!kind.plain_name().is_empty() && !kind.otherwise().is_empty(), "{kind}");
            assert!(kind.waits_for() != Some(Wait::Holder) || kind.acquires(), "{kind}");
            assert_eq!(OperationKind::named(kind.name()), Some(kind));
            assert_eq!(OperationKind::from_code(kind as u8), Some(kind));
        }
    }

    #[test]
    fn what_no_row_has_is_no_kind() {
        assert_eq!(OperationKind::named("fence"), None);
        assert_eq!(OperationKind::named(""), None);
        assert_eq!(OperationKind::from_code(6), None);
        assert_eq!(OperationKind::from_code(u8::MAX), None);
    }

    #[test]
    fn codes_stay_as_they_are_in_seeds() {
        let all = "\
            start load store swap compare-exchange read-modify-write - lock try-lock unlock read-lock \
            try-read-lock read-unlock write-lock try-write-lock write-unlock downgrade condvar-wait condvar-wake \
            notify-one notify-all once-begin once-end once-wait once-query barrier-wait barrier-wake send \
            try-send recv try-recv recv-timeout drop-sender drop-receiver clone-sender join is-finished park \
            park-timeout unpark is-poisoned clear-poison yield spin-loop exit futex-wait futex-wake detach \
            scope-exit clone-arc drop-arc count-arcs is-unique unwrap-arc init-arc clone-weak drop-weak \
            count-weaks upgrade choose futex-woken futex-requeue semaphore-wait semaphore-try-wait \
            semaphore-post semaphore-query send-message process-message process-refused end-turn await look \
            settle answer await-answer try-answer async-send async-receive test wait take-message request-lock \
            withdraw-request sleep enter-wait look-in-wait recv-wait send-wait notify-channel wake-thread \
            leave-scope look-at-scope scope-wait time-passes is-locked upgradable-lock try-upgradable-lock \
            upgradable-unlock upgrade-lock try-upgrade-lock await-readers is-rwlocked read-descriptor \
            write-descriptor control-descriptor close-descriptor poll-descriptors epoll-control epoll-look epoll-wait";
        let all: Vec<_> = all.split(' ').collect();
        assert_eq!(OperationKind::ALL.len(), all.len() - 1);
        for (code, name) in (0u8..).zip(all) {
            let kind = OperationKind::from_code(code);
            assert_eq!(kind.map_or("-", OperationKind::name), name, "{code}");
        }
    }

    #[test]
    fn what_is_taken_is_what_was_given() {
        use OperationKind as K;
        assert!(K::Load.takes_from(K::Store) && !K::Store.takes_from(K::Store));
        assert!(K::RecvTimeout.takes_from(K::TrySend) && !K::Recv.takes_from(K::Recv));
        assert!(K::RecvWait.takes_from(K::WakeThread) && K::FutexWoken.takes_from(K::FutexRequeue));
        assert!(!K::Start.takes_from(K::Start));
    }
}
