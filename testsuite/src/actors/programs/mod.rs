//! The programs of TransDPOR's evaluation, rebuilt from their description in the paper.

mod chameneos;
mod divide;
mod erlang_leader;
mod leader;
mod minesweeper;
mod philosophers;
mod pi;
mod pipesort;
mod registry;
mod shortest_path;

pub use chameneos::Chameneos;
pub use divide::{Divide, Task};
pub use erlang_leader::ErlangLeader;
pub use leader::Leader;
pub use minesweeper::Minesweeper;
pub use philosophers::Philosophers;
pub use pi::Pi;
pub use pipesort::Pipesort;
pub use registry::Registry;
pub use shortest_path::ShortestPath;

use super::protocol::Protocol;
use std::fmt::Debug;

/// The failure of an actor that received a message which is not for it.
fn misdirected<P: Protocol + ?Sized>(state: impl Debug, message: &P::Content) -> String {
    format!("{state:?} was sent {message:?}")
}
