//! What can be seen of an execution beside its steps: plain data in, answers out.
//!
//! | module | what |
//! |---|---|
//! | `spin` | threads that only repeat themselves |
//! | `recall` | what hashing memory has told the spin detector, for reuse |
//! | `shares` | which thread runs the destructor of what several threads share |
//! | `suppressed` | code whose accesses are in no data race, because the user says so |
//! | `unshared` | locations that only one thread uses, so that operations on them are no scheduling points |
//! | `leaks` | heap blocks that the program can no longer free |
//!
//! Invariant: nothing here asks for the machine.

pub(crate) mod leaks;
pub(crate) mod recall;
pub(crate) mod shares;
pub(crate) mod spin;
pub(crate) mod suppressed;
pub(crate) mod unshared;
