//! Tests over crossbeam-queue and concurrent-queue, as they come from crates.io. The tests are in `tests/`.
