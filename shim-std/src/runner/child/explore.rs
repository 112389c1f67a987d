//! The exploration of a test for `cargo dpor`.

use super::last_word::{LastWord, counts, incomplete};
use super::parent::Parent;
use crate::runner::body::Body;
use crate::runner::coverage::{self, both};
use crate::runner::describe::{self, Objects};
use crate::runner::execution_log::ExecutionLog;
use crate::runner::journal::{Explored, Journaled};
use crate::runner::saving::Saving;
use crate::runner::sharing::Sharing;
use crate::runner::{judge_strategy, out_of_sight, seed_of, unless_unseen};
use dpor_explorer::keys::KeyHasher;
use dpor_explorer::{
    End, Explorer, Failure, Limits, Observer, Part, Report, Shard, Sharded, Statistics, Strategy, System, Trace, Turns,
    Verdict,
};
use dpor_protocol::{
    Config, FailureKind, Memory, Message, Mode, ModelOption, OutputStream, SharedSchedule, SuppressionReport, Timeouts,
    test_hash,
};
use dpor_scheduler::label::Label;
use dpor_scheduler::output::Stream;
use dpor_scheduler::{Program, Sequential, SuppressedRaces};
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Sends progress, about ten times a second.
struct Progress<'a> {
    parent: &'a mut Parent,
    sharing: &'a mut Sharing,
    saving: Option<&'a mut Saving>,
    /// The record of executions, if requested.
    record: Option<ExecutionLog>,
    /// Whether to report what the next execution prints.
    printed: bool,
    started: Instant,
    sent: Instant,
    /// When exploration turns to weak memory, if not before.
    turn: Option<Instant>,
    executions: u32,
}

impl<'a> Progress<'a> {
    fn new(
        config: &Config,
        parent: &'a mut Parent,
        sharing: &'a mut Sharing,
        saving: Option<&'a mut Saving>,
    ) -> Progress<'a> {
        let now = Instant::now();
        Progress {
            parent,
            sharing,
            saving,
            record: config.executions.then(ExecutionLog::default),
            printed: config.printed,
            started: now,
            sent: now,
            turn: limits(config).time.and_then(|time| now.checked_add(time / 2)),
            executions: 0,
        }
    }
}

impl Observer<Explored> for Progress<'_> {
    fn execution(
        &mut self,
        system: &mut Explored,
        end: &End,
        trace: &Trace,
        statistics: &Statistics,
    ) -> ControlFlow<()> {
        coverage::count(&mut system.program, end);
        self.sharing.look(&system.program, trace);
        if let Some(record) = &mut self.record
            && let Some(message) = record.tell(&system.program, end, trace, statistics)
        {
            self.parent.send(&message);
        }
        if std::mem::take(&mut self.printed) {
            for piece in system.program.output() {
                self.parent.send(&Message::Printed {
                    stream: match piece.stream {
                        Stream::Out => OutputStream::Out,
                        Stream::Err => OutputStream::Err,
                    },
                    text: piece.text.clone(),
                });
            }
        }
        let &Statistics {
            complete,
            blocked,
            pruned,
            cut,
            ..
        } = statistics;
        system.map.set_ended([complete, blocked, pruned, cut]);
        self.executions += 1;
        // Reading the clock costs about as much as a short execution.
        if self.executions.is_multiple_of(64) && self.sent.elapsed() >= Duration::from_millis(100) {
            self.sent = Instant::now();
            let threads = system.threads().len();
            self.parent
                .send(&Message::Progress(counts(statistics, threads, self.started.elapsed())));
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        if let Some(record) = &mut self.record {
            record.start_again();
        }
    }

    fn at_rest(&mut self, explorer: &mut Explorer<Explored>) -> ControlFlow<String> {
        // It is saved in the end.
        if explorer.system().map.is_asked_to_stop() {
            return ControlFlow::Break("interrupted".to_owned());
        }
        if self.executions.is_multiple_of(64) && self.turn.take_if(|turn| Instant::now() >= *turn).is_some() {
            explorer.system().program.turn_to_weak_memory();
        }
        if let Some(saving) = &mut self.saving {
            saving.look(explorer, self.sharing);
        }
        ControlFlow::Continue(())
    }
}

