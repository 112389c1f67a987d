//! Which accesses to memory race, and what orders them: the rules of C++20 that Rust has taken over, and what std says,
//! or is known, to synchronise.
//!
//! Two accesses race if they are of different threads, overlap, one of them writes, one of them is not atomic (or they
//! are of different sizes), and neither happens before the other. A program in which that can happen has no meaning.
//! Tests called `race_…` contain such a pair, or use memory after its end; tests called `no_race_…` do not. The first
//! two parts have the subjects of the tests that Miri has of data races (`miri.rs` has the rest of them), the third one
//! those of std.
//!
//! Where a test needs its accesses in a certain order, a relaxed flag makes it: that orders nothing.

use conformance::plain::{Plain, Raw, both, three, wait_for};
use std::hint::{self, black_box};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, compiler_fence, fence};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak};
use std::thread;
use std::time::Duration;

// Which accesses conflict.

/// Two writes conflict.
#[test]
fn race_write_and_write() {
    let data = Plain::new(0);
    both(|| data.write(1), || data.write(2));
}

/// Two writes of the same value conflict just so.
#[test]
fn race_writes_of_the_value_that_is_there() {
    let data = Plain::new(1);
    both(|| data.write(1), || data.write(1));
}

/// A read and a write conflict.
#[test]
fn race_read_and_write() {
    let data = Plain::new(0);
    both(|| _ = data.read(), || data.write(2));
}

/// Reads do not conflict; joining their threads orders them before a write.
#[test]
fn no_race_reads_and_then_a_write() {
    let data = Plain::new(42);
    three(
        || assert_eq!(data.read(), 42),
        || assert_eq!(data.read(), 42),
        || assert_eq!(data.read(), 42),
    );
    data.write(1);
    assert_eq!(data.read(), 1);
}

/// An atomic load and a plain write conflict.
#[test]
fn race_load_and_write() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(move || plain.write(32), || _ = data.load(SeqCst));
}

/// An atomic load and a write through `get_mut`, which is a plain one, conflict. The load comes first.
#[test]
fn race_load_and_later_write_through_get_mut() {
    let (mut data, loaded) = (AtomicU32::new(0), AtomicBool::new(false));
    let whole = Raw(&raw mut data);
    both(
        || {
            // SAFETY: the atomic outlives the thread.
            black_box(unsafe { &*{ whole }.0 }.load(SeqCst));
            loaded.store(true, Relaxed);
        },
        || {
            wait_for(&loaded);
            // SAFETY: none, since the other thread is not known to be through.
            *unsafe { &mut *{ whole }.0 }.get_mut() = 32;
        },
    );
}

/// An atomic store and a plain read conflict.
#[test]
fn race_store_and_read() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(move || _ = plain.read(), || data.store(32, SeqCst));
}

/// An atomic store and a read through `get_mut` conflict. The store comes first.
#[test]
fn race_store_and_later_read_through_get_mut() {
    let (mut data, stored) = (AtomicU32::new(0), AtomicBool::new(false));
    let whole = Raw(&raw mut data);
    both(
        || {
            // SAFETY: the atomic outlives the thread.
            unsafe { &*{ whole }.0 }.store(1, SeqCst);
            stored.store(true, Relaxed);
        },
        || {
            wait_for(&stored);
            // SAFETY: none, since the other thread is not known to be through.
            black_box(*unsafe { &mut *{ whole }.0 }.get_mut());
        },
    );
}

/// An atomic store and a plain write conflict.
#[test]
fn race_store_and_write() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(move || plain.write(32), || data.store(64, SeqCst));
}

/// An atomic store and a write through `get_mut` conflict. The store comes first.
#[test]
fn race_store_and_later_write_through_get_mut() {
    let (mut data, stored) = (AtomicU32::new(0), AtomicBool::new(false));
    let whole = Raw(&raw mut data);
    both(
        || {
            // SAFETY: the atomic outlives the thread.
            unsafe { &*{ whole }.0 }.store(64, SeqCst);
            stored.store(true, Relaxed);
        },
        || {
            wait_for(&stored);
            // SAFETY: none, since the other thread is not known to be through.
            *unsafe { &mut *{ whole }.0 }.get_mut() = 32;
        },
    );
}

/// A read-modify-write that succeeds is a write, and conflicts with a plain read.
#[test]
fn race_exchange_and_read() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(
        move || _ = plain.read(),
        || _ = data.compare_exchange(0, 1, SeqCst, SeqCst),
    );
}

/// A compare-exchange that fails is no write, so it does not conflict with a plain read.
#[test]
fn no_race_failed_exchange_and_read() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(
        move || _ = plain.read(),
        || _ = data.compare_exchange(1, 2, SeqCst, SeqCst).unwrap_err(),
    );
}

/// A compare-exchange that fails conflicts with a plain write all the same.
#[test]
fn race_failed_exchange_and_write() {
    let data = AtomicU32::new(0);
    let plain = Raw(data.as_ptr());
    both(
        move || plain.write(2),
        || _ = data.compare_exchange(7, 8, SeqCst, SeqCst).unwrap_err(),
    );
}

/// Atomic loads and plain reads do not conflict.
#[test]
fn no_race_load_and_read() {
    let data = AtomicU32::new(5);
    let plain = Raw(data.as_ptr());
    both(
        move || assert_eq!(plain.read(), 5),
        || assert_eq!(data.load(Relaxed), 5),
    );
}

/// Atomic accesses of one size do not conflict, whatever their orderings.
#[test]
fn no_race_atomic_accesses() {
    let data = AtomicU32::new(0);
    three(
        || data.store(1, Relaxed),
        || _ = data.fetch_add(1, Relaxed),
        || _ = data.load(Relaxed),
    );
}

/// The only thread that stores may read plainly, while others load: its own stores come before its read.
#[test]
fn no_race_plain_read_by_the_only_writer() {
    let (data, position) = (Plain::new([0u8; 2]), AtomicUsize::new(0));
    both(
        || {
            for i in 0..2 {
                // SAFETY: within the array; the other thread reads it only after the store.
                unsafe { { data.at() }.0.cast::<u8>().add(i).write(1) };
                position.store(i + 1, Release);
                assert_eq!(Raw(position.as_ptr()).read(), i + 1);
            }
        },
        || {
            if let Some(last) = position.load(Acquire).checked_sub(1) {
                // SAFETY: as above.
                assert_eq!(unsafe { { data.at() }.0.cast::<u8>().add(last).read() }, 1);
            }
        },
    );
}

/// Volatile accesses are not atomic.
#[test]
fn race_volatile_accesses() {
    let data = Plain::new(0);
    both(
        // SAFETY: none.
        || unsafe { { data.at() }.0.write_volatile(1) },
        // SAFETY: none.
        || _ = unsafe { { data.at() }.0.read_volatile() },
    );
}

/// An atomic and the same memory as an integer: reading the one is no store to the other, but stores are.
#[test]
fn race_atomic_as_integer() {
    let data = AtomicU32::new(0);
    // SAFETY: none: there must be no plain reference to what is stored to.
    let plain: &u32 = unsafe { &*data.as_ptr() };
    both(|| data.store(1, Relaxed), || _ = black_box(*plain));
}

/// Memory may be plain first and atomic later, when the one happens before the other; and plain again after that.
#[test]
fn no_race_atomic_for_a_while() {
    let mut data = 1u32;
    {
        // SAFETY: until the end of the block, there are only atomic accesses.
        let atomic = unsafe { AtomicU32::from_ptr(&raw mut data) };
        both(|| _ = atomic.fetch_add(1, Relaxed), || _ = atomic.fetch_add(1, Relaxed));
    }
    assert_eq!(data, 3);
}

/// What was written through `get_mut` before a thread is created happens before what it loads.
#[test]
fn no_race_get_mut_before_spawn() {
    let mut data = AtomicU32::new(0);
    data.store(1, Relaxed);
    *data.get_mut() = 2;
    both(|| assert_eq!(data.load(Relaxed), 2), || ());
    data = AtomicU32::new(3);
    assert_eq!(data.into_inner(), 3);
}

/// An assignment to an atomic is a plain write.
#[test]
fn race_assignment_of_an_atomic() {
    let mut data = AtomicU32::new(0);
    let whole = Raw(&raw mut data);
    both(
        // SAFETY: the atomic outlives the thread.
        move || _ = black_box(unsafe { &*{ whole }.0 }.load(Relaxed)),
        // SAFETY: none, since the other thread is not known to be through.
        move || unsafe { *{ whole }.0 = AtomicU32::new(1) },
    );
}

/// Bytes beside each other do not conflict.
#[test]
fn no_race_neighbours() {
    let data = Plain::new([0u8; 4]);
    // SAFETY: within the array.
    let byte = |i| Raw(unsafe { { data.at() }.0.cast::<u8>().add(i) });
    three(|| byte(0).write(1), || byte(1).write(2), || byte(3).write(3));
    assert_eq!(data.read(), [1, 2, 0, 3]);
}

