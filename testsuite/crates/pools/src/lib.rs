//! Tests over pools of threads, and what is in them.
