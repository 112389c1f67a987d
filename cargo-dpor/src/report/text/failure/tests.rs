//! Reports as printed, from fixed accounts.

use super::*;
use crate::outcome::Account;
use dpor_protocol::{
    BlockReport, BlockedThread, CallerReport, ChoiceReport, Holder, OutputStream, Simplified, ThreadReport,
};
use std::time::Duration;

const SOURCE: &str = "\
#[test]
fn transfer() {
    let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
    let worker = Builder::new().name(\"worker\".into()).spawn(move || {
        let first = b.lock().unwrap();
        let second = a.lock().unwrap();
    });
    let first = a.lock().unwrap();
    let second = b.lock().unwrap();
    worker.join().unwrap();
}
";

/// A tree with `src/lib.rs`.
fn with_sources(body: impl FnOnce(&SourceTree)) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), SOURCE).unwrap();
    body(&SourceTree::new(vec![folder.path().into()]));
}

/// The place of a method call on the line, if there is one.
fn at(line: u32) -> Option<SourceLocation> {
    let text = SOURCE.lines().nth(line as usize - 1).unwrap();
    Some(SourceLocation {
        file: "src/lib.rs".into(),
        line,
        column: text.find("lock()").map_or(21, |before| before as u32 + 1),
    })
}

fn step(index: u64, thread: u32, operation: &str, object: &str, line: u32, detail: &str) -> StepReport {
    StepReport {
        index,
        thread,
        thread_name: (thread == 1).then(|| "worker".into()),
        operation: operation.into(),
        object: object.into(),
        location: at(line),
        detail: (!detail.is_empty()).then(|| detail.into()),
        switched: false,
        ..StepReport::default()
    }
}

fn failure(kind: &str, message: &str) -> FailureReport {
    FailureReport {
        kind: kind.into(),
        message: message.into(),
        thread: None,
        thread_name: None,
        location: None,
        blocked: vec![],
        output: String::new(),
        ..FailureReport::default()
    }
}

fn outcome(failure: Option<FailureReport>, account: Account) -> Outcome {
    let verdict = match failure {
        Some(_) => Verdict::Failed,
        None => Verdict::Complete,
    };
    Outcome {
        failure,
        seed: Some("dpor1-AAAA".into()),
        account,
        time: Duration::from_millis(1500),
        ..Outcome::of(verdict)
    }
}

fn render(outcome: &Outcome, replay: Option<&Outcome>) -> String {
    rendered(outcome, replay, 120)
}

fn rendered(outcome: &Outcome, replay: Option<&Outcome>, width: usize) -> String {
    let mut text = String::new();
    with_sources(|sources| {
        let again = Some("cargo dpor replay dpor1-AAAA -p bank");
        let colored = Failure {
            test: "bank tests::transfer",
            outcome,
            replay,
            again,
            sources,
            width,
        }
        .render();
        text = anstream::adapter::strip_str(&colored).to_string();
    });
    text
}

fn thread(id: u32, name: Option<&str>) -> ThreadReport {
    ThreadReport {
        id,
        parent: (id > 0).then_some(0),
        name: name.map(str::to_owned),
        location: at(4),
    }
}

fn deadlock() -> Outcome {
    let blocked = |thread: u32, object: &str, line, holder, since| BlockedThread {
        thread,
        thread_name: (thread == 1).then(|| "worker".into()),
        operation: "lock".into(),
        object: object.into(),
        location: at(line),
        held_by: vec![Holder {
            thread: holder,
            thread_name: None,
            location: at(since),
        }],
        ..BlockedThread::default()
    };
    let report = FailureReport {
        blocked: vec![blocked(0, "mutex#2", 9, 1, 5), blocked(1, "mutex#1", 6, 0, 8)],
        ..failure("deadlock", "no thread can go on\nt0 waits for t1")
    };
    let account = Account {
        threads: vec![thread(0, None), thread(1, Some("worker"))],
        steps: vec![
            step(0, 0, "start", "", 2, ""),
            step(1, 0, "lock", "mutex#1", 8, ""),
            step(2, 1, "lock", "mutex#2", 5, ""),
        ],
        output: vec![
            (OutputStream::Out, "a line\nand ".into()),
            (OutputStream::Err, "another\n".into()),
        ],
        ..Account::default()
    };
    outcome(Some(report), account)
}

