//! The locks of the C library on model threads: mutexes, condition variables, read-write locks, `pthread_once`, spin
//! locks, barriers and semaphores, as operations of the model.
//!
//! Their state is in the objects themselves, in bytes that the C library leaves zero in an object that nobody uses: so
//! objects are initialised by the C library's functions, or statically. Only who waits on a condition variable or a
//! barrier is in a queue that has the object's address ([`crate::api::queue`]). An object outside of the program's own
//! memory is the C library's, and so is one off the model's threads.
//!
//! As with std's locks, neither readers nor writers are preferred, and whoever waits may be next.

use super::{clock, futex, interposed, is_programs, unsupported};
use crate::api::queue::{End, Waiter, queue_location, wake_all};
use crate::api::touch::{Touch, read_final};
use crate::api::word::{HalfWord, Word};
use crate::api::{note, observe, order, perform_call, release_call, thread, time};
use crate::image::arena::in_program;
use crate::operation::{Operation, OperationKind as K, access_of, location};
use dpor_explorer::{AccessKind, Condition, Guard, Location, Variable};
use libc::{c_int, c_long};
use std::cell::Cell;
use std::time::Duration;

/// The object at the address, if it belongs to the model.
fn object<'a, T>(address: usize) -> Option<&'a T> {
    if !in_program() || !is_programs(address) || !address.is_multiple_of(align_of::<T>()) {
        return None;
    }
    // SAFETY: the callers of the C library's functions promise an object of the type, whose bytes are as below.
    Some(unsafe { &*std::ptr::with_exposed_provenance(address) })
}

/// The deadline of a wait, in time since the start of the execution.
///
/// # Safety
///
/// A value can be read there.
unsafe fn deadline(time: usize) -> Result<Duration, c_int> {
    // SAFETY: the caller's promise.
    unsafe { clock::duration(time) }.map(clock::since_start)
}

/// The calling thread as objects name it: never 0.
fn myself() -> i64 {
    i64::from(thread::current().0) + 1
}

/// An operation that waits for a condition on the variable, or for a deadline that can fire only while another
/// condition holds. Says whether the deadline fired.
struct Blocking {
    kind: K,
    object: Location,
    access: AccessKind,
    ready: Condition,
    not_ready: Condition,
}

