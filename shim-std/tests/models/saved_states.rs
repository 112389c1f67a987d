//! Explorations that go back to saved states: what goes on from one must be what goes on from the start, also where the
//! program has something that a saved state does not hold.

use dpor_explorer::{Explorer, Limits, Rewindable, Step, Strategy, System, ThreadId, Transition, Verdict};
use dpor_scheduler::{Options, Program};
use shim_std::sync::Arc;
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::{Model, Outcome, thread};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64 as RealAtomic;

fn strategy(name: &str) -> Strategy {
    name.parse().unwrap_or_else(|_| panic!("{name} is a strategy"))
}

fn explored(strategy_name: &str, rewinds: bool, body: impl Fn() + 'static) -> Outcome {
    let model = Model::new().strategy(strategy(strategy_name)).rewinds(rewinds);
    model.max_executions(2000).explore(body)
}

/// Two threads, each of which makes so many steps on one atomic.
fn race(steps: usize) {
    let shared = Arc::new(AtomicUsize::new(0));
    let work = |shared: Arc<AtomicUsize>| {
        move || {
            for _ in 0..steps {
                shared.fetch_add(1, SeqCst);
            }
        }
    };
    let threads = [0, 1].map(|_| thread::spawn(work(Arc::clone(&shared))));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn states_are_saved_if_that_is_asked_for() {
    for name in [
        "source",
        "optimal",
        "context",
        "states",
        "dpor",
        "exhaustive",
        "unfolding",
    ] {
        let [with, without] = [true, false].map(|rewinds| explored(name, rewinds, || race(3)).report.statistics);
        assert!(
            with.skipped > 0 && without.skipped == 0,
            "{name}: {with:?}, {without:?}"
        );
        let counted = |s: &dpor_explorer::Statistics| (s.complete, s.blocked, s.pruned, s.steps, s.states, s.races);
        assert_eq!(counted(&with), counted(&without), "{name}");
    }
}

#[test]
fn memory_of_the_checkers_is_as_the_steps_before_leave_it() {
    let tally: &'static RealAtomic = Box::leak(Box::default());
    let outcome = explored("source", false, move || {
        tally.store(0, SeqCst);
        race(2);
        assert_eq!(tally.fetch_add(1, SeqCst), 0);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
}

#[test]
fn who_calls_outside_has_each_step_run_again() {
    let log: &'static RealAtomic = Box::leak(Box::default());
    let outcome = explored("source", true, move || {
        dpor_scheduler::outside(|| log.store(0, SeqCst));
        race(2);
        dpor_scheduler::outside(|| {
            log.fetch_add(1, SeqCst);
        });
        assert_eq!(log.load(SeqCst), 1);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(outcome.report.statistics.skipped, 0);
}

#[test]
fn the_error_number_is_part_of_a_saved_state() {
    let outcome = explored("source", true, || {
        // SAFETY: the number is this thread's.
        unsafe { *libc::__errno_location() = 7 };
        race(3);
        let error = std::io::Error::last_os_error().raw_os_error();
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = 9 };
        assert_eq!(error, Some(7));
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert!(outcome.report.statistics.skipped > 0);
}

/// How far a folder has been read is known to the kernel only.
#[test]
fn who_reads_a_folder_has_each_step_run_again() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let all = std::fs::read_dir(folder).unwrap().count();
    let outcome = explored("source", true, move || {
        let mut entries = std::fs::read_dir(folder).unwrap();
        race(3);
        assert_eq!(entries.by_ref().count(), all);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(outcome.report.statistics.skipped, 0);
}

/// What `cargo dpor test` asks before it has states saved.
#[test]
fn functions_that_keep_state_are_known() {
    // SAFETY: nobody else uses the C library's random numbers.
    unsafe { libc::srand(1) };
    let program = Program::new(Options::default(), || Ok(())).unwrap();
    assert!(program.hidden_import().is_some());
}

/// A page that is mapped in some executions only, and lies elsewhere each time, beside a loop.
#[test]
fn what_is_out_of_sight_has_each_step_run_again() {
    let body = || {
        let (shared, flag) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (s, f) = (Arc::clone(&shared), Arc::clone(&flag));
        let other = thread::spawn(move || {
            s.fetch_add(1, SeqCst);
            s.fetch_add(1, SeqCst);
            f.store(1, SeqCst);
        });
        shared.load(SeqCst);
        while flag.load(SeqCst) == 0 && shared.load(SeqCst) == 0 {
            thread::yield_now();
        }
        let page = match shared.load(SeqCst) {
            1 => {
                let (rights, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
                // SAFETY: a new mapping.
                unsafe { libc::mmap(std::ptr::null_mut(), 4096, rights, flags, -1, 0).addr() }
            }
            _ => 0,
        };
        while flag.load(SeqCst) == 0 {
            black_box(page);
            thread::yield_now();
        }
        black_box(page);
        other.join().unwrap();
    };
    for name in ["dpor", "source", "context"] {
        let [with, without] = [true, false].map(|rewinds| explored(name, rewinds, body));
        assert_eq!(with.report.verdict, Verdict::Complete, "{name}: {with}");
        assert_eq!(
            with.report.statistics.complete, without.report.statistics.complete,
            "{name}"
        );
    }
}

/// Suspends with so much of a pattern on the stack, below as much that nobody writes.
#[inline(never)]
fn suspend_below_a_gap(shared: &AtomicUsize) {
    let mut gap = MaybeUninit::<[u64; 4096]>::uninit();
    black_box(&mut gap);
    suspend_with_a_pattern(shared);
}

#[inline(never)]
fn suspend_with_a_pattern(shared: &AtomicUsize) {
    let mut pattern = [0xABCD_EF01_2345_6789_u64; 64];
    black_box(&mut pattern);
    shared.load(SeqCst);
    black_box(&mut pattern);
}

/// Suspends there with a buffer that shows what was on the stack before.
#[inline(never)]
fn show_below_a_gap(shared: &AtomicUsize) {
    let mut gap = MaybeUninit::<[u64; 4096]>::uninit();
    black_box(&mut gap);
    show(shared);
}

#[inline(never)]
fn show(shared: &AtomicUsize) {
    let mut buffer = MaybeUninit::<[u64; 128]>::uninit();
    black_box(&mut buffer);
    shared.load(SeqCst);
    black_box(&mut buffer);
}

#[test]
fn stacks_are_clean_below_gaps() {
    let body = || {
        let shared = AtomicUsize::new(0);
        shared.load(SeqCst);
        shared.load(SeqCst);
        if shim_std::choose(..2) == 0 {
            suspend_below_a_gap(&shared);
        }
        show_below_a_gap(&shared);
        shared.load(SeqCst);
        Ok(())
    };
    let mut program = Program::new(Options::default(), body).unwrap();
    program.compare_states(true);
    fn run(program: &mut Program, alternatives: &[u32]) {
        for &alternative in alternatives {
            let transition = Transition {
                thread: ThreadId(0),
                alternative,
            };
            program.step(transition, &mut Step::default()).unwrap();
        }
    }
    for last in [0, 1] {
        program.restart();
        run(&mut program, &[0, 0, 0, last]);
    }
    program.restart();
    run(&mut program, &[0, 0, 0]);
    let saved = program.checkpoint().expect("it is small");
    run(&mut program, &[0, 0, 0]);
    assert!(program.rewind(saved));
    run(&mut program, &[1]);
    let rewound = program.capture();
    program.restart();
    run(&mut program, &[0, 0, 0, 1]);
    let differences = rewound.diff(&program.capture());
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Another search of the same program has the whole room for saved states.
#[test]
fn an_explorer_that_is_gone_keeps_nothing() {
    let mut program = Program::new(Options::default(), || {
        race(3);
        Ok(())
    })
    .unwrap();
    for _ in 0..2 {
        let mut explorer = Explorer::new(program, Strategy::Source, Limits::default());
        let report = explorer.run(&mut ());
        assert!(report.statistics.skipped > 0, "{report:?}");
        program = explorer.into_system();
    }
}
