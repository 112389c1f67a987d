//! Tests over vectors, slabs, counted pointers, and memory that is freed later.
