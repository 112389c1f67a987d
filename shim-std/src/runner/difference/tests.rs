//! Pairs of small programs.

use super::*;
use crate::runner::body::Body;
use crate::runner::journal::unshared;
use crate::sync::{Arc, Mutex};
use crate::thread;
use dpor_explorer::{Context, Explorer, Limits, Sharded, Strategy, ThreadId, Verdict};
use dpor_scheduler::{Options, Program};

/// Looks for the pair with this number; returns the number of pairs met, the report, and the verdict.
fn pair(number: u64, test: fn()) -> (u64, Option<PairReport>, Verdict) {
    let body = Body::new("test".to_owned(), None, test);
    let mut program = Program::new(Options::default(), move || body.run()).unwrap();
    program.compare_states(true);
    let whole = Sharded::whole(Journaled::new(program, unshared()));
    let mut explorer = Explorer::new(whole, Strategy::Context(Context::CDPOR1), Limits::default()).keep_going(true);
    let mut pairs = Pairs::up_to(number);
    let verdict = explorer.run(&mut pairs).verdict;
    let report = pairs
        .last_found()
        .map(|(first, second)| report(explorer.system(), first, second).unwrap());
    (pairs.met, report, verdict)
}

fn two_threads(body: fn(&mut u64, u64)) {
    let number = Arc::new(Mutex::new(0));
    let threads = [1, 2].map(|i| {
        let number = Arc::clone(&number);
        thread::spawn(move || body(&mut number.lock().unwrap(), i))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

fn assignments() {
    two_threads(|number, i| *number = 0x1100 + i);
}

fn threads(steps: &[StepReport]) -> Vec<ThreadId> {
    steps.iter().map(|step| ThreadId(step.thread)).collect()
}

#[test]
fn assignments_do_not_commute() {
    let (met, report, verdict) = pair(1, assignments);
    assert_eq!(met, 1);
    assert!(matches!(verdict, Verdict::Incomplete { .. }), "broken off: {verdict:?}");
    let report = report.unwrap();
    // The start of the main thread, which creates both others.
    assert_eq!(report.common, 1, "{report:?}");
    let (first, second) = (threads(&report.first), threads(&report.second));
    assert_eq!(
        first.iter().filter(|thread| thread.0 > 0).collect::<Vec<_>>(),
        [&ThreadId(1), &ThreadId(2)]
    );
    assert_eq!(
        second.iter().filter(|thread| thread.0 > 0).collect::<Vec<_>>(),
        [&ThreadId(2), &ThreadId(1)]
    );
    let of = |steps: &[StepReport], thread| {
        let step = steps.iter().find(|step| step.thread == thread).unwrap();
        (step.operation.clone(), step.object.clone())
    };
    assert_eq!(of(&report.first, 1), ("lock".to_owned(), "mutex#1".to_owned()));
    assert_eq!(of(&report.second, 2), of(&report.first, 1), "one name for one object");
    assert_eq!(report.first[0].index, report.common);
    let [number] = &report.differences[..] else {
        panic!("{:?}", report.differences)
    };
    assert!(number.owner.starts_with("t0: heap block"), "{number:?}");
    // The second thread came last in the first order.
    let low = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    assert_eq!((low(&number.first), low(&number.second)), (0x1102, 0x1101));
}

#[test]
fn additions_commute() {
    let (met, report, verdict) = pair(1, || two_threads(|number, i| *number += i));
    assert_eq!((met, report, verdict), (0, None, Verdict::Complete));
}

#[test]
fn there_may_be_fewer_pairs() {
    let (met, report, verdict) = pair(2, assignments);
    assert_eq!((met, report, verdict), (1, None, Verdict::Complete));
}
