//! Programs in print: Rust source of a test.

use super::{Op, Program, Under};
use dpor_scheduler::Timeouts;
use std::fmt;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OPEN: &str = "unwrap_or_else(PoisonError::into_inner)";
        match *self {
            Op::Load(a) => write!(f, "x[{a}].load(SeqCst)"),
            Op::Store(a, v) => write!(f, "x[{a}].store({v}, SeqCst)"),
            Op::Swap(a, v) => write!(f, "x[{a}].swap({v}, SeqCst)"),
            Op::Add(a) => write!(f, "x[{a}].fetch_add(1, SeqCst)"),
            Op::Cas(a, old, new) => write!(f, "x[{a}].compare_exchange({old}, {new}, SeqCst, SeqCst)"),
            Op::CasWeak(a, old, new) => write!(f, "x[{a}].compare_exchange_weak({old}, {new}, SeqCst, SeqCst)"),
            Op::Update(a) => write!(f, "x[{a}].fetch_update(SeqCst, SeqCst, |v| (v < 2).then_some(v + 1))"),
            Op::Await(a, false) => write!(f, "while x[{a}].load(SeqCst) == 0 {{}}"),
            Op::Await(a, true) => write!(f, "while x[{a}].load(SeqCst) == 0 {{ yield_now() }}"),
            Op::AwaitCas(a) => write!(f, "while x[{a}].compare_exchange(0, 1, SeqCst, SeqCst).is_err() {{}}"),
            Op::AwaitUnder(Under::TryLock(m), a) => write!(
                f,
                "loop {{ if let Ok(_g) = m[{m}].try_lock() {{ if x[{a}].load(SeqCst) != 0 {{ break }} }} }}"
            ),
            Op::AwaitUnder(Under::Spin(l), a) => write!(
                f,
                "loop {{ while x[{l}].compare_exchange(0, 1, SeqCst, SeqCst).is_err() {{}} let v = \
                 x[{a}].load(SeqCst); x[{l}].store(0, SeqCst); if v != 0 {{ break }} }}"
            ),
            Op::AwaitUnder(under, a) => {
                let lock = match under {
                    Under::Read => "rw.read()".to_owned(),
                    Under::Write => "rw.write()".to_owned(),
                    Under::Lock(m) | Under::TryLock(m) | Under::Spin(m) => format!("m[{m}].lock()"),
                };
                write!(f, "loop {{ let _g = {lock}; if x[{a}].load(SeqCst) != 0 {{ break }} }}")
            }
            Op::Poll(a, k) => write!(f, "for _ in 0..{k} {{ if x[{a}].load(SeqCst) != 0 {{ break }} }}"),
            Op::Lock(m) => write!(f, "m{m} = Some(m[{m}].lock().{OPEN}); **m{m}.as_mut().unwrap() += 1"),
            Op::TryLock(m) => write!(f, "if let Ok(mut g) = m[{m}].try_lock() {{ *g += 1; m{m} = Some(g) }}"),
            Op::AwaitTryLock(m) => {
                write!(
                    f,
                    "loop {{ if let Ok(mut g) = m[{m}].try_lock() {{ *g += 1; m{m} = Some(g); break }} }}"
                )
            }
            Op::AwaitLocked(m) => write!(f, "while *m[{m}].lock().{OPEN} == 0 {{}}"),
            Op::Unlock(m) => write!(f, "drop(m{m}.take())"),
            Op::IsPoisoned(m) => write!(f, "m[{m}].is_poisoned()"),
            Op::ClearPoison(m) => write!(f, "m[{m}].clear_poison()"),
            Op::Panic => write!(f, "panic!()"),
            Op::Read => write!(f, "r = Some(rw.read().{OPEN})"),
            Op::TryRead => write!(f, "r = rw.try_read().ok()"),
            Op::ReadUnlock => write!(f, "drop(r.take())"),
            Op::Write => write!(f, "w = Some(rw.write().{OPEN}); **w.as_mut().unwrap() += 1"),
            Op::TryWrite => write!(f, "if let Ok(mut g) = rw.try_write() {{ *g += 1; w = Some(g) }}"),
            Op::WriteUnlock => write!(f, "drop(w.take())"),
            Op::Downgrade => write!(f, "r = w.take().map(RwLockWriteGuard::downgrade)"),
            Op::Wait => write!(
                f,
                "m0 = m0.take().map(|g| cv.wait(g).{OPEN}); **m0.as_mut().unwrap() += 1"
            ),
            Op::WaitTimeout => {
                write!(
                    f,
                    "m0 = m0.take().map(|g| cv.wait_timeout(g, SOON).{OPEN}.0); **m0.as_mut().unwrap() += 1"
                )
            }
            Op::NotifyOne => write!(f, "cv.notify_one()"),
            Op::NotifyAll => write!(f, "cv.notify_all()"),
            Op::Park => write!(f, "park()"),
            Op::ParkTimeout => write!(f, "park_timeout(SOON)"),
            Op::Unpark(t) => write!(f, "thread_of_t{t}.unpark()"),
            Op::Send(v) => write!(f, "tx.send({v})"),
            Op::TrySend(v) => write!(f, "tx.try_send({v})"),
            Op::Recv => write!(f, "rx.recv()"),
            Op::TryRecv => write!(f, "rx.try_recv()"),
            Op::AwaitTryRecv => write!(f, "while let Err(TryRecvError::Empty) = rx.try_recv() {{}}"),
            Op::RecvTimeout => write!(f, "rx.recv_timeout(SOON)"),
            Op::DropTx => write!(f, "drop(tx2 or tx)"),
            Op::CloneTx => write!(f, "tx2 = tx.clone()"),
            Op::DropRx => write!(f, "drop(rx)"),
            Op::CallOnce(panics) => {
                let end = if panics { "; panic!()" } else { "" };
                write!(
                    f,
                    "catch_unwind(|| once.call_once(|| {{ x[0].fetch_add(1, SeqCst){end}; }}))"
                )
            }
            Op::OnceDone => write!(f, "once.is_completed()"),
            Op::OnceWait => write!(f, "catch_unwind(|| once.wait())"),
            Op::CellInit(v) => write!(f, "cell.get_or_init(|| {{ x[1].fetch_add(1, SeqCst); {v} }})"),
            Op::CellSet(v) => write!(f, "cell.set({v})"),
            Op::CellGet => write!(f, "cell.get()"),
            Op::CellWait => write!(f, "cell.wait()"),
            Op::Barrier => write!(f, "barrier.wait()"),
            Op::IsFinished(t) => write!(f, "t{t}.is_finished()"),
            Op::AwaitFinished(t) => write!(f, "while !t{t}.is_finished() {{}}"),
            Op::Join(t) => write!(f, "t{t}.join()"),
        }
    }
}

