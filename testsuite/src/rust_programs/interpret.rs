//! Runs programs on the facades of std.

use super::explore::Recorder;
use super::outcome::{Finals, Seen};
use super::{ABSENT, DISCONNECTED, Line, Op, POISONED, Program, TIMED_OUT, Under, WOULD_BLOCK};
use shim_std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use shim_std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError};
use shim_std::sync::{Barrier, Condvar, Mutex, MutexGuard, Once, OnceLock, RwLock};
use shim_std::sync::{RwLockReadGuard, RwLockWriteGuard};
use shim_std::thread::{self, JoinHandle, ScopedJoinHandle, Thread};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LockResult, TryLockError, TryLockResult};
use std::time::Duration;

/// So short that no two deadlines of a program are in an order.
const SOON: Duration = Duration::from_micros(1);

/// One record is shared by all model threads, which are coroutines of one OS thread.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub recorder: &'static Recorder,
    pub program: &'static Program,
}

// SAFETY: as said above, all of it stays on one OS thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

struct Objects {
    x: [AtomicU8; 2],
    m: [Mutex<u8>; 2],
    rw: RwLock<u8>,
    cv: Condvar,
    once: Once,
    cell: OnceLock<u8>,
    barrier: Barrier,
}

impl Objects {
    fn new() -> Objects {
        Objects {
            x: [AtomicU8::new(0), AtomicU8::new(0)],
            m: [Mutex::new(0), Mutex::new(0)],
            rw: RwLock::new(0),
            cv: Condvar::new(),
            once: Once::new(),
            cell: OnceLock::new(),
            barrier: Barrier::new(2),
        }
    }
}

enum Tx {
    Unbounded(Sender<u8>),
    Bounded(SyncSender<u8>),
}

impl Tx {
    fn send(&self, value: u8) -> u8 {
        let sent = match self {
            Tx::Unbounded(tx) => tx.send(value).is_ok(),
            Tx::Bounded(tx) => tx.send(value).is_ok(),
        };
        if sent { 0 } else { DISCONNECTED }
    }

    fn try_send(&self, value: u8) -> u8 {
        match self {
            Tx::Unbounded(_) => ABSENT,
            Tx::Bounded(tx) => match tx.try_send(value) {
                Ok(()) => 0,
                Err(TrySendError::Full(_)) => WOULD_BLOCK,
                Err(TrySendError::Disconnected(_)) => DISCONNECTED,
            },
        }
    }

    fn cloned(&self) -> Tx {
        match self {
            Tx::Unbounded(tx) => Tx::Unbounded(tx.clone()),
            Tx::Bounded(tx) => Tx::Bounded(tx.clone()),
        }
    }
}

/// The ends of the channel that a thread starts with.
#[derive(Default)]
struct Ends {
    tx: Option<Tx>,
    rx: Option<Receiver<u8>>,
}

/// The locals of a thread. Dropped in this order.
struct Locals<'a> {
    m: [Option<MutexGuard<'a, u8>>; 2],
    r: Option<RwLockReadGuard<'a, u8>>,
    w: Option<RwLockWriteGuard<'a, u8>>,
    tx: Option<Tx>,
    tx2: Option<Tx>,
    rx: Option<Receiver<u8>>,
}

/// The handle of a thread that the main thread has created.
trait Handle {
    fn join(self) -> bool;
    fn is_finished(&self) -> bool;
    fn thread(&self) -> &Thread;
}

impl Handle for JoinHandle<()> {
    fn join(self) -> bool {
        JoinHandle::join(self).is_ok()
    }
    fn is_finished(&self) -> bool {
        JoinHandle::is_finished(self)
    }
    fn thread(&self) -> &Thread {
        JoinHandle::thread(self)
    }
}

impl Handle for ScopedJoinHandle<'_, ()> {
    fn join(self) -> bool {
        ScopedJoinHandle::join(self).is_ok()
    }
    fn is_finished(&self) -> bool {
        ScopedJoinHandle::is_finished(self)
    }
    fn thread(&self) -> &Thread {
        ScopedJoinHandle::thread(self)
    }
}

