//! The panic hook as the explored program sees it: the checker's own hook stays in place.

pub use dpor_scheduler::panic::{set_hook, take_hook};
