//! Everything that depends on the operating system: crashes of the explored program, and its calls that bypass the
//! standard library.

pub(crate) mod instrumentation;
pub(crate) mod interpose;
pub(crate) mod signals;
