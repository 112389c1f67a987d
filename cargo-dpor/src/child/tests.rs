//! Following test processes, tested against a fake one: this very binary, which runs one of the ignored tests below.

use super::*;
use crate::build::Binary;
use dpor_explorer::{ThreadId, Transition};
use dpor_protocol::{
    Config, Crash, Creation, Limits, Message, ModelOption, Options, OutputStream, Phase, SharedSchedule,
    SourceLocation, StepReport, Verdict, WHERE_SIGNAL,
};
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::sync::{Arc, OnceLock};

/// The child's side.
struct Fake {
    pipe: File,
    shared: &'static SharedSchedule,
    config: Config,
}

impl Fake {
    /// Connects to the parent; `None` if no parent has given a task.
    fn connect() -> Option<Fake> {
        let config = Config::inherited()?.unwrap();
        // SAFETY: the parent has left these descriptors open for this process, and nothing else uses them.
        let (pipe, map) = unsafe { (File::from_raw_fd(config.pipe), File::from_raw_fd(config.map)) };
        let map = Box::leak(Box::new(memmap2::MmapOptions::new().map_raw(&map).unwrap()));
        // SAFETY: the mapping is never undone.
        let shared = unsafe { SharedSchedule::attach(map.as_mut_ptr(), map.len()) }.unwrap();
        Some(Fake { pipe, shared, config })
    }

    fn say(&mut self, message: Message) {
        self.pipe.write_all(message.to_line().as_bytes()).unwrap();
    }

    /// Starts, creates a thread, and begins a step of that thread.
    fn start(&mut self) {
        self.say(Message::Started {
            test: "fake".into(),
            location: None,
        });
        self.shared.begin_execution();
        self.shared.intern_thread(Creation {
            parent: ThreadId(0),
            nth: 0,
        });
        self.shared.push(
            Transition {
                thread: ThreadId(0),
                alternative: 0,
            },
            1,
        );
        self.shared.push(
            Transition {
                thread: ThreadId(1),
                alternative: 2,
            },
            7,
        );
        self.shared.set_phase(Phase::Running);
    }

    fn finish(&mut self, verdict: Verdict) {
        let counts = Counts {
            complete: 3,
            ..Counts::default()
        };
        self.say(Message::Finished {
            verdict,
            reason: None,
            note: None,
            counts,
            failure: None,
            seed: None,
        });
    }
}

macro_rules! fakes {
    ($($name:ident: |$fake:ident| $body:block)*) => {
        $(
            #[test]
            #[ignore = "the other side of a test of this file"]
            fn $name() {
                if let Some(mut $fake) = Fake::connect() $body
            }
        )*
    };
}

fakes! {
    completes: |fake| {
        fake.start();
        fake.say(Message::Progress(Counts { complete: 1, ..Counts::default() }));
        fake.finish(Verdict::Complete);
    }
    lingers_after_its_end: |fake| {
        fake.start();
        fake.finish(Verdict::Complete);
        std::thread::sleep(Duration::from_secs(60));
    }
    is_not_instrumented: |_fake| {}
    aborts: |fake| {
        fake.start();
        std::process::abort();
    }
    crashes: |fake| {
        fake.say(Message::Progress(Counts { complete: 1, ..Counts::default() }));
        fake.shared.set_ended([5, 3, 2, 0]);
        fake.start();
        fake.shared.set_crash(Crash { signal: 11, address: 8, thread: Some(ThreadId(1)), stack_overflow: false });
        std::process::abort();
    }
    exits: |fake| {
        fake.start();
        std::process::exit(3);
    }
    hangs: |fake| {
        fake.start();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_secs(60) {}
    }
    hangs_and_says_where: |fake| {
        if let Mode::Locate { callers } = fake.config.mode.clone() {
            let function = format!("bank::sum at {callers:?}");
            let location = Some(SourceLocation { file: "src/lib.rs".into(), line: 7, column: 0 });
            fake.say(Message::Callers { callers: vec![CallerReport { function, location }] });
            fake.finish(Verdict::Complete);
            return;
        }
        static SHARED: OnceLock<&SharedSchedule> = OnceLock::new();
        extern "C" fn answer(_signal: libc::c_int) {
            let shared = SHARED.get().unwrap();
            [64, 32].into_iter().for_each(|address| shared.add_caller(address));
            shared.set_located();
        }
        let _ = SHARED.set(fake.shared);
        // SAFETY: the handler does nothing but to store numbers.
        unsafe { libc::signal(WHERE_SIGNAL, answer as *const () as libc::sighandler_t) };
        fake.start();
        // SAFETY: takes no arguments.
        fake.shared.set_runner(unsafe { libc::gettid() } as u32);
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_secs(60) {}
    }
    waits: |fake| {
        fake.start();
        std::thread::sleep(Duration::from_secs(60));
    }
    hangs_between_steps: |fake| {
        fake.start();
        fake.shared.set_phase(Phase::Exploring);
        std::thread::sleep(Duration::from_secs(60));
    }
    works_long: |fake| {
        fake.start();
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(20));
            fake.shared.beat();
        }
        fake.finish(Verdict::Complete);
    }
    works_for_ever: |fake| {
        fake.start();
        loop {
            std::thread::sleep(Duration::from_millis(20));
            fake.shared.beat();
        }
    }
    is_killed: |fake| {
        fake.start();
        // SAFETY: the process asks for its own end.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    talks_nonsense: |fake| {
        fake.start();
        fake.pipe.write_all(b"99 Hello\n").unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }
    panics_too_early: |_fake| {
        panic!("too early");
    }
    replays: |fake| {
        let Mode::Replay { seed } = fake.config.mode.clone() else { panic!() };
        Seed::decode(&seed).unwrap().check_test(&fake.config.test).unwrap();
        fake.start();
        fake.say(Message::Output { stream: OutputStream::Out, text: "hello\n".into() });
        let step = |detail: Option<&str>| StepReport {
            index: 0,
            thread: 0,
            thread_name: None,
            operation: "lock".into(),
            object: String::new(),
            location: None,
            detail: detail.map(String::from),
            switched: true,
..StepReport::default()
};
        fake.say(Message::Step(step(None)));
        fake.say(Message::Step(step(Some("taken"))));
        fake.say(Message::Diverged { step: 3, expected: "lock".into(), met: "load".into() });
        fake.finish(Verdict::Incomplete);
    }
}

