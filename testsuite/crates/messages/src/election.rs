//! Leader election: nodes that know each other's mailboxes agree on one of them, again and again.
//!
//! In each term every node tells all others whether it stands, and the greatest of those who do leads. A leader that
//! has had enough resigns, and the next term begins.

// ANCHOR: node
use shim_std::comm::Mailbox;

/// The number of a node if it stands for election, or nothing.
pub type Vote = Option<usize>;

/// One of the nodes.
pub struct Node<'a> {
    id: usize,
    /// The mailboxes of all nodes, by their numbers.
    mailboxes: &'a [Mailbox<Vote>],
    stands: bool,
}

impl<'a> Node<'a> {
    /// A node that stands for election.
    pub fn new(id: usize, mailboxes: &'a [Mailbox<Vote>]) -> Self {
        Node {
            id,
            mailboxes,
            stands: true,
        }
    }

    /// Makes it stand for election no more, from the next term on.
    pub fn resign(&mut self) {
        self.stands = false;
    }

    /// A term: the leader that the nodes agree on, if one of them stands.
    pub fn elect(&mut self) -> Vote {
        let own = self.stands.then_some(self.id);
        for (_, mailbox) in self.mailboxes.iter().enumerate().filter(|&(id, _)| id != self.id) {
            mailbox.send(own);
        }
        let others = self.mailboxes.len() - 1;
        let votes = (0..others).map(|_| self.vote());
        votes.chain([own]).max().flatten()
    }

    /// Waits for the next vote.
    fn vote(&self) -> Vote {
        let inbox = &self.mailboxes[self.id];
        inbox.receive().wait()
    }
}
// ANCHOR_END: node

/// The same with votes that say which term they are of.
pub mod with_terms {
    // ANCHOR: fixed
    use shim_std::comm::Mailbox;

    /// A vote, and the term that it is of.
    #[derive(Clone, Copy)]
    pub struct Vote {
        term: u32,
        candidate: Option<usize>,
    }

    /// One of the nodes.
    pub struct Node<'a> {
        id: usize,
        mailboxes: &'a [Mailbox<Vote>],
        stands: bool,
        term: u32,
        /// Votes of the next term, from nodes that are ahead.
        early: Vec<Vote>,
    }

    impl<'a> Node<'a> {
        /// A node that stands for election.
        pub fn new(id: usize, mailboxes: &'a [Mailbox<Vote>]) -> Self {
            Node {
                id,
                mailboxes,
                stands: true,
                term: 0,
                early: Vec::new(),
            }
        }

        /// Makes it stand for election no more, from the next term on.
        pub fn resign(&mut self) {
            self.stands = false;
        }

        /// A term: the leader that the nodes agree on, if one of them stands.
        pub fn elect(&mut self) -> Option<usize> {
            self.term += 1;
            let own = Vote {
                term: self.term,
                candidate: self.stands.then_some(self.id),
            };
            for (_, mailbox) in self.mailboxes.iter().enumerate().filter(|&(id, _)| id != self.id) {
                mailbox.send(own);
            }
            // Nobody is two terms ahead: for that it would need our vote of this one.
            let mut votes = std::mem::take(&mut self.early);
            while votes.len() < self.mailboxes.len() - 1 {
                let vote = self.mailboxes[self.id].receive().wait();
                if vote.term == self.term {
                    votes.push(vote);
                } else {
                    self.early.push(vote);
                }
            }
            votes.iter().chain([&own]).filter_map(|vote| vote.candidate).max()
        }
    }
    // ANCHOR_END: fixed
}
