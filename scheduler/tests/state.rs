//! Fingerprints of real programs: the same schedule gives the same fingerprints, orders of steps that commute reach the
//! same one, and states that a thread can tell apart have different ones.

mod common;

use common::{Handle, Lock, Register, spawn};
use dpor_explorer::{Fingerprint, Guard, SplitMix64, Step, Stop, System, ThreadId, Transition};
use dpor_scheduler::{AccessKind, Condition, Operation, OperationKind, Options, Program, StateImage, Word};
use dpor_scheduler::{access_of, hint, location, perform, time};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// A program whose states are compared, and every equality checked.
fn program(body: impl Fn() + 'static) -> Program {
    let mut program = Program::new(Options::default(), move || {
        body();
        Ok(())
    })
    .unwrap();
    program.compare_states(true);
    program.exact_states(true);
    program
}

fn transition(thread: u32) -> Transition {
    Transition {
        thread: ThreadId(thread),
        alternative: 0,
    }
}

/// A schedule, and the state after each of its steps.
type Walk = (Vec<Transition>, Vec<(Fingerprint, StateImage)>);

fn state(program: &mut Program) -> (Fingerprint, StateImage) {
    (program.fingerprint().unwrap(), program.capture())
}

/// Runs the schedule from the start; returns the states after each step.
fn follow(program: &mut Program, schedule: &[Transition]) -> Vec<(Fingerprint, StateImage)> {
    program.restart();
    let mut step = Step::default();
    let states = schedule.iter().map(|&transition| {
        step.clear();
        match program.step(transition, &mut step) {
            Ok(()) | Err(Stop::Failed(_)) => {}
            Err(stop) => panic!("{stop:?}"),
        }
        state(program)
    });
    states.collect()
}

/// The state after threads moved in this order.
fn after(program: &mut Program, threads: &[u32]) -> Fingerprint {
    let schedule: Vec<_> = threads.iter().map(|&thread| transition(thread)).collect();
    follow(program, &schedule).last().unwrap().0
}

/// A random schedule and the states after each of its steps; `None` if exploration must start again.
fn walk(program: &mut Program, random: &mut SplitMix64) -> Option<Walk> {
    program.restart();
    let (mut schedule, mut states) = (Vec::new(), Vec::new());
    let mut step = Step::default();
    while schedule.len() < 60 {
        let enabled: Vec<_> = Transition::enabled(program.threads()).collect();
        if enabled.is_empty() {
            break;
        }
        let transition = enabled[random.below(enabled.len())];
        step.clear();
        let result = program.step(transition, &mut step);
        if matches!(result, Err(Stop::Refine)) {
            return None;
        }
        schedule.push(transition);
        states.push(state(program));
        if result.is_err() {
            break;
        }
    }
    Some((schedule, states))
}

/// Runs random schedules twice, with others between.
fn is_deterministic(body: impl Fn() + 'static) {
    let mut program = program(body);
    let mut random = SplitMix64::new(0);
    let mut walks = Vec::new();
    let mut tries = 0;
    while walks.len() < 24 {
        match walk(&mut program, &mut random) {
            Some(walk) => walks.push(walk),
            None => walks.clear(),
        }
        tries += 1;
        assert!(tries < 200, "something new is learnt again and again");
    }
    assert!(walks.iter().any(|(schedule, _)| schedule.len() > 3));
    for _ in 0..2 {
        for (schedule, states) in walks.iter().rev() {
            let again = follow(&mut program, schedule);
            for (i, (again, state)) in again.iter().zip(states).enumerate() {
                let differences = || state.1.diff(&again.1);
                let lines = || differences().iter().map(|d| format!("\n{d}")).collect::<String>();
                assert!(again.0 == state.0, "after step {i} of {schedule:?}:{}", lines());
            }
            walk(&mut program, &mut random);
        }
    }
    // Prefixes are run again in another way.
    for (schedule, states) in &walks {
        program.restart();
        let (last, prefix) = schedule.split_last().unwrap();
        let mut step = Step::default();
        for &transition in prefix {
            program.repeat(transition, &mut step).unwrap();
        }
        step.clear();
        let _ = program.step(*last, &mut step);
        assert_eq!(program.fingerprint(), states.last().map(|state| state.0));
    }
}

fn join_all(handles: impl IntoIterator<Item = Handle>) {
    handles.into_iter().for_each(Handle::join);
}

