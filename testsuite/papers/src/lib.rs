//! The programs that Albert et al. measure in *Context-Sensitive Dynamic Partial Order Reduction* (CAV 2017), as
//! ordinary Rust.
//!
//! The sources of Table 2's actor programs are not public. They are rebuilt from what the paper and its forerunner
//! (Tasharofi et al., FASE 2012) say of them, with [`Actor`]s: a state, and tasks that are one step each. Each module
//! says how many orders of steps there are, and what the published numbers have in common with that.
//!
//! A task ends by handing on what the next one needs, and whoever asked for it waits for it. So the thread that goes on
//! with a result does not depend on whose message came last; [`variants`] shows what happens when it does.

mod actor;
pub mod fib;
pub mod msort;
pub mod pi;
pub mod prodcons;
pub mod psort;
pub mod qsort;
pub mod reg;
pub mod section3;
pub mod slides;
pub mod variants;

pub use actor::{Actor, wait, wait_all};