impl Blocking {
    fn perform(&self, deadline: Option<Duration>, take: impl Fn(Touch<'_>)) -> c_int {
        let timeout = deadline.map(clock::until);
        let fires = time::firing(timeout).is_some();
        if fires {
            // Who may give up sees that the object is held.
            observe(self.object);
        }
        let accesses = [access_of(self.object, self.access)];
        let alternatives = [Guard::when(self.ready), Guard::when(self.not_ready)];
        let operation = Operation {
            kind: self.kind,
            object: self.object,
            accesses: &accesses,
            alternatives: &alternatives[..1 + usize::from(fires)],
            timeout: time::alternative(1, timeout),
        };
        let done = perform_call(&operation, |alternative, touch| {
            match alternative {
                0 => take(touch),
                _ => {
                    touch.relaxed().read(self.object);
                    note(|| "timed out".to_string());
                }
            }
            alternative == 0
        });
        match deadline.filter(|_| !done) {
            None => 0,
            Some(at) => {
                time::advance_to(at);
                libc::ETIMEDOUT
            }
        }
    }

    /// Tries the operation without waiting: returns the error if the condition does not hold.
    fn attempt(&self, kind: K, ready: impl Fn() -> bool, take: impl Fn(Touch<'_>)) -> c_int {
        observe(self.object);
        let accesses = [access_of(self.object, AccessKind::Write)];
        perform_call(&Operation::always(kind, self.object, &accesses), |_, touch| {
            if ready() {
                take(touch);
                return 0;
            }
            touch.relaxed().read(self.object);
            note(|| "would block".to_string());
            libc::EBUSY
        })
    }
}

/// `pthread_mutex_t`: the C library uses the end of it only for robust mutexes.
#[repr(C)]
struct Mutex {
    _used: [u8; 16],
    kind: Cell<c_int>,
    _spins: c_int,
    /// The owner, or 0.
    owner: Word,
    /// Number of times that the owner has locked it again.
    again: Cell<u64>,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());

impl Mutex {
    fn at<'a>(address: usize) -> Option<&'a Mutex> {
        /// Robust mutexes, and those with a priority protocol.
        const OTHER: c_int = 16 | 32 | 64;
        let mutex = object::<Mutex>(address)?;
        if mutex.kind.get() & OTHER != 0 {
            unsupported("pthread mutex that is robust or has a priority protocol");
            return None;
        }
        Some(mutex)
    }

    fn kind(&self) -> c_int {
        self.kind.get() & 3
    }

    fn location(&self) -> Location {
        location(self)
    }

    fn free(&self) -> Condition {
        Condition::Equals(self.owner.variable(), 0)
    }

    fn take(&self, touch: Touch<'_>) {
        self.owner.set(myself());
        touch.write(self.location());
    }

    fn give(&self, touch: Touch<'_>) {
        self.owner.set(0);
        touch.write(self.location());
    }

    /// The result for a thread that locks a mutex which it holds, unless that is a deadlock. No other thread changes
    /// that it holds it.
    fn relock(&self) -> Option<c_int> {
        if self.owner.get() != myself() {
            return None;
        }
        match self.kind() {
            libc::PTHREAD_MUTEX_RECURSIVE => {
                self.again.set(self.again.get() + 1);
                Some(0)
            }
            libc::PTHREAD_MUTEX_ERRORCHECK => Some(libc::EDEADLK),
            _ => None,
        }
    }

    fn blocking(&self) -> Blocking {
        Blocking {
            kind: K::Lock,
            object: self.location(),
            access: AccessKind::Write,
            ready: self.free(),
            not_ready: Condition::AtLeast(self.owner.variable(), 1),
        }
    }

    fn lock(&self, deadline: Option<Duration>) -> c_int {
        self.relock()
            .unwrap_or_else(|| self.blocking().perform(deadline, |touch| self.take(touch)))
    }

    fn try_lock(&self) -> c_int {
        match self.relock() {
            None | Some(libc::EDEADLK) => {
                let free = || self.owner.get() == 0;
                self.blocking().attempt(K::TryLock, free, |touch| self.take(touch))
            }
            Some(done) => done,
        }
    }

    /// Whether the mutex's kind allows this only to its owner, and the caller is another thread.
    fn is_anothers(&self) -> bool {
        self.kind() != libc::PTHREAD_MUTEX_NORMAL && self.kind() != ADAPTIVE && self.owner.get() != myself()
    }

    fn unlock(&self) -> c_int {
        if self.is_anothers() {
            return libc::EPERM;
        }
        if self.kind() == libc::PTHREAD_MUTEX_RECURSIVE && self.again.get() > 0 {
            self.again.set(self.again.get() - 1);
            return 0;
        }
        release_call(K::Unlock, self.location(), |touch| self.give(touch));
        0
    }
}

/// `PTHREAD_MUTEX_ADAPTIVE_NP`: like the normal kind, but spins first.
const ADAPTIVE: c_int = 3;

/// Runs `f` on a mutex, with a deadline.
fn timed_mutex(mutex: usize, time: usize) -> Option<c_long> {
    let mutex = Mutex::at(mutex)?;
    // SAFETY: the caller of the C library's function promises one.
    let result = unsafe { deadline(time) }.map_or_else(|error| error, |at| mutex.lock(Some(at)));
    Some(c_long::from(result))
}

/// Waits on the condition variable at the address.
fn wait(condition: usize, mutex: usize, time: Option<usize>) -> Option<c_long> {
    let at: &[u8; 1] = object(condition)?;
    let condition = location(at);
    let mutex = Mutex::at(mutex)?;
    // SAFETY: the caller of the C library's function promises one.
    let deadline = match time.map(|time| unsafe { deadline(time) }).transpose() {
        Ok(deadline) => deadline,
        Err(error) => return Some(c_long::from(error)),
    };
    if mutex.is_anothers() {
        return Some(c_long::from(libc::EPERM));
    }
    let queue = condition.0 as usize;
    let timeout = deadline.map(clock::until);
    let waiter = Waiter::new(u32::MAX, time::firing(timeout).is_some());
    let again = mutex.again.get();
    let accesses = [
        access_of(queue_location(queue), AccessKind::Update),
        access_of(mutex.location(), AccessKind::Write),
    ];
    perform_call(&Operation::always(K::CondvarWait, condition, &accesses), |_, touch| {
        waiter.enter(queue, touch);
        mutex.again.set(0);
        mutex.give(touch);
    });
    let needs = Some((mutex.location(), mutex.free()));
    let end = waiter.wait(K::CondvarWake, condition, timeout, needs, |touch| mutex.take(touch));
    if end != End::Woken {
        if let Some(at) = deadline.filter(|_| end == End::TimedOut) {
            time::advance_to(at);
        }
        mutex.blocking().perform(None, |touch| mutex.take(touch));
    }
    mutex.again.set(again);
    Some(c_long::from(if end == End::TimedOut { libc::ETIMEDOUT } else { 0 }))
}

/// Wakes up to `number` threads that wait on the condition variable at the address.
fn notify(kind: K, condition: usize, number: u64) -> Option<c_long> {
    let condition: &[u8; 1] = object(condition)?;
    let condition = location(condition);
    futex::wake_queue(kind, condition, condition.0 as usize, number, u32::MAX);
    Some(0)
}

/// `pthread_rwlock_t`: the C library uses neither padding.
#[repr(C)]
struct RwLock {
    _used: [u8; 16],
    /// The writer, or 0.
    writer: Cell<i64>,
    _also_used: [u8; 16],
    /// Number of readers; -1 if there is a writer.
    holders: Word,
    _flags: u64,
}

const _: () = assert!(size_of::<RwLock>() == size_of::<libc::pthread_rwlock_t>());

impl RwLock {
    fn location(&self) -> Location {
        location(self)
    }

    fn take(&self, write: bool, touch: Touch<'_>) {
        if write {
            self.writer.set(myself());
            self.holders.set(-1);
            touch.relaxed().write(self.location());
            order::write_locked(self.location());
        } else {
            self.holders.set(self.holders.get() + 1);
            touch.relaxed().update(self.location());
            order::read_locked(self.location());
        }
    }

    /// The operation that takes the lock.
    fn blocking(&self, write: bool) -> Blocking {
        let holders: Variable = self.holders.variable();
        let (kind, access, ready) = match write {
            true => (K::WriteLock, AccessKind::Write, Condition::Equals(holders, 0)),
            false => (K::ReadLock, AccessKind::Update, Condition::AtLeast(holders, 0)),
        };
        Blocking {
            kind,
            object: self.location(),
            access,
            ready,
            not_ready: Condition::LessThan(holders, 0),
        }
    }

    fn written_by_me(&self) -> bool {
        self.holders.get() == -1 && self.writer.get() == myself()
    }

    fn lock(&self, write: bool) -> c_int {
        if self.written_by_me() {
            return libc::EDEADLK;
        }
        self.blocking(write).perform(None, |touch| self.take(write, touch))
    }

    fn try_lock(&self, write: bool) -> c_int {
        let kind = if write { K::TryWriteLock } else { K::TryReadLock };
        let ready = || match write {
            true => self.holders.get() == 0,
            false => self.holders.get() >= 0,
        };
        self.blocking(write)
            .attempt(kind, ready, |touch| self.take(write, touch))
    }

    fn unlock(&self) -> c_int {
        if self.holders.get() == -1 {
            release_call(K::WriteUnlock, self.location(), |touch| {
                self.writer.set(0);
                self.holders.set(0);
                order::write_unlocked(self.location());
                touch.relaxed().write(self.location());
            });
        } else {
            release_call(K::ReadUnlock, self.location(), |touch| {
                self.holders.set(self.holders.get() - 1);
                order::read_unlocked(self.location());
                touch.relaxed().update(self.location());
            });
        }
        0
    }
}

fn on_rwlock(lock: usize, f: impl FnOnce(&RwLock) -> c_int) -> Option<c_long> {
    object::<RwLock>(lock).map(|lock| c_long::from(f(lock)))
}

fn timed_rwlock(lock: usize) -> Option<c_long> {
    object::<RwLock>(lock).map(|_| unsupported("lock of a pthread_rwlock_t with a timeout"))
}

fn on_mutex(mutex: usize, f: impl FnOnce(&Mutex) -> c_int) -> Option<c_long> {
    Mutex::at(mutex).map(|mutex| c_long::from(f(mutex)))
}

/// The value in a `pthread_once_t` that has run, as the C library has it.
const COMPLETE: i32 = 2;
const RUNNING: i32 = 1;

fn once(once: usize, routine: usize) -> Option<c_long> {
    let once: &HalfWord = object(once)?;
    let here = once.location();
    if once.get() == COMPLETE {
        // Final, so that it does not matter when it is seen.
        read_final(here);
        return Some(0);
    }
    let accesses = [access_of(here, AccessKind::Write)];
    let state = |value| Condition::Equals(once.variable(), value);
    let free = [Guard::always().and([state(0), state(i64::from(COMPLETE))])];
    let runs = perform_call(&Operation::guarded(K::OnceBegin, here, &accesses, &free), |_, touch| {
        let runs = once.get() != COMPLETE;
        if runs {
            once.set(RUNNING);
            touch.write(here);
        } else {
            touch.read(here);
        }
        runs
    });
    if runs {
        // SAFETY: the caller of the C library's function promises a routine.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(routine)() };
        release_call(K::OnceEnd, here, |touch| {
            once.set(COMPLETE);
            touch.write(here);
        });
    }
    Some(0)
}

/// `pthread_spinlock_t`: 1 if it is free, 0 if it is held.
struct SpinLock<'a>(&'a HalfWord);

impl SpinLock<'_> {
    fn blocking(&self) -> Blocking {
        Blocking {
            kind: K::Lock,
            object: self.0.location(),
            access: AccessKind::Write,
            ready: Condition::Equals(self.0.variable(), 1),
            not_ready: Condition::LessThan(self.0.variable(), 1),
        }
    }

