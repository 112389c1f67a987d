//! `SpinWait`: one round before it is time to park, in the place of ten.

pub use dpor_shim::specified::SpinWait;
