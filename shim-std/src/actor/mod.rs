//! Actors: states that change only by messages, one message at a time, in any order.
//!
//! The model is that of the actor programs of Tasharofi et al., *TransDPOR: A Novel Dynamic Partial-Order Reduction
//! Technique for Testing Actor Programs* (FASE 2012), with the `await` of the concurrent objects of ABS, which Albert
//! et al., *Context-Sensitive Dynamic Partial Order Reduction* (CAV 2017), explore:
//!
//! * A send does not wait and promises no order: **messages to one actor are processed in any order**, also two of one
//!   sender, unless one was sent because the other had been processed. All of these orders are explored.
//! * An actor processes **one message at a time**, its turn. A turn that uses nothing else that threads share is one
//!   step, whatever it sends.
//! * An actor can refuse messages in a state, by [`Actor::accepts`]. They wait until it accepts them.
//! * A turn can wait for a condition ([`Turn::wait_until`]) or an answer ([`Turn::wait_for`]), and meanwhile others
//!   have theirs.
//!
//! ```
//! use shim_std::actor::{Actor, ReplyTo, System, Turn};
//!
//! /// Gives out numbers, once it knows where to begin.
//! struct Counter(Option<u32>);
//!
//! #[derive(Debug)]
//! enum Message {
//!     Begin(u32),
//!     Next(ReplyTo<u32>),
//! }
//!
//! impl Actor for Counter {
//!     type Message = Message;
//!
//!     fn accepts(&self, message: &Message) -> bool {
//!         matches!(message, Message::Begin(_)) || self.0.is_some()
//!     }
//!
//!     fn handle(turn: &mut Turn<'_, Counter>, message: Message) {
//!         match message {
//!             Message::Begin(at) => turn.0 = Some(at),
//!             Message::Next(to) => {
//!                 let next = turn.0.expect("only accepted once there is a number");
//!                 turn.0 = Some(next + 1);
//!                 to.answer(next);
//!             }
//!         }
//!     }
//! }
//!
//! shim_std::model(|| {
//!     let system = System::new();
//!     let counter = system.spawn(Counter(None));
//!     let (first, second) = (counter.ask(Message::Next), counter.ask(Message::Next));
//!     counter.send(Message::Begin(7));
//!     let numbers = [first.wait().unwrap(), second.wait().unwrap()];
//!     // The second question may be processed first.
//!     assert!(numbers == [7, 8] || numbers == [8, 7]);
//!     system.settle();
//!     counter.look(|counter| assert_eq!(counter.0, Some(9)));
//! });
//! ```
//!
//! A panic in a turn is a failure of the execution, of kind `panic`, whoever waits.
//!
//! # Off model threads
//!
//! The same program works on real threads, one for each message while it is under way: under a plain `cargo test`, it
//! runs once, in some order. A panic in a turn then ends the actor: whoever waits for its answers is told ([`Lost`]),
//! its further messages are dropped, and [`System::settle`] panics.

mod object;
mod reply;
mod system;
mod turn;

pub use reply::{Lost, Reply, ReplyTo, reply};
pub use system::System;
pub use turn::Turn;

use crate::share::Share;
use crate::thread::Builder;
use dpor_scheduler::on_model_thread;
use object::{Object, Turned};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};

/// A state that messages change.
pub trait Actor: Send + Sized + 'static {
    /// The type of its messages, which reports show.
    type Message: fmt::Debug + Send + 'static;

    /// Says whether a message can be processed in the present state. By default all can, always.
    ///
    /// It is asked as often as it takes, so it depends on the state and the message only; one that uses what
    /// threads share makes the verdict incomplete, and off model threads may block.
    fn accepts(&self, message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Processes a message that it accepts.
    fn handle(turn: &mut Turn<'_, Self>, message: Self::Message);
}

/// The address of an actor, to which messages are sent. Clones are addresses of the same actor.
pub struct Address<A: 'static> {
    object: Share<Object<A>>,
}