fn test(name: &str) -> Test {
    let binary = Binary {
        path: std::env::current_exe().unwrap(),
        id: "fake/lib/fake".into(),
        name: "fake".into(),
        folder: std::env::temp_dir(),
        is_proc_macro: false,
        environment: vec![],
    };
    Test {
        binary: Arc::new(binary),
        name: format!("child::tests::{name}"),
        ignored: true,
    }
}

fn order(mode: Mode) -> Order {
    Order {
        mode,
        strategy: "source".into(),
        random_seed: 0,
        limits: Limits {
            executions: None,
            steps: None,
            seconds: None,
            preemptions: None,
            depth: 1000,
        },
        options: Options::NONE.with(ModelOption::SpuriousCas, true),
        suppressions: vec![],
        stronger: vec![],
        executions: false,
        printed: false,
        save: None,
        shard: None,
        stall: Duration::from_millis(300),
    }
}

fn explore(name: &str) -> Outcome {
    run(&test(name), &order(Mode::Explore), &mut |_| {}).unwrap()
}

fn failure(outcome: &Outcome) -> (&str, &str, Option<u32>) {
    assert_eq!(outcome.verdict, Verdict::Failed);
    let failure = outcome.failure.as_ref().unwrap();
    (&failure.kind, &failure.message, failure.thread)
}

#[test]
fn a_complete_test() {
    let mut seen = Vec::new();
    let outcome = run(&test("completes"), &order(Mode::Explore), &mut |counts| {
        seen.push(counts.complete)
    })
    .unwrap();
    assert_eq!((outcome.verdict, outcome.counts.complete), (Verdict::Complete, 3));
    assert_eq!(seen, [1]);
}

#[test]
fn the_last_message_is_the_verdict_even_if_the_process_goes_on() {
    let outcome = explore("lingers_after_its_end");
    assert_eq!(outcome.verdict, Verdict::Complete);
    assert!(outcome.time < Duration::from_secs(30));
}

#[test]
fn a_test_without_the_model_proves_nothing() {
    let outcome = explore("is_not_instrumented");
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    assert!(outcome.reason.unwrap().starts_with("it ran without the model"));
}

#[test]
fn deaths_are_told_apart_and_leave_a_seed() {
    for (name, expected) in [
        ("aborts", ("abort", "the process aborted", Some(1))),
        (
            "crashes",
            ("crash", "SIGSEGV at address 0x8: a null pointer was used", Some(1)),
        ),
        ("exits", ("exit", "the process exited with status 3", Some(1))),
    ] {
        let outcome = explore(name);
        assert_eq!(failure(&outcome), expected, "{name}");
        let seed = Seed::decode(outcome.seed.as_deref().unwrap()).unwrap();
        assert_eq!(seed.check_test(&test(name).id()), Ok(()));
        assert_eq!(seed.options, Options::NONE.with(ModelOption::SpuriousCas, true));
        assert_eq!(
            seed.threads,
            [Creation {
                parent: ThreadId(0),
                nth: 0
            }]
        );
        let last = seed.steps.last().unwrap();
        assert_eq!(
            (last.transition.thread, last.transition.alternative, last.operation),
            (ThreadId(1), 2, 7)
        );
    }
}

