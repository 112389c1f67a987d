//! One module for each library.

mod async_broadcast;
mod async_channel;
mod futures;
mod futures_intrusive;