fn strategy(config: &Config) -> Result<Strategy, String> {
    let strategy = config.strategy.parse();
    strategy
        .map(|strategy: Strategy| strategy.seeded(config.random_seed))
        .map_err(|error: dpor_explorer::strategy::UnknownStrategy| error.to_string())
}

fn limits(config: &Config) -> Limits {
    Limits {
        executions: config.limits.executions,
        steps: config.limits.steps,
        time: config
            .limits
            .seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        preemptions: config.limits.preemptions,
        depth: config.limits.depth,
    }
}

/// An exploration of a test's body.
pub(super) struct Exploration {
    pub explorer: Explorer<Explored>,
    /// The part that is explored.
    part: Part,
    pub strategy: Strategy,
}

/// Creates an exploration of the body.
///
/// # Errors
/// A sentence: there is no such strategy or shard, or no model can be set up.
pub(super) fn exploration(config: &Config, map: &'static SharedSchedule, body: Body) -> Result<Exploration, String> {
    let strategy = strategy(config)?;
    let shard = config.shard.as_deref().map(str::parse::<Shard>).transpose()?;
    if shard.is_some() && !strategy.can_be_sharded() {
        return Err(format!("`{strategy}` cannot explore a shard"));
    }
    judge_strategy(strategy, config.options)?;
    let exact = config.options.has(ModelOption::ExactStates);
    let mut program = Program::new(config.options, move || body.run()).map_err(|error| error.to_string())?;
    program.leave_out_private_stacks();
    let limits = limits(config);
    program.prepare_for(strategy, &limits);
    program.exact_states(exact);
    program.find_leaks(config.options.has(ModelOption::Leaks));
    program.suppress_races(&config.suppressions);
    let looks_beside = looks_beside(strategy, config);
    if looks_beside {
        if matches!(config.mode, Mode::Explore) {
            program.put_weak_memory_off();
        }
        // On record are the steps of an exploration that does without this, and so are those in seeds.
        program.join_what_is_unshared(JOINS_AFTER, |transition, kind| map.push(transition, kind as u8));
    }
    program.strengthen(&config.stronger);
    program.save_states(program.hidden_import().is_none());
    let whole = Sharded::whole(Journaled::new(program, map));
    let started = Instant::now();
    let (system, part) = match shard {
        Some(shard) => whole.narrow(shard, test_hash(&config.test).into(), limits.time),
        None => (whole, Part::One { pairs: 0 }),
    };
    // Of other modes, what is asked is about the executions of the strategy.
    let looks_beside = looks_beside && matches!(config.mode, Mode::Explore);
    let explorer = Explorer::new(system, strategy, limits)
        .spent(started.elapsed())
        .verify_states(exact)
        .looks_beside(looks_beside.then_some(Turns::LONG))
        .sends_scouts(looks_beside.then_some(SCOUTS_AFTER))
        .resumable(config.save.is_some());
    Ok(Exploration {
        explorer,
        part,
        strategy,
    })
}

/// Number of states of a test before random executions look ahead: a small one costs no more.
const SCOUTS_AFTER: u64 = 500;

/// Number of executions after which operations on what only one thread uses are no scheduling points: then there are
/// many states, but few to explore again.
const JOINS_AFTER: u64 = 64;

/// Whether other executions are run beside or before: random ones, those with few preemptions, and, under weak memory,
/// those that are sequentially consistent. Who chooses a strategy for its counts, or limits them, gets its executions
/// and no others.
fn looks_beside(strategy: Strategy, config: &Config) -> bool {
    let counts = config.limits.executions.is_some() || config.limits.steps.is_some();
    strategy == Strategy::States && config.shard.is_none() && !counts
}

/// The fingerprint that all shards of a test share, of the behaviour of the test and the settings.
fn shard_fingerprint(config: &Config, walks: u64) -> u64 {
    let mut hasher = KeyHasher::default();
    walks.hash(&mut hasher);
    for option in ModelOption::ALL.iter().filter(|option| option.is_in_seeds()) {
        config.options.has(*option).hash(&mut hasher);
    }
    let timeouts = config.options.timeouts();
    if timeouts != Timeouts::Fire {
        timeouts.hash(&mut hasher);
    }
    let memory = config.options.memory();
    if memory != Memory::Sc {
        memory.hash(&mut hasher);
    }
    config.limits.preemptions.hash(&mut hasher);
    hasher.finish()
}

