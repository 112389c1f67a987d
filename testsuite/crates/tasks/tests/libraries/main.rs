//! One module for each library.

mod tokio;
