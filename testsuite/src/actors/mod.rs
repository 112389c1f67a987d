//! Toy actor programs: a `System` of actors as in Tasharofi et al., *TransDPOR* (FMOODS/FORTE 2012), §3.
//!
//! Actors share nothing. They send messages, which arrive in any order; an actor takes one message at a time, and in
//! that one step changes its state, sends messages and creates actors. A *constraint* can keep it from taking a message
//! in some of its states.
//!
//! To the explorer, a message is a thread with a single step, in which its receiver processes it; the step that sends a
//! message spawns that thread. A step writes one location, its receiver. So two steps are dependent if they have the
//! same receiver, and a step happens before those of the messages that it has sent (Proposition 1 of the paper). What
//! an actor knows of another that was created came to it in messages, so that creation needs no location.

pub mod generate;
mod machine;
mod program;
pub mod programs;
mod protocol;

pub use machine::{ActorEnd, Actors, Terminal};
pub use program::{Action, Handler, Program, Target};
pub use protocol::{Actor, Constraint, Outbox, Protocol};
