//! Tests over loggers, subscribers and registries of handlers.
