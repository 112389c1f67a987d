//! `shuttle::current`.

use shim_std::thread;

/// The number of the current task, in the order of their creation.
#[must_use]
pub fn me() -> usize {
    // The first thread of the model is none of the test's.
    dpor_scheduler::thread::current().index() - 1
}

/// The name of a task, which is the current one.
///
/// # Panics
/// If it is another.
#[must_use]
pub fn get_name_for_task(task: usize) -> Option<String> {
    assert_eq!(task, me(), "the current task's name is known only");
    thread::current().name().map(str::to_owned)
}
