//! Tests over multi-thread runtimes and tasks.
