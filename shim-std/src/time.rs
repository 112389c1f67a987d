//! `std::time`, as it is: std's own clocks show the model's time on model threads, since the scheduler takes the place
//! of the C function that they ask.

pub use std::time::{Duration, Instant, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
