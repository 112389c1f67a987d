//! The messages of an atomic.

use super::request::Ask;
use super::{Clock, is_known_to_all};
use crate::memory_model::happens_before::HappensBefore;
use crate::memory_model::shadow::Epoch;
use smallvec::SmallVec;

/// A value that was stored.
#[derive(Debug)]
pub(super) struct Message {
    pub value: u64,
    /// Whether a read-modify-write has stored it. Then nothing comes between it and the message before, which it read.
    pub modifies: bool,
    /// What is known to who acquires it.
    pub released: Clock,
    /// The threads that have read or written it, each with the first epoch in which it did.
    pub taken: SmallVec<[(u16, u32); 2]>,
    /// The store, in the record of operations.
    pub event: Option<u32>,
    /// The thread that has stored it, and the step.
    pub writer: Option<(u16, u32)>,
}

/// By whole slices, as this is done for each saved state.
impl Clone for Message {
    fn clone(&self) -> Self {
        Message {
            released: Clock::from_slice(&self.released),
            taken: SmallVec::from_slice(&self.taken),
            ..*self
        }
    }
}

impl Message {
    /// What memory holds where there is no history.
    pub fn initial(value: u64, released: Clock) -> Message {
        Message {
            value,
            modifies: false,
            released,
            taken: SmallVec::new(),
            event: None,
            writer: None,
        }
    }

    /// Who has taken it, each in the first epoch in which it did.
    pub fn takers(&self) -> impl Iterator<Item = Epoch> + '_ {
        let taken = self.taken.iter();
        taken.map(|&(thread, number)| Epoch { thread, number })
    }

    /// The step that has stored it.
    pub fn step(&self) -> Option<u32> {
        self.writer.map(|(_, step)| step)
    }
}

/// The messages that may still be taken, in modification order.
///
/// Invariant: there is at least one.
#[derive(Debug)]
pub(super) struct History {
    pub messages: Vec<Message>,
}

impl Clone for History {
    fn clone(&self) -> Self {
        History {
            messages: self.messages.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.messages.clone_from(&other.messages);
    }
}

impl History {
    pub fn new(initial: Message) -> History {
        History {
            messages: vec![initial],
        }
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn last(&self) -> &Message {
        self.before_last(0)
    }

    /// The message to which there are so many later ones.
    pub fn before_last(&self, older: usize) -> &Message {
        &self.messages[self.messages.len() - 1 - older]
    }

    /// The first message that a thread may take, which `knows` of epochs: it knows of nobody who has taken a later one.
    pub fn floor(&self, knows: impl Fn(usize, u32) -> bool) -> usize {
        let is_known = |message: &Message| message.taken.iter().any(|&(of, epoch)| knows(of.into(), epoch));
        self.messages.iter().rposition(is_known).unwrap_or(0)
    }

    /// Whether the operation may take this message, as far as atomicity is concerned.
    pub fn allows(&self, at: usize, ask: Ask, spuriously: bool) -> bool {
        let value = self.messages[at].value;
        let is_closed = self.messages.get(at + 1).is_some_and(|next| next.modifies);
        match ask {
            // It fails with a reason.
            Ask::Exchange { expected, .. } if spuriously => value == expected,
            _ => !is_closed || !ask.on(value, spuriously).writes(),
        }
    }

    /// A thread takes the message.
    pub fn taken(&mut self, at: usize, thread: usize, epoch: u32) {
        let thread = thread as u16;
        // Who knows of this knows of that, too.
        for message in &mut self.messages[..at] {
            message.taken.retain(|&mut (of, since)| of != thread || since < epoch);
        }
        let mut later = self.messages[at..].iter().flat_map(|message| &message.taken);
        if !later.any(|&(of, since)| of == thread && since <= epoch) {
            self.messages[at].taken.push((thread, epoch));
        }
    }

    /// Forgets the messages before this one.
    pub fn forget_before(&mut self, at: usize) {
        self.messages.drain(..at);
        // What came before it is not there any more, so that nothing can come between.
        self.messages[0].modifies = false;
        self.messages[0].taken.clear();
    }

    /// Says whether nobody can learn anything from it.
    pub fn is_known(&self, order: &HappensBefore, live: &[u16]) -> bool {
        let mut all = self.messages.iter();
        all.all(|message| is_known_to_all(&message.released, order, live))
    }
}
