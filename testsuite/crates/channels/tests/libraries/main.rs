//! One module for each library.

mod bus;
mod crossbeam_channel;
mod flume;
mod kanal;
mod piper;
mod thingbuf;
