//! Programs that other detectors of data races are tested with, and that `data_races.rs` does not have: with the same
//! accesses, in our words. A test is called as the file, or the function, that it goes by.
//!
//! Miri follows one schedule, which each of its tests chooses. Where that is what the test is about, a relaxed flag makes
//! the accesses come in that order: it orders nothing.

use conformance::plain::{Plain, Raw, both, three, wait_for};
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicUsize};
use std::sync::{Arc, Barrier};
use std::thread;

/// The tests of Miri, in the folders of its `tests`.
mod miri {
    use super::*;

    // fail/data_race: the beginning and the end of locals.

    /// A local that another thread uses before its scope ends, and is not ordered before that end.
    fn end_of_a_scope(access: impl FnOnce(Raw<usize>)) {
        let (slot, done) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));
        both(
            || {
                let mut local = 0usize;
                slot.store(&raw mut local, Release);
                wait_for(&done);
            },
            || {
                let local = Raw(slot.load(Acquire));
                if !local.0.is_null() {
                    access(local);
                }
                done.store(true, Relaxed);
            },
        );
    }

    /// The end of a local's scope has to come after all reads.
    #[test]
    fn dealloc_read_race_stack() {
        end_of_a_scope(|local| _ = local.read());
    }

    /// The end of a local's scope has to come after all writes.
    #[test]
    fn dealloc_write_race_stack() {
        end_of_a_scope(|local| local.write(3));
    }

    /// The end of a function, whose argument another thread has read before.
    #[test]
    fn stack_pop_race() {
        static READ: AtomicBool = AtomicBool::new(false);
        fn start(mut argument: i32) {
            let argument = Raw(&raw mut argument);
            thread::spawn(move || {
                argument.read();
                READ.store(true, Relaxed);
            });
            wait_for(&READ);
        }
        start(black_box(0));
    }

    /// Lets a thread write to what the pointer in the slot points to, once that is not null.
    fn writes_to(slot: &AtomicPtr<u8>) {
        let local = loop {
            let local = slot.load(Relaxed);
            if !local.is_null() {
                break local;
            }
            std::hint::spin_loop();
        };
        Raw(local).write(127);
    }

    /// A local without a value, whose scope has begun beside the thread that writes to it.
    #[test]
    fn local_variable_alloc_race() {
        static SLOT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
        let thread = thread::spawn(|| writes_to(&SLOT));
        let mut local = std::mem::MaybeUninit::<u8>::uninit();
        SLOT.store(local.as_mut_ptr(), Relaxed);
        thread.join().unwrap();
        // SAFETY: the thread has written it.
        assert_eq!(unsafe { local.assume_init() }, 127);
    }

    /// A read of a local that comes before its address is given away, but is not ordered before the other thread's write.
    #[test]
    fn local_variable_read_race() {
        static SLOT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
        let mut local = 0u8;
        let at = Raw(&raw mut local);
        let thread = thread::spawn(|| writes_to(&SLOT));
        at.read();
        SLOT.store({ at }.0, Relaxed);
        thread.join().unwrap();
        assert_eq!(at.read(), 127);
    }

    /// The first value of a local, which is not published with its address.
    #[test]
    fn local_variable_write_race() {
        static SLOT: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
        let thread = thread::spawn(|| writes_to(&SLOT));
        let mut local = 0u8;
        SLOT.store(&raw mut local, Relaxed);
        thread.join().unwrap();
        assert_eq!(Raw(&raw mut local).read(), 127);
    }

    // fail/data_race: atomics of different sizes.

    /// The halves of an atomic, as atomics.
    fn halves(whole: &AtomicU16) -> &[AtomicU8; 2] {
        // SAFETY: same size, and the alignment is less.
        unsafe { &*ptr::from_ref(whole).cast() }
    }

    /// Loads of the whole and of a half, and after both a store of the half.
    #[test]
    fn mixed_size_read_read_write_match_second_load() {
        let data = AtomicU16::new(0);
        let (whole, half) = (AtomicBool::new(false), AtomicBool::new(false));
        three(
            || {
                data.load(SeqCst);
                whole.store(true, Relaxed);
            },
            || {
                halves(&data)[0].load(SeqCst);
                half.store(true, Relaxed);
            },
            || {
                wait_for(&whole);
                wait_for(&half);
                halves(&data)[0].store(0, SeqCst);
            },
        );
    }

    /// A load of a half, and then a store of the whole.
    #[test]
    fn mixed_size_read_write_read_write() {
        let (data, done) = (AtomicU16::new(0), AtomicBool::new(false));
        both(
            || {
                wait_for(&done);
                data.store(1, SeqCst);
            },
            || {
                halves(&data)[0].load(SeqCst);
                done.store(true, Relaxed);
            },
        );
    }

    /// A store of the whole, and then a load of a half.
    #[test]
    fn mixed_size_read_write_write_read() {
        let (data, done) = (AtomicU16::new(0), AtomicBool::new(false));
        both(
            || {
                data.store(1, SeqCst);
                done.store(true, Relaxed);
            },
            || {
                wait_for(&done);
                halves(&data)[0].load(SeqCst);
            },
        );
    }

    // fail/both_borrows, stacked_borrows, tree_borrows: references that are made and not used.

    /// A reference that allows writing, beside a write.
    #[test]
    fn retag_data_race_write() {
        let data = Plain::new(0u8);
        both(
            || {
                // SAFETY: by the aliasing rules of Miri none.
                let _reference = unsafe { &mut *data.at().0 };
            },
            || data.write(5),
        );
    }

    /// A reference that allows reading, beside a write.
    #[test]
    fn retag_data_race_read() {
        let data = Plain::new(0u8);
        both(
            || {
                // SAFETY: by the aliasing rules of Miri none.
                let _reference = unsafe { &*data.at().0 };
            },
            || data.write(5),
        );
    }

    /// A reference that allows writing, for the time of a call, beside a read.
    #[test]
    fn retag_data_race_protected_read() {
        fn nothing(_: &mut i32) {}
        let data = Plain::new(0i32);
        both(
            // SAFETY: by the aliasing rules of Miri none.
            || nothing(unsafe { &mut *data.at().0 }),
            || _ = data.read(),
        );
    }

    /// A reference for a call that writes by it when a barrier has ordered the write after another thread's read. Miri
    /// has this twice: it is a race where implicit writes are on (`retag_is_race`), and none otherwise (`retag_no_race`).
    #[test]
    fn retag_no_race() {
        fn write(data: &mut u8, barrier: &Barrier) {
            barrier.wait();
            *data = 42;
        }
        let (data, barrier) = (Plain::new(0u8), Arc::new(Barrier::new(2)));
        both(
            || {
                data.read();
                barrier.wait();
            },
            // SAFETY: by the aliasing rules, only where the read comes first.
            || write(unsafe { &mut *data.at().0 }, &barrier),
        );
    }

    // fail/weak_memory.

    /// A load of an atomic that nobody has initialised.
    #[test]
    fn weak_uninit() {
        // SAFETY: none, if the load comes first.
        let data: &AtomicUsize = unsafe { Box::leak(Box::new_uninit()).assume_init_ref() };
        both(|| data.store(1, Relaxed), || _ = black_box(data.load(Relaxed)));
    }

    // fail-dep/libc: what C and the system do.

    /// C's `getenv`, which does not take the lock that std has for the environment.
    #[test]
    fn env_set_var_data_race() {
        unsafe extern "C" {
            fn getenv(name: *const std::ffi::c_char) -> *mut std::ffi::c_char;
        }
        both(
            // SAFETY: none, since the environment may change meanwhile.
            || _ = black_box(unsafe { getenv(c"TZ".as_ptr()) }),
            // SAFETY: none, as above.
            || unsafe { std::env::set_var("OTHER_DETECTORS", "Ferris") },
        );
    }

    /// A write that comes after a byte was sent through a socket, and a read that comes after receiving it.
    #[test]
    fn socketpair_data_race() {
        let data = Plain::new(0u8);
        let (mut sender, mut receiver) = UnixStream::pair().unwrap();
        both(
            || {
                sender.write_all(b"a").unwrap();
                data.write(1);
            },
            || {
                let mut byte = [0];
                receiver.read_exact(&mut byte).unwrap();
                data.read();
            },
        );
    }

    /// Two counters are watched. What is written before each of them is written is read after one was told of.
    #[test]
    fn epoll_data_race() {
        #[repr(C, packed)]
        #[derive(Clone, Copy)]
        struct Event {
            events: u32,
            data: u64,
        }
        // SAFETY: as the C library declares them.
        unsafe extern "C" {
            fn eventfd(value: u32, flags: i32) -> i32;
            fn epoll_create1(flags: i32) -> i32;
            fn epoll_ctl(epoll: i32, how: i32, watched: i32, event: *const Event) -> i32;
            fn epoll_wait(epoll: i32, events: *mut Event, most: i32, timeout: i32) -> i32;
            fn write(descriptor: i32, bytes: *const u64, size: usize) -> isize;
        }
        let data = [Plain::new(0u8), Plain::new(0u8)];
        // SAFETY: makes descriptors.
        let (epoll, counters) = unsafe { (epoll_create1(0), [eventfd(0, 0), eventfd(0, 0)]) };
        for (&counter, place) in counters.iter().zip(0..) {
            let event = Event { events: 1, data: place };
            // SAFETY: adds a descriptor (1).
            assert_eq!(unsafe { epoll_ctl(epoll, 1, counter, &raw const event) }, 0);
        }
        both(
            || {
                for (data, counter) in data.iter().zip(counters) {
                    data.write(1);
                    // SAFETY: a number is written.
                    assert_eq!(unsafe { write(counter, &1, 8) }, 8);
                }
            },
            || {
                let mut event = Event { events: 0, data: 7 };
                // SAFETY: there is room for one.
                assert_eq!(unsafe { epoll_wait(epoll, &raw mut event, 1, -1) }, 1);
                data[{ event.data } as usize].read();
                // Nothing orders the other one.
                data[1 - { event.data } as usize].read();
            },
        );
    }

    // pass/concurrency.

    /// Each thread calls a function with a reference to a constant without bytes, and to its table of functions.
    #[test]
    fn issue_miri_1643() {
        fn call(_: &mut dyn FnMut() -> bool) {}
        both(|| call(&mut || false), || call(&mut || false));
    }

    /// Each thread asks where it was called.
    #[test]
    fn concurrent_caller_location() {
        #[track_caller]
        fn line() -> u32 {
            std::panic::Location::caller().line()
        }
        both(|| _ = black_box(line()), || _ = black_box(line()));
    }

    // genmc/fail/data_race: those that are explored.

    /// A local that is used by the address which another thread has found before its scope ended.
    #[test]
    fn atomic_ptr_dealloc_write_race() {
        static SLOT: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());
        static mut OTHER: u64 = 0;
        both(
            || {
                let mut local = 1234u64;
                SLOT.store(&raw mut local, SeqCst);
                SLOT.store(&raw mut OTHER, SeqCst);
            },
            || {
                let found = Raw(SLOT.load(SeqCst));
                if !found.0.is_null() {
                    found.write(42);
                }
            },
        );
    }

    /// The same where nobody is ordered before the end of the scope, and the write comes first.
    #[test]
    fn atomic_ptr_write_dealloc_race() {
        static SLOT: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());
        static DONE: AtomicBool = AtomicBool::new(false);
        both(
            || {
                let found = Raw(SLOT.load(SeqCst));
                if !found.0.is_null() {
                    found.write(42);
                }
                DONE.store(true, Relaxed);
            },
            || {
                let mut local = 1234u64;
                SLOT.store(&raw mut local, SeqCst);
                wait_for(&DONE);
            },
        );
    }

    /// A race that only one order of four threads leads to: two exchanges have to come in their order between a store and
    /// a load.
    #[test]
    fn mpu2_rels_rlx() {
        let (data, steps) = (Plain::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                data.write(1);
                steps.store(0, Release);
                steps.store(1, Relaxed);
            });
            scope.spawn(|| {
                if steps.load(Relaxed) > 2 {
                    data.write(2);
                }
            });
            scope.spawn(|| _ = steps.compare_exchange(2, 3, Relaxed, Relaxed));
            scope.spawn(|| _ = steps.compare_exchange(1, 2, Relaxed, Relaxed));
        });
    }
}

/// The tests of ThreadSanitizer: the one of rustc, and those of LLVM whose subject `data_races.rs` does not have.
mod tsan {
    use super::*;

    /// Two threads increment a number on the heap. The one program of rustc's own tests in which ThreadSanitizer has to
    /// find a race (`tests/ui/sanitizer/thread.rs`).
    #[test]
    fn thread() {
        let block = Raw::alloc(1u32);
        both(
            move || block.write(block.read() + 1),
            move || block.write(block.read() + 1),
        );
        block.free();
    }
}