/// One common byte is enough.
#[test]
fn race_one_common_byte() {
    let data = Plain::new(0u32);
    both(
        || data.write(1),
        // SAFETY: within the integer.
        || _ = Raw(unsafe { { data.at() }.0.cast::<u8>().add(3) }).read(),
    );
}

/// Accesses that are not aligned overlap where they overlap.
#[test]
fn race_unaligned_accesses() {
    let data = Plain::new([0u8; 16]);
    // SAFETY: within the array.
    let part = |i| unsafe { { data.at() }.0.cast::<u8>().add(i).cast::<u64>() };
    both(
        // SAFETY: none.
        || unsafe { part(1).write_unaligned(1) },
        // SAFETY: none.
        || _ = black_box(unsafe { part(8).read_unaligned() }),
    );
}

/// Accesses that are not aligned do not conflict where they do not overlap.
#[test]
fn no_race_unaligned_accesses() {
    let data = Plain::new([0u8; 17]);
    // SAFETY: within the array.
    let part = |i| unsafe { { data.at() }.0.cast::<u8>().add(i).cast::<u64>() };
    both(
        // SAFETY: the other thread uses other bytes.
        || unsafe { part(1).write_unaligned(1) },
        // SAFETY: as above.
        || _ = black_box(unsafe { part(9).read_unaligned() }),
    );
}

/// A copy reads its source.
#[test]
fn race_copy_from() {
    let data = Plain::new([0u8; 100]);
    let length = black_box(100);
    both(
        || {
            let mut copy = [0u8; 100];
            // SAFETY: none.
            unsafe { ptr::copy_nonoverlapping({ data.at() }.0.cast::<u8>(), copy.as_mut_ptr(), length) };
            black_box(copy);
        },
        // SAFETY: within the array.
        || Raw(unsafe { { data.at() }.0.cast::<u8>().add(99) }).write(1),
    );
}

/// A copy writes its target.
#[test]
fn race_copy_to() {
    let data = Plain::new([0u8; 100]);
    let length = black_box(100);
    both(
        || {
            let copy = black_box([1u8; 100]);
            // SAFETY: none.
            unsafe { ptr::copy(copy.as_ptr(), { data.at() }.0.cast::<u8>(), length) };
        },
        // SAFETY: within the array.
        || _ = Raw(unsafe { { data.at() }.0.cast::<u8>().add(50) }).read(),
    );
}

/// Filling memory writes it.
#[test]
fn race_fill() {
    let data = Plain::new([0u8; 100]);
    let length = black_box(100);
    both(
        // SAFETY: none.
        || unsafe { ptr::write_bytes({ data.at() }.0.cast::<u8>(), 7, length) },
        // SAFETY: within the array.
        || _ = Raw(unsafe { { data.at() }.0.cast::<u8>().add(70) }).read(),
    );
}

/// A comparison reads both sides.
#[test]
fn race_comparison() {
    let data = Plain::new([0u8; 100]);
    let length = black_box(100);
    both(
        || {
            let other = black_box([0u8; 100]);
            // SAFETY: none.
            let slice = unsafe { std::slice::from_raw_parts({ data.at() }.0.cast::<u8>(), length) };
            black_box(slice == &other[..length]);
        },
        // SAFETY: within the array.
        || Raw(unsafe { { data.at() }.0.cast::<u8>().add(99) }).write(0),
    );
}

/// A mutable static is memory like any other.
#[test]
fn race_static_mut() {
    static mut DATA: u32 = 0;
    let data = Raw(&raw mut DATA);
    both(move || data.write(data.read() + 1), move || data.write(data.read() + 1));
}

/// A mutable static may be used in turn.
#[test]
fn no_race_static_mut_in_turn() {
    static mut DATA: u32 = 0;
    let data = Raw(&raw mut DATA);
    data.write(1);
    thread::spawn(move || data.write(data.read() + 1)).join().unwrap();
    assert_eq!(data.read(), 2);
}

/// Writing memory that holds no value yet is a write.
#[test]
fn race_writes_of_uninitialised_memory() {
    let data = Plain::new(MaybeUninit::<u32>::uninit());
    both(|| data.write(MaybeUninit::new(1)), || data.write(MaybeUninit::new(2)));
}

/// Memory without a value may be read by a copy, which decides nothing: the bytes of a variant that is not there, padding,
/// and what may be uninitialised. The copy loads them like all others.
#[test]
fn no_race_copies_of_memory_without_a_value() {
    type Mostly = (Option<u64>, u8, MaybeUninit<[u32; 4]>);
    let block = Raw::<Mostly>::alloc((None, 1, MaybeUninit::uninit()));
    let (number, byte, _) = thread::spawn(move || block.read()).join().unwrap();
    assert_eq!((number, byte), (None, 1));
    block.free();
}

/// A race is one, however many threads have come and gone before.
#[test]
fn race_after_others_were_joined() {
    for _ in 0..2 {
        thread::spawn(|| ()).join().unwrap();
    }
    let data = Plain::new(0);
    both(|| data.write(32), || data.write(64));
}

/// A thread that has ended without being joined is not ordered before anything, however long one waits.
#[test]
fn race_with_a_detached_thread() {
    let data: &Plain = Box::leak(Box::default());
    drop(thread::spawn(|| data.write(32)));
    thread::sleep(Duration::from_millis(100));
    // Joining another thread does not help.
    thread::spawn(|| ()).join().unwrap();
    data.write(64);
}

/// Two threads that live one after the other, the first of which nobody joins.
#[test]
fn race_with_a_detached_thread_in_a_later_one() {
    let data: &Plain = Box::leak(Box::default());
    drop(thread::spawn(|| data.write(32)));
    thread::sleep(Duration::from_millis(100));
    thread::spawn(|| ()).join().unwrap();
    thread::spawn(|| data.write(64)).join().unwrap();
}

// Atomics of different sizes. Accesses that overlap but are not the same bytes are as bad as a data race, if one of
// them writes and nothing orders them.

/// The halves of an atomic, as atomics.
fn halves(whole: &AtomicU16) -> &[AtomicU8; 2] {
    // SAFETY: same size, and the alignment is less.
    unsafe { &*ptr::from_ref(whole).cast() }
}

/// A store of the whole and one of its first half conflict.
#[test]
fn race_mixed_size_stores_from_the_start() {
    let data = AtomicU16::new(0);
    both(|| data.store(1, SeqCst), || halves(&data)[0].store(1, SeqCst));
}

/// A store of the whole and one of its second half conflict.
#[test]
fn race_mixed_size_stores_to_the_end() {
    let data = AtomicU16::new(0);
    both(|| data.store(1, SeqCst), || halves(&data)[1].store(1, SeqCst));
}

/// A store of the whole and a load of a half conflict.
#[test]
fn race_mixed_size_store_and_load_of_a_half() {
    let data = AtomicU16::new(0);
    both(|| data.store(1, SeqCst), || _ = halves(&data)[0].load(SeqCst));
}

/// A load of the whole and a store of a half conflict.
#[test]
fn race_mixed_size_load_and_store_of_a_half() {
    let data = AtomicU16::new(0);
    both(|| _ = data.load(SeqCst), || halves(&data)[1].store(1, SeqCst));
}

/// Loads of different sizes do not conflict with each other, but a store of the one size does with the other.
#[test]
fn race_mixed_size_loads_and_a_store() {
    let data = AtomicU16::new(0);
    three(
        || _ = data.load(SeqCst),
        || _ = halves(&data)[0].load(SeqCst),
        || data.store(0, SeqCst),
    );
}

/// A read-modify-write of a half conflicts with a load of the whole, even after a plain read of the whole.
#[test]
fn race_mixed_size_exchange_and_load() {
    let data = AtomicU16::new(0);
    both(
        || {
            Raw(data.as_ptr()).read();
            _ = halves(&data)[0].compare_exchange(0, 1, Relaxed, Relaxed);
        },
        || _ = data.load(Relaxed),
    );
}

/// Loads of different sizes do not conflict.
#[test]
fn no_race_mixed_size_loads() {
    let data = AtomicU16::new(0);
    both(|| _ = data.load(SeqCst), || _ = halves(&data)[0].load(SeqCst));
}

/// Different halves do not overlap.
#[test]
fn no_race_both_halves() {
    let data = AtomicU16::new(0);
    both(
        || halves(&data)[0].store(1, Relaxed),
        || halves(&data)[1].store(1, Relaxed),
    );
    assert_eq!(data.load(Relaxed), 0x0101);
}

/// In one thread, accesses of all sizes are ordered.
#[test]
fn no_race_mixed_sizes_in_one_thread() {
    thread::spawn(|| {
        let data = AtomicU16::new(0);
        AtomicU16::new(0).store(0, Relaxed);
        data.store(0, Relaxed);
        halves(&data)[0].store(1, Relaxed);
        assert_eq!(data.load(Relaxed).to_ne_bytes(), [1, 0]);
    })
    .join()
    .unwrap();
}

