//! One module for each library.

mod heapless;
mod ringbuf;
mod rtrb;
