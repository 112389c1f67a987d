//! Tests over concurrent maps and caches.