struct Running<'a, 'h, H> {
    me: usize,
    objects: &'a Objects,
    known: &'a [Thread],
    children: &'h mut [Option<H>],
    locals: Locals<'a>,
}

fn open<G>(result: LockResult<G>) -> (G, u8) {
    match result {
        Ok(guard) => (guard, 0),
        Err(error) => (error.into_inner(), POISONED),
    }
}

fn try_open<G>(result: TryLockResult<G>) -> Option<(G, u8)> {
    match result {
        Ok(guard) => Some((guard, 0)),
        Err(TryLockError::Poisoned(error)) => Some((error.into_inner(), POISONED)),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A lock made by hand, taken.
struct SpinGuard<'a>(&'a AtomicU8);

impl SpinGuard<'_> {
    fn new(lock: &AtomicU8) -> SpinGuard<'_> {
        while lock.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
        SpinGuard(lock)
    }
}

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        self.0.store(0, SeqCst);
    }
}

fn poll_under<G>(x: &AtomicU8, acquire: impl Fn() -> Option<(G, u8)>) -> u8 {
    loop {
        if let Some((_guard, poisoned)) = acquire() {
            let value = x.load(SeqCst);
            if value != 0 {
                break value | poisoned;
            }
        }
    }
}

fn exchanged(result: Result<u8, u8>) -> u8 {
    result.unwrap_or_else(|met| met | WOULD_BLOCK)
}

