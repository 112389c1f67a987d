//! Output. Commands send [`Event`]s in one stream; a [`Reporter`] shows them to people or to programs.
//!
//! A failure is first told as a [`story`]; what is the same in all forms of output is there. The renderers know of the
//! story and of the events, and none of them knows of another one: `human`, `html`, `json`, `junit` and `github` are
//! reporters, `text` is what two of them print.

mod event;
mod github;
mod html;
mod human;
mod json;
mod junit;
mod result;
#[cfg(test)]
pub mod samples;
pub mod story;
mod text;

pub use event::{Configuration, Event, Listeners, Reporter, Resumed};
pub use github::GitHub;
pub use html::Html;
pub use human::{Amount, Human};
pub use json::Json;
pub use junit::Junit;
pub use result::{Summary, TestResult};
pub use story::objects;
pub use story::same_failure;
pub use story::source::SourceTree;
