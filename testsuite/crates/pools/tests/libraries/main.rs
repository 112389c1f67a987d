//! One module for each library.

mod async_executor;
mod blocking;
mod crossbeam_deque;
mod r2d2;
mod rayon;
mod threadpool;
