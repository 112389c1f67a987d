//! Compares the explorer's outcomes of a program with all possible ones.

use super::{Found, Line, Op, Outcome, Program, THREADS, Under, enumerate, explore, explore_part};
use dpor_explorer::{Context, Shard, Strategy, Verdict};
use dpor_scheduler::Timeouts;
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of states of the abstract machine.
const STATES: usize = 60_000;

/// The end of a check that found no error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// The sets of outcomes are the same.
    Agreed {
        /// The number of outcomes.
        outcomes: usize,
        /// Some of them are deadlocks.
        deadlock: bool,
        /// Executions by `source`, without and with blocked ones.
        source: (u64, u64),
        /// Executions by `exhaustive`, if it came to an end.
        exhaustive: Option<u64>,
        /// Executions by `context`, without and with pruned and blocked ones.
        context: (u64, u64),
    },
    /// The program is too large for brute force or for `source`.
    TooLarge,
    /// The program has executions without end, which the explorer reports; it invents no outcome.
    Unending,
}

/// The explorer does not find the outcomes that there are.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The strategy.
    pub strategy: Strategy,
    /// Outcomes that it misses.
    pub missed: Vec<Outcome>,
    /// Outcomes that cannot be.
    pub invented: Vec<Outcome>,
    /// Number of outcomes that it finds rightly.
    pub common: usize,
    /// Something else that went wrong.
    pub error: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} outcomes are right", self.strategy, self.common)?;
        for outcome in &self.missed {
            writeln!(f, "missed:   {outcome}")?;
        }
        for outcome in &self.invented {
            writeln!(f, "invented: {outcome}")?;
        }
        match &self.error {
            Some(error) => writeln!(f, "error: {error}"),
            None => Ok(()),
        }
    }
}

/// Compares the findings with all outcomes. `None` if the exploration was broken off and that is right.
fn judge(found: Found, program: &Program, all: &BTreeSet<Outcome>, strategy: Strategy) -> Result<Option<()>, Mismatch> {
    let unending = found.is_unending() && program.may_be_unending();
    let Found {
        outcomes,
        verdict,
        mut error,
        ..
    } = found;
    let missed: Vec<Outcome> = all
        .iter()
        .filter(|&outcome| !outcomes.contains_key(outcome))
        .cloned()
        .collect();
    let invented: Vec<Outcome> = outcomes
        .keys()
        .filter(|&outcome| !all.contains(outcome))
        .cloned()
        .collect();
    if unending && error.is_none() && invented.is_empty() {
        return Ok(None);
    }
    let stuck = all.iter().any(|outcome| outcome.stuck);
    let expected = matches!(verdict, Verdict::Failed { .. }) == stuck;
    let broken_off = matches!(verdict, Verdict::Incomplete { .. });
    if broken_off || !expected && missed.is_empty() && invented.is_empty() {
        error.get_or_insert_with(|| format!("the verdict is {verdict:?}"));
    }
    if error.is_none() && missed.is_empty() && invented.is_empty() {
        return Ok(Some(()));
    }
    Err(Mismatch {
        strategy,
        common: outcomes.len() - invented.len(),
        missed,
        invented,
        error,
    })
}

/// Whether the exploration came to an end within its limit.
fn ended(found: &Found) -> bool {
    found.error.is_some() || found.statistics.executions() < found.limit
}

/// Explores the parts of a program, each as on a separate machine, and compares all outcomes with brute force. Returns
/// the number of executions, and of shards with something to explore; `None` if the program is too large, or does not
/// terminate.
///
/// # Errors
/// The mismatch.
pub fn check_shards(
    program: &Program,
    strategy: Strategy,
    count: u32,
    replay: bool,
) -> Result<Option<(u64, u64)>, Mismatch> {
    let Ok(all) = enumerate(program, STATES) else {
        return Ok(None);
    };
    let mut together: Option<Found> = None;
    let mut parts = 0;
    for number in 1..=count {
        let Some(mut found) = explore_part(program, strategy, 4000, replay, Shard::new(number, count)) else {
            continue;
        };
        if !ended(&found) {
            return Ok(None);
        }
        parts += 1;
        if let Some(others) = together {
            found.outcomes.extend(others.outcomes);
            found.statistics.complete += others.statistics.complete;
            found.statistics.cut += others.statistics.cut;
            found.error = others.error.or(found.error);
            if found.verdict == Verdict::Complete {
                found.verdict = others.verdict;
            }
        }
        together = Some(found);
    }
    let Some(together) = together else {
        unreachable!("somebody explores something")
    };
    let executions = together.statistics.complete;
    Ok(judge(together, program, &all, strategy)?.map(|()| (executions, parts)))
}

