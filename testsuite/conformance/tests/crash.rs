//! Tests that take their process down, or never end. Not to be run without a checker.

use conformance::race;
use std::hint::black_box;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// Whether the second of two threads was first.
fn second_first() -> bool {
    race(
        AtomicUsize::new(0),
        |x| x.fetch_add(1, SeqCst),
        |x| x.fetch_add(1, SeqCst),
    )
    .1 == 0
}

#[test]
fn long_loop_without_operation() {
    loop {
        black_box(());
    }
}

#[test]
fn long_loop_without_operation_in_one_schedule() {
    if second_first() {
        loop {
            black_box(());
        }
    }
}

#[test]
#[expect(clippy::missing_spin_loop, reason = "the loop is meant to say nothing")]
fn fail_loop_that_loads() {
    let flag = AtomicBool::new(false);
    while !flag.load(SeqCst) {}
}

#[test]
fn fail_loop_that_yields() {
    loop {
        thread::yield_now();
    }
}

#[test]
fn long_loop_that_counts() {
    let x = AtomicUsize::new(0);
    loop {
        x.fetch_add(1, SeqCst);
    }
}

#[test]
fn fail_loop_that_locks() {
    let mutex = Mutex::new(false);
    while !*mutex.lock().unwrap() {}
}

#[test]
fn fail_two_loops_wait_for_each_other() {
    race(
        (AtomicBool::new(false), AtomicBool::new(false)),
        |(a, b)| {
            while !b.load(SeqCst) {
                thread::yield_now();
            }
            a.store(true, SeqCst);
        },
        |(a, b)| {
            while !a.load(SeqCst) {
                thread::yield_now();
            }
            b.store(true, SeqCst);
        },
    );
}

#[test]
fn fail_exit_0() {
    process::exit(0);
}

#[test]
fn fail_exit_7_in_one_schedule() {
    if second_first() {
        process::exit(7);
    }
}

#[test]
fn fail_exit_in_child() {
    thread::spawn(|| process::exit(3)).join().unwrap()
}

#[test]
fn fail_abort() {
    process::abort();
}

#[test]
fn fail_abort_in_one_schedule() {
    if second_first() {
        process::abort();
    }
}

#[test]
fn fail_double_panic() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("second");
        }
    }
    let _panics = Panics;
    panic!("first");
}

#[test]
fn fail_double_panic_in_child() {
    struct Panics(Arc<Mutex<()>>);
    impl Drop for Panics {
        fn drop(&mut self) {
            drop(self.0.lock());
            panic!("second");
        }
    }
    let mutex = Arc::new(Mutex::new(()));
    let panics = Panics(Arc::clone(&mutex));
    let child = thread::spawn(move || {
        let _panics = panics;
        panic!("first");
    });
    drop(mutex.lock());
    let _ = child.join();
}

#[test]
fn fail_panic_out_of_extern_c() {
    extern "C" fn callback() {
        panic!("must not unwind");
    }
    callback();
}

fn recurse(depth: usize) -> usize {
    let frame = black_box([depth; 64]);
    if frame[depth % 64] == usize::MAX {
        0
    } else {
        recurse(depth + 1) + frame[0]
    }
}

#[test]
fn fail_stack_overflow() {
    black_box(recurse(0));
}

#[test]
fn fail_stack_overflow_in_child() {
    thread::spawn(|| recurse(0)).join().unwrap();
}

unsafe extern "C" {
    fn strlen(text: *const std::ffi::c_char) -> usize;
}

#[test]
fn fail_null_dereference() {
    // SAFETY: none: this is what the checker is to report.
    black_box(unsafe { strlen(black_box(std::ptr::null())) });
}

#[test]
fn fail_null_dereference_with_debug_assertions() {
    let pointer: *const usize = black_box(std::ptr::null());
    // SAFETY: none: this is what the checker is to report.
    black_box(unsafe { *pointer });
}

#[test]
fn fail_wild_dereference_in_one_schedule() {
    if second_first() {
        let pointer: *const usize = black_box(std::ptr::without_provenance(4096));
        // SAFETY: none: this is what the checker is to report.
        black_box(unsafe { *pointer });
    }
}

#[test]
fn fail_double_free() {
    let pointer = Box::into_raw(Box::new(5_u32));
    // SAFETY: none: this is what the checker is to report.
    unsafe {
        drop(Box::from_raw(pointer));
        drop(Box::from_raw(black_box(pointer)));
    }
}

#[test]
fn fail_illegal_instruction() {
    // SAFETY: none: this is what the checker is to report.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("ud2", options(noreturn, nomem, nostack))
    };
    #[cfg(not(target_arch = "x86_64"))]
    process::abort();
}

#[test]
fn fail_nondeterminism() {
    // A file outlives the execution: every other one finds it.
    let path = std::env::temp_dir().join(format!("conformance-{}", process::id()));
    let found = std::fs::remove_file(&path).is_ok();
    if !found {
        std::fs::write(&path, "").unwrap();
    }
    let x = AtomicUsize::new(0);
    let y = Mutex::new(0);
    if found {
        x.store(1, SeqCst)
    } else {
        *y.lock().unwrap() += 1
    }
    second_first();
}