impl Program {
    fn lines(&self, f: &mut fmt::Formatter<'_>, thread: usize, indent: &str) -> fmt::Result {
        for (number, line) in self.threads[thread].iter().enumerate() {
            match line.when {
                Some(value) => writeln!(f, "{indent}if last == {value:#x} {{ {} }} // {number}", line.op)?,
                None => writeln!(f, "{indent}{}; // {number}", line.op)?,
            }
        }
        let locals = self.locals(thread);
        if locals.is_empty() {
            return Ok(());
        }
        writeln!(f, "{indent}drop(({},)); // what is left", locals.join(", "))
    }

    /// The names of what a thread may hold at its end, in the order in which it drops them.
    fn locals(&self, thread: usize) -> Vec<&'static str> {
        let has = |wanted: fn(Op) -> bool| self.threads[thread].iter().any(|line| wanted(line.op));
        let named = [
            (
                "m0",
                has(|op| matches!(op, Op::Lock(0) | Op::TryLock(0) | Op::AwaitTryLock(0))),
            ),
            (
                "m1",
                has(|op| matches!(op, Op::Lock(1) | Op::TryLock(1) | Op::AwaitTryLock(1))),
            ),
            ("r", has(|op| matches!(op, Op::Read | Op::TryRead | Op::Downgrade))),
            ("w", has(|op| matches!(op, Op::Write | Op::TryWrite))),
            (
                "tx",
                self.channel.is_some_and(|channel| channel.senders & 1 << thread != 0),
            ),
            ("tx2", has(|op| op == Op::CloneTx)),
            (
                "rx",
                self.channel
                    .is_some_and(|channel| usize::from(channel.receiver) == thread),
            ),
        ];
        named
            .into_iter()
            .filter(|&(_, held)| held)
            .map(|(name, _)| name)
            .collect()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "// x: [AtomicU8; 2], m: [Mutex<u8>; 2], rw: RwLock<u8>, cell: OnceLock<u8>, barrier: Barrier::new(2), …"
        )?;
        if self.spurious_wakeups {
            writeln!(f, "// with --spurious-wakeups")?;
        }
        if self.spurious_cas {
            writeln!(f, "// with --spurious-cas")?;
        }
        if self.timeouts != Timeouts::Fire {
            writeln!(f, "// with --timeouts {}", self.timeouts)?;
        }
        writeln!(f, "fn main() {{")?;
        if let Some(channel) = self.channel {
            match channel.capacity {
                None => writeln!(f, "    let (tx, rx) = channel();")?,
                Some(capacity) => writeln!(f, "    let (tx, rx) = sync_channel({capacity});")?,
            }
        }
        let spawn = if self.scoped { "s.spawn" } else { "spawn" };
        if self.scoped {
            writeln!(f, "    scope(|s| {{")?;
        }
        for t in 1..self.threads.len() {
            let mut captured = String::new();
            if let Some(channel) = self.channel {
                if channel.senders & 1 << t != 0 {
                    captured += "let tx = tx.clone(); ";
                }
                if usize::from(channel.receiver) == t {
                    captured += "/* takes rx */ ";
                }
            }
            writeln!(f, "    let t{t} = {{ {captured}{spawn}(move || {{")?;
            self.lines(f, t, "        ")?;
            writeln!(f, "    }}) }};")?;
        }
        if self.channel.is_some_and(|channel| channel.senders & 1 == 0) {
            writeln!(f, "    drop(tx);")?;
        }
        self.lines(f, 0, "    ")?;
        if self.scoped {
            writeln!(f, "    }});")?;
        } else {
            for t in 1..self.threads.len() {
                writeln!(f, "    t{t}.join(); // if not joined yet")?;
            }
        }
        writeln!(f, "}}")
    }
}
