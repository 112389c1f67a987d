//! The possible ends of a test.

use conformance::race;
use std::hint::black_box;
use std::num::ParseIntError;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{panic, thread};

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
fn returns_nothing() {}

#[test]
fn returns_ok() -> Result<(), ParseIntError> {
    "5".parse::<u32>().map(|_| ())
}

#[test]
fn returns_success() -> ExitCode {
    ExitCode::SUCCESS
}

#[test]
fn fail_returns_err() -> Result<(), ParseIntError> {
    "five".parse::<u32>().map(|_| ())
}

#[test]
fn fail_returns_err_in_one_schedule() -> Result<(), String> {
    if second_first() {
        Err("the second was first".into())
    } else {
        Ok(())
    }
}

#[test]
fn fail_returns_failure() -> ExitCode {
    ExitCode::FAILURE
}

#[test]
#[should_panic]
fn panics_in_every_schedule() {
    panic!("second first: {}", second_first());
}

#[test]
#[should_panic(expected = "second first")]
fn panics_with_the_expected_message() {
    panic!("second first: {}", second_first());
}

#[test]
#[should_panic]
fn fail_should_panic_does_not() {
    second_first();
}

#[test]
#[should_panic]
fn fail_should_panic_panics_in_one_schedule_only() {
    assert!(!second_first());
}

#[test]
#[should_panic(expected = "something else")]
fn fail_should_panic_with_another_message() {
    panic!("second first: {}", second_first());
}

#[test]
#[ignore]
fn ignored() {}

#[test]
#[ignore = "it fails"]
fn fail_ignored() {
    panic!("it was asked for");
}

macro_rules! panics {
    ($($test:ident: $run:expr;)*) => {
        $(
            #[test]
            fn $test() {
                $run;
            }
        )*
    };
}

fn zero() -> usize {
    black_box(0)
}

panics! {
    fail_panic_literal: panic!("literal");
    fail_panic_format: panic!("{} {:?}", 1, "two");
    fail_panic_any: panic::panic_any(42);
    fail_assert: assert!(zero() == 1);
    fail_assert_message: assert!(zero() == 1, "zero is {}", zero());
    fail_assert_eq: assert_eq!(zero(), 1);
    fail_assert_ne: assert_ne!(zero(), 0, "with a message");
    fail_debug_assert: debug_assert!(zero() == 1);
    fail_unwrap: (zero() == 1).then_some(()).unwrap();
    fail_expect: "five".parse::<u32>().expect("an expectation");
    fail_index: black_box([1, 2][zero() + 2]);
    fail_overflow: black_box(zero() - 1);
    fail_division: black_box(1 / zero());
    fail_unreachable: unreachable!("{}", zero());
    fail_todo: todo!();
    fail_unimplemented: unimplemented!();
    fail_refcell: {
        let cell = std::cell::RefCell::new(zero());
        let _first = cell.borrow_mut();
        let _second = cell.borrow_mut();
    };
    fail_resume_unwind: panic::resume_unwind(Box::new(zero()));
    fail_panic_in_child: thread::spawn(|| panic!("in the child")).join().unwrap();
    fail_panic_in_one_schedule: assert!(!second_first(), "the second was first");
}

#[test]
fn fail_panic_in_drop() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    drop(Panics);
}

#[test]
fn fail_panic_with_much_to_unwind() {
    struct Locks(std::sync::Arc<std::sync::Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            if let Ok(mut value) = self.0.lock() {
                *value += 1;
            }
        }
    }
    let mutex = std::sync::Arc::new(std::sync::Mutex::new(0));
    let child = {
        let mutex = std::sync::Arc::clone(&mutex);
        thread::spawn(move || *mutex.lock().unwrap() += 1)
    };
    let _first = Locks(mutex.clone());
    let _second = Locks(mutex);
    let _child = child;
    panic!("others are still at work");
}

#[test]
fn fail_deadlock_with_much_to_drop() {
    struct Locks(std::sync::Arc<std::sync::Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let mutex = std::sync::Arc::new(std::sync::Mutex::new(0));
    let _locks = Locks(mutex.clone());
    let _guard = mutex.lock().unwrap();
    let mutex = mutex.clone();
    thread::spawn(move || drop(Locks(mutex))).join().unwrap();
}

#[test]
fn caught_panic_passes() {
    let caught = panic::catch_unwind(|| panic!("caught"));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "caught");
    assert!(panic::catch_unwind(second_first).is_ok());
}

#[test]
fn hook_of_the_test_is_called() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| {
        CALLS.fetch_add(1, SeqCst);
    }));
    assert!(panic::catch_unwind(|| panic!("hooked")).is_err());
    panic::set_hook(before);
    assert!(CALLS.load(SeqCst) >= 1);
}