/// Stores of different sizes may be ordered by another atomic.
#[test]
fn no_race_mixed_sizes_in_order() {
    let (data, flag) = (AtomicU16::new(0), AtomicBool::new(false));
    both(
        || {
            data.store(1, Relaxed);
            flag.store(true, Release);
        },
        || {
            if flag.load(Acquire) {
                halves(&data)[0].store(2, Relaxed);
            }
        },
    );
}

// The beginning and the end of memory.

/// Whoever reads a new block has to come after its allocation.
#[test]
fn race_allocation_and_read() {
    let slot = AtomicPtr::new(ptr::null_mut::<MaybeUninit<u32>>());
    both(
        || slot.store(Box::into_raw(Box::new(MaybeUninit::uninit())), Relaxed),
        || {
            let block = Raw(slot.load(Relaxed));
            if !block.0.is_null() {
                black_box(block.read());
            }
        },
    );
    Raw(slot.into_inner()).free();
}

/// Whoever writes to a new block has to come after its allocation.
#[test]
fn race_allocation_and_write() {
    let slot = AtomicPtr::new(ptr::null_mut::<MaybeUninit<u32>>());
    both(
        || slot.store(Box::into_raw(Box::new(MaybeUninit::uninit())), Relaxed),
        || {
            let block = Raw(slot.load(Relaxed));
            if !block.0.is_null() {
                block.write(MaybeUninit::new(2));
            }
        },
    );
    Raw(slot.into_inner()).free();
}

/// Whoever frees a block has to come after its allocation.
#[test]
fn race_allocation_and_free() {
    let slot = AtomicPtr::new(ptr::null_mut::<MaybeUninit<u32>>());
    both(
        || slot.store(Box::into_raw(Box::new(MaybeUninit::uninit())), Relaxed),
        || {
            let block = Raw(slot.load(Relaxed));
            if !block.0.is_null() {
                block.free();
            }
        },
    );
}

/// An allocation that is published by a release store comes before what is done through the pointer.
#[test]
fn no_race_allocation_and_write() {
    let slot = AtomicPtr::new(ptr::null_mut::<MaybeUninit<u32>>());
    both(
        || slot.store(Box::into_raw(Box::new(MaybeUninit::uninit())), Release),
        || {
            let block = Raw(slot.load(Acquire));
            if !block.0.is_null() {
                block.write(MaybeUninit::new(2));
            }
        },
    );
    Raw(slot.into_inner()).free();
}

/// The end of a block has to come after all reads.
#[test]
fn race_read_and_later_free() {
    let (block, done) = (Raw::alloc(0u32), AtomicBool::new(false));
    both(
        || {
            block.read();
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            block.free();
        },
    );
}

/// The end of a block has to come after all writes.
#[test]
fn race_write_and_later_free() {
    let (block, done) = (Raw::alloc(0u32), AtomicBool::new(false));
    both(
        || {
            block.write(1);
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            block.free();
        },
    );
}

/// The end of a block has to come after all atomic accesses, too.
#[test]
fn race_load_and_later_free() {
    let (block, done) = (Raw(Box::into_raw(Box::new(AtomicU32::new(0)))), AtomicBool::new(false));
    both(
        || {
            // SAFETY: the block is freed later.
            black_box(unsafe { &*{ block }.0 }.load(SeqCst));
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            // SAFETY: none, since the other thread is not known to be through.
            drop(unsafe { Box::from_raw({ block }.0) });
        },
    );
}

/// A block must not be read after its end.
#[test]
fn race_read_after_free() {
    let (block, done) = (Raw::alloc(0u32), AtomicBool::new(false));
    both(
        || {
            block.free();
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            block.read();
        },
    );
}

/// A block must not be written to after its end, whether or not that is ordered.
#[test]
fn race_write_after_free() {
    let (block, done) = (Raw::alloc(0u32), AtomicBool::new(false));
    both(
        || {
            block.free();
            done.store(true, Release);
        },
        || {
            while !done.load(Acquire) {
                hint::spin_loop();
            }
            block.write(2);
        },
    );
}

/// An atomic must not be used after the end of its block.
#[test]
fn race_load_after_free() {
    let (block, done) = (Raw(Box::into_raw(Box::new(AtomicU32::new(0)))), AtomicBool::new(false));
    both(
        || {
            // SAFETY: the block is not freed again.
            drop(unsafe { Box::from_raw({ block }.0) });
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            // SAFETY: none.
            black_box(unsafe { &*{ block }.0 }.load(SeqCst));
        },
    );
}

/// A vector that grows gives its old block back.
#[test]
fn race_growth_of_a_vector() {
    let (mut list, looked) = (vec![1u32], AtomicBool::new(false));
    list.shrink_to_fit();
    let first = Raw(list.as_mut_ptr());
    both(
        || {
            first.read();
            looked.store(true, Relaxed);
        },
        || {
            wait_for(&looked);
            list.extend([2, 3, 4, 5]);
        },
    );
}

/// A local that another thread has written to, without an order to what its owner reads.
#[test]
fn race_write_and_read_of_a_local() {
    let (slot, written) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
    both(
        || {
            let mut local = 0u32;
            slot.store(&raw mut local, Release);
            wait_for(&written);
            black_box(local);
        },
        || {
            let local = Raw(slot.load(Acquire));
            if !local.0.is_null() {
                local.write(3);
            }
            written.store(true, Relaxed);
        },
    );
}

/// A local to which its owner and another thread write.
#[test]
fn race_writes_of_a_local() {
    let (slot, written) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
    both(
        || {
            let mut local = 0u32;
            slot.store(&raw mut local, Release);
            wait_for(&written);
            local = 1;
            black_box(&mut local);
        },
        || {
            let local = Raw(slot.load(Acquire));
            if !local.0.is_null() {
                local.write(3);
            }
            written.store(true, Relaxed);
        },
    );
}

/// A local whose first value is not published, as its address is stored by a relaxed store.
#[test]
fn race_local_of_a_relaxed_address() {
    let (slot, started) = (AtomicPtr::new(ptr::null_mut::<u8>()), AtomicBool::new(false));
    both(
        || {
            started.store(true, Relaxed);
            let local = Raw(slot.load(Relaxed));
            if !local.0.is_null() {
                local.write(127u8);
            }
        },
        || {
            wait_for(&started);
            let mut local = black_box(0u8);
            slot.store(&raw mut local, Relaxed);
            // Waits for the other thread to write, if it does.
            thread::sleep(Duration::from_millis(1));
            black_box(&mut local);
            slot.store(ptr::null_mut(), Relaxed);
        },
    );
}

/// A read of a local that comes before its address is known, but is not ordered before what others write to it.
#[test]
fn race_read_of_a_local_before_its_address_is_known() {
    let (mut local, slot) = (0u8, AtomicPtr::new(ptr::null_mut::<u8>()));
    let at = Raw(&raw mut local);
    thread::scope(|scope| {
        scope.spawn(|| {
            let local = Raw(slot.load(Relaxed));
            if !local.0.is_null() {
                local.write(127u8);
            }
        });
        at.read();
        slot.store({ at }.0, Relaxed);
    });
}

/// A local that was written before the other thread was created: a relaxed address does no harm.
#[test]
fn no_race_local_that_was_there_before_the_thread() {
    let (mut local, slot) = (0u8, AtomicPtr::new(ptr::null_mut::<u8>()));
    let at = Raw(&raw mut local);
    thread::scope(|scope| {
        scope.spawn(|| {
            let local = Raw(slot.load(Relaxed));
            if !local.0.is_null() {
                local.write(127u8);
            }
        });
        slot.store({ at }.0, Relaxed);
    });
    assert!(local == 0 || local == 127);
}

/// Stores the address of a local, and returns.
#[inline(never)]
fn publish_a_local(slot: &AtomicPtr<u32>) {
    let mut local = black_box(5);
    slot.store(&raw mut local, Release);
    black_box(&mut local);
}

/// A local must not be read after its end.
#[test]
fn race_read_of_a_local_after_its_end() {
    let slot = AtomicPtr::new(ptr::null_mut());
    both(
        || {
            publish_a_local(&slot);
            publish_a_local(&AtomicPtr::default());
        },
        || {
            let local = Raw(slot.load(Acquire));
            if !local.0.is_null() {
                local.read();
            }
        },
    );
}

/// Nor must it be written to.
#[test]
fn race_write_of_a_local_after_its_end() {
    let slot = AtomicPtr::new(ptr::null_mut());
    both(
        || {
            publish_a_local(&slot);
            publish_a_local(&AtomicPtr::default());
        },
        || {
            let local = Raw(slot.load(Acquire));
            if !local.0.is_null() {
                local.write(3);
            }
        },
    );
}

