//! Programs of the model: what actors do, and how that is printed.

use std::fmt;

/// One action of an actor. Mailboxes and mutexes are named by their index; a communication by the handle, the actor's
/// own, that was given when it was posted.
///
/// All actions are total: what was never posted or requested is never done and never owned, to request a mutex again or
/// to unlock one that was not requested does nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// `AsyncSend`: posts a send to the mailbox.
    Send {
        /// The mailbox.
        mailbox: usize,
        /// The value sent.
        value: i64,
        /// Names the communication.
        handle: usize,
    },
    /// `AsyncReceive`: posts a receive to the mailbox.
    Receive {
        /// The mailbox.
        mailbox: usize,
        /// Names the communication.
        handle: usize,
    },
    /// Says whether one of the communications is done, but not which; if none is, the next `otherwise_skip` actions are
    /// left out.
    TestAny {
        /// The communications' handles.
        handles: Vec<usize>,
        /// Number of actions to skip if none is done.
        otherwise_skip: usize,
    },
    /// Waits until one of the communications is done.
    WaitAny {
        /// The communications' handles.
        handles: Vec<usize>,
    },
    /// `AsyncMutexLock`: requests the mutex.
    Lock(usize),
    /// `MutexUnlock`: gives up the mutex, or the request.
    Unlock(usize),
    /// Says whether the actor owns one of the mutexes; if none, the next `otherwise_skip` actions are left out.
    MutexTest {
        /// The mutexes.
        mutexes: Vec<usize>,
        /// Number of actions to skip if none is owned.
        otherwise_skip: usize,
    },
    /// Waits until the actor owns one of the mutexes.
    MutexWait {
        /// The mutexes.
        mutexes: Vec<usize>,
    },
    /// `LocalComp`: leaves out the next `otherwise_skip` actions unless the actor has received this value last.
    Compare {
        /// The value.
        value: i64,
        /// Number of actions to skip otherwise.
        otherwise_skip: usize,
    },
}

impl Action {
    /// A `LocalComp` on which nothing depends.
    pub const LOCAL: Action = Action::Compare {
        value: 0,
        otherwise_skip: 0,
    };

    /// Waits for one communication.
    pub fn wait(handle: usize) -> Action {
        Action::WaitAny { handles: vec![handle] }
    }

    /// Whether this is a communication action.
    pub fn communicates(&self) -> bool {
        use Action::*;
        matches!(self, Send { .. } | Receive { .. } | TestAny { .. } | WaitAny { .. })
    }

    /// Whether this is a synchronization action.
    pub fn synchronizes(&self) -> bool {
        use Action::*;
        matches!(self, Lock(_) | Unlock(_) | MutexTest { .. } | MutexWait { .. })
    }
}

/// The actions of each actor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The actors' actions.
    pub actors: Vec<Vec<Action>>,
    /// The number of mailboxes.
    pub mailboxes: usize,
    /// The number of mutexes.
    pub mutexes: usize,
    /// Maximum number of handles of an actor.
    pub handles: usize,
}

impl Program {
    /// The program of these actors, with the objects that they name.
    pub fn new(actors: Vec<Vec<Action>>) -> Program {
        let (mut mailboxes, mut mutexes, mut handles) = (0, 0, 0);
        for action in actors.iter().flatten() {
            let mut posts = |mailbox, handle| {
                mailboxes = mailboxes.max(mailbox + 1);
                handles = handles.max(handle + 1);
            };
            match action {
                Action::Send { mailbox, handle, .. } | Action::Receive { mailbox, handle } => posts(*mailbox, *handle),
                Action::TestAny { handles: used, .. } | Action::WaitAny { handles: used } => {
                    handles = used.iter().fold(handles, |most, handle| most.max(handle + 1));
                }
                Action::Lock(mutex) | Action::Unlock(mutex) => mutexes = mutexes.max(mutex + 1),
                Action::MutexTest { mutexes: used, .. } | Action::MutexWait { mutexes: used } => {
                    mutexes = used.iter().fold(mutexes, |most, mutex| most.max(mutex + 1));
                }
                Action::Compare { .. } => {}
            }
        }
        Program {
            actors,
            mailboxes,
            mutexes,
            handles,
        }
    }

    /// The program without one action.
    pub fn without(&self, actor: usize, index: usize) -> Program {
        let mut program = self.clone();
        program.actors[actor].remove(index);
        program
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Send { mailbox, value, handle } => write!(f, "c{handle} = AsyncSend(m{mailbox}, {value})"),
            Action::Receive { mailbox, handle } => write!(f, "c{handle} = AsyncReceive(m{mailbox})"),
            Action::TestAny {
                handles,
                otherwise_skip,
            } => write!(f, "TestAny(c{handles:?}) else skip {otherwise_skip}"),
            Action::WaitAny { handles } => write!(f, "WaitAny(c{handles:?})"),
            Action::Lock(mutex) => write!(f, "AsyncMutexLock(l{mutex})"),
            Action::Unlock(mutex) => write!(f, "MutexUnlock(l{mutex})"),
            Action::MutexTest {
                mutexes,
                otherwise_skip,
            } => write!(f, "MutexTest(l{mutexes:?}) else skip {otherwise_skip}"),
            Action::MutexWait { mutexes } => write!(f, "MutexWait(l{mutexes:?})"),
            Action::Compare { value, otherwise_skip } => {
                write!(f, "LocalComp(received == {value} else skip {otherwise_skip})")
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, actions) in self.actors.iter().enumerate() {
            write!(f, "actor {number}:")?;
            for action in actions {
                write!(f, " {action};")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