#[test]
fn a_deadlock() {
    insta::assert_snapshot!(render(&deadlock(), Some(&deadlock())));
}

#[test]
fn a_panic_with_details() {
    let report = FailureReport {
        thread: Some(1),
        location: at(6),
        ..failure("panic", "assertion `left == right` failed\n  left: 1\n right: 2")
    };
    let account = Account {
        steps: vec![
            step(8, 1, "load", "atomic#12", 3, "→ 0"),
            step(9, 1, "compare exchange", "atomic#1", 3, "0 → 1"),
            step(10, 0, "join", "", 10, "t1"),
        ],
        stderr: "something unheard of".into(),
        ..Account::default()
    };
    let run = outcome(Some(report), account);
    insta::assert_snapshot!(render(&run, Some(&run)));
}

#[test]
fn a_crash_whose_schedule_is_lost() {
    let report = FailureReport {
        thread: Some(3),
        ..failure("stack-overflow", "a thread overflowed its stack")
    };
    let run = Outcome {
        seed: None,
        ..outcome(Some(report), Account::default())
    };
    insta::assert_snapshot!(render(&run, None));
}

#[test]
fn a_replay_that_goes_another_way_is_not_passed_over() {
    let diverged = Account {
        diverged: Some((1, "t0: lock".into(), "t0: load".into())),
        ..Account::default()
    };
    insta::assert_snapshot!("diverged", render(&deadlock(), Some(&outcome(None, diverged))));
    let panicked = outcome(Some(failure("panic", "oh")), Account::default());
    insta::assert_snapshot!("another_failure", render(&deadlock(), Some(&panicked)));
    let fine = outcome(None, Account::default());
    insta::assert_snapshot!("no_failure", render(&deadlock(), Some(&fine)));
}

#[test]
fn of_a_long_schedule_the_end_is_shown() {
    let run = |steps: Vec<StepReport>| {
        let account = Account {
            steps,
            ..Account::default()
        };
        outcome(Some(failure("panic", "oh")), account)
    };
    let taking_turns = (0..1000).map(|i| step(i, i as u32 % 2, "load", "atomic#1", 3, ""));
    let text = render(&run(taking_turns.collect()), None);
    assert!(
        text.contains("schedule (1000 steps, 999 switches)") && text.contains("… 600 steps before"),
        "{text}"
    );
    assert!(
        text.contains("\n    1000 │") && !text.contains("\n     600 │"),
        "{text}"
    );
    let long_runs = (0..1000).map(|i| step(i, (i / 500) as u32, "load", "atomic#1", 3, ""));
    let text = render(&run(long_runs.collect()), None);
    assert!(text.contains("schedule (1000 steps, 1 switch)"), "{text}");
    assert_eq!(text.matches("… 484 more steps").count(), 2, "{text}");
}

/// A run that is its own replay, with the names in the source.
fn named(mut outcome: Outcome) -> Outcome {
    with_sources(|sources| crate::report::objects::name(&mut outcome, sources));
    outcome
}

fn simplified(parting: Option<PartingReport>) -> Option<Simplified> {
    Some(Simplified {
        seed: "dpor1-AAAA".into(),
        preemptions: 1,
        switches: 1,
        steps: 3,
        proven: true,
        parting,
    })
}

fn choice(step: u64, thread: u32, operation: &str, line: u32) -> ChoiceReport {
    ChoiceReport {
        step,
        thread,
        thread_name: None,
        operation: operation.into(),
        location: at(line),
        alternative: 0,
        same_thread: false,
    }
}

#[test]
fn the_decisive_switch_is_marked() {
    let run = named(Outcome {
        simplified: simplified(Some(PartingReport::At(choice(2, 0, "lock", 9)))),
        ..deadlock()
    });
    insta::assert_snapshot!("decisive_switch", render(&run, Some(&run)));
    insta::assert_snapshot!("decisive_switch_narrow", rendered(&run, Some(&run), 45));
    let nowhere = Outcome {
        simplified: simplified(Some(PartingReport::Nowhere)),
        ..deadlock()
    };
    assert!(render(&nowhere, Some(&nowhere)).contains("no run with a different choice at one point passes"));
}