#[test]
fn locks() {
    is_deterministic(|| {
        let (lock, count) = (Lock::new(), Rc::new(Cell::new(0)));
        let handles: Vec<_> = (0..3)
            .map(|i| {
                let (lock, count) = (Rc::clone(&lock), Rc::clone(&count));
                spawn(move || {
                    for _ in 0..2 {
                        lock.lock();
                        count.set(count.get() * 3 + i);
                        lock.unlock();
                    }
                })
            })
            .collect();
        join_all(handles);
    });
}

#[test]
fn threads_that_create_threads() {
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..2)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || {
                    let before = x.load();
                    let y = Rc::clone(&x);
                    let inner = (before == 0).then(|| spawn(move || y.store(i)));
                    x.store(before + 1);
                    join_all(inner);
                })
            })
            .collect();
        join_all(handles);
    });
}

#[test]
fn panics() {
    struct Stores(Rc<Register>);
    impl Drop for Stores {
        fn drop(&mut self) {
            self.0.store(1);
        }
    }
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..2)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || {
                    let guard = Stores(Rc::clone(&x));
                    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                        let _guard = guard;
                        assert!(x.load() == i, "thread {i}");
                    }));
                    black_box(caught.is_err());
                })
            })
            .collect();
        join_all(handles);
        assert_eq!(x.load(), 2, "always fails");
    });
}

thread_local! {
    static LOCAL: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
    static NUMBER: Cell<i64> = const { Cell::new(0) };
}

#[test]
fn thread_locals_and_heap() {
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..3)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || {
                    let mut map = HashMap::new();
                    for round in 0..3 {
                        NUMBER.set(NUMBER.get() + x.load());
                        map.insert(x.load(), format!("{round}"));
                        x.store(i + map.len() as i64);
                    }
                    black_box(map.into_keys().collect::<VecDeque<_>>());
                })
            })
            .collect();
        join_all(handles);
    });
}

static TOTAL: AtomicI64 = AtomicI64::new(3);

#[test]
fn statics_and_deep_calls() {
    fn deep(x: &Register, depth: i64) -> i64 {
        let block = black_box([depth; 40]);
        if depth == 0 {
            x.load()
        } else {
            deep(x, depth - 1) + block[depth as usize]
        }
    }
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..3)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || {
                    TOTAL.fetch_add(deep(&x, 3 * i + x.load()), Relaxed);
                    x.store(TOTAL.load(Relaxed) % 8);
                    black_box(deep(&x, i));
                })
            })
            .collect();
        join_all(handles);
    });
}

#[test]
fn the_clock() {
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..2)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || {
                    if x.load() == 0 {
                        time::advance(Duration::from_millis(5));
                    }
                    x.store(i + 1);
                    black_box(time::now());
                    x.load();
                })
            })
            .collect();
        join_all(handles);
        x.load();
    });
}

#[test]
fn spinning() {
    is_deterministic(|| {
        let x = Register::new();
        let handles: Vec<_> = (0..2)
            .map(|_| {
                let x = Rc::clone(&x);
                spawn(move || {
                    while x.load() == 0 {
                        hint::hint(OperationKind::SpinLoop);
                    }
                })
            })
            .collect();
        x.load();
        x.store(1);
        join_all(handles);
    });
}

#[test]
fn output() {
    is_deterministic(|| {
        let x = Register::new();
        let y = Rc::clone(&x);
        let other = spawn(move || y.store(1));
        dpor_scheduler::output::print(dpor_scheduler::output::Stream::Out, format_args!("{}\n", x.load()));
        other.join();
    });
}

/// Two threads that each make one step, after the first step of the main thread, which waits for them.
fn two(first: impl Fn(&Shared) + 'static, second: impl Fn(&Shared) + 'static) -> Program {
    type Body = Box<dyn Fn(&Shared)>;
    let bodies: Rc<[Body; 2]> = Rc::new([Box::new(first), Box::new(second)]);
    program(move || {
        let shared = Rc::new(Shared {
            lock: Lock::new(),
            x: Register::new(),
            y: Register::new(),
            count: Cell::new(0),
            queue: RefCell::new(VecDeque::with_capacity(4)),
        });
        shared.queue.borrow_mut().push_back(1);
        let handles = [0, 1].map(|i| {
            let (shared, bodies) = (Rc::clone(&shared), Rc::clone(&bodies));
            spawn(move || bodies[i](&shared))
        });
        join_all(handles);
    })
}

struct Shared {
    lock: Rc<Lock>,
    x: Rc<Register>,
    y: Rc<Register>,
    count: Cell<i64>,
    queue: RefCell<VecDeque<i64>>,
}

