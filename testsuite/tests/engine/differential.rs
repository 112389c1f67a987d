//! The explorer on generated Rust programs, against brute force: no outcome missed, none invented.
//!
//! `DPOR_FUZZ_PROGRAMS` sets how many programs (2,000 by default, and an eighth more with loops under locks),
//! `DPOR_FUZZ_SEED` which ones, `DPOR_FUZZ_FAILURES` after how many failures to stop (3). A hundred thousand:
//! `DPOR_FUZZ_PROGRAMS=100000 cargo test --release -p dpor-testsuite --test engine differential:: -- --nocapture`.

use dpor_explorer::{Context, Strategy as Exploration};
use dpor_scheduler::Timeouts;
use dpor_testsuite::generated::{alone, setting};
use dpor_testsuite::rust_programs::{
    Agreement, Channel, Line, Op, Program, Under, check, check_shards, enumerate, minimise, polling_programs, programs,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Number of executions after which `exhaustive` is abandoned.
const EXHAUSTIVE: u64 = 1000;

#[derive(Default)]
struct Totals {
    programs: u64,
    too_large: u64,
    unending: u64,
    outcomes: usize,
    deadlocks: u64,
    source: u64,
    blocked: u64,
    exhausted: u64,
    context: (u64, u64),
}

impl Totals {
    fn add(&mut self, agreement: Agreement) {
        self.programs += 1;
        match agreement {
            Agreement::TooLarge => self.too_large += 1,
            Agreement::Unending => self.unending += 1,
            Agreement::Agreed {
                outcomes,
                deadlock,
                source,
                exhaustive,
                context,
            } => {
                self.outcomes += outcomes;
                self.deadlocks += u64::from(deadlock);
                self.source += source.0;
                self.blocked += source.1 - source.0;
                self.exhausted += u64::from(exhaustive.is_some());
                self.context.0 += context.0;
                self.context.1 += context.1 - context.0;
            }
        }
    }
}

#[test]
fn every_outcome_and_no_other() {
    compare(programs(), setting("DPOR_FUZZ_PROGRAMS", 2000));
}

/// Loops that write in each round: a thread is held back in the middle of them, and others wait for what it holds.
#[test]
fn every_outcome_of_loops_under_locks() {
    compare(polling_programs(), setting("DPOR_FUZZ_PROGRAMS", 2000) / 8);
}

/// Waits with a timeout that time out only when nothing else can go on.
#[test]
fn every_outcome_where_timeouts_fire_last() {
    // Whether a loop that writes in each round counts as something that goes on, brute force does not know.
    let timed = programs().prop_filter("it waits with a timeout", |program| {
        program.has_timeouts() && !program.may_be_unending()
    });
    let last = timed.prop_map(|program| Program {
        timeouts: Timeouts::Last,
        ..program
    });
    compare(last, setting("DPOR_FUZZ_PROGRAMS", 2000) / 4);
}

/// Waits with a timeout that do not time out.
#[test]
fn every_outcome_where_timeouts_never_fire() {
    let timed = programs().prop_filter("it waits with a timeout", Program::has_timeouts);
    let never = timed.prop_map(|program| Program {
        timeouts: Timeouts::Never,
        ..program
    });
    compare(never, setting("DPOR_FUZZ_PROGRAMS", 2000) / 8);
}

/// Each shard learns for itself which releases have to be scheduling points, and which loops wait.
#[test]
fn every_outcome_of_shards() {
    let _alone = alone();
    let cases = setting("DPOR_FUZZ_PROGRAMS", 2000) / 20;
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&setting("DPOR_FUZZ_SEED", 1979).to_le_bytes());
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (all, polling) = (programs(), polling_programs());
    let (mut compared, mut executions, mut parts) = (0, 0, 0);
    for number in 0..cases {
        let program = match number % 3 {
            2 => polling.new_tree(&mut runner).map(|tree| tree.current()),
            _ => all.new_tree(&mut runner).map(|tree| tree.current()),
        };
        let program = program.expect("nothing is rejected");
        let strategy = [Exploration::Source, Exploration::Context(Context::default())][number as usize / 3 % 2];
        let count = [2, 4][number as usize / 6 % 2];
        match check_shards(&program, strategy, count, number.is_multiple_of(8)) {
            Ok(Some(done)) => {
                compared += 1;
                executions += done.0;
                parts += done.1;
            }
            Ok(None) => {}
            Err(wrong) => panic!("program {number}, {count} shards\n{program}{wrong}"),
        }
    }
    println!("{compared} of {cases} programs are small enough: {parts} parts with {executions} executions");
    assert!(compared * 2 > cases, "most programs are compared");
}

