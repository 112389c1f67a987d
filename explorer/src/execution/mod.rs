//! The current execution as a sequence of events, with the order of dependency and the races in it.
//!
//! Terms follow Abdulla, Aronis, Jonsson and Sagonas, *Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction* (JACM 2017) and Albert et al. (CAV 2017): `pre(E, e)`, `notdep(e, E)`, races, initials.
//!
//! | module | what |
//! |---|---|
//! | `trace` | the events, and indices of them by thread, location and variable |
//! | `clock` | vector clocks |
//! | `order` | the order of dependency: what has to come before what |
//! | `races` | the pairs of dependent events that could come in the other order |
//! | `reversal` | guards: whether an operation that can block could come in the other order |
//!
//! Deviation: what the literature on partial-order reduction calls *happens-before* is called the *order of dependency*
//! here, or that an event is *ordered after* another one. Happens-before is a relation of memory models (that of C11,
//! say, by which a data race is told): it orders less, since two atomic stores of one variable depend on each other
//! without one happening before the other. It is deliberately absent; `order` says what it would be beside.

mod clock;
mod graph;
mod order;
mod races;
mod reversal;
mod trace;

pub use clock::VectorClock;
pub(crate) use graph::{Follows, UseOfGraph};
pub use races::{Races, Removed};
pub use trace::{Event, EventIndex, Trace};