fn commute(mut program: Program) -> bool {
    after(&mut program, &[0, 1, 2]) == after(&mut program, &[0, 2, 1])
}

#[test]
fn critical_sections_that_add_commute() {
    let add = |amount| {
        move |shared: &Shared| {
            for _ in 0..2 {
                shared.lock.lock();
                shared.count.set(shared.count.get() + amount);
                shared.lock.unlock();
            }
        }
    };
    assert!(commute(two(add(1), add(2))));
    let multiply = |shared: &Shared| {
        shared.lock.lock();
        shared.count.set((shared.count.get() + 1) * 5);
        shared.lock.unlock();
    };
    assert!(!commute(two(add(1), multiply)));
}

#[test]
fn producer_and_consumer_commute_unless_the_queue_is_empty() {
    let put = |shared: &Shared| {
        shared.lock.lock();
        shared.queue.borrow_mut().push_back(7);
        shared.lock.unlock();
    };
    let take = |clear: bool| {
        move |shared: &Shared| {
            shared.lock.lock();
            if clear {
                shared.queue.borrow_mut().pop_front();
            }
            let taken = shared.queue.borrow_mut().pop_front();
            shared.lock.unlock();
            shared.x.load();
            black_box(taken);
        }
    };
    assert!(commute(two(put, take(false))));
    assert!(!commute(two(put, take(true))));
}

/// The first thread stores, the second one loads and does something with the value. The last write is the same.
fn told_apart(use_value: impl Fn(&Shared, i64) + 'static) -> Program {
    two(
        |shared| shared.x.store(1),
        move |shared| {
            let value = shared.x.load();
            use_value(shared, value);
        },
    )
}

#[test]
fn loads_that_nobody_remembers_commute() {
    assert!(commute(told_apart(|shared, _| {
        shared.y.load();
    })));
}

/// Leaves the value on the stack, below zeros where the frames of the next operation will be: what these do not write
/// is above the stack pointer while the thread waits.
#[inline(never)]
fn leave_below(value: i64) {
    #[inline(never)]
    fn leave(value: i64) {
        black_box([value; 256]);
    }
    let mut zeros = [0_i64; 256];
    black_box(&mut zeros);
    leave(value);
    black_box(&mut zeros);
}

/// Loads with a frame below the caller's that nothing is written to.
#[inline(never)]
fn load_below_unwritten(register: &Register) {
    let mut unwritten = [const { MaybeUninit::<i64>::uninit() }; 768];
    black_box(&mut unwritten);
    register.load();
    black_box(&mut unwritten);
}

/// What is below the stack pointer of a thread that waits is not shown by its later frames.
#[test]
fn what_calls_have_left_below_is_no_part_of_later_states() {
    let mut program = told_apart(|shared, value| {
        leave_below(value + 1);
        shared.y.load();
        load_below_unwritten(&shared.y);
    });
    assert_eq!(after(&mut program, &[0, 1, 2, 2]), after(&mut program, &[0, 2, 1, 2]));
}

/// Waits until the word is 1, or for a second.
fn wait_for_a_second(word: &Word) {
    let accesses = [access_of(location(word), AccessKind::Read)];
    let guards = [Guard::when(Condition::Equals(word.variable(), 1)), Guard::always()];
    let wait = Operation {
        timeout: Some((1, Duration::from_secs(1))),
        ..Operation::guarded(OperationKind::Park, location(word), &accesses, &guards)
    };
    perform(&wait, |_, touch| touch.read(location(word)));
}

/// Not inlined, so that its caller's frame does not keep the value.
#[inline(never)]
fn create_and_count(shared: &Shared, value: i64) {
    let word = Word::new(0);
    spawn(move || wait_for_a_second(&word));
    shared.count.set(value);
}

/// A new thread comes to its first scheduling point in the step of the one that creates it. If it may time out there,
/// memory is hashed. The step goes on, and changes it.
#[test]
fn what_is_written_after_a_thread_is_created_is_seen() {
    let create = |shared: &Shared, value| {
        create_and_count(shared, value);
        shared.y.load();
    };
    assert!(!commute(told_apart(create)));
    // All else is the same.
    assert!(commute(told_apart(move |shared, value| create(shared, value / 2))));
}

#[test]
fn a_value_in_a_register_is_seen() {
    let keep = |shared: &Shared, value| {
        let value = value * 3;
        shared.y.load();
        black_box(value);
    };
    assert!(!commute(told_apart(keep)));
}