#[test]
fn the_execution_in_which_a_process_dies_is_told_if_executions_are() {
    let told = |executions| {
        let order = Order {
            executions,
            ..order(Mode::Explore)
        };
        run(&test("aborts"), &order, &mut |_| {}).unwrap().executions
    };
    assert_eq!(told(false), []);
    let told = told(true);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].number, told[0].common), (1, 0));
    assert_eq!(told[0].end, EndReport::Failed("abort".into()));
    let steps: Vec<_> = told[0]
        .steps
        .iter()
        .map(|step| (step.thread, step.alternative))
        .collect();
    assert_eq!(steps, [(0, 0), (1, 2)]);
}

#[test]
fn executions_before_a_death_are_counted_by_how_they_ended() {
    let counts = explore("crashes").counts;
    assert_eq!(
        (counts.complete, counts.blocked, counts.pruned, counts.cut),
        (6, 3, 2, 0)
    );
    assert_eq!(explore("aborts").counts.executions(), 1);
}

#[test]
fn a_step_that_takes_too_long_is_no_failure_and_leaves_a_seed() {
    let outcome = explore("hangs");
    assert_eq!((outcome.verdict, &outcome.failure), (Verdict::Incomplete, &None));
    assert_eq!(
        outcome.reason.as_deref(),
        Some(
            "thread t1 ran for 0.3 s without reaching a scheduling point: unless it is an endless loop, \
             `--stall` gives it more time"
        )
    );
    let seed = Seed::decode(outcome.seed.as_deref().unwrap()).unwrap();
    assert_eq!(seed.steps.len(), 2);
}

#[test]
fn a_process_that_is_ended_in_a_step_says_where_it_was() {
    let outcome = explore("hangs_and_says_where");
    let reason = outcome.reason.unwrap();
    assert!(
        reason.ends_with("more time\n  in bank::sum at [64, 32] (src/lib.rs:7)"),
        "{reason}"
    );
    assert_eq!(outcome.account.callers.len(), 1);
}

#[test]
fn waiting_in_the_kernel_is_beyond_the_model_and_no_failure() {
    let outcome = explore("waits");
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    let reason = outcome.reason.unwrap();
    assert!(
        reason.contains("thread t1 waited for 0.3 s in a system call"),
        "{reason}"
    );
}

#[test]
fn a_slow_checker_is_no_failure_of_the_test() {
    let outcome = explore("hangs_between_steps");
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    assert!(outcome.reason.unwrap().contains("between two steps"));
}

#[test]
fn progress_is_what_counts_not_time() {
    assert_eq!(explore("works_long").verdict, Verdict::Complete);
}

#[test]
fn whoever_goes_on_when_time_is_up_is_ended() {
    let mut order = order(Mode::Explore);
    order.limits.seconds = Some(0.1);
    let outcome = run(&test("works_for_ever"), &order, &mut |_| {}).unwrap();
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    assert!(outcome.reason.unwrap().contains("the time limit of 0.1s"));
}

#[test]
fn to_be_killed_is_no_failure_of_the_test() {
    let outcome = explore("is_killed");
    assert_eq!(outcome.verdict, Verdict::Incomplete);
    assert!(outcome.reason.unwrap().contains("killed from outside"));
}

#[test]
fn another_version_is_named() {
    assert_eq!(
        failure(&explore("talks_nonsense")),
        (
            "protocol",
            &*format!("the test process speaks version 99, not {}", dpor_protocol::VERSION),
            None
        )
    );
}

#[test]
fn a_process_that_fails_before_the_test_is_shown_with_what_it_said() {
    let outcome = explore("panics_too_early");
    assert_eq!(
        failure(&outcome),
        (
            "exit",
            "the process exited with status 101 before the test's body began",
            None
        )
    );
    assert_eq!(outcome.seed, None);
    assert!(
        outcome.account.stderr.contains("too early"),
        "{}",
        outcome.account.stderr
    );
}

#[test]
fn a_replay_is_accounted_for() {
    let test = test("replays");
    let seed = Seed {
        test: dpor_protocol::test_hash(&test.id()),
        strategy: "source".into(),
        options: Options::NONE,
        threads: vec![],
        refinements: vec![],
        steps: vec![],
    };
    let outcome = run(&test, &order(Mode::Replay { seed: seed.encode() }), &mut |_| {}).unwrap();
    assert_eq!(outcome.account.output, [(OutputStream::Out, "hello\n".into())]);
    let details: Vec<_> = outcome
        .account
        .steps
        .iter()
        .map(|step| step.detail.as_deref())
        .collect();
    assert_eq!(details, [Some("taken")]);
    assert_eq!(outcome.account.diverged, Some((3, "lock".into(), "load".into())));
}
