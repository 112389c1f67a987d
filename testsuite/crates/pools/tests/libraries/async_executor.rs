//! async-executor.

use async_executor::Executor;
use std::sync::Arc;
use std::thread;

#[test]
fn a_task_runs_where_its_executor_does() {
    let executor = Executor::new();
    let task = executor.spawn(async { 1 });
    assert_eq!(pollster::block_on(executor.run(task)), 1);
}

#[test]
#[ignore = "takes long to explore"]
fn a_task_is_run_by_another_thread() {
    let executor = Arc::new(Executor::new());
    let task = executor.spawn(async { 1 });
    let child = {
        let executor = Arc::clone(&executor);
        thread::spawn(move || pollster::block_on(executor.run(task)))
    };
    executor.try_tick();
    assert_eq!(child.join().unwrap(), 1);
}
