//! One module for each library.

mod append_only_vec;
mod arcstr;
mod boxcar;
mod bytes;
mod crossbeam_epoch;
mod haphazard;
mod im;
mod left_right;
mod orx_concurrent_vec;
mod rpds;
mod seize;
mod sharded_slab;
mod slab;
mod triomphe;
