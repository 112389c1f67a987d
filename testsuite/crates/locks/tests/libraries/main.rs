//! One module for each library.

mod atomic_refcell;
mod parking;
mod parking_lot;
mod try_lock;