#[test]
fn an_outcome_of_a_step_can_be_decisive() {
    let choice = |operation| ChoiceReport {
        same_thread: true,
        ..choice(1, 0, operation, 9)
    };
    for (operation, text) in [
        ("notify-one", "if another thread is woken here"),
        ("choose", "if another value is chosen here"),
        ("recv-timeout", "if the step ends in another way here"),
    ] {
        let run = Outcome {
            simplified: simplified(Some(PartingReport::At(choice(operation)))),
            ..deadlock()
        };
        assert!(render(&run, Some(&run)).contains(text));
    }
}

#[test]
fn a_lost_notification_is_called_so() {
    let wait = StepReport {
        released: vec!["mutex#1".into()],
        ..step(3, 1, "condvar-wait", "condvar#1", 6, "")
    };
    let waiting = |operation: &str, object: &str, thread| BlockedThread {
        thread,
        operation: operation.into(),
        object: object.into(),
        location: at(6),
        ..BlockedThread::default()
    };
    let run = |notified: bool| {
        let steps = [
            step(0, 0, "start", "", 2, ""),
            step(1, 0, "notify-all", "condvar#1", 8, "0 waiting"),
            step(2, 1, "lock", "mutex#1", 5, ""),
            wait.clone(),
        ];
        let report = FailureReport {
            blocked: vec![waiting("join", "t1", 0), waiting("condvar-wake", "condvar#1", 1)],
            ..failure("deadlock", "2 threads wait for ever")
        };
        let account = Account {
            steps: steps.into_iter().filter(|step| notified || step.index != 1).collect(),
            ..Account::default()
        };
        outcome(Some(report), account)
    };
    insta::assert_snapshot!("lost_notification", render(&run(true), None));
    let text = render(&run(false), None);
    assert!(text.contains("nobody notifies it"), "{text}");
}

#[test]
fn the_panic_that_others_only_pass_on_is_the_verdict() {
    let panic = |thread, step, message: &str, line| PanicReport {
        thread,
        thread_name: None,
        step,
        message: message.into(),
        location: at(line),
    };
    let report = FailureReport {
        thread: Some(0),
        location: at(10),
        panics: vec![
            panic(1, 2, "index out of bounds\nreally", 6),
            panic(0, 3, "worker: Any { .. }", 10),
        ],
        ..failure("panic", "worker: Any { .. }\n  at src/lib.rs:10")
    };
    let account = Account {
        steps: vec![step(2, 1, "lock", "mutex#1", 6, ""), step(3, 0, "join", "t1", 10, "")],
        ..Account::default()
    };
    insta::assert_snapshot!(render(&outcome(Some(report), account), None));
}

#[test]
fn a_block_that_is_freed_twice_has_a_history() {
    let block = |freed, step, thread, line| BlockReport {
        freed,
        access: None,
        step,
        thread,
        thread_name: None,
        location: at(line),
    };
    let report = FailureReport {
        thread: Some(1),
        block: vec![block(false, 0, 0, 3), block(true, 1, 0, 8), block(true, 2, 1, 5)],
        ..failure("double-free", "the block at 0x200000000150 is freed a second time")
    };
    let account = Account {
        steps: vec![
            step(0, 0, "store", "atomic#1", 3, "0x0 → 0x200000000150"),
            step(1, 0, "swap", "atomic#1", 8, "0x200000000150 → 0x0"),
            step(2, 1, "load", "atomic#1", 5, "0x0"),
        ],
        ..Account::default()
    };
    insta::assert_snapshot!(render(&outcome(Some(report), account), None));
}

#[test]
fn loops_that_go_on_for_ever_say_what_they_look_at() {
    let spinning = BlockedThread {
        thread: 1,
        operation: "load".into(),
        object: "atomic#1".into(),
        location: at(5),
        ..BlockedThread::default()
    };
    let report = FailureReport {
        blocked: vec![spinning],
        ..failure("livelock", "1 thread repeats itself for ever")
    };
    let look = StepReport {
        reads_from: Some(0),
        ..step(1, 1, "load", "atomic#1", 5, "true")
    };
    let account = Account {
        steps: vec![step(0, 0, "store", "atomic#1", 8, "false → true"), look],
        ..Account::default()
    };
    let text = render(&outcome(Some(report), account), None);
    assert!(text.contains("livelock: t1 (worker) spins on a value"), "{text}");
    assert!(text.contains("goes round: atomic#1 = true (step 1)"), "{text}");
}