/// Explores a test, and reports what came of it.
pub(super) fn explore(config: &Config, map: &'static SharedSchedule, body: Body, parent: &mut Parent) -> Message {
    let Exploration {
        mut explorer,
        part,
        strategy,
    } = match exploration(config, map, body) {
        Ok(exploration) => exploration,
        Err(error) => return incomplete(error),
    };
    if let Some(walks) = explorer.system().walks() {
        parent.send(&Message::Shard {
            fingerprint: shard_fingerprint(config, walks),
        });
    }
    let of_shard = match of_shard(part, config.shard.is_some()) {
        Ok(note) => note,
        Err(word) => return Message::from(*word),
    };
    let mut sharing = Sharing::default();
    let mut saving = config.save.clone().map(Saving::new);
    let mut resumed = None;
    if let Some(saving) = saving.as_mut().filter(|saving| saving.resumes()) {
        match saving.resume(&mut explorer, &mut sharing) {
            Ok(executions) => resumed = Some(executions),
            // Some of it may have been taken over: the parent starts another process.
            Err(reason) => return Message::CannotResume { reason },
        }
    }
    let report = explorer.run(&mut Progress::new(config, parent, &mut sharing, saving.as_mut()));
    if let Some(saving) = &mut saving {
        match report.verdict {
            Verdict::Complete => saving.forget(),
            // If that is where the failure was found, going on finds it soon.
            Verdict::Failed { .. } => {}
            Verdict::Incomplete { .. } => saving.save(&mut explorer, &sharing),
        }
    }
    let program = &mut explorer.system().program;
    parent.send(&Message::Sharing(sharing.report(program)));
    let labels = program.labels();
    let note = with_labels(
        both(of_shard, out_of_sight(program, strategy)),
        config,
        &report,
        &labels,
    );
    let note = both(coverage::together(program.conditions()), note);
    let all = program.suppressed_races();
    let note = both(note, suppressed(&all));
    if !all.is_empty() && program.looks_for_races() {
        let suppressions = all.into_iter().map(suppression).collect();
        parent.send(&Message::Suppressed { suppressions });
    }
    if program.explored_first() == Sequential::All {
        parent.send(&Message::SequentiallyComplete {});
    }
    // What is said of all executions cannot be said of those of a shard.
    let beyond = beyond_sequential(program, &report.verdict).filter(|_| config.shard.is_none());
    let note = both(note, beyond);
    let note = both(note, resumed.map(went_on));
    let note = both(note, never_saved(program, &report.verdict));
    let note = both(note, saving.and_then(|saving| saving.note()));
    let counts = counts(
        &report.statistics,
        explorer.system().threads().len(),
        report.statistics.time,
    );
    let word = judged(config, map, explorer.system(), strategy, report.verdict, &labels);
    if !labels.is_empty() {
        let labels = labels.into_iter().map(describe::label).collect();
        parent.send(&Message::Labels { labels });
    }
    LastWord { note, counts, ..word }.into()
}

/// The note on what is known of the sequentially consistent executions, and of the others, of an exploration that did
/// not come to its end.
fn beyond_sequential(program: &Program, verdict: &Verdict) -> Option<String> {
    let note = match (program.explored_with_values(), program.explored_first()) {
        _ if program.puts_weak_memory_off() => "weak memory has not been explored",
        (Some(values), _) => {
            &format!("with the last {values} values of each atomic to choose from, the test is complete")
        }
        (None, Sequential::All) => "under sequential consistency, the test is complete",
        (None, Sequential::AllButRaces) => "under sequential consistency, the test is complete, but for data races",
        (None, Sequential::Some) => return None,
    };
    matches!(verdict, Verdict::Incomplete { .. }).then(|| note.to_owned())
}

