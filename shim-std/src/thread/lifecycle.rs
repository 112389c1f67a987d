//! The life of a spawned thread, in std's order: the function runs; its result is stored; the thread counts as
//! finished, and its scope goes on; its thread-locals are destroyed; the thread that joins it goes on.

use super::current::{finish_thread, set_current};
use super::handle::{Thread, ThreadId};
use super::scoped::ScopeData;
use crate::share::Shared;
use dpor_scheduler::{
    AccessKind, Awaits, Condition, Guard, Operation, OperationKind, Word, access_of, awaiting, location, observe,
    on_model_thread, ownership, perform, release,
};
use std::any::Any;
use std::cell::UnsafeCell;
use std::io;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread as real;

/// The place of a thread's result.
struct Packet<'scope, T> {
    scope: Option<Shared<ScopeData>>,
    /// For a thread of a scope: who has not let go of the packet, where that is a step.
    shares: Word,
    result: UnsafeCell<Option<real::Result<T>>>,
    /// As in std, the packet holds on to the scope's lifetime.
    lifetime: PhantomData<Option<&'scope ScopeData>>,
}

// SAFETY: the result is written by the thread before it counts as finished and read after that.
unsafe impl<T: Send> Sync for Packet<'_, T> {}

impl<T> Packet<'_, T> {
    /// To be called before a share is dropped. Says whether the scope has to be told afterwards that the thread is
    /// over.
    #[track_caller]
    fn leave(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.leave(&self.shares))
    }
}

impl<T> Drop for Packet<'_, T> {
    fn drop(&mut self) {
        let result = self.result.get_mut().take();
        let unhandled_panic = matches!(result, Some(Err(_)));
        if catch_unwind(AssertUnwindSafe(|| drop(result))).is_err() {
            crate::process::fatal("thread result panicked on drop");
        }
        if let Some(scope) = &self.scope
            && unhandled_panic
        {
            scope.note_panic();
        }
    }
}

/// A value that may refer to something gone while it is moved: without this, moving a scoped thread's function would
/// assert that all its references are valid for as long as the move takes.
struct MaybeDangling<T>(MaybeUninit<T>);

impl<T> MaybeDangling<T> {
    fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: it is initialised from the start, and `this` is not dropped.
        unsafe { this.0.assume_init_read() }
    }
}

impl<T> Drop for MaybeDangling<T> {
    fn drop(&mut self) {
        // SAFETY: it is initialised until `into_inner` takes it away, and that forgets `self`.
        unsafe { self.0.assume_init_drop() };
    }
}

/// Sets a word of a thread's handle, as a left mover.
fn announce(word: &Word) {
    release(OperationKind::Exit, location(word), |touch| {
        word.set(1);
        touch.write(location(word));
    });
}

/// Spawns a thread of the system.
fn spawn_native(
    name: Option<String>,
    stack_size: Option<usize>,
    body: Box<dyn FnOnce() + Send>,
) -> io::Result<real::JoinHandle<()>> {
    let mut builder = real::Builder::new();
    builder = name.into_iter().fold(builder, real::Builder::name);
    builder = stack_size.into_iter().fold(builder, real::Builder::stack_size);
    builder.spawn(body)
}

