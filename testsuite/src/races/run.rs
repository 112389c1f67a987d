//! Runs programs on the facades of std.

use super::{MEMORY, Op, Place, Program, THREADS};
use shim_std::sync::atomic::{AtomicU8, AtomicU32, fence};
use shim_std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use shim_std::sync::{Barrier, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard};
use shim_std::thread::{self, JoinHandle, Thread};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

// The hooks of plain accesses, which the scheduler defines.
unsafe extern "C" {
    safe fn __tsan_read1(at: *const c_void);
    safe fn __tsan_read2(at: *const c_void);
    safe fn __tsan_read4(at: *const c_void);
    safe fn __tsan_read8(at: *const c_void);
    safe fn __tsan_write1(at: *const c_void);
    safe fn __tsan_write2(at: *const c_void);
    safe fn __tsan_write4(at: *const c_void);
    safe fn __tsan_write8(at: *const c_void);
    fn __tsan_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
}

/// The shared memory: two cells, and the atomics at the offsets that `ATOMICS` has.
#[repr(C, align(8))]
struct Memory {
    cells: [UnsafeCell<u64>; 2],
    x0: AtomicU8,
    x1: AtomicU32,
}

// SAFETY: all model threads are on one thread of the operating system.
unsafe impl Sync for Memory {}

impl Memory {
    const fn new() -> Memory {
        Memory {
            cells: [const { UnsafeCell::new(0) }; 2],
            x0: AtomicU8::new(0),
            x1: AtomicU32::new(0),
        }
    }

    /// The bytes from the offset on.
    fn bytes(&'static self, at: u8, size: u8) -> *mut u8 {
        assert!(usize::from(at + size) <= MEMORY, "{at} is in the memory");
        // SAFETY: so it is.
        unsafe { ptr::from_ref(self).cast::<u8>().cast_mut().add(at.into()) }
    }

    fn read(&'static self, at: u8, size: u8) -> u8 {
        let from = self.bytes(at, size);
        match size {
            1 => __tsan_read1(from.cast()),
            2 => __tsan_read2(from.cast()),
            4 => __tsan_read4(from.cast()),
            _ => __tsan_read8(from.cast()),
        }
        // SAFETY: the byte is part of the memory; the model threads are on one thread of the operating system.
        unsafe { from.read_volatile() }
    }

    fn write(&'static self, at: u8, size: u8, value: u8) {
        self.change(at, size, |to| {
            // SAFETY: the bytes are part of the memory, which is behind `UnsafeCell`s; nobody else runs.
            unsafe { to.write_bytes(value, size.into()) }
        });
    }

    fn change(&'static self, at: u8, size: u8, write: impl FnOnce(*mut u8)) {
        let to = self.bytes(at, size);
        match size {
            1 => __tsan_write1(to.cast()),
            2 => __tsan_write2(to.cast()),
            4 => __tsan_write4(to.cast()),
            _ => __tsan_write8(to.cast()),
        }
        write(to);
    }
}

/// The memory of programs that do not have it on the heap. It is part of a model's state.
static MEMORY_IN_STATIC: Memory = Memory::new();

enum Tx {
    Unbounded(Sender<u8>),
    Bounded(SyncSender<u8>),
}

/// All that threads share. Never freed.
struct Objects {
    program: &'static Program,
    memory: &'static Memory,
    m: [Mutex<()>; 2],
    rw: RwLock<()>,
    barrier: Barrier,
    once: Once,
    channel: Option<(Tx, Receiver<u8>)>,
}

