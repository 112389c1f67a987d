//! Asynchronous mutexes: a queue of requests, the first of which owns the mutex.
//!
//! Requests have numbers. A request writes the *tail*; whoever tests or waits reads the *front*, the number of the
//! owner; an unlock writes it. A request that is withdrawn while another owns the mutex reads the front and updates the
//! set of those *withdrawn*, which an unlock reads. So a request is independent of all but other requests; tests and
//! waits are of each other, and of withdrawals by others than the owner.

use super::list::{List, Node};
use super::{Part, Sealed};
use dpor_scheduler::{
    AccessKind, Awaits, Location, Operation, OperationKind, Touch, Word, access_of, location, note, observe, perform,
    release_all,
};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A mutex that is requested without waiting.
///
/// Requests are served in the order in which they come. To own the mutex is to be first; the owner gets at the data by
/// a [`Guard`], and the next is served when that is dropped. A request that is dropped is withdrawn.
///
/// ```
/// # shim_std::model(|| {
/// use shim_std::{comm::AsyncMutex, sync::Arc, thread};
///
/// let count = Arc::new(AsyncMutex::new(0));
/// let other = Arc::clone(&count);
/// let handle = thread::spawn(move || *other.request().wait() += 1);
/// let request = count.request();
/// // Something else could be done here.
/// *request.wait() += 1;
/// handle.join().unwrap();
/// assert_eq!(*count.request().wait(), 2);
/// # });
/// ```
///
/// There is no poisoning: a guard that is dropped in a panic gives the mutex to the next.
pub struct AsyncMutex<T: ?Sized> {
    /// Number of requests so far.
    requests: Word,
    /// The number of the request that owns the mutex, or of the next one to come.
    front: Word,
    /// The numbers of requests that were withdrawn and have not reached the front.
    withdrawn: UnsafeCell<List<i64>>,
    data: UnsafeCell<T>,
}

// SAFETY: a mutex owns its data.
unsafe impl<T: ?Sized + Send> Send for AsyncMutex<T> {}
// SAFETY: the data is reached by the owner only, through a guard; the list inside of operations, of which one takes
// effect at a time.
unsafe impl<T: ?Sized + Send> Sync for AsyncMutex<T> {}
impl<T: ?Sized> UnwindSafe for AsyncMutex<T> {}
impl<T: ?Sized> RefUnwindSafe for AsyncMutex<T> {}

impl<T> AsyncMutex<T> {
    /// Creates a mutex without requests.
    #[must_use]
    pub const fn new(data: T) -> AsyncMutex<T> {
        AsyncMutex {
            requests: Word::new(0),
            front: Word::new(0),
            withdrawn: UnsafeCell::new(List::new()),
            data: UnsafeCell::new(data),
        }
    }

    /// Returns the data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> AsyncMutex<T> {
    /// Requests the mutex without waiting.
    #[track_caller]
    pub fn request(&self) -> Request<'_, T> {
        let tail = location(&self.requests);
        let accesses = [access_of(tail, AccessKind::Write)];
        let operation = Operation::always(OperationKind::RequestLock, self.front(), &accesses);
        let number = perform(&operation, |_, touch| {
            let number = self.requests.get();
            self.requests.set(number + 1);
            touch.write(tail);
            note(|| format!("number {number}"));
            number
        });
        Request {
            part: Part {
                object: self.front(),
                places: [self.front(); 2],
                variable: self.front.variable(),
                least: number,
                awaits: Awaits::Nothing,
                observed: true,
                known: Cell::new(false),
            },
            mutex: self,
            number,
            not_send: PhantomData,
        }
    }

    /// Mutable access to the data.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    fn front(&self) -> Location {
        location(&self.front)
    }

    fn withdrawals(&self) -> Location {
        location(&self.withdrawn)
    }

    /// Ends the owner's request: the next one that was not withdrawn comes to the front. In the current step.
    fn advance(&self, touch: Touch<'_>) {
        // SAFETY: inside of an operation.
        let withdrawn = unsafe { &mut *self.withdrawn.get() };
        let mut front = self.front.get() + 1;
        while let Some(node) = withdrawn.take(|node| node.value == front) {
            // SAFETY: the node was taken out of the list.
            unsafe { Node::free(node) };
            front += 1;
        }
        self.front.set(front);
        touch.write(self.front());
        touch.read(self.withdrawals());
    }

    /// Withdraws a request, whether it owns the mutex or not.
    fn withdraw(&self, number: i64) {
        observe(self.front());
        let node = Node::alloc(number);
        let accesses = [
            access_of(self.front(), AccessKind::Write),
            access_of(self.withdrawals(), AccessKind::Write),
        ];
        let operation = Operation::always(OperationKind::WithdrawRequest, self.front(), &accesses);
        perform(&operation, |_, touch| {
            if self.front.get() == number {
                // SAFETY: the node is in no list.
                unsafe { Node::free(node) };
                self.advance(touch);
            } else {
                // SAFETY: inside of an operation.
                unsafe { &mut *self.withdrawn.get() }.insert(node, |other| other.value > number);
                touch.read(self.front());
                touch.update(self.withdrawals());
            }
        });
    }
}

impl<T: Default> Default for AsyncMutex<T> {
    fn default() -> Self {
        AsyncMutex::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for AsyncMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncMutex").finish_non_exhaustive()
    }
}

/// A request for a mutex. It is done when it comes first, and so owns the mutex.
#[must_use = "a request that is dropped is withdrawn"]
pub struct Request<'a, T: ?Sized> {
    part: Part,
    mutex: &'a AsyncMutex<T>,
    number: i64,
    /// A request belongs to the thread that made it.
    not_send: PhantomData<*const ()>,
}

impl<'a, T: ?Sized> Request<'a, T> {
    /// Waits until the caller owns the mutex.
    #[track_caller]
    pub fn wait(self) -> Guard<'a, T> {
        self.part.wait(|| ());
        Guard {
            mutex: ManuallyDrop::new(self).mutex,
            not_send: PhantomData,
        }
    }

    /// Says whether the caller owns the mutex.
    #[must_use]
    #[track_caller]
    pub fn test(&self) -> bool {
        self.part.test()
    }

    /// Takes the mutex if the caller owns it.
    ///
    /// # Errors
    /// The request itself, if it is not done.
    #[track_caller]
    pub fn take(self) -> Result<Guard<'a, T>, Self> {
        if self.test() { Ok(self.wait()) } else { Err(self) }
    }
}

impl<T: ?Sized> Drop for Request<'_, T> {
    fn drop(&mut self) {
        self.mutex.withdraw(self.number);
    }
}

impl<T: ?Sized> Sealed for Request<'_, T> {
    fn part(&self) -> &Part {
        &self.part
    }
}

impl<T: ?Sized> fmt::Debug for Request<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

/// The ownership of an [`AsyncMutex`], with access to its data. Dropping it unlocks the mutex.
#[must_use = "if unused the mutex goes to the next at once"]
pub struct Guard<'a, T: ?Sized> {
    mutex: &'a AsyncMutex<T>,
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for Guard<'_, T> {}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's owner owns the mutex, and nobody else reaches the data.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        let mutex = self.mutex;
        let accesses = [
            access_of(mutex.front(), AccessKind::Write),
            access_of(mutex.withdrawals(), AccessKind::Read),
        ];
        let unlock = Operation::always(OperationKind::Unlock, mutex.front(), &accesses);
        release_all(&unlock, |touch| mutex.advance(touch));
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
