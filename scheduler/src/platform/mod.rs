//! What depends on the operating system: crashes of the explored program, and calls it makes around the standard
//! library.

pub(crate) mod interpose;
pub(crate) mod signals;