    fn set(&self, value: i32, touch: Touch<'_>) {
        self.0.set(value);
        touch.write(self.0.location());
    }
}

fn on_spin_lock(lock: usize, f: impl FnOnce(SpinLock<'_>) -> c_int) -> Option<c_long> {
    object::<HalfWord>(lock).map(|lock| c_long::from(f(SpinLock(lock))))
}

/// `pthread_barrier_t`, as far as it matters here.
#[repr(C)]
struct Barrier {
    arrived: Cell<u32>,
    _round: u32,
    count: Cell<u32>,
}

fn barrier_wait(barrier: usize) -> Option<c_long> {
    let barrier: &Barrier = object(barrier)?;
    let here = location(barrier);
    let queue = here.0 as usize;
    let waiter = Waiter::patient(u32::MAX);
    let accesses = [
        access_of(here, AccessKind::Write),
        access_of(queue_location(queue), AccessKind::Write),
    ];
    let last = perform_call(&Operation::always(K::BarrierWait, here, &accesses), |_, touch| {
        touch.write(here);
        barrier.arrived.set(barrier.arrived.get() + 1);
        let last = barrier.arrived.get() == barrier.count.get();
        if last {
            barrier.arrived.set(0);
            wake_all(queue, touch);
        } else {
            waiter.enter(queue, touch);
        }
        last
    });
    if last {
        return Some(c_long::from(libc::PTHREAD_BARRIER_SERIAL_THREAD));
    }
    waiter.wait(K::BarrierWake, here, None, None, |_| order::acquire(here));
    Some(0)
}

/// `sem_t`: its value is where the C library has it, and it never has waiters.
struct Semaphore<'a>(&'a Word);

