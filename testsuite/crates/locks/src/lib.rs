//! Tests over spin and crossbeam-utils, as they come from crates.io. The tests are in `tests/`.
