//! The explorer and the scheduler from inside, against brute force, definitions and published figures.
//!
//! One executable, because each takes the whole explorer.

mod actors;
mod counts;
mod descriptors;
mod differential;
mod faults;
mod forte19;
mod interpreter;
mod message_passing;
mod oracle;
mod preemptions;
mod races;
mod rc11;
mod regressions;
mod resume;
mod rewind;
mod shards;
mod states;
mod turns;
mod unfolding;
mod weak;
