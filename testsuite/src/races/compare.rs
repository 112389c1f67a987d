//! Compares what is found with what there is.

use super::{Found, How, Judgement, Op, Place, Program, Seeded, explore, judge};
use dpor_explorer::{Context, Dpor, Strategy, Verdict};
use std::fmt;

/// How much is done to compare.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Maximum number of states of brute force.
    pub states: usize,
    /// Maximum number of executions by most strategies.
    pub executions: u64,
    /// Maximum number of executions by `exhaustive`; 0 to leave it out.
    pub exhaustive: u64,
    /// Whether to use more strategies, to explore on after races, and to run all failing schedules again.
    pub thorough: bool,
    /// What is wrong on purpose.
    pub fault: Option<Seeded>,
}

/// The end of a comparison that found no error.
#[derive(Clone, Debug)]
pub enum Agreement {
    /// Both say the same.
    Agreed {
        /// What there is.
        judgement: Judgement,
        /// For each strategy that came to an end, the number of executions.
        executions: Vec<(Strategy, u64)>,
        /// Strategies that did not.
        abandoned: Vec<Strategy>,
    },
    /// The program is too large for brute force.
    TooLarge,
}

/// A strategy finds something else than there is.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The strategy.
    pub strategy: Strategy,
    /// The bound on preemptions, if there was one.
    pub preemptions: Option<u32>,
    /// What there is.
    pub judgement: Judgement,
    /// What is wrong.
    pub error: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self
            .preemptions
            .map_or_else(String::new, |bound| format!(", up to {bound} preemptions"));
        writeln!(f, "{}{bound}: {}", self.strategy, self.error)?;
        writeln!(f, "by brute force: {:?}", self.judgement)
    }
}

/// What is wrong with the findings; `Ok(false)` if the exploration was abandoned.
fn compare(found: &Found, judgement: Judgement, how: How) -> Result<bool, String> {
    if let Some(error) = &found.error {
        return Err(error.clone());
    }
    let race = found.races > 0;
    if race {
        return match judgement.race {
            true => Ok(true),
            false => Err("invents a race".to_owned()),
        };
    }
    if found.deadlock && !judgement.race && !judgement.deadlock {
        return Err("invents a deadlock".to_owned());
    }
    match &found.verdict {
        Verdict::Incomplete { .. } if found.statistics.executions() >= how.executions => return Ok(false),
        // The bound has left something out.
        Verdict::Incomplete { .. } if how.preemptions.is_some() => return Ok(false),
        Verdict::Incomplete { .. } => return Err(format!("the verdict is {:?}", found.verdict)),
        Verdict::Complete | Verdict::Failed { .. } => {}
    }
    if found.statistics.executions() >= how.executions {
        return Ok(false);
    }
    if how.preemptions.is_some() && found.verdict != Verdict::Complete {
        return Ok(false);
    }
    if judgement.race {
        return Err(format!("misses the race; the verdict is {:?}", found.verdict));
    }
    if judgement.deadlock != found.deadlock {
        return Err(format!("misses the deadlock; the verdict is {:?}", found.verdict));
    }
    let failed = matches!(found.verdict, Verdict::Failed { .. });
    match failed == judgement.deadlock {
        true => Ok(true),
        false => Err(format!("the verdict is {:?}", found.verdict)),
    }
}

/// Explores a program with all strategies, and compares what they find with brute force.
///
/// # Errors
/// The first mismatch.
pub fn check(program: &Program, settings: Settings) -> Result<Agreement, Mismatch> {
    let Ok(judgement) = judge(program, settings.states) else {
        return Ok(Agreement::TooLarge);
    };
    let how = |strategy, preemptions, executions| How {
        strategy,
        executions,
        preemptions,
        thorough: settings.thorough,
        fault: settings.fault,
    };
    let most = settings.executions;
    let mut all = vec![
        how(Strategy::Source, None, most),
        how(Strategy::States, None, most),
        how(Strategy::Context(Context::default()), None, most),
    ];
    // Who finds a `Once` completed does so in the step before, if that comes after the completion: to the unfolding
    // this is a step that does something else after another order of independent steps. It says so, and ends; and so
    // it would notice some of the seeded faults by itself.
    if settings.fault.is_none() && !program.ops().any(|op| matches!(op, Op::Once(..))) {
        all.push(how(Strategy::Unfolding { partial: None }, None, most));
    }
    if settings.thorough {
        all.extend([
            how(Strategy::Context(Context::CDPOR1), None, most),
            how(Strategy::Context(Context::CDPOR3), None, most),
            how(Strategy::Dpor(Dpor::default()), None, most),
            how(Strategy::Source, Some(2), most),
        ]);
    }
    if settings.exhaustive > 0 {
        all.push(how(Strategy::Exhaustive, None, settings.exhaustive));
    }
    let mut executions = Vec::new();
    let mut abandoned = Vec::new();
    for how in all {
        let found = explore(program, how);
        match compare(&found, judgement, how) {
            Ok(true) if how.preemptions.is_none() => {
                executions.push((how.strategy, found.statistics.executions()));
            }
            Ok(false) if how.preemptions.is_none() => abandoned.push(how.strategy),
            Ok(_) => {}
            Err(error) => {
                return Err(Mismatch {
                    strategy: how.strategy,
                    preemptions: how.preemptions,
                    judgement,
                    error,
                });
            }
        }
    }
    Ok(Agreement::Agreed {
        judgement,
        executions,
        abandoned,
    })
}