/// The frame of a function ends, arguments and all, while a thread that nobody waits for may read it.
#[test]
fn race_read_of_an_argument_and_the_end_of_its_function() {
    #[inline(never)]
    fn start(mut argument: [u32; 8]) {
        let argument = Raw(&raw mut argument);
        drop(thread::spawn(move || _ = argument.read()));
        thread::yield_now();
    }
    start(black_box([1; 8]));
    // The next call has the same frame.
    start(black_box([2; 8]));
}

// What orders accesses: release and acquire.

/// Publishes by a store of this ordering, and looks with a load of that one.
fn message(store: std::sync::atomic::Ordering, load: std::sync::atomic::Ordering) {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            flag.store(true, store);
        },
        || {
            if flag.load(load) {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// A release store comes before the acquire load that reads it.
#[test]
fn no_race_release_and_acquire() {
    message(Release, Acquire);
}

/// `SeqCst` is release and acquire.
#[test]
fn no_race_seq_cst() {
    message(SeqCst, SeqCst);
}

/// A relaxed store publishes nothing.
#[test]
fn race_relaxed_store() {
    message(Relaxed, Acquire);
}

/// A relaxed load learns nothing.
#[test]
fn race_relaxed_load() {
    message(Release, Relaxed);
}

/// Relaxed accesses order nothing.
#[test]
fn race_relaxed_store_and_load() {
    message(Relaxed, Relaxed);
}

/// What is written after the release store is not published by it.
#[test]
fn race_write_after_release() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            flag.store(true, Release);
            data.write(1);
        },
        || {
            if flag.load(Acquire) {
                data.read();
            }
        },
    );
}

/// What is read before the acquire load is not ordered by it.
#[test]
fn race_read_before_acquire() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            flag.store(true, Release);
        },
        || {
            data.read();
            black_box(flag.load(Acquire));
        },
    );
}

/// Release and acquire of another atomic order nothing.
#[test]
fn race_another_atomic() {
    let (data, flag, other) = (Plain::new(0), AtomicBool::new(false), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            other.store(true, Release);
            flag.store(true, Relaxed);
        },
        || {
            wait_for(&flag);
            other.store(false, SeqCst);
            data.read();
        },
    );
}

/// Happens-before is transitive.
#[test]
fn no_race_over_a_third_thread() {
    let (data, first, second) = (Plain::new(0), AtomicBool::new(false), AtomicBool::new(false));
    three(
        || {
            data.write(1);
            first.store(true, Release);
        },
        || {
            if first.load(Acquire) {
                second.store(true, Release);
            }
        },
        || {
            if second.load(Acquire) {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// A chain with one relaxed link is none.
#[test]
fn race_over_a_third_thread_that_does_not_acquire() {
    let (data, first, second) = (Plain::new(0), AtomicBool::new(false), AtomicBool::new(false));
    three(
        || {
            data.write(1);
            first.store(true, Release);
        },
        || {
            if first.load(Relaxed) {
                second.store(true, Release);
            }
        },
        || {
            if second.load(Acquire) {
                data.read();
            }
        },
    );
}

/// A relaxed store by another thread is not in the release sequence of what it has overwritten.
#[test]
fn race_relaxed_store_over_a_release_store() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    three(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || {
            if flag.load(Acquire) == 1 {
                flag.store(2, Relaxed);
            }
        },
        || {
            if flag.load(Acquire) == 2 {
                data.read();
            }
        },
    );
}

/// Another thread's store ends a release sequence; what the first thread stores after that does not take it up again.
#[test]
fn race_release_sequence_that_another_store_has_ended() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    three(
        || {
            data.write(1);
            flag.store(1, Release);
            flag.store(3, Relaxed);
        },
        || flag.store(2, Relaxed),
        || {
            if flag.load(Acquire) == 3 {
                data.read();
            }
        },
    );
}

/// Since C++20 a relaxed store ends the release sequence of its own thread, too.
#[test]
fn race_release_sequence_that_the_same_thread_has_ended() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    both(
        || {
            data.write(1);
            flag.store(1, Release);
            flag.store(2, Relaxed);
        },
        || {
            if flag.load(Acquire) == 2 {
                data.read();
            }
        },
    );
}

/// A release sequence ends with a store that comes after the read-modify-write that has continued it.
#[test]
fn race_release_sequence_that_ends_after_an_exchange() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    three(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || {
            if flag.swap(2, Relaxed) == 1 {
                flag.store(3, Relaxed);
            }
        },
        || {
            if flag.load(Acquire) == 3 {
                data.read();
            }
        },
    );
}

/// A relaxed read-modify-write of any thread continues a release sequence.
#[test]
fn no_race_release_sequence_with_a_swap() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    three(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || _ = flag.compare_exchange(1, 2, Relaxed, Relaxed),
        || {
            if flag.load(Acquire) == 2 {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// Who continues a release sequence by a relaxed read-modify-write does not come after its head.
#[test]
fn race_relaxed_swap_of_a_release_store() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    both(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || {
            if flag.swap(2, Relaxed) == 1 {
                data.read();
            }
        },
    );
}

/// Who continues a release sequence by a release publishes beside the others.
#[test]
fn no_race_two_releasing_exchanges() {
    let (data, flag) = (Plain::new([0u32; 2]), AtomicU32::new(0));
    // SAFETY: within the array.
    let part = |i| Raw(unsafe { { data.at() }.0.cast::<u32>().add(i) });
    let add = |i| {
        part(i).write(1);
        flag.fetch_add(1, Release);
    };
    three(
        || add(0),
        || add(1),
        || {
            if flag.load(Acquire) == 2 {
                assert_eq!(data.read(), [1, 1]);
            }
        },
    );
}

/// A read-modify-write that acquires and releases passes on what it has learnt.
#[test]
fn no_race_counter_of_acquiring_and_releasing_exchanges() {
    let (data, count) = (Plain::new(0), AtomicU32::new(0));
    let turn = || {
        data.read();
        // The last one writes.
        if count.fetch_add(1, AcqRel) == 1 {
            data.write(1);
        }
    };
    both(turn, turn);
}

/// The same counter with releases only: the last one does not come after the first one's read.
#[test]
fn race_counter_of_releasing_exchanges() {
    let (data, count) = (Plain::new(0), AtomicU32::new(0));
    let turn = || {
        data.read();
        if count.fetch_add(1, Release) == 1 {
            data.write(1);
        }
    };
    both(turn, turn);
}

/// Read-modify-writes order those that come first before those that come later, and it may be the other way round.
#[test]
fn race_exchanges_in_either_order() {
    let (data, count) = (Plain::new(0), AtomicU32::new(0));
    both(
        || {
            data.write(1);
            count.fetch_add(1, AcqRel);
        },
        || {
            count.fetch_add(1, AcqRel);
            data.read();
        },
    );
}

/// That they leave the value as it was does not matter.
#[test]
fn race_exchanges_that_change_nothing() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(true));
    both(
        || {
            data.write(1);
            flag.swap(true, SeqCst);
        },
        || {
            flag.swap(true, SeqCst);
            data.read();
        },
    );
}

/// A store that leaves the value as it was publishes all the same: the load may read the value that was there before.
#[test]
fn race_store_that_changes_nothing() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(true));
    both(
        || {
            data.write(1);
            flag.store(true, SeqCst);
        },
        || {
            if flag.load(SeqCst) {
                data.read();
            }
        },
    );
}

/// Who takes a pointer out by an exchange has all that it points to.
#[test]
fn no_race_boxes_that_are_exchanged() {
    let slot = AtomicPtr::new(Box::into_raw(Box::new(0u32)));
    let turn = |value: u32| {
        let old = Raw(slot.swap(Box::into_raw(Box::new(value)), AcqRel));
        old.write(old.read() + 1);
        old.free();
    };
    both(|| turn(1), || turn(2));
    Raw(slot.into_inner()).free();
}

