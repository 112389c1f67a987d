//! async-executor: who queues a task may find that a sleeping thread was woken, by an old value, while that thread does
//! not find the task (since pull request 95).

use async_executor::Executor;
use futures_lite::future::block_on;
use std::future::pending;
use std::sync::Arc;
use std::thread;

#[test]
fn a_task_is_run() {
    let executor = Arc::new(Executor::new());
    let other = Arc::clone(&executor);
    thread::spawn(move || block_on(other.run(pending::<()>())));
    block_on(executor.spawn(async {}));
}
