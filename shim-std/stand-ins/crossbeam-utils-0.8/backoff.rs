//! `Backoff`: whether it has backed off at all, in the place of how often.

pub use dpor_shim::specified::Backoff;