/// A compare-exchange that fails has the ordering for failures.
#[test]
fn no_race_failed_exchange_that_acquires() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    both(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || {
            if flag.compare_exchange(7, 8, Relaxed, Acquire) == Err(1) {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// A compare-exchange that fails does not have the ordering for success.
#[test]
fn race_failed_exchange_that_would_acquire() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    both(
        || {
            data.write(1);
            flag.store(1, Release);
        },
        || {
            if flag.compare_exchange(7, 8, AcqRel, Relaxed) == Err(1) {
                data.read();
            }
        },
    );
}

/// A compare-exchange that fails publishes nothing.
#[test]
fn race_failed_exchange_that_would_release() {
    let (data, flag) = (Plain::new(0), AtomicU32::new(0));
    let done = AtomicBool::new(false);
    both(
        || {
            data.write(1);
            flag.compare_exchange(7, 8, SeqCst, SeqCst).unwrap_err();
            done.store(true, Relaxed);
        },
        || {
            wait_for(&done);
            black_box(flag.load(Acquire));
            data.read();
        },
    );
}

// What orders accesses: fences.

/// A release fence publishes by later relaxed stores; an acquire fence learns from earlier relaxed loads.
#[test]
fn no_race_fences() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            fence(Release);
            flag.store(true, Relaxed);
        },
        || {
            if flag.load(Relaxed) {
                fence(Acquire);
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// A release fence goes with an acquire load.
#[test]
fn no_race_release_fence_and_acquire_load() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            fence(Release);
            flag.store(true, Relaxed);
        },
        || {
            if flag.load(Acquire) {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// A release store goes with an acquire fence.
#[test]
fn no_race_release_store_and_acquire_fence() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            flag.store(true, Release);
        },
        || {
            wait_for(&flag);
            fence(Acquire);
            assert_eq!(data.read(), 1);
        },
    );
}

/// One fence goes with stores to several atomics, and with loads of several.
#[test]
fn no_race_one_fence_for_several_atomics() {
    let (data, flags) = (Plain::new(0), [const { AtomicBool::new(false) }; 2]);
    three(
        || {
            data.write(1);
            fence(Release);
            flags[0].store(true, Relaxed);
            flags[1].store(true, Relaxed);
        },
        || {
            if flags[0].load(Relaxed) | flags[1].load(Relaxed) {
                fence(Acquire);
                data.read();
            }
        },
        || {
            if flags[1].load(Acquire) {
                data.read();
            }
        },
    );
}

/// A release fence goes with a relaxed read-modify-write.
#[test]
fn no_race_release_fence_and_relaxed_exchange() {
    let (data, count) = (Plain::new(0), AtomicU32::new(0));
    let turn = || {
        data.read();
        fence(Release);
        if count.fetch_add(1, Relaxed) == 1 {
            fence(Acquire);
            data.write(1);
        }
    };
    both(turn, turn);
}

/// A fence before the load does not help.
#[test]
fn race_acquire_fence_before_the_load() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            flag.store(true, SeqCst);
        },
        || {
            thread::sleep(Duration::from_millis(100));
            fence(SeqCst);
            if flag.load(Relaxed) {
                data.write(2);
            }
        },
    );
}

/// A fence after the store does not help.
#[test]
fn race_release_fence_after_the_store() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            flag.store(true, Relaxed);
            fence(SeqCst);
        },
        || {
            if flag.load(Acquire) {
                data.read();
            }
        },
    );
}

/// What is written after the release fence is not published by it.
#[test]
fn race_write_after_the_release_fence() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            fence(Release);
            data.write(1);
            flag.store(true, Relaxed);
        },
        || {
            if flag.load(Acquire) {
                data.read();
            }
        },
    );
}

/// A release fence is no acquire fence, nor the other way round.
#[test]
fn race_fences_of_the_wrong_kind() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            fence(Acquire);
            flag.store(true, Relaxed);
        },
        || {
            if flag.load(Relaxed) {
                fence(Release);
                data.read();
            }
        },
    );
}

/// Fences alone order nothing: an atomic has to be read from one to the other.
#[test]
fn race_fences_without_an_atomic() {
    let data = Plain::new(0);
    both(
        || {
            data.write(1);
            fence(SeqCst);
        },
        || {
            fence(SeqCst);
            data.read();
        },
    );
}

/// A compiler fence orders nothing between threads.
#[test]
fn race_compiler_fences() {
    let (data, flag) = (Plain::new(0), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            compiler_fence(SeqCst);
            flag.store(true, Relaxed);
        },
        || {
            if flag.load(Relaxed) {
                compiler_fence(SeqCst);
                data.read();
            }
        },
    );
}

// What orders accesses: std.

/// What a thread does before creating another one comes before all that one does.
#[test]
fn no_race_spawn() {
    let data: Arc<Plain> = Arc::default();
    data.write(1);
    let there = Arc::clone(&data);
    thread::spawn(move || assert_eq!(there.read(), 1)).join().unwrap();
}

/// What a thread does after creating another one is not ordered.
#[test]
fn race_write_after_spawn() {
    let data: Arc<Plain> = Arc::default();
    let there = Arc::clone(&data);
    let child = thread::spawn(move || _ = there.read());
    data.write(1);
    child.join().unwrap();
}

/// All that a thread does comes before joining it.
#[test]
fn no_race_join() {
    let data: Arc<Plain> = Arc::default();
    let there = Arc::clone(&data);
    thread::spawn(move || there.write(1)).join().unwrap();
    assert_eq!(data.read(), 1);
    data.write(2);
}

/// So do its result, and what that points to.
#[test]
fn no_race_result() {
    let mut list = thread::spawn(|| vec![1]).join().unwrap();
    list.push(2);
    assert_eq!(list, [1, 2]);
}

/// Also if it panics.
#[test]
fn no_race_join_of_a_thread_that_panics() {
    let data: Arc<Plain> = Arc::default();
    let there = Arc::clone(&data);
    let child = thread::spawn(move || {
        there.write(1);
        panic!("on purpose");
    });
    child.join().unwrap_err();
    assert_eq!(data.read(), 1);
}

thread_local! {
    static WRITES_AT_THE_END: WritesAtTheEnd = const { WritesAtTheEnd };
}

/// What the destructors of thread-locals write to.
static WRITTEN_AT_THE_END: Plain = Plain::new(0);

struct WritesAtTheEnd;

impl Drop for WritesAtTheEnd {
    fn drop(&mut self) {
        WRITTEN_AT_THE_END.write(1);
    }
}

/// The destructors of a thread's locals come before joining it, too.
#[test]
fn no_race_join_and_destructors_of_locals() {
    let child = thread::spawn(|| WRITES_AT_THE_END.with(|_| ()));
    child.join().unwrap();
    assert_eq!(WRITTEN_AT_THE_END.read(), 1);
}

/// The end of a scope does not wait for them.
#[test]
fn race_scope_and_destructors_of_locals() {
    thread::scope(|scope| _ = scope.spawn(|| WRITES_AT_THE_END.with(|_| ())));
    WRITTEN_AT_THE_END.read();
}

/// Joining one thread says nothing of another one.
#[test]
fn race_join_of_another_thread() {
    let data = Plain::new(0);
    thread::scope(|scope| {
        scope.spawn(|| data.write(1));
        scope.spawn(|| ()).join().unwrap();
        data.read();
    });
}

/// All that the threads of a scope do comes before its end.
#[test]
fn no_race_scope() {
    let data = Plain::new(0);
    thread::scope(|scope| _ = scope.spawn(|| data.write(1)));
    assert_eq!(data.read(), 1);
}

/// Whether a thread ends before or after its handle is dropped says nothing.
#[test]
fn race_with_a_thread_whose_handle_is_dropped() {
    let data: Arc<Plain> = Arc::default();
    let there = Arc::clone(&data);
    drop(thread::spawn(move || there.write(1)));
    data.read();
}

/// So it is in a scope.
#[test]
fn race_with_a_thread_of_a_scope_whose_handle_is_dropped() {
    let data = Plain::new(0);
    thread::scope(|scope| {
        drop(scope.spawn(|| data.write(1)));
        data.read();
    });
}

/// Two threads of a scope that nobody joins before its end.
#[test]
fn race_between_threads_of_a_scope() {
    let data = Plain::new(0);
    thread::scope(|scope| {
        scope.spawn(|| data.write(1));
        scope.spawn(|| data.write(2));
    });
}

/// The threads of a scope may each have their part of a local.
#[test]
fn no_race_parts_of_an_array() {
    let mut data = [0u8; 6];
    thread::scope(|scope| {
        for (i, part) in data.chunks_mut(2).enumerate() {
            scope.spawn(move || part.fill(i as u8));
        }
    });
    assert_eq!(data, [0, 0, 1, 1, 2, 2]);
}

/// `is_finished` does not order: only joining does.
#[test]
fn race_is_finished() {
    let data: Arc<Plain> = Arc::default();
    let there = Arc::clone(&data);
    let child = thread::spawn(move || there.write(1));
    while !child.is_finished() {
        thread::yield_now();
    }
    data.read();
    child.join().unwrap();
}

/// Neither does leaving the processor to others.
#[test]
fn race_yield() {
    let data = Plain::new(0);
    both(
        || data.write(1),
        || {
            thread::yield_now();
            data.read();
        },
    );
}

/// Neither does waiting for as long as it may take.
#[test]
fn race_sleep() {
    let data = Plain::new(0);
    both(
        || data.write(1),
        || {
            thread::sleep(Duration::from_secs(1));
            data.read();
        },
    );
}

/// Unlocking a mutex comes before the next lock.
#[test]
fn no_race_mutex() {
    let (data, lock) = (Plain::new(0), Mutex::new(()));
    let turn = || {
        let _guard = lock.lock().unwrap();
        data.write(data.read() + 1);
    };
    both(turn, turn);
    assert_eq!(data.read(), 2);
}

/// What is under the lock may move, when it grows.
#[test]
fn no_race_vector_under_a_lock() {
    let list = Mutex::new(Vec::new());
    let turn = |value: u32| list.lock().unwrap().extend([value; 3]);
    both(|| turn(1), || turn(2));
    assert_eq!(list.into_inner().unwrap().len(), 6);
}