impl Semaphore<'_> {
    fn location(&self) -> Location {
        location(self.0)
    }

    fn blocking(&self) -> Blocking {
        Blocking {
            kind: K::SemaphoreWait,
            object: self.location(),
            access: AccessKind::Write,
            ready: Condition::AtLeast(self.0.variable(), 1),
            not_ready: Condition::LessThan(self.0.variable(), 1),
        }
    }

    fn take(&self, touch: Touch<'_>) {
        self.0.set(self.0.get() - 1);
        order::acquire(self.location());
        touch.relaxed().write(self.location());
    }

    fn post(&self) {
        let accesses = [access_of(self.location(), AccessKind::Update)];
        perform_call(
            &Operation::always(K::SemaphorePost, self.location(), &accesses),
            |_, touch| {
                self.0.set(self.0.get() + 1);
                touch.update(self.location());
            },
        );
    }

    fn value(&self) -> i64 {
        let accesses = [access_of(self.location(), AccessKind::Read)];
        perform_call(
            &Operation::always(K::SemaphoreQuery, self.location(), &accesses),
            |_, touch| {
                touch.relaxed().read(self.location());
                self.0.get()
            },
        )
    }
}

/// Makes a call on a semaphore, which returns -1 where others return the error.
fn on_semaphore(semaphore: usize, f: impl FnOnce(Semaphore<'_>) -> c_int) -> Option<c_long> {
    let error = object::<Word>(semaphore).map(|word| f(Semaphore(word)))?;
    Some(if error == 0 { 0 } else { super::failed(error) })
}

fn timed_semaphore(semaphore: usize, time: usize) -> Option<c_long> {
    on_semaphore(semaphore, |semaphore| {
        // SAFETY: the caller of the C library's function promises one.
        let at = unsafe { deadline(time) };
        at.map_or_else(
            |error| error,
            |at| semaphore.blocking().perform(Some(at), |touch| semaphore.take(touch)),
        )
    })
}

interposed! {
    pthread_mutex_lock(mutex) => on_mutex(mutex, |mutex| mutex.lock(None));
    pthread_mutex_trylock(mutex) => on_mutex(mutex, Mutex::try_lock);
    pthread_mutex_timedlock(mutex, time) => timed_mutex(mutex, time);
    pthread_mutex_clocklock(mutex, clock, time) => timed_mutex(mutex, time);
    pthread_mutex_unlock(mutex) => on_mutex(mutex, Mutex::unlock);
    pthread_cond_wait(condition, mutex) [c"GLIBC_2.3.2"] => wait(condition, mutex, None);
    pthread_cond_timedwait(condition, mutex, time) [c"GLIBC_2.3.2"] => wait(condition, mutex, Some(time));
    pthread_cond_clockwait(condition, mutex, clock, time) => wait(condition, mutex, Some(time));
    pthread_cond_signal(condition) [c"GLIBC_2.3.2"] => notify(K::NotifyOne, condition, 1);
    pthread_cond_broadcast(condition) [c"GLIBC_2.3.2"] => notify(K::NotifyAll, condition, i32::MAX as u64);
    pthread_rwlock_rdlock(lock) => on_rwlock(lock, |lock| lock.lock(false));
    pthread_rwlock_wrlock(lock) => on_rwlock(lock, |lock| lock.lock(true));
    pthread_rwlock_tryrdlock(lock) => on_rwlock(lock, |lock| lock.try_lock(false));
    pthread_rwlock_trywrlock(lock) => on_rwlock(lock, |lock| lock.try_lock(true));
    pthread_rwlock_timedrdlock(lock, time) => timed_rwlock(lock);
    pthread_rwlock_timedwrlock(lock, time) => timed_rwlock(lock);
    pthread_rwlock_clockrdlock(lock, clock, time) => timed_rwlock(lock);
    pthread_rwlock_clockwrlock(lock, clock, time) => timed_rwlock(lock);
    pthread_rwlock_unlock(lock) => on_rwlock(lock, RwLock::unlock);
    pthread_once(once_control, routine) => once(once_control, routine);
    pthread_spin_lock(lock) => on_spin_lock(lock, |lock| lock.blocking().perform(None, |touch| lock.set(0, touch)));
    pthread_spin_trylock(lock) =>
        on_spin_lock(lock, |lock| {
            lock.blocking().attempt(K::TryLock, || lock.0.get() == 1, |touch| lock.set(0, touch))
        });
    pthread_spin_unlock(lock) => on_spin_lock(lock, |lock| {
        release_call(K::Unlock, lock.0.location(), |touch| lock.set(1, touch));
        0
    });
    pthread_barrier_wait(barrier) => barrier_wait(barrier);
    sem_wait(semaphore) =>
        on_semaphore(semaphore, |semaphore| semaphore.blocking().perform(None, |touch| semaphore.take(touch)));
    sem_trywait(semaphore) => on_semaphore(semaphore, |semaphore| {
        let free = || semaphore.0.get() > 0;
        let taken = semaphore.blocking().attempt(K::SemaphoreTryWait, free, |touch| semaphore.take(touch));
        if taken == libc::EBUSY { libc::EAGAIN } else { taken }
    });
    sem_timedwait(semaphore, time) => timed_semaphore(semaphore, time);
    sem_clockwait(semaphore, clock, time) => timed_semaphore(semaphore, time);
    sem_post(semaphore) => on_semaphore(semaphore, |semaphore| {
        semaphore.post();
        0
    });
    sem_getvalue(semaphore, value) => on_semaphore(semaphore, |semaphore| {
        // SAFETY: the caller of the C library's function promises a place for it.
        unsafe { (value as *mut c_int).write(semaphore.value() as c_int) };
        0
    });
}
