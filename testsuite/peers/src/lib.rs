//! Programs that are run on several checkers side by side.
//!
//! Each program is written once, as a macro over the name of a crate with `sync` and `thread` like std's, and
//! expanded against each checker's own types.

use shim_std::{Context, Statistics, Strategy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Defines the programs in a module of their own: `programs!(module, checker)`.
#[macro_export]
macro_rules! programs {
    ($module:ident, $std:ident) => {
        /// The programs on this checker.
        pub mod $module {
            use std::collections::VecDeque;
            use $std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
            use $std::sync::{Arc, Mutex};
            use $std::thread;

            /// Runs a program once, in the current execution.
            pub fn run(program: $crate::Program) {
                match program {
                    $crate::Program::Writers(n) => writers(n),
                    $crate::Program::Philosophers(n) => philosophers(n),
                    $crate::Program::ProdCons(n) => prodcons(n),
                    $crate::Program::Readers(n) => readers(n),
                }
            }

            /// `n` threads store their number in one variable, one more loads it: (n + 1)! classes of executions.
            pub fn writers(n: usize) {
                let variable = Arc::new(AtomicUsize::new(0));
                let mut handles = Vec::new();
                for i in 1..=n {
                    let variable = Arc::clone(&variable);
                    handles.push(thread::spawn(move || variable.store(i, SeqCst)));
                }
                handles.push(thread::spawn(move || assert!(variable.load(SeqCst) <= n)));
                for handle in handles {
                    handle.join().unwrap();
                }
            }

            /// `n` philosophers, who take the fork with the lower number first: 2^n - 2 classes.
            pub fn philosophers(n: usize) {
                let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
                let mut handles = Vec::new();
                for i in 0..n {
                    let forks = Arc::clone(&forks);
                    handles.push(thread::spawn(move || {
                        let (left, right) = (i, (i + 1) % n);
                        let _first = forks[left.min(right)].lock().unwrap();
                        let _second = forks[left.max(right)].lock().unwrap();
                    }));
                }
                for handle in handles {
                    handle.join().unwrap();
                }
            }

            /// One thread stores, `n` threads load once and keep it: 2^n classes, with as many outcomes.
            pub fn readers(n: usize) {
                let variable = Arc::new(AtomicUsize::new(0));
                let writer = Arc::clone(&variable);
                let store = thread::spawn(move || writer.store(1, SeqCst));
                let mut loads = Vec::new();
                for _ in 0..n {
                    let variable = Arc::clone(&variable);
                    loads.push(thread::spawn(move || variable.load(SeqCst)));
                }
                store.join().unwrap();
                assert!(loads.into_iter().map(|load| load.join().unwrap()).sum::<usize>() <= n);
            }

            /// A producer and a consumer with `n` critical sections each: (2n)! / (n!)^2 classes.
            pub fn prodcons(n: usize) {
                let queue = Arc::new(Mutex::new(VecDeque::new()));
                let producer = {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || {
                        for i in 0..n {
                            queue.lock().unwrap().push_back(i);
                        }
                    })
                };
                let consumer = thread::spawn(move || {
                    (0..n)
                        .filter_map(|_| queue.lock().unwrap().pop_front())
                        .enumerate()
                        .all(|(i, got)| i == got)
                });
                producer.join().unwrap();
                assert!(consumer.join().unwrap());
            }
        }
    };
}

programs!(on_dpor, shim_std);
programs!(on_loom, loom);
programs!(on_shuttle, shuttle);

/// A program and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// `writers(n)`.
    Writers(usize),
    /// `philosophers(n)`, ordered.
    Philosophers(usize),
    /// `prodcons(n)`.
    ProdCons(usize),
    /// `readers(n)`, where no two orders end alike.
    Readers(usize),
}

impl Program {
    /// The programs that are compared.
    pub const ALL: [Program; 4] = [
        Program::Writers(4),
        Program::Philosophers(3),
        Program::ProdCons(5),
        Program::Readers(8),
    ];
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Program::Writers(n) => write!(f, "writers({n})"),
            Program::Philosophers(n) => write!(f, "philosophers({n})"),
            Program::ProdCons(n) => write!(f, "prodcons({n})"),
            Program::Readers(n) => write!(f, "readers({n})"),
        }
    }
}

/// A checker, as the benchmark drives it.
pub trait Checker {
    /// Its name.
    const NAME: &'static str;

    /// Maximum number of executions in one go. A checker that needs fewer stops by itself.
    const CAP: u64;

    /// The program itself, or the largest of its family that the checker can run.
    fn adapt(program: Program) -> Program {
        program
    }

    /// Explores the program. Returns how many executions were run.
    fn explore(program: Program) -> u64;
}

/// Calls `explore` with a body that counts its calls. Returns their number.
fn counting(explore: impl FnOnce(Box<dyn Fn() + Send + Sync>)) -> u64 {
    let executions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executions);
    explore(Box::new(move || {
        counted.fetch_add(1, Relaxed);
    }));
    executions.load(Relaxed)
}

/// loom 0.7.
pub struct Loom;

impl Checker for Loom {
    const NAME: &'static str = "loom";
    const CAP: u64 = 5_000;

    /// loom has room for four threads beside the first.
    fn adapt(program: Program) -> Program {
        match program {
            Program::Writers(n) => Program::Writers(n.min(3)),
            Program::Philosophers(n) => Program::Philosophers(n.min(4)),
            Program::ProdCons(n) => Program::ProdCons(n),
            Program::Readers(n) => Program::Readers(n.min(3)),
        }
    }

    fn explore(program: Program) -> u64 {
        counting(|count| {
            let mut builder = loom::model::Builder::new();
            builder.max_permutations = Some(Self::CAP as usize);
            // The limit is looked at each time that a checkpoint is due.
            builder.checkpoint_interval = 500;
            builder.check(move || {
                count();
                on_loom::run(program);
            });
        })
    }
}

/// shuttle 0.9, with its depth-first search.
pub struct Shuttle;

impl Checker for Shuttle {
    const NAME: &'static str = "shuttle";
    const CAP: u64 = 50_000;

    fn explore(program: Program) -> u64 {
        counting(|count| {
            let explored = move || {
                count();
                on_shuttle::run(program);
            };
            shuttle::check_dfs(explored, Some(Self::CAP as usize));
        })
    }
}

fn explore_with(strategy: Strategy, program: Program) -> Statistics {
    let model = shim_std::Model::new().strategy(strategy).rewinds(true);
    model.explore(move || on_dpor::run(program)).report.statistics
}

/// cargo-dpor, through its explicit use, with one execution for each class of equivalent interleavings.
pub struct Dpor;

impl Dpor {
    /// Explores the program. Returns how many steps were run, re-executed ones included.
    pub fn steps(program: Program) -> u64 {
        explore_with(Strategy::Source, program).steps
    }
}

/// cargo-dpor, with states compared.
pub struct DporContext;

impl Checker for DporContext {
    const NAME: &'static str = "cargo-dpor context";
    const CAP: u64 = u64::MAX;

    fn explore(program: Program) -> u64 {
        explore_with(Strategy::Context(Context::default()), program).executions()
    }
}

impl Checker for Dpor {
    const NAME: &'static str = "cargo-dpor";
    const CAP: u64 = u64::MAX;

    fn explore(program: Program) -> u64 {
        explore_with(Strategy::Source, program).executions()
    }
}