impl<A: Actor> Address<A> {
    /// Sends a message, which is processed some time later.
    #[track_caller]
    pub fn send(&self, message: A::Message) {
        let caller = Caller::caller();
        self.start(move |object| {
            take_turn(object, |turn| {
                let turned = object.begin(caller, &|actor| actor.accepts(&message), &|| format!("{message:?}"));
                if turned == Turned::Ours {
                    A::handle(turn, message);
                }
            });
        });
    }

    /// Sends a message that contains a place for an answer.
    #[track_caller]
    pub fn ask<R>(&self, message: impl FnOnce(ReplyTo<R>) -> A::Message) -> Reply<R> {
        let (to, reply) = reply();
        self.send(message(to));
        reply
    }
}

impl<A: Send + 'static> Address<A> {
    /// Sends a closure, which has a turn like a message, and whose result is the answer. So a type's own methods can be
    /// called without an [`Actor`] around it, like those of a concurrent object in ABS:
    ///
    /// ```
    /// # shim_std::model(|| {
    /// use shim_std::actor::System;
    /// use std::collections::VecDeque;
    ///
    /// let system = System::new();
    /// let queue = system.spawn(VecDeque::new());
    /// let popped = queue.call(|queue| queue.pop_front());
    /// queue.call(|queue| queue.push_back(3));
    /// // Either may come first.
    /// assert!(matches!(popped.wait(), Ok(None | Some(3))));
    /// # });
    /// ```
    #[track_caller]
    pub fn call<R: Send + 'static>(&self, code: impl FnOnce(&mut Turn<'_, A>) -> R + Send + 'static) -> Reply<R> {
        let caller = Caller::caller();
        let (to, reply) = reply();
        self.start(move |object| {
            take_turn(object, |turn| {
                let turned = object.begin(caller, &|_| true, &|| "call".to_string());
                if turned == Turned::Ours {
                    to.answer(code(turn));
                }
            });
        });
        reply
    }

    /// Looks at the state as soon as no message has its turn. Not for use within a turn of the same actor, which would
    /// wait for its own end.
    ///
    /// # Panics
    /// Off model threads, if the actor has panicked.
    #[track_caller]
    pub fn look<R>(&self, look: impl FnOnce(&A) -> R) -> R {
        struct End<'a, A: 'static>(&'a Object<A>);
        impl<A: 'static> Drop for End<'_, A> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let turned = self.object.look();
        let _end = End(&self.object);
        assert!(turned == Turned::Ours, "{} has panicked", self.object.name);
        // SAFETY: the turn is ours until `_end` goes.
        look(unsafe { &*self.object.state() })
    }

    /// Starts the thread of a message.
    #[track_caller]
    fn start(&self, run: impl FnOnce(&Share<Object<A>>) + Send + 'static) {
        self.object.system.begin();
        let object = self.object.clone();
        let thread = Builder::new().name(object.name.clone()).spawn(move || {
            let system = object.system.clone();
            system.enter();
            run(&object);
            drop(object);
            system.leave();
        });
        drop(thread.expect("the system has room for another thread"));
    }
}

/// Runs a turn, from the wait for its beginning to its end.
fn take_turn<A: 'static>(object: &Share<Object<A>>, run: impl FnOnce(&mut Turn<'_, A>)) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        run(&mut Turn::of(object));
        object.end();
    }));
    if result.is_err() {
        if on_model_thread() {
            dpor_scheduler::thread::fail_by_panic();
        }
        object.system.note_panic();
        object.die();
    }
}

impl<A: 'static> Clone for Address<A> {
    fn clone(&self) -> Self {
        Address {
            object: self.object.clone(),
        }
    }
}

/// Addresses are equal if they belong to the same actor.
impl<A: 'static> PartialEq for Address<A> {
    fn eq(&self, other: &Self) -> bool {
        self.object.same(&other.object)
    }
}

impl<A: 'static> Eq for Address<A> {}

impl<A: 'static> fmt::Debug for Address<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.object.name)
    }
}
