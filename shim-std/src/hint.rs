//! `std::hint::spin_loop`.

use dpor_scheduler::{OperationKind, hint, on_model_thread};

/// `std::hint::spin_loop`. On a model thread, other threads may run.
#[inline]
#[track_caller]
pub fn spin_loop() {
    if on_model_thread() {
        hint::hint(OperationKind::SpinLoop);
    } else {
        std::hint::spin_loop();
    }
}
