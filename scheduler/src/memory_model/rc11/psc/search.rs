//! Where ways of `psc` lead from what they have come to, and whether one leads round through a new event.

use super::sets::{Set, first_of, first_of_both, meet, members_of_both, remove};
use super::{Event, FENCES, Node, PLACES, Place, Psc, Reached};
use smallvec::SmallVec;

/// Judges events of one thread and of one atomic, or of none, each of which could be the next one.
///
/// Where the message that is taken is an older one, more stores come after the event. So as long as the [`key`] of each
/// event that is asked for is none larger than that of the last, a search goes on from what it has come to.
pub(in super::super) struct Newcomers<'psc> {
    psc: &'psc Psc,
    /// From stores that are later in modification order, to the new event.
    after_stores: Option<Search<'psc>>,
    /// From whatever comes after the event by `eco` as well, to fences before it.
    after_eco: Option<Search<'psc>>,
}

impl<'psc> Newcomers<'psc> {
    pub fn new(psc: &'psc Psc) -> Self {
        Newcomers {
            psc,
            after_stores: None,
            after_eco: None,
        }
    }

    /// Whether `psc` has no cycle with this event as well. It has none without.
    ///
    /// A new cycle leads through the event. Nothing comes after it by happens-before, so that the cycle goes on with a
    /// store that is later in modification order, or, between two fences, with whatever comes after it by `eco`. It
    /// begins with the event, if that is sequentially consistent, or with a sequentially consistent fence that happens
    /// before it. So it is enough to look whether one of these comes after such a store by the `psc` of the events
    /// before. If a cycle leads through the event twice, there is also one that begins with a fence and leads through
    /// it once.
    pub fn allow(&mut self, event: &Event) -> bool {
        let Newcomers {
            psc,
            after_stores,
            after_eco,
        } = self;
        let key = psc.key_of_new(event);
        let atomic = event.at.and_then(|at| psc.atomics.get(&at).copied());
        if event.is_sequential {
            let search = Search::from(after_stores, psc, key);
            if let Some(atomic) = atomic {
                search.come_to_writes(atomic, psc.orders.after(atomic, key));
            }
            search.go_on();
            if search.has_come_to_new(event, key) {
                return false;
            }
        }
        if !psc.has_fence_before(event) {
            return true;
        }
        let search = Search::from(after_eco, psc, key);
        if let Some(atomic) = atomic {
            let from = psc.orders.after(atomic, key);
            search.come_to_writes(atomic, from);
            search.come_by_eco(atomic, from);
        }
        search.go_on();
        !search.has_come_to_fence_before(event)
    }
}

/// A search for where ways lead from what they have come to.
pub(super) struct Search<'psc> {
    pub psc: &'psc Psc,
    /// The [`key`] of the last new event that was asked for.
    key: u32,
    /// What all ways come to.
    pub reached: Reached,
}

impl<'psc> Search<'psc> {
    pub fn new(psc: &'psc Psc, key: u32) -> Self {
        let reached = Reached::new(1, psc.nodes.len());
        Search { psc, key, reached }
    }

    /// Has come nowhere, and keeps the storage.
    pub fn start_again(&mut self) {
        self.reached.0.clear();
    }

    /// The search as far as it has come, or a new one if that is too far for an event with this key.
    fn from<'s>(known: &'s mut Option<Self>, psc: &'psc Psc, key: u32) -> &'s mut Self {
        known.take_if(|known| known.key < key);
        let search = known.get_or_insert_with(|| Search::new(psc, key));
        search.key = key;
        search
    }

    /// The events to which ways have come in this place.
    pub fn events(&self, place: Place) -> &[u64] {
        self.reached.at(0, place)
    }

    /// The events where `scb` begins: [`Place::Start`] and [`Place::Before`].
    pub fn begun(&self) -> Set {
        let [starts, befores] = [Place::Start, Place::Before].map(|place| self.events(place));
        starts
            .iter()
            .zip(befores)
            .map(|(start, before)| start | before)
            .collect()
    }

    /// Comes to the writes to the atomic from a place on: `mo` and `rb`.
    pub fn come_to_writes(&mut self, atomic: u32, from: u32) {
        self.reached.add(0, Place::End, self.psc.orders.writes(atomic, from));
    }

    /// Comes to all that has read or written the atomic from a place on.
    pub fn come_by_eco(&mut self, atomic: u32, from: u32) {
        self.reached.add(0, Place::AfterEco, self.psc.orders.all(atomic, from));
    }

    /// Follows all ways that have begun.
    pub fn go_on(&mut self) {
        let psc = self.psc;
        let known = Set::from_slice(self.events(Place::Start));
        psc.follow_ends(0, &mut self.reached);
        let mut news = Set::from_slice(self.events(Place::Start));
        remove(&mut news, &known);
        self.reached.0.row_mut(Place::Start as usize).copy_from_slice(&known);
        while let Some(start) = first_of(&news) {
            self.reached
                .0
                .add_rows_of(&psc.ways.0, PLACES * psc.ways_from(start), PLACES);
            // Where ways have come now, they have gone on.
            remove(&mut news, self.events(Place::Start));
        }
    }

    /// By thread, the rank of the first event to which the first two parts of `sb≠loc;hb;sb≠loc` lead from where `scb`
    /// has [begun](Self::begun), or the number of all of them. Of each thread, the first event counts where it begins.
    pub fn fars(&self, begun: &[u64]) -> SmallVec<[u32; 8]> {
        let psc = self.psc;
        let mut fars: SmallVec<[u32; 8]> = psc.threads.iter().map(|events| events.len() as u32).collect();
        for (thread, events) in psc.threads.iter().enumerate() {
            let first = first_of_both(begun, psc.of_threads.row(thread));
            let elsewhere = first.and_then(|first| events.get(psc.nodes[first as usize].elsewhere as usize));
            if let Some(&elsewhere) = elsewhere {
                let after = &psc.after[elsewhere as usize * fars.len()..];
                fars.iter_mut()
                    .zip(after)
                    .for_each(|(far, &after)| *far = (*far).min(after));
            }
        }
        fars
    }

    /// Whether a way that has begun leads to the new event. What the search has come to is what leads on from it.
    fn has_come_to_new(&self, new: &Event, key: u32) -> bool {
        let psc = self.psc;
        let thread = usize::from(new.thread);
        let begun = self.begun();
        let atomic = new.atomic().and_then(|at| psc.atomics.get(&at));
        // By `hb=loc`, `mo` or `rb`.
        let from_same = atomic.is_some_and(|&atomic| {
            let mut same = members_of_both(&begun, psc.of_atomics.row(atomic as usize));
            same.any(|one| psc.node(one).comes_before(new) || new.kind.writes() && psc.key(one) < key)
        });
        from_same
            || psc.threads.get(thread).is_some_and(|events| {
                let from_far = || {
                    events.get(self.fars(&begun)[thread] as usize).is_some_and(|&far| {
                        let Node { at, elsewhere, .. } = *psc.node(far);
                        at.is_none() || at != new.at || (elsewhere as usize) < events.len()
                    })
                };
                meet(&begun, psc.of_threads.row(thread)) || from_far()
            })
    }

    /// Whether a way that has begun leads to a sequentially consistent fence that happens before the new event.
    fn has_come_to_fence_before(&self, new: &Event) -> bool {
        let mut fences = members_of_both(self.events(Place::Start), self.psc.sets.row(FENCES));
        fences.any(|fence| self.psc.node(fence).comes_before(new))
    }
}
