//! What of the virtual clock makes states differ.

use dpor_explorer::Verdict;
use shim_std::sync::Arc;
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::thread;
use shim_std::time::{Duration, Instant};
use shim_std::{Model, Strategy};

const SECOND: Duration = Duration::from_secs(1);

/// Number of states of the test.
#[track_caller]
fn states(test: impl Fn() + 'static) -> u64 {
    let outcome = Model::new().strategy(Strategy::States).explore(test);
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    outcome.report.statistics.states
}

/// Two threads add, one of them after so many questions for the time.
fn adds_after(questions: usize) {
    let number = Arc::new(AtomicUsize::new(0));
    let children = [questions, 0].map(|questions| {
        let number = Arc::clone(&number);
        thread::spawn(move || {
            (0..questions).for_each(|_| _ = Instant::now());
            number.fetch_add(1, SeqCst);
            number.fetch_add(1, SeqCst);
        })
    });
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn the_first_questions_for_the_time_take_none() {
    assert_eq!(states(|| adds_after(32)), states(|| adds_after(0)));
    // A question that takes time leaves a trace in all who come later.
    assert!(states(|| adds_after(33)) > states(|| adds_after(32)));
}

#[test]
fn a_loop_reaches_its_deadline() {
    let test = || {
        let start = Instant::now();
        while start.elapsed() < SECOND {}
    };
    Model::new().check(test);
}

/// All have slept for this long. To which of two numbers the child writes what was there is left in these numbers'
/// times only.
fn touches_one_of_two(time: Duration) {
    let _ = Instant::now();
    let numbers = Arc::new([const { AtomicUsize::new(0) }; 3]);
    thread::sleep(time);
    let others = Arc::clone(&numbers);
    let child = thread::spawn(move || {
        let one_or_two = others[0].load(SeqCst) + 1;
        others[one_or_two].store(0, SeqCst);
    });
    numbers[0].store(1, SeqCst);
    numbers[0].store(0, SeqCst);
    child.join().unwrap();
}

#[test]
fn a_time_that_all_have_reached_makes_no_difference() {
    let states = |time| states(move || touches_one_of_two(time));
    assert_eq!(states(SECOND), states(Duration::ZERO));
}
