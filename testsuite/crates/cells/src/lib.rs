//! Tests over once_cell and arc-swap, as they come from crates.io. The tests are in `tests/`.
