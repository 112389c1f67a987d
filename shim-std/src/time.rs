//! `std::time`, unchanged: std's own clocks show the model's time on model threads, since the scheduler replaces the C
//! function that they call.

pub use std::time::{Duration, Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