#[test]
fn a_value_in_a_thread_local_is_seen() {
    assert!(!commute(told_apart(|shared, value| {
        NUMBER.set(value);
        shared.y.load();
    })));
}

#[test]
fn a_value_in_a_static_is_seen() {
    assert!(!commute(told_apart(|_, value| TOTAL.store(value, Relaxed))));
}

#[test]
fn the_pending_operation_is_seen() {
    assert!(!commute(told_apart(|shared, value| {
        let register = if value == 0 { &shared.x } else { &shared.y };
        register.load();
    })));
}

#[test]
fn a_thread_that_was_created_is_seen() {
    assert!(!commute(told_apart(|_, value| {
        if value == 0 {
            spawn(|| {});
        }
    })));
}

#[test]
fn time_that_has_passed_is_seen() {
    assert!(!commute(told_apart(|_, value| {
        if value == 0 {
            time::advance(Duration::from_secs(1));
        }
    })));
}

#[test]
fn random_bytes_that_were_drawn_are_seen() {
    assert!(!commute(told_apart(|shared, value| {
        let mut bytes = [0u8; 4];
        if value == 0 {
            // SAFETY: the buffer has that size.
            unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
            bytes = black_box([0; 4]);
        }
        black_box(bytes);
        shared.y.load();
    })));
}

#[test]
fn a_block_that_was_allocated_is_seen() {
    assert!(!commute(told_apart(|_, value| {
        if value == 0 {
            drop(black_box(Box::new(1)));
        }
    })));
}

#[test]
fn the_panic_hook_is_seen() {
    assert!(!commute(told_apart(|_, value| {
        if value == 0 {
            dpor_scheduler::panic::set_hook(Box::new(|_| {}));
        }
    })));
}

#[cfg(feature = "faults")]
#[test]
fn coarse_fingerprints_do_not_see_stacks() {
    let keep = |shared: &Shared, value| {
        let value = value * 3;
        shared.y.load();
        black_box(value);
    };
    let mut program = told_apart(keep);
    program.exact_states(false);
    program.coarse_fingerprints();
    assert!(commute(program));
}

#[test]
fn the_first_execution_has_fingerprints_only_if_they_were_announced() {
    let mut program = Program::new(Options::default(), || Ok(())).unwrap();
    program.restart();
    assert_eq!(program.fingerprint(), None);
    program.restart();
    assert!(program.fingerprint().is_some());
    assert_eq!(program.state_out_of_sight(), None);
}

#[test]
fn memory_of_the_c_library_ends_comparison() {
    let mut program = program(|| {
        let x = Register::new();
        x.load();
        // SAFETY: a block that is freed once.
        unsafe { libc::free(black_box(libc::malloc(10))) };
        x.store(1);
    });
    program.restart();
    let mut step = Step::default();
    program.step(transition(0), &mut step).unwrap();
    assert!(program.fingerprint().is_some());
    program.step(transition(0), &mut step).unwrap();
    assert_eq!(program.fingerprint(), None);
    let why = program.state_out_of_sight().unwrap();
    assert!(
        why.starts_with("malloc (called by thread t0, after the operation at ") && why.contains("state.rs"),
        "{why}"
    );
    program.restart();
    assert_eq!(program.fingerprint(), None);
}

#[test]
fn states_are_not_compared_while_a_file_is_open() {
    let mut program = program(|| {
        let x = Register::new();
        let file = std::fs::File::open("/dev/null").unwrap();
        x.load();
        drop(file);
        x.store(1);
    });
    program.restart();
    let mut step = Step::default();
    program.step(transition(0), &mut step).unwrap();
    assert_eq!(program.fingerprint(), None);
    program.step(transition(0), &mut step).unwrap();
    assert!(program.fingerprint().is_some());
    assert_eq!(program.state_out_of_sight(), None);
}

#[test]
fn the_cost_is_the_same_each_time() {
    let mut program = program(|| {
        black_box(vec![1u8; 10_000]);
        Register::new().load();
    });
    let mut cost = || {
        let before = program.fingerprint_cost();
        after(&mut program, &[0]);
        program.fingerprint_cost() - before
    };
    let first = cost();
    assert!(first > 10_000 && first < 40_000, "{first}");
    assert_eq!(cost(), first);
}

/// The differences between the two orders, one per line.
fn lines(program: &mut Program) -> Vec<String> {
    let mut image = |threads| {
        after(program, threads);
        program.capture()
    };
    let (first, again, second) = (image(&[0, 1, 2]), image(&[0, 1, 2]), image(&[0, 2, 1]));
    assert_eq!(first.diff(&again), []);
    first.diff(&second).iter().map(ToString::to_string).collect()
}