fn compare(generator: impl Strategy<Value = Program>, cases: u64) {
    let _alone = alone();
    let seed = setting("DPOR_FUZZ_SEED", 1979);
    let failures = setting("DPOR_FUZZ_FAILURES", 3);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let mut totals = Totals::default();
    let mut wrong = Vec::new();
    for number in 0..cases {
        let program = generator.new_tree(&mut runner).expect("nothing is rejected").current();
        match check(&program, EXHAUSTIVE, number.is_multiple_of(8)) {
            Ok(agreement) => totals.add(agreement),
            Err(_) => {
                let report = format!("seed {seed}, program {number}\n{}", report(program));
                println!("{report}");
                wrong.push(report);
                if wrong.len() as u64 == failures {
                    break;
                }
            }
        }
    }
    let t = totals;
    println!(
        "{} programs ({} skipped: too large; {}: without end) with {} outcomes, by {} executions (+ {} blocked) of \
         source, {} (+ {}) of context; {} deadlock; {} also explored by exhaustive",
        t.programs,
        t.too_large,
        t.unending,
        t.outcomes,
        t.source,
        t.blocked,
        t.context.0,
        t.context.1,
        t.deadlocks,
        t.exhausted
    );
    assert!(
        wrong.is_empty(),
        "{} programs have other outcomes than the explorer finds",
        wrong.len()
    );
}

/// The first thing that a reader finds is only on its stack when the state is compared. If fingerprints left out the
/// stacks, one of the two things that it can find would be missed.
#[test]
fn fingerprints_without_stacks_are_caught() {
    let _alone = alone();
    use dpor_explorer::{Explorer, Limits, Strategy, Verdict};
    use dpor_scheduler::{Options, Program};
    use dpor_testsuite::erased::Erased;
    use shim_std::sync::Arc;
    use shim_std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use shim_std::thread;

    let reads = |unexpected: u32, strategy, coarse: bool| {
        let body = move || {
            let shared = Arc::new(AtomicU32::new(0));
            let written = Arc::clone(&shared);
            let writer = thread::spawn(move || written.store(1, SeqCst));
            thread::spawn(move || {
                // Too large for registers, which count without the stack, too.
                let mut found = [0; 64];
                found[0] = shared.load(SeqCst);
                std::hint::black_box(&mut found);
                writer.join().unwrap();
                std::hint::black_box(&mut found);
                assert_ne!(found[0], unexpected);
            })
            .join()
            .map_err(|_| dpor_explorer::Failure {
                kind: "panic",
                message: String::new(),
            })
        };
        let mut program = Program::new(Options::default(), body).unwrap();
        program.compare_states(true);
        if coarse {
            program.coarse_fingerprints();
        }
        let report = Explorer::new(Erased::new(program), strategy, Limits::default()).run(&mut ());
        matches!(report.verdict, Verdict::Failed { .. })
    };
    let strategies = ["source", "states", "context", "context:lazy", "cdpor1"];
    for strategy in strategies.map(|name| name.parse::<Strategy>().unwrap()) {
        let both = |coarse| [0, 1].map(|unexpected| reads(unexpected, strategy, coarse));
        assert_eq!(both(false), [true, true], "{strategy}");
        assert_eq!(both(true) == [true, true], strategy == Strategy::Source, "{strategy}");
    }
}

/// The program, made as small as possible, and the error in its outcomes.
fn report(program: Program) -> String {
    let program = minimise(program, |program| check(program, EXHAUSTIVE, true).is_err());
    let mismatch = check(&program, EXHAUSTIVE, true).map_or_else(|m| m.to_string(), |a| format!("{a:?}"));
    let all = enumerate(&program, usize::MAX).unwrap_or_default();
    let all: String = all.iter().map(|outcome| format!("  {outcome}\n")).collect();
    format!("{program}{mismatch}all outcomes:\n{all}")
}

fn regression(threads: &[&[Op]], change: impl FnOnce(&mut Program)) {
    let line = |&op: &Op| Line { when: None, op };
    let mut program = Program {
        threads: threads.iter().map(|ops| ops.iter().map(line).collect()).collect(),
        channel: None,
        scoped: false,
        spurious_wakeups: false,
        spurious_cas: false,
        timeouts: Timeouts::Fire,
    };
    change(&mut program);
    if let Err(mismatch) = check(&program, EXHAUSTIVE, true) {
        panic!("{program}{mismatch}");
    }
}

