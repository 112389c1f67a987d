//! Programs in print.

use super::{ATOMICS, Op, Place, Program};
use std::fmt;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |at: u8, size: u8| format!("memory[{at}..{}]", at + size);
        match *self {
            Op::Read(at, size) => write!(f, "let last = {}[0]", range(at, size)),
            Op::Write(at, size, value) => write!(f, "{}.fill({value})", range(at, size)),
            Op::Copy(to, from, size) => write!(f, "{}.copy_from({})", range(to, size), range(from, size)),
            Op::PlainLoad(x) => write!(f, "let last = *x{x}.as_ptr()"),
            Op::PlainStore(x, value) => write!(f, "*x{x}.as_ptr() = {value}"),
            Op::Load(x, order) => write!(f, "let last = x{x}.load({order:?})"),
            Op::Store(x, value, order) => write!(f, "x{x}.store({value}, {order:?})"),
            Op::Swap(x, value, order) => write!(f, "let last = x{x}.swap({value}, {order:?})"),
            Op::Add(x, value, order) => write!(f, "let last = x{x}.fetch_add({value}, {order:?})"),
            Op::Or(x, order) => write!(f, "let last = x{x}.fetch_or(0, {order:?})"),
            Op::Exchange(x, old, new, success, failure) => {
                write!(
                    f,
                    "let last = x{x}.compare_exchange({old}, {new}, {success:?}, {failure:?}).into_ok_or_err()"
                )
            }
            Op::Fence(order) => write!(f, "fence({order:?})"),
            Op::Lock(m) => write!(f, "g{m} = m{m}.lock()"),
            Op::TryLock(m) => write!(f, "g{m} = m{m}.try_lock(); let last = g{m}.is_ok()"),
            Op::Unlock(m) => write!(f, "drop(g{m})"),
            Op::LockShared => write!(f, "g = rw.read()"),
            Op::TryLockShared => write!(f, "g = rw.try_read(); let last = g.is_ok()"),
            Op::LockAlone => write!(f, "g = rw.write()"),
            Op::TryLockAlone => write!(f, "g = rw.try_write(); let last = g.is_ok()"),
            Op::UnlockRw => write!(f, "drop(g)"),
            Op::Send(value) => write!(f, "tx.send({value})"),
            Op::Recv => write!(f, "let last = rx.recv()"),
            Op::TryRecv => write!(f, "let last = rx.try_recv().unwrap_or(0)"),
            Op::Park => write!(f, "park()"),
            Op::Unpark(t) => write!(f, "t{t}.unpark()"),
            Op::Barrier => write!(f, "barrier.wait()"),
            Op::Once(at, size, value) => write!(f, "once.call_once(|| {}.fill({value}))", range(at, size)),
            Op::Spawn(t) => write!(f, "t{t} = spawn(..)"),
            Op::Join(t) => write!(f, "t{t}.join()"),
            Op::Unless(value, count) => write!(f, "if last != {value} {{ skip the next {count} }}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Static => "a static",
            Place::Heap => "on the heap",
            Place::Stack => "on the main thread's stack",
        };
        let [(x0, _), (x1, _)] = ATOMICS;
        writeln!(
            f,
            "// memory: 24 bytes, {place}; x0: AtomicU8 at {x0}; x1: AtomicU32 at {x1}"
        )?;
        if self.communicates() {
            match self.capacity {
                None => writeln!(f, "// (tx, rx) = channel()")?,
                Some(capacity) => writeln!(f, "// (tx, rx) = sync_channel({capacity})")?,
            }
        }
        for (t, ops) in self.threads.iter().enumerate() {
            writeln!(f, "t{t} {{")?;
            for op in ops {
                writeln!(f, "    {op};")?;
            }
            writeln!(f, "}}")?;
        }
        for (t, ops) in self.threads.iter().enumerate() {
            writeln!(f, "// t{t}: {ops:?}")?;
        }
        Ok(())
    }
}
