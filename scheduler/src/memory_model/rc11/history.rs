//! The messages of an atomic.

use super::request::Ask;
use super::{Clock, is_known_to_all};
use crate::memory_model::happens_before::{AtomicAccess, HappensBefore};
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
    /// Whether messages before the first one were left out, and it is not known that all threads know them to be over.
    is_cut: bool,
    /// Whether another message than a read-modify-write's came after one of these.
    is_cut_open: bool,
}

impl Clone for History {
    fn clone(&self) -> Self {
        History {
            messages: self.messages.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, other: &Self) {
        let History {
            messages,
            is_cut,
            is_cut_open,
        } = other;
        self.messages.clone_from(messages);
        (self.is_cut, self.is_cut_open) = (*is_cut, *is_cut_open);
    }
}

impl History {
    pub fn new(initial: Message) -> History {
        History {
            messages: vec![initial],
            is_cut: false,
            is_cut_open: false,
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
        self.last_known(knows).unwrap_or(0)
    }

    /// The last message that was taken as far as a thread `knows` of epochs; `None` if it knows of none.
    pub fn last_known(&self, knows: impl Fn(usize, u32) -> bool) -> Option<usize> {
        let is_known = |message: &Message| message.taken.iter().any(|&(of, epoch)| knows(of.into(), epoch));
        self.messages.iter().rposition(is_known)
    }

    /// Whether messages before the first one were left out, of which not all threads know that they are over.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is on record of the messages that were left out.
    pub fn marks(&self) -> [bool; 2] {
        [self.is_cut, self.is_cut_open]
    }

    /// Whether the operation of a thread that does not know them to be over might take one of these.
    pub fn may_take_what_is_cut(&self, ask: Ask) -> bool {
        match ask {
            Ask::Access(AtomicAccess::Store(_) | AtomicAccess::Modify(_)) => self.is_cut_open,
            Ask::Access(AtomicAccess::Load(_)) | Ask::Exchange { .. } => self.is_cut,
        }
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

    /// Forgets the messages before this one, which nobody may take.
    pub fn forget_before(&mut self, at: usize) {
        if at > 0 {
            (self.is_cut, self.is_cut_open) = (false, false);
        }
        self.messages.drain(..at);
        // What came before it is not there any more, so that nothing can come between.
        self.messages[0].modifies = false;
        if !self.is_cut {
            self.messages[0].taken.clear();
        }
    }

    /// Leaves out all but the last `most` messages.
    pub fn keep_last(&mut self, most: usize) {
        if self.messages.len() > most {
            let at = self.messages.len() - most;
            self.is_cut = true;
            self.is_cut_open |= self.messages[1..=at].iter().any(|message| !message.modifies);
            self.messages.drain(..at);
            self.messages[0].modifies = false;
        }
    }

    /// Forgets that messages were left out, if that is the fault.
    #[cfg(feature = "faults")]
    pub fn forget_cut_if(&mut self, faulty: bool) {
        self.is_cut &= !faulty;
        self.is_cut_open &= !faulty;
    }

    /// Says whether nobody can learn anything from it.
    pub fn is_known(&self, order: &HappensBefore, live: &[u16]) -> bool {
        let mut all = self.messages.iter();
        all.all(|message| is_known_to_all(&message.released, order, live))
    }
}