/// Makes a program smaller, as long as it stays `bad`.
pub fn minimise(mut program: Program, bad: impl Fn(&Program) -> bool) -> Program {
    loop {
        match smaller(&program).into_iter().find(|smaller| bad(smaller)) {
            Some(smaller) => program = smaller,
            None => return program,
        }
    }
}

/// Programs that are a little smaller or simpler.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Program)| {
        let mut smaller = program.clone();
        change(&mut smaller);
        if smaller != *program {
            all.push(smaller);
        }
    };
    let last = program.threads.len() - 1;
    if last > 0 {
        offer(&|program| {
            program.threads.truncate(last);
            for ops in &mut program.threads {
                ops.retain(|op| !matches!(op, Op::Spawn(t) | Op::Join(t) | Op::Unpark(t) if usize::from(*t) == last));
            }
        });
    }
    for (t, ops) in program.threads.iter().enumerate() {
        for (at, &op) in ops.iter().enumerate() {
            offer(&|program| {
                program.threads[t].remove(at);
            });
            for simpler in simpler(op) {
                offer(&|program| program.threads[t][at] = simpler);
            }
        }
    }
    offer(&|program| program.capacity = None);
    offer(&|program| program.place = Place::Static);
    all
}

/// Operations that are simpler; none of them leads back.
fn simpler(op: Op) -> Vec<Op> {
    use std::sync::atomic::Ordering::Relaxed;
    match op {
        Op::Read(at, size) if size != 8 => vec![Op::Read(at / 8 * 8, 8)],
        Op::Write(at, size, value) if size != 8 => vec![Op::Write(at / 8 * 8, 8, value)],
        Op::Copy(to, from, size) => vec![
            Op::Write(to / 8 * 8, 8, 1),
            Op::Read(from / 8 * 8, 8),
            Op::Read(0, size.next_power_of_two()),
        ],
        Op::Load(x, order) if order != Relaxed => vec![Op::Load(x, Relaxed)],
        Op::Store(x, value, order) if order != Relaxed => vec![Op::Store(x, value, Relaxed)],
        Op::Swap(x, value, order) => {
            let mut all = vec![Op::Add(x, 1, order)];
            if order != Relaxed {
                all.push(Op::Swap(x, value, Relaxed));
            }
            all
        }
        Op::Add(x, value, order) => {
            let mut all = Vec::new();
            if let Ok(load) = loadable(order) {
                all.push(Op::Load(x, load));
            }
            if order != Relaxed {
                all.push(Op::Add(x, value, Relaxed));
            }
            all
        }
        Op::Or(x, order) => vec![Op::Add(x, 0, order)],
        Op::Exchange(x, _, new, success, _) => vec![Op::Swap(x, new, success), Op::Add(x, 1, success)],
        Op::TryLock(m) => vec![Op::Lock(m)],
        Op::TryLockShared => vec![Op::LockShared],
        Op::TryLockAlone => vec![Op::LockAlone],
        Op::TryRecv => vec![Op::Recv],
        Op::Once(at, size, value) => vec![Op::Write(at, size, value)],
        Op::Unless(value, count) if count > 1 => vec![Op::Unless(value, count - 1)],
        _ => Vec::new(),
    }
}

/// The ordering, if a load may have it.
fn loadable(order: std::sync::atomic::Ordering) -> Result<std::sync::atomic::Ordering, ()> {
    use std::sync::atomic::Ordering::{AcqRel, Release};
    match order {
        Release | AcqRel => Err(()),
        order => Ok(order),
    }
}