#[inline(never)]
fn remember(shared: &Shared, value: i64) {
    let values = [value; 20];
    black_box(&values);
    look(shared);
    black_box(&values);
}

/// Not inlined, so that its caller's frame has only what the caller keeps itself.
#[inline(never)]
fn look(shared: &Shared) {
    shared.y.load();
}

#[test]
fn differences_name_their_owner() {
    let only = |use_value: fn(&Shared, i64), expected: &[&str]| {
        let lines = lines(&mut told_apart(use_value));
        assert!(
            lines.iter().any(|line| expected.iter().all(|part| line.contains(part))),
            "{expected:?}: {lines:#?}"
        );
    };
    only(
        |_, value| TOTAL.store(value, Relaxed),
        &["static state::TOTAL", "0x1 → 0x0"],
    );
    only(remember, &["t2: stack, in or below state::remember (", "state.rs:"]);
    only(
        |shared, value| {
            let register = if value == 0 { &shared.x } else { &shared.y };
            register.load();
        },
        &["t2: object of the operation: 0x"],
    );
    only(
        |shared, value| {
            NUMBER.set(value);
            shared.y.load();
        },
        &["t2: thread-locals"],
    );
    only(
        |_, value| {
            if value == 0 {
                time::advance(Duration::from_secs(1));
            }
        },
        &["clock started: 0x0 → 0x1"],
    );
    only(
        |shared, value| shared.count.set(value + 8),
        &["t0: heap block", "bytes, its allocation ", "0x9 → 0x8"],
    );
}

#[test]
fn a_traced_execution_knows_where_blocks_were_allocated() {
    let mut program = told_apart(|shared, value| shared.count.set(value + 8));
    program.trace();
    let lines = lines(&mut program);
    assert!(
        lines
            .iter()
            .any(|line| line.contains(", made in state::two") && line.contains("state.rs:")),
        "{lines:#?}"
    );
}

/// `FUTEX_WAIT` with a timeout, `FUTEX_WAKE`, or `FUTEX_REQUEUE` to another word.
#[derive(Clone, Copy)]
enum Call {
    Wait,
    WaitForASecond,
    Wake(i32),
    Move,
}

/// Two words that threads wait at by calls of their own.
struct Words([AtomicU32; 2]);

impl Words {
    fn new() -> Rc<Words> {
        Rc::new(Words([const { AtomicU32::new(0) }; 2]))
    }

    fn call(&self, word: usize, call: Call) {
        let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        let (operation, number, timeout) = match call {
            Call::Wait => (libc::FUTEX_WAIT, 0, 0),
            Call::WaitForASecond => (libc::FUTEX_WAIT, 0, (&raw const second).addr()),
            Call::Wake(number) => (libc::FUTEX_WAKE, number, 0),
            Call::Move => (libc::FUTEX_REQUEUE, 0, 1),
        };
        let [at, other] = [word, 1 - word].map(|word| self.0[word].as_ptr());
        // SAFETY: the words are borrowed, and so is the timeout.
        unsafe { libc::syscall(libc::SYS_futex, at, operation, number, timeout, other, 0) };
    }
}

#[test]
fn threads_that_wait_at_a_futex_are_part_of_the_state() {
    is_deterministic(|| {
        let words = Words::new();
        for call in [Call::Wait, Call::WaitForASecond, Call::Wake(1)] {
            let words = words.clone();
            spawn(move || words.call(0, call));
        }
        words.call(0, Call::Move);
        words.call(1, Call::Wake(i32::MAX));
        words.call(0, Call::Wake(i32::MAX));
    });
    // Whoever comes first: the same threads wait.
    let mut two = program(|| {
        let words = Words::new();
        for _ in 0..2 {
            let words = words.clone();
            spawn(move || words.call(0, Call::Wait));
        }
        words.call(0, Call::Wake(1));
    });
    assert_eq!(after(&mut two, &[0, 1, 1, 2, 2]), after(&mut two, &[0, 2, 2, 1, 1]));
    // One of the two is woken, and which one it is makes a difference.
    let woken = |two: &mut Program, alternative| {
        let mut schedule = [0, 1, 1, 2, 2, 0].map(transition);
        schedule[5].alternative = alternative;
        follow(two, &schedule).last().unwrap().0
    };
    assert_ne!(woken(&mut two, 0), woken(&mut two, 1));
}