/// Spawns a thread.
///
/// # Safety
/// What `f` and `T` borrow outlives the thread.
#[track_caller]
pub(super) unsafe fn spawn_unchecked<'scope, F, T>(
    name: Option<String>,
    stack_size: Option<usize>,
    scope: Option<Shared<ScopeData>>,
    f: F,
) -> io::Result<JoinInner<'scope, T>>
where
    F: FnOnce() -> T,
    F: Send,
    T: Send,
{
    let model = on_model_thread();
    let thread = Thread::new((!model).then(ThreadId::of_real), name.clone());
    let packet = Shared::new(Packet {
        scope: scope.clone(),
        shares: Word::new(2),
        result: UnsafeCell::new(None),
        lifetime: PhantomData,
    });

    let f = MaybeDangling(MaybeUninit::new(f));
    let (own_thread, own_packet, own_scope) = (thread.clone(), packet.clone(), scope.clone());
    let body = move || {
        let f = f;
        if on_model_thread() {
            own_thread.set_id(ThreadId::of_model(dpor_scheduler::thread::current()));
        }
        set_current(own_thread.clone());
        ownership::will_end_at(location(own_thread.exited()));
        if let Some(scope) = &own_scope {
            scope.will_end();
        }
        let f = f.into_inner();
        let result = catch_unwind(AssertUnwindSafe(f));
        if result.is_err() && on_model_thread() {
            dpor_scheduler::thread::set_panicked();
        }
        // SAFETY: nobody reads the result before the thread counts as finished.
        unsafe { *own_packet.result.get() = Some(result) };
        announce(own_thread.finished());
        let over = own_packet.leave();
        // Drops the result if nobody can join any more; that is code of the user, and still counts as the thread.
        drop(own_packet);
        if let Some(scope) = own_scope {
            scope.thread_finished(over);
        }
        finish_thread();
        ownership::leave(location(own_thread.exited()));
        announce(own_thread.exited());
    };
    if let Some(scope) = &scope {
        scope.thread_started();
    }
    // SAFETY: only the lifetime changes. The caller promises that what is borrowed outlives the thread.
    let body: Box<dyn FnOnce() + Send + 'static> =
        unsafe { mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send + 'static>>(Box::new(body)) };

    let native = if model {
        let id = dpor_scheduler::thread::spawn(body, name, stack_size);
        thread.set_id(ThreadId::of_model(id));
        thread.tell(id);
        None
    } else {
        match spawn_native(name, stack_size, body) {
            Ok(native) => Some(native),
            Err(error) => {
                if let Some(scope) = scope {
                    scope.thread_finished(false);
                }
                return Err(error);
            }
        }
    };
    if let Some(scope) = &packet.scope {
        scope.handle_made();
    }
    Ok(JoinInner {
        native,
        thread,
        packet: Some(packet),
    })
}

/// The common part of the handles for joining.
pub(super) struct JoinInner<'scope, T> {
    /// The real thread, unless it is a model thread.
    native: Option<real::JoinHandle<()>>,
    thread: Thread,
    /// `None` once joined.
    packet: Option<Shared<Packet<'scope, T>>>,
}

impl<T> JoinInner<'_, T> {
    pub(super) fn thread(&self) -> &Thread {
        &self.thread
    }

    /// The real thread.
    ///
    /// # Panics
    /// On a model thread the execution ends: model threads have no pthread.
    pub(super) fn native(&self) -> &real::JoinHandle<()> {
        match &self.native {
            Some(native) => native,
            None => dpor_scheduler::unsupported("the pthread of a model thread was asked for"),
        }
    }

    #[track_caller]
    pub(super) fn is_finished(&self) -> bool {
        let finished = self.thread.finished();
        let here = location(finished);
        observe(here);
        let accesses = [access_of(here, AccessKind::Read)];
        perform(
            &Operation::always(OperationKind::IsFinished, here, &accesses),
            |_, touch| {
                touch.relaxed().read(here);
                finished.get() == 1
            },
        )
    }

    #[track_caller]
    pub(super) fn join(mut self) -> real::Result<T> {
        if let Some(native) = self.native.take() {
            // The thread catches all panics of its function; those of its thread-locals abort.
            native.join()?;
        } else {
            let exited = self.thread.exited();
            let here = location(exited);
            let accesses = [awaiting(here, AccessKind::Read, Awaits::AllWrites)];
            let guards = [Guard::when(Condition::Equals(exited.variable(), 1))];
            perform(
                &Operation::guarded(OperationKind::Join, here, &accesses, &guards),
                |_, touch| {
                    touch.awaiting(here, AccessKind::Read, Awaits::AllWrites);
                },
            );
            ownership::waited_for(here);
        }
        // The thread has dropped its share of the packet.
        let result = self.let_go(|packet| packet.into_inner()?.0.result.get_mut().take());
        result
            .flatten()
            .unwrap_or_else(|| Err(Box::new("threads should not terminate unexpectedly") as Box<dyn Any + Send>))
    }
}

impl<'scope, T> JoinInner<'scope, T> {
    /// Drops the share of the packet with `end`.
    #[track_caller]
    fn let_go<R>(&mut self, end: impl FnOnce(Shared<Packet<'scope, T>>) -> R) -> Option<R> {
        let packet = self.packet.take()?;
        let scope = packet.scope.clone();
        let over = packet.leave();
        let result = end(packet);
        if let Some(scope) = scope {
            scope.handle_gone(over);
        }
        Some(result)
    }
}

impl<T> Drop for JoinInner<'_, T> {
    /// Whether the thread has finished decides who drops its result.
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.packet.is_some() && self.native.is_none() && on_model_thread() {
            let here = location(self.thread.finished());
            observe(here);
            let accesses = [access_of(here, AccessKind::Read)];
            let finished = perform(
                &Operation::always(OperationKind::Detach, here, &accesses),
                |_, touch| {
                    touch.relaxed().read(here);
                    self.thread.finished().get() == 1
                },
            );
            if finished && let Some(packet) = &self.packet {
                packet.order_after_drops();
            }
        }
        self.let_go(drop);
    }
}