/// Explores a program and compares the outcomes with brute force: with `source`, and with `exhaustive` if that takes at
/// most `exhaustive` executions. With `replay`, runs the schedule of each outcome again.
///
/// # Errors
/// The first mismatch.
pub fn check(program: &Program, exhaustive: u64, replay: bool) -> Result<Agreement, Mismatch> {
    let Ok(all) = enumerate(program, STATES) else {
        return Ok(Agreement::TooLarge);
    };
    let found = explore(program, Strategy::Source, 4000, replay);
    if !ended(&found) {
        return Ok(Agreement::TooLarge);
    }
    let source = (found.statistics.complete, found.statistics.executions());
    if judge(found, program, &all, Strategy::Source)?.is_none() {
        return Ok(Agreement::Unending);
    }
    let mut context = (0, 0);
    let contexts = [Context::default(), Context::CDPOR1, Context::CDPOR3].map(Strategy::Context);
    for strategy in contexts.into_iter().chain([Strategy::States]) {
        let found = explore(program, strategy, 8000, replay);
        if !ended(&found) {
            return Ok(Agreement::TooLarge);
        }
        if strategy == Strategy::Context(Context::default()) {
            context = (found.statistics.complete, found.statistics.executions());
        }
        if judge(found, program, &all, strategy)?.is_none() {
            return Ok(Agreement::Unending);
        }
    }
    let mut executions = None;
    if exhaustive > 0 {
        let found = explore(program, Strategy::Exhaustive, exhaustive, false);
        if ended(&found) {
            let complete = found.statistics.complete;
            executions = judge(found, program, &all, Strategy::Exhaustive)?.map(|()| complete);
        }
    }
    let deadlock = all.iter().any(|outcome| outcome.stuck);
    Ok(Agreement::Agreed {
        outcomes: all.len(),
        deadlock,
        source,
        exhaustive: executions,
        context,
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
    let ends = program
        .channel
        .map_or(0, |channel| channel.senders | 1 << channel.receiver);
    if last > 1 && program.threads[last].is_empty() && ends & 1 << last == 0 {
        let named = |op| match op {
            Op::Unpark(t) | Op::IsFinished(t) | Op::AwaitFinished(t) | Op::Join(t) => usize::from(t) == last,
            _ => false,
        };
        if !program.ops().any(named) {
            offer(&|program| program.threads.truncate(last));
        }
    }
    offer(&|program| program.scoped = false);
    offer(&|program| program.spurious_wakeups = false);
    offer(&|program| program.spurious_cas = false);
    if !program.has_timeouts() {
        offer(&|program| program.timeouts = Timeouts::Fire);
    }
    offer(&|program| program.channel = None);
    for t in 0..THREADS {
        offer(&|program| {
            if let Some(channel) = &mut program.channel {
                channel.senders &= !(1 << t);
            }
        });
    }
    for (t, lines) in program.threads.iter().enumerate() {
        for (number, &Line { when, op }) in lines.iter().enumerate() {
            offer(&|program| {
                program.threads[t].remove(number);
            });
            if when.is_some() {
                offer(&|program| program.threads[t][number].when = None);
            }
            for simpler in simpler(op) {
                offer(&|program| program.threads[t][number].op = simpler);
            }
        }
    }
    all
}

fn simpler(op: Op) -> Vec<Op> {
    match op {
        Op::Load(a) if a > 0 => vec![Op::Load(0)],
        Op::Store(a, v) => [Op::Store(0, v), Op::Store(a, 1), Op::Load(a)]
            .into_iter()
            .filter(|&o| o != op)
            .collect(),
        Op::Add(a) => vec![Op::Load(a)],
        Op::Swap(a, v) => vec![Op::Store(a, v), Op::Load(a)],
        Op::Cas(a, ..) | Op::Update(a) => vec![Op::Load(a), Op::Store(a, 1)],
        Op::CasWeak(a, old, new) => vec![Op::Cas(a, old, new), Op::Load(a)],
        Op::Poll(a, k) if k > 1 => vec![Op::Poll(a, 1), Op::Load(a)],
        Op::AwaitUnder(Under::Lock(m), a) => vec![Op::Await(a, false), Op::Lock(m), Op::AwaitTryLock(m)],
        Op::AwaitUnder(Under::TryLock(m), a) => vec![Op::AwaitUnder(Under::Lock(m), a), Op::AwaitTryLock(m)],
        Op::AwaitUnder(Under::Read | Under::Write, a) => vec![Op::AwaitUnder(Under::Lock(0), a), Op::Await(a, false)],
        Op::AwaitUnder(Under::Spin(l), a) => {
            vec![Op::AwaitUnder(Under::Lock(l), a), Op::AwaitCas(l), Op::Await(a, false)]
        }
        Op::TryLock(m) | Op::AwaitTryLock(m) | Op::AwaitLocked(m) => vec![Op::Lock(m)],
        Op::TryRead => vec![Op::Read],
        Op::TryWrite => vec![Op::Write],
        Op::WaitTimeout => vec![Op::Wait],
        Op::ParkTimeout => vec![Op::Park],
        Op::TrySend(v) => vec![Op::Send(v)],
        Op::TryRecv | Op::RecvTimeout | Op::AwaitTryRecv => vec![Op::Recv],
        Op::NotifyAll => vec![Op::NotifyOne],
        Op::CallOnce(true) => vec![Op::CallOnce(false)],
        _ => Vec::new(),
    }
}
