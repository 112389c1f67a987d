//! minesweeper: cells are actors, in a row with a mine behind the last. One that is opened has its neighbours opened,
//! and waits until they are, before it takes another message to open it; the board counts what is open. Of two players,
//! one is created before the cells and one after them.

use crate::actors::protocol::{Actor, Constraint, Outbox, Protocol};
use dpor_explorer::Failure;

/// A game of two players, each of whom clicks one cell. Cells can end up waiting for each other.
#[derive(Clone, Debug)]
pub struct Minesweeper {
    /// Number of cells without a mine; only the last one has a mine beside it.
    pub cells: usize,
    /// The cells that the players click.
    pub clicks: [usize; 2],
}

/// An actor of [`Minesweeper`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Square {
    /// Someone who will click.
    Player,
    /// Number of open cells.
    Board(usize),
    /// A cell.
    Cell {
        /// Its number is in the row, and it knows its neighbours.
        neighbours: Vec<Actor>,
        /// Whether there is a mine beside it: then it opens no others.
        beside_mine: bool,
        /// Whether it is open.
        open: bool,
        /// Number of neighbours for which it waits.
        waits: usize,
        /// The actor to notify when it waits no longer.
        asked: Option<Actor>,
    },
}

/// A message of [`Minesweeper`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SquareMessage {
    /// To a cell: its neighbours.
    Meet(Vec<Actor>),
    /// To a cell: open; and notify the neighbour that asked, if one did.
    Open(Option<Actor>),
    /// To a cell: a neighbour is open, with everything that it has opened.
    Opened,
    /// To the board: one more cell is open.
    Show,
    /// To a player: click this cell.
    Play(Actor),
}

impl Minesweeper {
    /// The board, which is created after a player.
    const BOARD: Actor = Actor(1);
}

impl Protocol for Minesweeper {
    type State = Square;
    type Content = SquareMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let first = out.create(Square::Player);
        out.create(Square::Board(0));
        let cells: Vec<_> = (0..self.cells)
            .map(|cell| {
                out.create(Square::Cell {
                    neighbours: Vec::new(),
                    beside_mine: cell + 1 == self.cells,
                    open: false,
                    waits: 0,
                    asked: None,
                })
            })
            .collect();
        for (at, &cell) in cells.iter().enumerate() {
            let neighbours = [at.checked_sub(1), Some(at + 1)];
            let neighbours = neighbours.into_iter().flatten().filter_map(|at| cells.get(at).copied());
            out.send(cell, SquareMessage::Meet(neighbours.collect()));
        }
        let players = [first, out.create(Square::Player)];
        for (player, click) in players.into_iter().zip(self.clicks) {
            out.send(player, SquareMessage::Play(cells[click]));
        }
    }

    fn process(
        &self,
        me: Actor,
        state: &mut Square,
        message: &SquareMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (Square::Cell { neighbours, .. }, SquareMessage::Meet(others)) => neighbours.clone_from(others),
            (
                Square::Cell {
                    neighbours,
                    beside_mine,
                    open,
                    waits,
                    asked,
                },
                SquareMessage::Open(by),
            ) => {
                if !*open {
                    *open = true;
                    out.send(Self::BOARD, SquareMessage::Show);
                    let others = neighbours.iter().filter(|&&other| !*beside_mine && Some(other) != *by);
                    for &other in others {
                        *waits += 1;
                        out.send(other, SquareMessage::Open(Some(me)));
                    }
                }
                match *waits {
                    0 => by.iter().for_each(|&by| out.send(by, SquareMessage::Opened)),
                    _ => *asked = *by,
                }
            }
            (
                Square::Cell {
                    waits: waits @ 1..,
                    asked,
                    ..
                },
                SquareMessage::Opened,
            ) => {
                *waits -= 1;
                if *waits == 0
                    && let Some(by) = asked.take()
                {
                    out.send(by, SquareMessage::Opened);
                }
            }
            (Square::Board(open), SquareMessage::Show) => *open += 1,
            (Square::Player, SquareMessage::Play(cell)) => out.send(*cell, SquareMessage::Open(None)),
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }

    /// 0 before it knows its neighbours, 1 while it can be opened, 2 while it waits.
    fn mode(&self, state: &Square) -> i64 {
        match state {
            Square::Cell { waits: 1.., .. } => 2,
            Square::Cell { neighbours, .. } if neighbours.is_empty() => 0,
            _ => 1,
        }
    }

    fn constraint(&self, message: &SquareMessage) -> Constraint {
        match message {
            SquareMessage::Open(_) => Constraint::Equals(1),
            _ => Constraint::Always,
        }
    }

    fn judge(&self, states: &[&Square], _left: usize) -> Result<(), Failure> {
        let waits = |state: &&&Square| matches!(state, Square::Cell { waits: 1.., .. });
        match states.iter().filter(waits).count() {
            0 => Ok(()),
            n => Err(Failure {
                kind: "deadlock",
                message: format!("{n} cells wait for each other"),
            }),
        }
    }
}