#[derive(Clone, Copy)]
struct Shared(&'static Objects);

// SAFETY: all model threads are on one thread of the operating system; the receiver is used by one of them.
unsafe impl Send for Shared {}

enum RwGuard {
    None,
    Shared(#[expect(dead_code, reason = "it is there to be dropped")] RwLockReadGuard<'static, ()>),
    Alone(#[expect(dead_code, reason = "it is there to be dropped")] RwLockWriteGuard<'static, ()>),
}

impl RwGuard {
    fn is_none(&self) -> bool {
        matches!(self, RwGuard::None)
    }
}

struct Running {
    shared: Shared,
    /// Whether handles are given to threads that are created.
    parks: bool,
    last: u8,
    m: [Option<MutexGuard<'static, ()>>; 2],
    rw: RwGuard,
    children: [Option<JoinHandle<()>>; THREADS],
    known: Known,
}

/// The handles that a thread has for `unpark`. They are never dropped, as the last drop would order.
type Known = [Option<&'static Thread>; THREADS];

macro_rules! on_atomic {
    ($self:ident, $x:expr, $method:ident($($value:expr,)*; $order:expr)) => {
        match $x {
            0 => $self.shared.0.memory.x0.$method($($value,)* $order),
            _ => $self.shared.0.memory.x1.$method($($value.into(),)* $order) as u8,
        }
    };
}

impl Running {
    fn exchange(&self, x: u8, (old, new): (u8, u8), (success, failure): (Ordering, Ordering)) -> u8 {
        let memory = self.shared.0.memory;
        match x {
            0 => memory
                .x0
                .compare_exchange(old, new, success, failure)
                .unwrap_or_else(|met| met),
            _ => memory
                .x1
                .compare_exchange(old.into(), new.into(), success, failure)
                .unwrap_or_else(|met| met) as u8,
        }
    }

    fn spawn(&mut self, child: usize) {
        let (shared, parks, known) = (self.shared, self.parks, self.known);
        let handle = thread::spawn(move || run_thread(child, shared, parks, known));
        if parks {
            self.known[child] = Some(Box::leak(Box::new(handle.thread().clone())));
        }
        self.children[child] = Some(handle);
    }

    fn join(&mut self, child: usize) {
        if let Some(handle) = self.children[child].take()
            && handle.join().is_err()
        {
            panic!("thread {child} has panicked");
        }
    }

    fn perform(&mut self, op: Op) {
        let objects = self.shared.0;
        let memory = objects.memory;
        match op {
            Op::Read(at, size) => self.last = memory.read(at, size),
            Op::Write(at, size, value) => memory.write(at, size, value),
            Op::Copy(to, from, size) => {
                let (to, from) = (memory.bytes(to, size), memory.bytes(from, size));
                // SAFETY: both are in the memory; nobody else runs.
                unsafe { __tsan_memmove(to.cast(), from.cast(), size.into()) };
            }
            Op::PlainLoad(x) => {
                let (at, size) = super::ATOMICS[usize::from(x)];
                self.last = memory.read(at as u8, size as u8);
            }
            Op::PlainStore(x, value) => {
                let (at, size) = super::ATOMICS[usize::from(x)];
                // SAFETY: the first byte of an atomic, of which the others are always 0; nobody else runs.
                memory.change(at as u8, size as u8, |to| unsafe { to.write_volatile(value) });
            }
            Op::Load(x, order) => self.last = on_atomic!(self, x, load(; order)),
            Op::Store(0, value, order) => memory.x0.store(value, order),
            Op::Store(_, value, order) => memory.x1.store(value.into(), order),
            Op::Swap(x, value, order) => self.last = on_atomic!(self, x, swap(value,; order)),
            Op::Add(x, value, order) => self.last = on_atomic!(self, x, fetch_add(value,; order)),
            Op::Or(x, order) => self.last = on_atomic!(self, x, fetch_or(0u8,; order)),
            Op::Exchange(x, old, new, success, failure) => {
                self.last = self.exchange(x, (old, new), (success, failure));
            }
            Op::Fence(order) => fence(order),
            Op::Lock(m) | Op::TryLock(m) => {
                let m = usize::from(m);
                if self.m[m].is_none() {
                    if let Op::Lock(_) = op {
                        self.m[m] = objects.m[m].lock().ok();
                    } else {
                        self.m[m] = objects.m[m].try_lock().ok();
                        self.last = self.m[m].is_some().into();
                    }
                }
            }
            Op::Unlock(m) => self.m[usize::from(m)] = None,
            Op::LockShared | Op::TryLockShared | Op::LockAlone | Op::TryLockAlone => self.enter(op),
            Op::UnlockRw => self.rw = RwGuard::None,
            Op::Send(value) => {
                let sent = match &objects.channel {
                    Some((Tx::Unbounded(tx), _)) => tx.send(value).is_ok(),
                    Some((Tx::Bounded(tx), _)) => tx.send(value).is_ok(),
                    None => false,
                };
                assert!(sent, "the receiver lives");
            }
            Op::Recv => {
                let received = objects.channel.as_ref().and_then(|(_, rx)| rx.recv().ok());
                self.last = received.expect("there is a sender");
            }
            Op::TryRecv => {
                let received = objects.channel.as_ref().and_then(|(_, rx)| rx.try_recv().ok());
                self.last = received.unwrap_or(0);
            }
            Op::Park => thread::park(),
            Op::Unpark(other) => {
                if let Some(thread) = self.known[usize::from(other)] {
                    thread.unpark();
                }
            }
            Op::Barrier => {
                objects.barrier.wait();
            }
            Op::Once(at, size, value) => objects.once.call_once(|| memory.write(at, size, value)),
            Op::Spawn(child) => self.spawn(child.into()),
            Op::Join(child) => self.join(child.into()),
            Op::Unless(..) => unreachable!("it is for the loop over operations"),
        }
    }

    fn enter(&mut self, op: Op) {
        if !self.rw.is_none() {
            return;
        }
        let rw = &self.shared.0.rw;
        self.rw = match op {
            Op::LockShared => rw.read().map_or(RwGuard::None, RwGuard::Shared),
            Op::LockAlone => rw.write().map_or(RwGuard::None, RwGuard::Alone),
            Op::TryLockShared => rw.try_read().map_or(RwGuard::None, RwGuard::Shared),
            _ => rw.try_write().map_or(RwGuard::None, RwGuard::Alone),
        };
        if let Op::TryLockShared | Op::TryLockAlone = op {
            self.last = (!self.rw.is_none()).into();
        }
    }
}

fn run_thread(me: usize, shared: Shared, parks: bool, known: Known) {
    let mut running = Running {
        shared,
        parks,
        last: 0,
        m: [None, None],
        rw: RwGuard::None,
        children: [const { None }; THREADS],
        known,
    };
    let mut ops = shared.0.program.threads[me].iter();
    while let Some(&op) = ops.next() {
        match op {
            Op::Unless(value, count) => {
                if running.last != value {
                    let count = usize::from(count).min(ops.len());
                    ops = ops.as_slice()[count..].iter();
                }
            }
            op => running.perform(op),
        }
    }
    running.m[0] = None;
    running.m[1] = None;
    running.rw = RwGuard::None;
    for child in 0..THREADS {
        running.join(child);
    }
}

/// Runs the main thread. `program` lives as long as the model.
pub(super) fn run_main(program: &'static Program) {
    let in_frame = Memory::new();
    let memory = match program.place {
        Place::Static => &MEMORY_IN_STATIC,
        Place::Heap => Box::leak(Box::new(Memory::new())),
        // SAFETY: this function returns when all threads have been joined, or its frame stays until the execution ends.
        Place::Stack => unsafe { &*ptr::from_ref(&in_frame) },
    };
    let channel = program.communicates().then(|| match program.capacity {
        None => {
            let (tx, rx) = mpsc::channel();
            (Tx::Unbounded(tx), rx)
        }
        Some(capacity) => {
            let (tx, rx) = mpsc::sync_channel(capacity.into());
            (Tx::Bounded(tx), rx)
        }
    });
    let objects = Box::leak(Box::new(Objects {
        program,
        memory,
        m: [Mutex::new(()), Mutex::new(())],
        rw: RwLock::new(()),
        barrier: Barrier::new(2),
        once: Once::new(),
        channel,
    }));
    let parks = program.parks();
    let mut known = Known::default();
    if parks {
        known[0] = Some(Box::leak(Box::new(thread::current())));
    }
    run_thread(0, Shared(objects), parks, known);
}