impl<'a, H: Handle> Running<'a, '_, H> {
    fn keep(&mut self, m: usize, (mut guard, poisoned): (MutexGuard<'a, u8>, u8)) -> u8 {
        let value = *guard;
        *guard += 1;
        self.locals.m[m] = Some(guard);
        value | poisoned
    }

    fn keep_write(&mut self, (mut guard, poisoned): (RwLockWriteGuard<'a, u8>, u8)) -> u8 {
        let value = *guard;
        *guard += 1;
        self.locals.w = Some(guard);
        value | poisoned
    }

    fn keep_read(&mut self, (guard, poisoned): (RwLockReadGuard<'a, u8>, u8)) -> u8 {
        let value = *guard;
        self.locals.r = Some(guard);
        value | poisoned
    }

    fn child(&mut self, thread: u8) -> Option<&mut Option<H>> {
        self.children
            .get_mut(usize::from(thread) - 1)
            .filter(|child| child.is_some())
    }

    fn perform(&mut self, op: Op) -> u8 {
        let objects = self.objects;
        let x = |a: u8| &objects.x[usize::from(a)];
        match op {
            Op::Load(a) => x(a).load(SeqCst),
            Op::Store(a, v) => {
                x(a).store(v, SeqCst);
                0
            }
            Op::Swap(a, v) => x(a).swap(v, SeqCst),
            Op::Add(a) => x(a).fetch_add(1, SeqCst),
            Op::Cas(a, old, new) => exchanged(x(a).compare_exchange(old, new, SeqCst, SeqCst)),
            Op::CasWeak(a, old, new) => exchanged(x(a).compare_exchange_weak(old, new, SeqCst, SeqCst)),
            Op::Update(a) => exchanged(x(a).fetch_update(SeqCst, SeqCst, |v| (v < 2).then_some(v + 1))),
            Op::Await(a, yields) => loop {
                let value = x(a).load(SeqCst);
                if value != 0 {
                    break value;
                }
                if yields {
                    thread::yield_now();
                }
            },
            Op::AwaitCas(a) => {
                while x(a).compare_exchange(0, 1, SeqCst, SeqCst).is_err() {}
                0
            }
            Op::AwaitUnder(under, a) => self.await_under(under, x(a)),
            Op::Poll(a, rounds) => {
                for round in 0..rounds {
                    let value = x(a).load(SeqCst);
                    if value != 0 {
                        return round << 4 | value;
                    }
                }
                rounds << 4
            }
            Op::Lock(m) | Op::TryLock(m) | Op::AwaitTryLock(m) => {
                let m = usize::from(m);
                if self.locals.m[m].is_some() {
                    return ABSENT;
                }
                let mutex = &objects.m[m];
                let opened = match op {
                    Op::Lock(_) => Some(open(mutex.lock())),
                    Op::TryLock(_) => try_open(mutex.try_lock()),
                    _ => loop {
                        if let Some(opened) = try_open(mutex.try_lock()) {
                            break Some(opened);
                        }
                    },
                };
                opened.map_or(WOULD_BLOCK, |opened| self.keep(m, opened))
            }
            Op::AwaitLocked(m) => {
                let m = usize::from(m);
                if self.locals.m[m].is_some() {
                    return ABSENT;
                }
                loop {
                    let (guard, poisoned) = open(objects.m[m].lock());
                    if *guard != 0 {
                        break *guard | poisoned;
                    }
                }
            }
            Op::Unlock(m) => {
                self.locals.m[usize::from(m)] = None;
                0
            }
            Op::IsPoisoned(m) => objects.m[usize::from(m)].is_poisoned().into(),
            Op::ClearPoison(m) => {
                objects.m[usize::from(m)].clear_poison();
                0
            }
            Op::Panic => panic!("as planned"),
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite => self.enter(op),
            Op::ReadUnlock => {
                self.locals.r = None;
                0
            }
            Op::WriteUnlock => {
                self.locals.w = None;
                0
            }
            Op::Downgrade => match self.locals.w.take() {
                Some(guard) => self.keep_read((RwLockWriteGuard::downgrade(guard), 0)),
                None => ABSENT,
            },
            Op::Wait | Op::WaitTimeout => {
                let Some(guard) = self.locals.m[0].take() else {
                    return ABSENT;
                };
                if op == Op::Wait {
                    let opened = open(objects.cv.wait(guard));
                    return self.keep(0, opened);
                }
                let ((guard, timeout), poisoned) = open(objects.cv.wait_timeout(guard, SOON));
                let timed_out = if timeout.timed_out() { TIMED_OUT } else { 0 };
                self.keep(0, (guard, poisoned)) | timed_out
            }
            Op::NotifyOne => {
                objects.cv.notify_one();
                0
            }
            Op::NotifyAll => {
                objects.cv.notify_all();
                0
            }
            Op::Park => {
                thread::park();
                0
            }
            Op::ParkTimeout => {
                thread::park_timeout(SOON);
                0
            }
            Op::Unpark(thread) => {
                let known = self.known.get(usize::from(thread));
                let child = self
                    .children
                    .get(usize::from(thread).wrapping_sub(1))
                    .and_then(Option::as_ref);
                match known.or_else(|| child.map(Handle::thread)) {
                    Some(thread) => {
                        thread.unpark();
                        0
                    }
                    None => ABSENT,
                }
            }
            Op::Send(v) => self.locals.tx.as_ref().map_or(ABSENT, |tx| tx.send(v)),
            Op::TrySend(v) => self.locals.tx.as_ref().map_or(ABSENT, |tx| tx.try_send(v)),
            Op::Recv | Op::TryRecv | Op::AwaitTryRecv | Op::RecvTimeout => self.receive(op),
            Op::DropTx => {
                if self.locals.tx2.take().is_none() {
                    self.locals.tx = None;
                }
                0
            }
            Op::CloneTx => match &self.locals.tx {
                Some(tx) if self.locals.tx2.is_none() => {
                    self.locals.tx2 = Some(tx.cloned());
                    0
                }
                _ => ABSENT,
            },
            Op::DropRx => {
                self.locals.rx = None;
                0
            }
            Op::CallOnce(panics) => {
                let ran = Cell::new(0);
                let call = || {
                    objects.once.call_once(|| {
                        objects.x[0].fetch_add(1, SeqCst);
                        assert!(!panics, "as planned");
                        ran.set(2);
                    });
                };
                match catch_unwind(AssertUnwindSafe(call)) {
                    Ok(()) => ran.get(),
                    Err(_) => 1,
                }
            }
            Op::OnceDone => objects.once.is_completed().into(),
            Op::OnceWait => catch_unwind(AssertUnwindSafe(|| objects.once.wait())).is_err().into(),
            Op::CellInit(v) => *objects.cell.get_or_init(|| {
                objects.x[1].fetch_add(1, SeqCst);
                v
            }),
            Op::CellSet(v) => objects.cell.set(v).is_err().into(),
            Op::CellGet => objects.cell.get().copied().unwrap_or(WOULD_BLOCK),
            Op::CellWait => *objects.cell.wait(),
            Op::Barrier => objects.barrier.wait().is_leader().into(),
            Op::IsFinished(thread) => match self.child(thread) {
                Some(Some(child)) => child.is_finished().into(),
                _ => ABSENT,
            },
            Op::AwaitFinished(thread) => match self.child(thread) {
                Some(Some(child)) => {
                    while !child.is_finished() {}
                    1
                }
                _ => ABSENT,
            },
            Op::Join(thread) => match self.child(thread).and_then(Option::take) {
                Some(child) => (!child.join()).into(),
                None => ABSENT,
            },
        }
    }

    fn await_under(&self, under: Under, x: &AtomicU8) -> u8 {
        let (objects, locals) = (self.objects, &self.locals);
        match under {
            Under::Lock(m) | Under::TryLock(m) if locals.m[usize::from(m)].is_some() => ABSENT,
            Under::Read | Under::Write if locals.r.is_some() || locals.w.is_some() => ABSENT,
            Under::Lock(m) => poll_under(x, || Some(open(objects.m[usize::from(m)].lock()))),
            Under::TryLock(m) => poll_under(x, || try_open(objects.m[usize::from(m)].try_lock())),
            Under::Read => poll_under(x, || Some(open(objects.rw.read()))),
            Under::Write => poll_under(x, || Some(open(objects.rw.write()))),
            Under::Spin(l) => poll_under(x, || Some((SpinGuard::new(&objects.x[usize::from(l)]), 0))),
        }
    }

    fn enter(&mut self, op: Op) -> u8 {
        if self.locals.r.is_some() || self.locals.w.is_some() {
            return ABSENT;
        }
        let rw = &self.objects.rw;
        match op {
            Op::Read => self.keep_read(open(rw.read())),
            Op::TryRead => try_open(rw.try_read()).map_or(WOULD_BLOCK, |opened| self.keep_read(opened)),
            Op::Write => self.keep_write(open(rw.write())),
            _ => try_open(rw.try_write()).map_or(WOULD_BLOCK, |opened| self.keep_write(opened)),
        }
    }

    fn receive(&mut self, op: Op) -> u8 {
        let Some(rx) = &self.locals.rx else { return ABSENT };
        match op {
            Op::Recv => rx.recv().unwrap_or(DISCONNECTED),
            Op::RecvTimeout => match rx.recv_timeout(SOON) {
                Ok(value) => value,
                Err(RecvTimeoutError::Timeout) => WOULD_BLOCK,
                Err(RecvTimeoutError::Disconnected) => DISCONNECTED,
            },
            _ => loop {
                match rx.try_recv() {
                    Ok(value) => break value,
                    Err(TryRecvError::Disconnected) => break DISCONNECTED,
                    Err(TryRecvError::Empty) if op == Op::TryRecv => break WOULD_BLOCK,
                    Err(TryRecvError::Empty) => {}
                }
            },
        }
    }
}

fn run_thread<H: Handle>(
    me: usize,
    shared: Shared,
    objects: &Objects,
    known: &[Thread],
    ends: Ends,
    children: &mut [Option<H>],
) {
    let locals = Locals {
        m: [None, None],
        r: None,
        w: None,
        tx: ends.tx,
        tx2: None,
        rx: ends.rx,
    };
    let mut running = Running {
        me,
        objects,
        known,
        children,
        locals,
    };
    let recorder = shared.recorder;
    let mut last = None;
    for (number, &Line { when, op }) in (0..).zip(&shared.program.threads[me]) {
        if when.is_none() || when == last {
            recorder.at[me].set(number);
            let value = running.perform(op);
            recorder.push(running.me, value);
            last = Some(value);
        }
    }
    recorder.at[me].set(Seen::ENDED);
}

/// Creates the threads, each with its ends of the channel and the handles of those that came before.
fn create<H: Handle>(
    shared: Shared,
    mut spawn: impl FnMut(usize, Vec<Thread>, Ends) -> H,
) -> (Vec<Option<H>>, Ends, Vec<Thread>) {
    let program = shared.program;
    let mut ends = Ends::default();
    if let Some(channel) = program.channel {
        let (tx, rx) = match channel.capacity {
            None => {
                let (tx, rx) = mpsc::channel();
                (Tx::Unbounded(tx), rx)
            }
            Some(capacity) => {
                let (tx, rx) = mpsc::sync_channel(capacity.into());
                (Tx::Bounded(tx), rx)
            }
        };
        ends = Ends {
            tx: Some(tx),
            rx: Some(rx),
        };
    }
    let unparks = program.ops().any(|op| matches!(op, Op::Unpark(_)));
    let mut known = Vec::new();
    if unparks {
        known.push(thread::current());
    }
    let mut children = Vec::new();
    for t in 1..program.threads.len() {
        let mut own = Ends::default();
        if let Some(channel) = program.channel {
            if channel.senders & 1 << t != 0 {
                own.tx = ends.tx.as_ref().map(Tx::cloned);
            }
            if usize::from(channel.receiver) == t {
                own.rx = ends.rx.take();
            }
        }
        let child = spawn(t, known.clone(), own);
        if unparks {
            known.push(child.thread().clone());
        }
        children.push(Some(child));
    }
    if program.channel.is_some_and(|channel| channel.senders & 1 == 0) {
        ends.tx = None;
    }
    // Main reaches the threads through their handles, as long as it has them.
    known.truncate(1);
    (children, ends, known)
}

/// Runs the main thread.
pub(super) fn run_main(shared: Shared) {
    let objects = Arc::new(Objects::new());
    let recorder = shared.recorder;
    let at = &recorder.at[0];
    if shared.program.scoped {
        let scope = || {
            let objects = &*objects;
            thread::scope(|scope| {
                let (mut children, ends, known) = create(shared, |t, known, own| {
                    scope.spawn(move || run_thread::<JoinHandle<()>>(t, shared, objects, &known, own, &mut []))
                });
                run_thread(0, shared, objects, &known, ends, &mut children);
                at.set(Seen::SCOPE);
            });
        };
        let panicked = catch_unwind(AssertUnwindSafe(scope)).is_err();
        recorder.push(0, panicked.into());
    } else {
        let (mut children, ends, known) = create(shared, |t, known, own| {
            let objects = objects.clone();
            thread::spawn(move || run_thread::<JoinHandle<()>>(t, shared, &objects, &known, own, &mut []))
        });
        run_thread(0, shared, &objects, &known, ends, &mut children);
        for (t, child) in (1..).zip(children) {
            if let Some(child) = child {
                at.set(Seen::JOINING + t);
                recorder.push(0, (!Handle::join(child)).into());
            }
        }
        at.set(Seen::SCOPE);
    }
    let uses = shared.program.uses();
    let mut finals = Finals::default();
    for a in 0..2 {
        if uses[a] {
            finals[a] = objects.x[a].load(SeqCst);
        }
        if uses[2 + a] {
            let (guard, poisoned) = open(objects.m[a].lock());
            finals[2 + a] = *guard | poisoned;
        }
    }
    if uses[4] {
        let (guard, poisoned) = open(objects.rw.read());
        finals[4] = *guard | poisoned;
    }
    recorder.finals.set(finals);
}
