//! Tests over oneshot, as they come from crates.io. The tests are in `tests/`.