/// A lock is poisoned after another thread cleared it in vain.
#[test]
fn clearing_poison_sees_whether_it_is_there() {
    let _alone = alone();
    regression(
        &[&[], &[Op::Lock(1), Op::Panic], &[Op::TryLock(1), Op::ClearPoison(1)]],
        |_| (),
    );
    let panicking = [Op::Lock(0), Op::Load(0), Op::Panic];
    regression(&[&[], &panicking, &[Op::Store(0, 1), Op::ClearPoison(0)]], |_| ());
}

/// A thread sees what an initialisation did before it sees that it has completed.
#[test]
fn completion_is_seen_late() {
    let _alone = alone();
    regression(&[&[Op::CellInit(2)], &[Op::Await(1, false), Op::CellGet]], |_| ());
    regression(&[&[Op::CallOnce(false)], &[Op::Await(0, false), Op::OnceDone]], |_| ());
}

/// A thread that finds a cell initialised at once could have come before the initialisation.
#[test]
fn initialisations_race() {
    let _alone = alone();
    regression(&[&[Op::CellInit(3)], &[Op::ParkTimeout, Op::CellSet(3)]], |program| {
        program.scoped = true
    });
    regression(&[&[Op::CellInit(3)], &[Op::ParkTimeout, Op::CellSet(3)]], |_| ());
}

/// A send that fails because the receiver is gone could have come before another, which then waits for room.
#[test]
fn disconnected_sends_race_for_room() {
    let _alone = alone();
    let channel = Channel {
        capacity: Some(1),
        senders: 0b110,
        receiver: 0,
    };
    let threads: [&[Op]; 3] = [&[], &[Op::Load(0), Op::Send(1)], &[Op::Send(1)]];
    regression(&threads, |program| program.channel = Some(channel));
}

/// A loop that goes round because a weak exchange failed without cause does not wait for anybody.
#[test]
fn a_spurious_failure_is_no_spinning() {
    let _alone = alone();
    regression(&[&[Op::Update(0)], &[]], |program| program.spurious_cas = true);
    regression(&[&[Op::Update(0)], &[Op::Add(0)]], |program| {
        program.spurious_cas = true
    });
}

/// The schedule of a livelock of two threads can be run again.
#[test]
fn livelocks_repeat() {
    let _alone = alone();
    regression(
        &[&[Op::Lock(0), Op::Await(1, false)], &[Op::Load(0), Op::AwaitTryLock(0)]],
        |_| (),
    );
}

/// Two threads spin on the same flag, and then one spins on what the other holds.
#[test]
fn spinning_threads_compete() {
    let _alone = alone();
    let first = [Op::AwaitCas(0), Op::Store(0, 0), Op::AwaitTryLock(1)];
    regression(&[&[Op::Store(0, 1)], &first, &[Op::Lock(1), Op::AwaitCas(0)]], |_| ());
}

/// A thread in a loop under a lock may be held back while it holds the lock. Another one that waits for the lock gets
/// it, although both then wait for ever.
#[test]
fn a_loop_under_a_lock_lets_others_in() {
    let _alone = alone();
    for under in [Under::Lock(0), Under::TryLock(0)] {
        let polls = [Op::AwaitUnder(under, 0), Op::Await(1, false)];
        let sets = [
            Op::Load(0),
            Op::Lock(0),
            Op::Store(0, 1),
            Op::Unlock(0),
            Op::Await(1, false),
        ];
        regression(&[&[], &polls, &sets], |_| ());
    }
}

/// All threads poll under one lock, and nobody ever sets what they wait for.
#[test]
fn loops_under_one_lock_are_stuck() {
    let _alone = alone();
    let polls = [Op::Load(1), Op::AwaitUnder(Under::Lock(0), 0)];
    regression(&[&[], &polls, &polls], |_| ());
    regression(&[&polls, &polls, &polls], |_| ());
    regression(&[&[], &polls, &[Op::Load(1), Op::AwaitLocked(0)]], |_| ());
    regression(
        &[&[], &polls, &[Op::Lock(0), Op::Load(1), Op::Unlock(0), Op::Park]],
        |_| (),
    );
}