/// The note on why an exploration that did not come to its end had to run so many steps again.
fn never_saved(program: &Program, verdict: &Verdict) -> Option<String> {
    let function = program.hidden_import()?;
    matches!(verdict, Verdict::Incomplete { .. }).then(|| {
        format!(
            "no state was saved, so that the steps that lead to each were run again: the test imports `{function}` from \
             a library, which may keep something there that is not put back"
        )
    })
}

/// The note on data races that were suppressed.
fn suppressed(all: &[SuppressedRaces]) -> Option<String> {
    let rule = |SuppressedRaces { rule, accesses, races }: &SuppressedRaces| {
        let of = if *accesses == 1 { "access" } else { "accesses" };
        let racing = match races {
            0 => String::new(),
            1 => ", 1 of them in a race with an earlier one".to_owned(),
            races => format!(", {races} of them in a race with an earlier one"),
        };
        format!("data races of {rule} are suppressed: {accesses} {of}{racing}")
    };
    let rules: Vec<_> = all.iter().filter(|rule| rule.accesses > 0).map(rule).collect();
    (!rules.is_empty()).then(|| rules.join("; "))
}

fn suppression(SuppressedRaces { rule, accesses, races }: SuppressedRaces) -> SuppressionReport {
    SuppressionReport {
        entry: rule.to_string(),
        accesses,
        races,
    }
}

/// The note on the part of a test that is explored; or the last word, if there is nothing to explore.
fn of_shard(part: Part, sharded: bool) -> Result<Option<String>, Box<LastWord>> {
    match part {
        Part::TimeUp => {
            let reason = "the time limit was reached while the test was parted: it needs more, or no `--shard`";
            Err(Box::new(LastWord::incomplete(reason.to_owned())))
        }
        Part::Elsewhere => {
            let note = "there is nothing to explore for this shard: the test has fewer parts than there are shards";
            Err(Box::new(LastWord {
                note: Some(note.to_owned()),
                ..LastWord::just(dpor_protocol::Verdict::Complete)
            }))
        }
        Part::One { pairs: 0 } if sharded => Ok(Some("no other shard has anything to explore of this test".to_owned())),
        Part::One { .. } => Ok(None),
    }
}

/// The note, with those on labels and on preemptions. What is said of all executions cannot be said of those of a
/// shard.
fn with_labels(note: Option<String>, config: &Config, report: &Report, labels: &[Label]) -> Option<String> {
    match config.shard {
        Some(_) => both(note, coverage::shard_note(labels)),
        None => {
            let note = both(note, coverage::note(labels, &report.verdict));
            both(report.about_preemptions(), note)
        }
    }
}

/// The verdict, and the failing schedule.
fn judged(
    config: &Config,
    map: &SharedSchedule,
    system: &mut Explored,
    strategy: Strategy,
    verdict: Verdict,
    labels: &[Label],
) -> LastWord {
    let shortfall = coverage::shortfall(labels, &verdict).filter(|_| config.shard.is_none());
    match unless_unseen(&system.program, verdict) {
        Verdict::Complete => match shortfall {
            Some(shortfall) => LastWord::failed(describe::shortfall(shortfall), None),
            None => LastWord::just(dpor_protocol::Verdict::Complete),
        },
        Verdict::Incomplete { reason } => LastWord::incomplete(reason),
        Verdict::Failed { failure, .. } => failed(config, map, &system.program, strategy, &failure),
    }
}

/// The failure in which the last execution has ended, and its schedule.
pub(super) fn failed(
    config: &Config,
    map: &SharedSchedule,
    program: &Program,
    strategy: Strategy,
    failure: &Failure,
) -> LastWord {
    // The mapping holds the kinds of operation as well. What ran last is the failing schedule, also if that was a check
    // of the explorer's.
    let steps = map.snapshot().steps;
    let leak = config.options.has(ModelOption::Leaks) && FailureKind::Leak.is(failure.kind);
    let options = config.options.with(ModelOption::Leaks, leak);
    let seed = seed_of(program, &config.test, strategy, options, steps);
    let failure = describe::failure(program, failure, &mut Objects::default());
    LastWord::failed(failure, Some(seed.encode()))
}

fn went_on(executions: u64) -> String {
    match executions {
        1 => "went on after 1 execution".to_owned(),
        executions => format!("went on after {executions} executions"),
    }
}