#[test]
fn what_freed_memory_is_filled_with_is_recognised() {
    let run = outcome(
        Some(failure("panic", "left: Some(3722304989)\n right: Some(7)")),
        Account::default(),
    );
    assert!(render(&run, None).contains("3722304989 consists of bytes 0xdd"));
    let run = outcome(Some(failure("panic", "left: 37223049891")), Account::default());
    assert!(!render(&run, None).contains("0xdd"));
}

#[test]
fn plurals() {
    assert_eq!(plural(1, "switch"), "1 switch");
    assert_eq!(plural(0, "switch"), "0 switches");
    assert_eq!(plural(2, "step"), "2 steps");
}

#[test]
fn a_label_that_is_never_reached_has_no_seed() {
    let never = failure("never-reached", "no execution reaches the label \"a\"");
    let outcome = Outcome {
        seed: None,
        ..outcome(Some(never), Account::default())
    };
    let text = render(&outcome, None);
    assert!(
        text.contains("  never-reached: no execution reaches the label \"a\"\n"),
        "{text}"
    );
    assert!(
        text.ends_with("  there is no seed: the failure is not one of a single schedule\n"),
        "{text}"
    );
}

#[test]
fn who_was_running_when_the_process_ended_is_told() {
    let caller = |function: &str, line| CallerReport {
        function: function.into(),
        location: at(line),
    };
    let report = FailureReport {
        thread: Some(1),
        location: at(6),
        callers: vec![caller("bank::take", 6), caller("bank::tests::transfer", 4)],
        ..failure("crash", "SIGSEGV at address 0x8: a null pointer was used")
    };
    let text = render(&outcome(Some(report), Account::default()), None);
    let expected = "  crash: SIGSEGV at address 0x8: a null pointer was used
  in t1 at src/lib.rs:6  let second = a.lock().unwrap();
    in bank::take (src/lib.rs:6)
    in bank::tests::transfer (src/lib.rs:4)
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn source_lines_are_wrapped_and_not_cut() {
    let source = "let worker = Builder::new().name(\"worker\".into()).spawn(move || {";
    for (width, beside) in [(60, false), (75, false), (90, true), (120, true), (140, true)] {
        let mut run = deadlock();
        run.account.steps[0].location = at(4);
        let text = rendered(&run, Some(&run), width);
        assert!(!text.contains('…'), "{text}");
        let (_, table) = text.split_once("lib.rs:4").unwrap();
        let (row, rest) = table.split_once('\n').unwrap();
        assert_eq!(!row.trim().is_empty(), beside, "{width}: {text}");
        let told: String = [row, rest].concat().split([' ', '\n', '│']).collect();
        assert!(told.starts_with(&source.replace(' ', "")), "{width}: {text}");
        let schedule = text
            .split_once("schedule (")
            .unwrap()
            .1
            .split_once("output:")
            .unwrap()
            .0;
        assert!(
            schedule.lines().all(|line| line.chars().count() <= width),
            "{width}: {text}"
        );
    }
}

#[test]
fn of_a_long_output_the_end_is_shown() {
    let lines = |numbers: std::ops::Range<usize>| numbers.map(|i| format!("line {i}\n")).collect::<String>();
    let mut run = deadlock();
    run.account.output = vec![(OutputStream::Out, lines(0..20_000))];
    assert!(render(&run, Some(&run)).contains("  output, the end of it:\n\n    │ line 19900\n"));
    run.account.output_file = Some("/somewhere/bank.output".into());
    let text = render(&run, Some(&run));
    assert!(
        text.contains("  output, the end of it (all of it is in /somewhere/bank.output):\n\n    │ line 19900\n"),
        "{text}"
    );
    assert!(text.contains("    │ line 19999\n\n  seed"), "{text}");
}
