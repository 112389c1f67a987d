//! One module for each library.

mod crossbeam_skiplist;
mod dashmap;
mod evmap;
mod flurry;
mod lru;
mod mini_moka;
mod moka;
mod papaya;
mod quick_cache;
mod scc;
