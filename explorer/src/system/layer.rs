//! Systems around systems: a part of a program, a program whose steps are recorded.
//!
//! Invariant: a layer forwards each method of [`System`], also those with a default, unless it says otherwise. Only
//! [`Layer`] forwards, and the lint on the implementation below refuses a method of [`System`] that is missing there.
//!
//! Deliberately absent are defaults for [`Layer::step`], [`Layer::repeat`] and [`Layer::rewindable`]: a layer with a
//! state of its own that forwarded one of them would be in another state after steps that are repeated, or skipped.

use super::{
    Asked, Failure, Fingerprint, Knowledge, Outlook, Pending, Rewindable, Status, Step, Stop, System, ThreadId,
    Transition,
};

/// A [`System`] around another one. What it does not say is as the inner system says it.
///
/// Each method is that of [`System`] with the same name.
pub trait Layer {
    /// The system inside.
    type Inner: System + ?Sized;

    /// The system inside.
    fn inner(&self) -> &Self::Inner;

    /// The system inside.
    fn inner_mut(&mut self) -> &mut Self::Inner;

    /// [`System::step`].
    ///
    /// # Errors
    /// As there.
    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop>;

    /// [`System::repeat`]: what the layer does around a step must be done around one that is repeated.
    ///
    /// # Errors
    /// As there.
    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop>;

    /// [`System::rewindable`]: `None`, unless the layer has no state of its own or saves it as well.
    fn rewindable(&mut self) -> Option<&mut dyn Rewindable>;

    /// [`System::restart`].
    #[inline]
    fn restart(&mut self) {
        self.inner_mut().restart();
    }

    /// [`System::threads`].
    #[inline]
    fn threads(&self) -> &[Status] {
        self.inner().threads()
    }

    /// [`System::leaves_nothing`].
    #[inline]
    fn leaves_nothing(&self) -> bool {
        self.inner().leaves_nothing()
    }

    /// [`System::part`].
    #[inline]
    fn part(&self) -> Option<String> {
        self.inner().part()
    }

    /// [`System::lessons`].
    #[inline]
    fn lessons(&self) -> u32 {
        self.inner().lessons()
    }

    /// [`System::recollect`].
    #[inline]
    fn recollect(&mut self, lessons: u32) {
        self.inner_mut().recollect(lessons);
    }

    /// [`System::pending`].
    #[inline]
    fn pending(&self, thread: ThreadId) -> Pending {
        self.inner().pending(thread)
    }

    /// [`System::source`].
    #[inline]
    fn source(&self, transition: Transition) -> Option<u32> {
        self.inner().source(transition)
    }

    /// [`System::place`].
    #[inline]
    fn place(&self, thread: ThreadId) -> Option<u64> {
        self.inner().place(thread)
    }

    /// [`System::gives_way`].
    #[inline]
    fn gives_way(&self, thread: ThreadId) -> bool {
        self.inner().gives_way(thread)
    }

    /// [`System::created`].
    #[inline]
    fn created(&self, thread: ThreadId) -> u64 {
        self.inner().created(thread)
    }

    /// [`System::describe`].
    #[inline]
    fn describe(&self, signature: u64) -> String {
        self.inner().describe(signature)
    }

    /// [`System::finish`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    fn finish(&mut self) -> Result<(), Failure> {
        self.inner_mut().finish()
    }

    /// [`System::outlook`].
    #[inline]
    fn outlook(&mut self) -> Outlook {
        self.inner_mut().outlook()
    }

    /// [`System::starts_again`].
    #[inline]
    fn starts_again(&mut self, asked: Asked) -> bool {
        self.inner_mut().starts_again(asked)
    }

    /// [`System::fingerprint`]: a layer with a state of its own adds it.
    #[inline]
    fn fingerprint(&mut self) -> Option<Fingerprint> {
        self.inner_mut().fingerprint()
    }

    /// [`System::knowledge`].
    #[inline]
    fn knowledge(&self) -> Knowledge<'_> {
        self.inner().knowledge()
    }

    /// [`System::covers`].
    #[inline]
    fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        self.inner().covers(known, present)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: Layer> System for L {
    #[inline]
    fn restart(&mut self) {
        Layer::restart(self);
    }

    #[inline]
    fn threads(&self) -> &[Status] {
        Layer::threads(self)
    }

    #[inline]
    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        Layer::step(self, transition, step)
    }

    #[inline]
    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        Layer::repeat(self, transition, scratch)
    }

    #[inline]
    fn leaves_nothing(&self) -> bool {
        Layer::leaves_nothing(self)
    }

    #[inline]
    fn part(&self) -> Option<String> {
        Layer::part(self)
    }

    #[inline]
    fn lessons(&self) -> u32 {
        Layer::lessons(self)
    }

    #[inline]
    fn recollect(&mut self, lessons: u32) {
        Layer::recollect(self, lessons);
    }

    #[inline]
    fn pending(&self, thread: ThreadId) -> Pending {
        Layer::pending(self, thread)
    }

    #[inline]
    fn source(&self, transition: Transition) -> Option<u32> {
        Layer::source(self, transition)
    }

    #[inline]
    fn place(&self, thread: ThreadId) -> Option<u64> {
        Layer::place(self, thread)
    }

    #[inline]
    fn gives_way(&self, thread: ThreadId) -> bool {
        Layer::gives_way(self, thread)
    }

    #[inline]
    fn created(&self, thread: ThreadId) -> u64 {
        Layer::created(self, thread)
    }

    #[inline]
    fn describe(&self, signature: u64) -> String {
        Layer::describe(self, signature)
    }

    #[inline]
    fn finish(&mut self) -> Result<(), Failure> {
        Layer::finish(self)
    }

    #[inline]
    fn outlook(&mut self) -> Outlook {
        Layer::outlook(self)
    }

    #[inline]
    fn starts_again(&mut self, asked: Asked) -> bool {
        Layer::starts_again(self, asked)
    }

    #[inline]
    fn fingerprint(&mut self) -> Option<Fingerprint> {
        Layer::fingerprint(self)
    }

    #[inline]
    fn knowledge(&self) -> Knowledge<'_> {
        Layer::knowledge(self)
    }

    #[inline]
    fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        Layer::covers(self, known, present)
    }

    #[inline]
    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        Layer::rewindable(self)
    }
}
