//! Small distributed programs, whose parts know of each other by messages only.

pub mod election;
pub mod registry;