/// So it does where the lock is only tried, and is free.
#[test]
fn no_race_try_lock() {
    let (data, lock) = (Plain::new(0), Mutex::new(()));
    let turn = || {
        if let Ok(_guard) = lock.try_lock() {
            data.write(data.read() + 1);
        }
    };
    both(turn, turn);
}

/// And where the thread that had it has panicked.
#[test]
fn no_race_poisoned_mutex() {
    let (data, lock) = (Arc::<Plain>::default(), Arc::new(Mutex::new(())));
    let (there, other) = (Arc::clone(&data), Arc::clone(&lock));
    let child = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        there.write(1);
        panic!("on purpose");
    });
    if lock.lock().is_err() {
        assert_eq!(data.read(), 1);
    }
    child.join().unwrap_err();
}

/// Each lock orders those who take it only.
#[test]
fn race_two_mutexes() {
    let (data, locks) = (Plain::new(0), [Mutex::new(()), Mutex::new(())]);
    let turn = |i: usize| {
        let _guard = locks[i].lock().unwrap();
        data.write(data.read() + 1);
    };
    both(|| turn(0), || turn(1));
}

/// What is done before locking, or after unlocking, is not ordered.
#[test]
fn race_outside_of_the_mutex() {
    let (data, lock) = (Plain::new(0), Mutex::new(()));
    both(
        || {
            drop(lock.lock().unwrap());
            data.write(1);
        },
        || {
            drop(lock.lock().unwrap());
            data.read();
        },
    );
}

/// An attempt that fails orders nothing: neither after what the owner of the lock has done so far …
#[test]
fn race_failed_try_lock() {
    let (data, lock) = (Plain::new(0), Mutex::new(()));
    both(
        || {
            data.write(1);
            let _guard = lock.lock().unwrap();
        },
        || {
            if lock.try_lock().is_err() {
                data.read();
            }
        },
    );
}

/// … nor before what it does next.
#[test]
fn race_failed_try_lock_before_unlock() {
    let (data, lock, tried) = (Plain::new(0), Mutex::new(()), AtomicBool::new(false));
    both(
        || {
            let guard = lock.lock().unwrap();
            let was_tried = tried.load(Relaxed);
            drop(guard);
            if was_tried {
                data.write(1);
            }
        },
        || {
            data.read();
            if lock.try_lock().is_err() {
                tried.store(true, Relaxed);
            }
        },
    );
}

/// Looking whether a mutex is poisoned orders nothing: the flag is relaxed.
#[test]
fn race_is_poisoned() {
    let (data, lock) = (Arc::<Plain>::default(), Arc::new(Mutex::new(())));
    let (there, other) = (Arc::clone(&data), Arc::clone(&lock));
    let child = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        there.write(1);
        panic!("on purpose");
    });
    if lock.is_poisoned() {
        data.read();
    }
    child.join().unwrap_err();
}

/// Clearing the flag publishes nothing to those who take the lock and find it cleared.
#[test]
fn race_clear_poison() {
    let (data, lock) = (Plain::new(0), Arc::new(Mutex::new(())));
    let there = Arc::clone(&lock);
    let child = thread::spawn(move || {
        let _guard = there.lock().unwrap();
        panic!("on purpose");
    });
    child.join().unwrap_err();
    both(
        || {
            data.write(1);
            lock.clear_poison();
        },
        || {
            if lock.lock().is_ok() {
                data.read();
            }
        },
    );
}

/// A writer comes before the readers after it.
#[test]
fn no_race_writer_and_reader() {
    let (data, lock) = (Plain::new(0), RwLock::new(()));
    both(
        || {
            let _guard = lock.write().unwrap();
            data.write(1);
        },
        || {
            let _guard = lock.read().unwrap();
            data.read();
        },
    );
}

/// Readers come before the writer after them: also where they use what they share.
#[test]
fn no_race_readers_and_writer() {
    let (data, lock) = (Plain::new([0u32; 2]), RwLock::new(()));
    // SAFETY: within the array.
    let part = |i| Raw(unsafe { { data.at() }.0.cast::<u32>().add(i) });
    let reader = |i| {
        let _guard = lock.read().unwrap();
        part(i).write(1);
    };
    three(
        || reader(0),
        || reader(1),
        || {
            let _guard = lock.write().unwrap();
            data.read();
        },
    );
}

/// Readers are not ordered among each other.
#[test]
fn race_readers() {
    let (data, lock) = (Plain::new(0), RwLock::new(()));
    let reader = || {
        let _guard = lock.read().unwrap();
        data.write(1);
    };
    both(reader, reader);
}

/// Not even where the one has left before the other comes.
#[test]
fn race_reader_and_later_reader() {
    let (data, lock, left) = (Plain::new(0), RwLock::new(()), AtomicBool::new(false));
    both(
        || {
            data.write(1);
            drop(lock.read().unwrap());
            left.store(true, Relaxed);
        },
        || {
            if left.load(Relaxed) {
                drop(lock.read().unwrap());
                data.read();
            }
        },
    );
}

/// A writer who becomes a reader comes before other readers.
#[test]
fn no_race_downgrade() {
    let (data, lock) = (Plain::new(0), RwLock::new(()));
    both(
        || {
            let guard = lock.write().unwrap();
            data.write(1);
            let _guard = std::sync::RwLockWriteGuard::downgrade(guard);
            data.read();
        },
        || {
            let _guard = lock.read().unwrap();
            data.read();
        },
    );
}

/// Attempts that fail order nothing.
#[test]
fn race_failed_try_read() {
    let (data, lock) = (Plain::new(0), RwLock::new(()));
    both(
        || {
            data.write(1);
            let _guard = lock.write().unwrap();
        },
        || {
            if lock.try_read().is_err() {
                data.read();
            }
        },
    );
}

/// A wait gives the mutex back and takes it again: that orders.
#[test]
fn no_race_condvar() {
    let (data, lock, condition) = (Plain::new(0), Mutex::new(false), Condvar::new());
    both(
        || {
            data.write(1);
            *lock.lock().unwrap() = true;
            condition.notify_one();
        },
        || {
            let _guard = condition
                .wait_while(lock.lock().unwrap(), |is_written| !*is_written)
                .unwrap();
            assert_eq!(data.read(), 1);
        },
    );
}

/// What the waiting thread does before the wait comes before whoever takes the mutex meanwhile.
#[test]
fn no_race_wait_gives_the_mutex_back() {
    let (data, lock, condition) = (Plain::new(0), Mutex::new(false), Condvar::new());
    both(
        || {
            let mut guard = lock.lock().unwrap();
            data.read();
            *guard = true;
            condition.notify_one();
        },
        || {
            let guard = lock.lock().unwrap();
            data.write(1);
            drop(condition.wait_while(guard, |is_read| !*is_read).unwrap());
        },
    );
}

/// The notification itself orders nothing, if the mutex is not taken for it.
#[test]
fn race_notification_without_the_mutex() {
    let (data, lock, condition) = (Plain::new(0), Mutex::new(()), Condvar::new());
    both(
        || {
            data.write(1);
            condition.notify_one();
        },
        || {
            let guard = lock.lock().unwrap();
            let (_guard, result) = condition.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            if !result.timed_out() {
                data.read();
            }
        },
    );
}

/// All that is done before a barrier comes before all that is done after it.
#[test]
fn no_race_barrier() {
    let (data, barrier) = (Plain::new([0u32; 2]), Barrier::new(2));
    // SAFETY: within the array.
    let part = |i| Raw(unsafe { { data.at() }.0.cast::<u32>().add(i) });
    let turn = |i| {
        part(i).write(1);
        barrier.wait();
        assert_eq!(data.read(), [1, 1]);
    };
    both(|| turn(0), || turn(1));
}

/// What is done after the barrier is not ordered.
#[test]
fn race_after_the_barrier() {
    let (data, barrier) = (Plain::new(0), Barrier::new(2));
    let turn = || {
        barrier.wait();
        data.write(1);
    };
    both(turn, turn);
}

/// The initialisation comes before all calls that return.
#[test]
fn no_race_once() {
    let (data, once) = (Plain::new(0), Once::new());
    let turn = || {
        once.call_once(|| data.write(1));
        assert_eq!(data.read(), 1);
    };
    both(turn, turn);
}

/// Also before whoever finds it completed.
#[test]
fn no_race_once_is_completed() {
    let (data, once) = (Plain::new(0), Once::new());
    both(
        || once.call_once(|| data.write(1)),
        || {
            if once.is_completed() {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// What a caller who did not initialise has done before is not ordered.
#[test]
fn race_before_once() {
    let (data, once) = (Plain::new(0), Once::new());
    let turn = |i| {
        if i == 0 {
            data.write(1);
        }
        once.call_once(|| ());
        if i == 1 {
            data.read();
        }
    };
    both(|| turn(0), || turn(1));
}

/// The value of a `OnceLock` is initialised before it is there.
#[test]
fn no_race_once_lock() {
    let (data, cell) = (Plain::new(0), OnceLock::new());
    three(
        || assert_eq!(*cell.get_or_init(|| data.write(1)), ()),
        || {
            cell.get_or_init(|| data.write(1));
            assert_eq!(data.read(), 1);
        },
        || {
            if cell.get().is_some() {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// Who cannot set it comes after who has.
#[test]
fn no_race_once_lock_that_is_set() {
    let (data, cell) = (Plain::new(0), OnceLock::new());
    both(
        || {
            data.write(1);
            _ = cell.set(1);
        },
        || {
            if let Some(1) = cell.get() {
                data.read();
            } else if cell.set(2).is_err() {
                data.read();
            }
        },
    );
}

/// The value of a `LazyLock` is initialised before it is there.
#[test]
fn no_race_lazy_lock() {
    static DATA: Plain = Plain::new(0);
    static LAZY: LazyLock<()> = LazyLock::new(|| DATA.write(1));
    let turn = || {
        LazyLock::force(&LAZY);
        assert_eq!(DATA.read(), 1);
    };
    both(turn, turn);
}

/// Sending comes before receiving what was sent.
#[test]
fn no_race_channel() {
    let data = Plain::new(0);
    let (sender, receiver) = channel();
    let data = &data;
    both(
        move || {
            data.write(1);
            sender.send(()).unwrap();
        },
        move || {
            receiver.recv().unwrap();
            assert_eq!(data.read(), 1);
        },
    );
}

/// So it does for whoever does not wait.
#[test]
fn no_race_try_recv() {
    let data = Plain::new(0);
    let (sender, receiver) = channel();
    let data = &data;
    both(
        move || {
            data.write(1);
            _ = sender.send(());
        },
        move || {
            if receiver.try_recv().is_ok() {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// Receiving does not come before later sends, where there is always room.
#[test]
fn race_channel_backwards() {
    let (data, received) = (Plain::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel();
    let (data, received) = (&data, &received);
    both(
        move || {
            data.write(1);
            receiver.recv().unwrap();
            received.store(true, Relaxed);
            receiver.recv().unwrap();
        },
        move || {
            sender.send(()).unwrap();
            wait_for(received);
            sender.send(()).unwrap();
            data.read();
        },
    );
}

/// A message says nothing of what its sender does later.
#[test]
fn race_write_after_send() {
    let data = Plain::new(0);
    let (sender, receiver) = channel();
    let data = &data;
    both(
        move || {
            sender.send(()).unwrap();
            data.write(1);
        },
        move || {
            receiver.recv().unwrap();
            data.read();
        },
    );
}

/// Senders are not ordered among each other.
#[test]
fn race_senders() {
    let (data, sent) = (Plain::new(0), AtomicBool::new(false));
    let (sender, _receiver) = channel();
    let (data, sent, other) = (&data, &sent, sender.clone());
    both(
        move || {
            data.write(1);
            other.send(()).unwrap();
            sent.store(true, Relaxed);
        },
        move || {
            wait_for(sent);
            sender.send(()).unwrap();
            data.read();
        },
    );
}

/// A message of one sender says nothing of another one.
#[test]
fn race_message_of_another_sender() {
    let data = Plain::new(0);
    let (sender, receiver) = channel();
    let (data, other) = (&data, sender.clone());
    three(
        move || {
            data.write(1);
            _ = sender.send(1);
        },
        move || _ = other.send(2),
        move || {
            if receiver.recv().unwrap() == 2 {
                data.read();
            }
        },
    );
}

/// The end of all senders comes before whoever notices it.
#[test]
fn no_race_end_of_the_senders() {
    let data = Plain::new([0u32; 2]);
    let (sender, receiver) = channel::<()>();
    let (data, other) = (&data, sender.clone());
    // SAFETY: within the array.
    let part = |i| Raw(unsafe { { data.at() }.0.cast::<u32>().add(i) });
    three(
        move || {
            part(0).write(1);
            drop(sender);
        },
        move || {
            part(1).write(1);
            drop(other);
        },
        move || {
            receiver.recv().unwrap_err();
            assert_eq!(data.read(), [1, 1]);
        },
    );
}

/// The end of the receiver is not promised to come before whoever notices it; with a bounded buffer it does not.
#[test]
fn race_end_of_the_receiver() {
    let data = Plain::new(0);
    let (sender, receiver) = sync_channel(1);
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(receiver);
        },
        move || {
            if sender.send(()).is_err() {
                data.read();
            }
        },
    );
}

/// Dropping the one half of a channel comes after what was done before dropping the other half only if that is gone.
#[test]
fn race_after_drop_of_the_halves() {
    let data = Plain::new(0);
    let (sender, receiver) = channel::<()>();
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(sender);
        },
        move || {
            drop(receiver);
            data.read();
        },
    );
}

/// With room for one message, each receive comes before the end of the next send.
#[test]
fn no_race_channel_for_one_message() {
    let data = Plain::new(0);
    let (sender, receiver) = sync_channel(1);
    let data = &data;
    both(
        move || {
            data.write(1);
            receiver.recv().unwrap();
            receiver.recv().unwrap();
        },
        move || {
            sender.send(()).unwrap();
            sender.send(()).unwrap();
            assert_eq!(data.read(), 1);
        },
    );
}

/// With room for *n* messages, the *i*-th receive comes before the end of the (*i* + *n*)-th send.
#[test]
fn no_race_channel_for_two_messages() {
    let data = Plain::new(0);
    let (sender, receiver) = sync_channel(2);
    let data = &data;
    both(
        move || {
            data.write(1);
            (0..3).for_each(|_| receiver.recv().unwrap());
        },
        move || {
            (0..3).for_each(|_| sender.send(()).unwrap());
            assert_eq!(data.read(), 1);
        },
    );
}

/// It does not come before the end of the send before that one.
#[test]
fn race_channel_for_two_messages() {
    let (data, received) = (Plain::new(0), AtomicBool::new(false));
    let (sender, receiver) = sync_channel(2);
    let (data, received) = (&data, &received);
    both(
        move || {
            data.write(1);
            receiver.recv().unwrap();
            received.store(true, Relaxed);
            receiver.recv().unwrap();
        },
        move || {
            sender.send(()).unwrap();
            wait_for(received);
            sender.send(()).unwrap();
            data.read();
        },
    );
}

/// The *i*-th receive does not come after what follows the *i*-th send, where there is a buffer.
#[test]
fn race_send_into_a_buffer() {
    let data = Plain::new(0);
    let (sender, receiver) = sync_channel(1);
    let data = &data;
    both(
        move || {
            data.write(1);
            receiver.recv().unwrap();
        },
        move || {
            sender.send(()).unwrap();
            data.read();
        },
    );
}

/// From hand to hand, sending comes before the end of receiving, and receiving before the end of sending.
#[test]
fn no_race_rendezvous() {
    let data = Plain::new([0u32; 2]);
    let (sender, receiver) = sync_channel(0);
    let data = &data;
    // SAFETY: within the array.
    let part = |i| Raw(unsafe { { data.at() }.0.cast::<u32>().add(i) });
    both(
        move || {
            part(0).write(1);
            receiver.recv().unwrap();
            assert_eq!(data.read(), [1, 1]);
        },
        move || {
            part(1).write(1);
            sender.send(()).unwrap();
            assert_eq!(data.read(), [1, 1]);
        },
    );
}

/// A message and what it points to go together.
#[test]
fn no_race_box_as_a_message() {
    let (sender, receiver) = channel::<Box<u32>>();
    both(
        move || sender.send(Box::new(1)).unwrap(),
        move || {
            let mut message = receiver.recv().unwrap();
            *message += 1;
            assert_eq!(*message, 2);
        },
    );
}

/// Messages that nobody has received are dropped with the receiver, after what their senders have done to them.
#[test]
fn no_race_messages_that_are_left() {
    let (sender, receiver) = channel::<Box<u32>>();
    both(
        move || {
            let mut message = Box::new(1);
            *message += 1;
            _ = sender.send(message);
        },
        move || drop(receiver),
    );
}

/// Whoever finds something to read in a socket comes after those who have written to it.
#[test]
fn no_race_socket() {
    let data = Plain::new(0u8);
    let (mut sender, mut receiver) = UnixStream::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    both(
        || {
            data.write(1);
            sender.write_all(b"a").unwrap();
        },
        || {
            if receiver.read_exact(&mut [0]).is_ok() {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// Whoever finds nothing does not.
#[test]
fn race_empty_socket() {
    let data = Plain::new(0u8);
    let (mut sender, _receiver) = UnixStream::pair().unwrap();
    let (_other, mut empty) = UnixStream::pair().unwrap();
    empty.set_nonblocking(true).unwrap();
    both(
        || {
            data.write(1);
            sender.write_all(b"a").unwrap();
        },
        || {
            assert!(empty.read_exact(&mut [0]).is_err());
            data.read();
        },
    );
}

/// `unpark` comes before the `park` that it ends.
#[test]
fn no_race_park() {
    let (data, sleeper) = (Plain::new(0), thread::current());
    both(
        || {
            data.write(1);
            sleeper.unpark();
        },
        || {
            thread::park();
            assert_eq!(data.read(), 1);
        },
    );
}

/// All calls of `unpark` that come earlier do, not just the last one.
#[test]
fn no_race_two_tokens() {
    let (data, sleeper, unparked) = (Plain::new(0), thread::current(), AtomicBool::new(false));
    three(
        || {
            data.write(1);
            sleeper.unpark();
            unparked.store(true, Relaxed);
        },
        || {
            if unparked.load(Relaxed) {
                sleeper.unpark();
            }
        },
        || {
            thread::park();
            assert_eq!(data.read(), 1);
        },
    );
}

/// A token says nothing of those who have not left one yet.
#[test]
fn race_token_of_another_thread() {
    let (data, sleeper) = (Plain::new(0), thread::current());
    three(
        || {
            data.write(1);
            sleeper.unpark();
        },
        || sleeper.unpark(),
        || {
            thread::park();
            data.read();
        },
    );
}

/// What is done after `unpark` is not ordered.
#[test]
fn race_write_after_unpark() {
    let (data, sleeper) = (Plain::new(0), thread::current());
    both(
        || {
            sleeper.unpark();
            data.write(1);
        },
        || {
            thread::park();
            data.read();
        },
    );
}

/// `unpark` of one thread says nothing to another one.
#[test]
fn race_unpark_of_another_thread() {
    let (data, sleeper, flag) = (Plain::new(0), thread::current(), AtomicBool::new(false));
    three(
        || {
            data.write(1);
            sleeper.unpark();
            flag.store(true, Relaxed);
        },
        || {
            wait_for(&flag);
            data.read();
        },
        thread::park,
    );
}

/// A value with a destructor that reads what all owners have written.
struct Owned<'a>([&'a Plain; 2]);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.map(Plain::read), [1, 1]);
    }
}

/// What the owners of an `Arc` do comes before the destructor of its value.
#[test]
fn no_race_last_drop() {
    let data = [Plain::new(0), Plain::new(0)];
    let first = Arc::new(Owned(data.each_ref()));
    let second = Arc::clone(&first);
    let turn = |i: usize, owner: Arc<Owned>| {
        data[i].write(1);
        drop(owner);
    };
    let turn = &turn;
    both(move || turn(0, first), move || turn(1, second));
}

/// The memory of an `Arc` is freed after all that its owners do with the value.
#[test]
fn no_race_memory_of_an_arc() {
    let first = Arc::new(5);
    let second = Arc::clone(&first);
    both(move || assert_eq!(*first, 5), move || assert_eq!(*second, 5));
}

/// Who finds itself the only owner comes after all that the others have done.
#[test]
fn no_race_get_mut() {
    let mut first = Arc::new(Plain::new(0));
    let second = Arc::clone(&first);
    both(
        move || second.write(1),
        || {
            if let Some(data) = Arc::get_mut(&mut first) {
                assert_eq!(data.read(), 1);
                data.write(2);
            }
        },
    );
}

/// So does who changes the value in place, as there is no other owner.
#[test]
fn no_race_make_mut() {
    let mut first = Arc::new(0);
    let second = Arc::clone(&first);
    both(move || assert_eq!(*second, 0), || *Arc::make_mut(&mut first) = 1);
    assert_eq!(*first, 1);
}

/// So does who takes the value out.
#[test]
fn no_race_try_unwrap() {
    let first = Arc::new(Plain::new(0));
    let second = Arc::clone(&first);
    both(
        move || second.write(1),
        || {
            if let Ok(data) = Arc::try_unwrap(first) {
                assert_eq!(data.read(), 1);
            }
        },
    );
}

/// So does the one of several who takes the value out.
#[test]
fn no_race_into_inner() {
    let data = [Plain::new(0), Plain::new(0)];
    let first = Arc::new(());
    let second = Arc::clone(&first);
    let turn = |i: usize, owner: Arc<()>| {
        data[i].write(1);
        if Arc::into_inner(owner).is_some() {
            assert_eq!(data.each_ref().map(Plain::read), [1, 1]);
        }
    };
    let turn = &turn;
    both(move || turn(0, first), move || turn(1, second));
}

/// Who does not get it has learnt nothing.
#[test]
fn race_failed_into_inner() {
    let data = [Plain::new(0), Plain::new(0)];
    let first = Arc::new(());
    let second = Arc::clone(&first);
    let turn = |i: usize, owner: Arc<()>| {
        data[i].write(1);
        if Arc::into_inner(owner).is_none() {
            data[1 - i].read();
        }
    };
    let turn = &turn;
    both(move || turn(0, first), move || turn(1, second));
}

/// Not even of those who have gone before.
#[test]
fn race_failed_into_inner_after_another() {
    let (data, gone) = (Plain::new(0), AtomicBool::new(false));
    let first = Arc::new(());
    let (second, _third) = (Arc::clone(&first), Arc::clone(&first));
    let (data, gone) = (&data, &gone);
    both(
        move || {
            data.write(1);
            assert!(Arc::into_inner(first).is_none());
            gone.store(true, Relaxed);
        },
        move || {
            wait_for(gone);
            assert!(Arc::into_inner(second).is_none());
            data.read();
        },
    );
}

/// Owners are not ordered among each other.
#[test]
fn race_owners() {
    let first = Arc::new(Plain::new(0));
    let second = Arc::clone(&first);
    both(move || second.write(1), move || _ = first.read());
}

/// Dropping an `Arc` comes after what others have done only if theirs are gone, which nobody knows.
#[test]
fn race_after_drop() {
    let data = Plain::new(0);
    let first = Arc::new(5);
    let second = Arc::clone(&first);
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(second);
        },
        move || {
            drop(first);
            data.read();
        },
    );
}

/// So it is where the value has something to free.
#[test]
fn race_after_drop_that_may_free() {
    let data = Plain::new(0);
    let first = Arc::new(vec![5]);
    let second = Arc::clone(&first);
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(second);
        },
        move || {
            drop(first);
            data.read();
        },
    );
}

/// Neither does dropping a weak pointer.
#[test]
fn race_after_drop_of_weak_pointers() {
    let data = Plain::new(0);
    let first = Weak::clone(&Arc::downgrade(&Arc::new(5)));
    let second = Weak::clone(&first);
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(second);
        },
        move || {
            drop(first);
            data.read();
        },
    );
}

/// Looking at the number of owners orders nothing.
#[test]
fn race_strong_count() {
    let first = Arc::new(Plain::new(0));
    let second = Arc::clone(&first);
    both(
        move || second.write(1),
        || {
            if Arc::strong_count(&first) == 1 {
                first.read();
            }
        },
    );
}

/// Neither does looking at the number of weak pointers.
#[test]
fn race_weak_count() {
    let first = Arc::new(Plain::new(0));
    let (second, weak) = (Arc::clone(&first), Arc::downgrade(&first));
    both(
        || {
            second.write(1);
            drop(weak);
        },
        || {
            if Arc::weak_count(&first) == 0 {
                first.read();
            }
        },
    );
}

/// Neither does an attempt to take the value out that fails.
#[test]
fn race_failed_try_unwrap() {
    let first = Arc::new(Plain::new(0));
    let second = Arc::clone(&first);
    both(
        move || second.write(1),
        move || {
            if let Err(first) = Arc::try_unwrap(first) {
                first.read();
            }
        },
    );
}

/// A weak pointer that can be upgraded, to a value that was not there when the pointer was made.
#[test]
fn no_race_upgrade() {
    thread::scope(|scope| {
        let data = Arc::new_cyclic(|weak: &Weak<u32>| {
            let weak = weak.clone();
            scope.spawn(move || {
                if let Some(data) = weak.upgrade() {
                    assert_eq!(*data, 7);
                }
            });
            7
        });
        assert_eq!(*data, 7);
    });
}

/// A weak pointer keeps the memory, and is no race with the destructor of the value.
#[test]
fn no_race_upgrade_and_last_drop() {
    let first = Arc::new(5);
    let weak = Arc::downgrade(&first);
    both(
        move || drop(first),
        move || {
            if let Some(second) = weak.upgrade() {
                assert_eq!(*second, 5);
            }
        },
    );
}

/// Looking for a value that is not there any more orders nothing.
#[test]
fn race_failed_upgrade() {
    let data = Plain::new(0);
    let owner = Arc::new(());
    let weak = Arc::downgrade(&owner);
    let data = &data;
    both(
        move || {
            data.write(1);
            drop(owner);
        },
        move || {
            if weak.upgrade().is_none() {
                data.read();
            }
        },
    );
}
