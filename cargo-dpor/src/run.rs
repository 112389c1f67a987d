//! The commands.

mod seeds;
mod simplify;

use crate::build::{self, Build, Test, list, named, of_seed, select};
use crate::child::{self, Order, Outcome};
use crate::cli::{
    CargoArgs, Color, Command, DiffStatesArgs, ExploreArgs, ListArgs, MessageFormat, ModelArgs, ReplayArgs, ReportArgs,
    TestArgs,
};
use crate::error::{Error, Exit};
use crate::facades::Facades;
use crate::report::{Amount, Event, GitHub, Human, Json, Junit, Listeners, Reporter, Summary, TestResult};
use crate::toolchain::Toolchain;
use dpor_explorer::{Context, Strategy};
use dpor_protocol::{Counts, Limits, Mode, Seed, Verdict};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The budget of `--strategy random` if none is given.
const RANDOM_EXECUTIONS: u64 = 10_000;

/// The colours that a command is to use.
pub fn color(command: &Command) -> Color {
    match command {
        Command::Test(args) => args.cargo.color,
        Command::Replay(args) => args.cargo.color,
        Command::DiffStates(args) => args.cargo.color,
        Command::List(args) => args.cargo.color,
    }
}

/// Who hears of a command, and how much people want to hear.
fn listeners(command: &Command) -> Listeners {
    let (report, cargo) = match command {
        Command::Test(args) => (&args.report, &args.cargo),
        Command::Replay(args) => (&args.report, &args.cargo),
        Command::DiffStates(args) => (&args.report, &args.cargo),
        Command::List(args) => (&args.report, &args.cargo),
    };
    let ReportArgs { message_format } = *report;
    let mut listeners = Listeners::default();
    match message_format {
        MessageFormat::Human | MessageFormat::Github => {
            listeners.add(Human::new(anstream::stdout(), Amount::of(cargo)));
        }
        MessageFormat::Json => listeners.add(Json::new(std::io::stdout())),
    }
    if message_format == MessageFormat::Github {
        let repository = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
        listeners.add(GitHub::new(std::io::stdout(), repository));
    }
    listeners
}

/// Runs a command to its exit code.
pub fn run(command: &Command) -> Exit {
    let mut listeners = listeners(command);
    let result = match command {
        Command::Test(args) => test(args, &mut listeners),
        Command::Replay(args) => replay(args, &mut listeners),
        Command::DiffStates(args) => diff_states(args, &mut listeners),
        Command::List(args) => print_list(args, &mut listeners),
    };
    if let Err(error) = &result {
        listeners.event(&Event::Stopped { error });
    }
    match (result, listeners.close()) {
        (Ok(exit), Ok(())) => exit,
        (Err(error), _) => error.exit(),
        (Ok(_), Err(error)) => {
            listeners.event(&Event::Stopped { error: &error });
            error.exit()
        }
    }
}

fn test(args: &TestArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    if let Some(path) = &args.junit {
        listeners.add(Junit::create(path)?);
    }
    let build = prepare(&args.cargo, listeners)?;
    let all = list(&build.binaries)?;
    let count = all.len();
    let tests = select(all, &args.select);
    if tests.is_empty() {
        return Err(no_tests(&build, count));
    }
    listeners.event(&Event::RunStarted { tests: &tests });
    let order = order(&args.explore);
    let mut summary = Summary {
        left_out: count - tests.len(),
        ..Summary::default()
    };
    let started = Instant::now();
    explore_all(&tests, &build.folder, &order, args, listeners, &mut summary)?;
    summary.not_run = tests.len() - summary.complete - summary.failed - summary.incomplete;
    summary.time = started.elapsed();
    let exit = exit(&summary);
    listeners.event(&Event::RunFinished {
        summary: &summary,
        exit,
    });
    Ok(exit)
}

/// The exit code of a run of tests.
fn exit(summary: &Summary) -> Exit {
    match (summary.failed, summary.incomplete) {
        (0, 0) => Exit::Complete,
        (0, _) => Exit::Incomplete,
        _ => Exit::Failed,
    }
}

fn replay(args: &ReplayArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    // Before anything is built: a damaged seed is the user's first concern.
    let text = seeds::read(&args.seed);
    let seed = Seed::decode(&text)?;
    let build = prepare(&args.cargo, listeners)?;
    let test = of_seed(list(&build.binaries)?, &seed)?;
    let text = text.trim();
    let order = Order {
        mode: Mode::Replay { seed: text.into() },
        strategy: seed.strategy.clone(),
        random_seed: 0,
        limits: Limits {
            executions: None,
            steps: None,
            seconds: None,
            depth: u32::MAX,
        },
        spurious_wakeups: seed.spurious_wakeups,
        spurious_cas: seed.spurious_cas,
        leaks: seed.leaks,
        exact_states: false,
        stall: args.stall,
    };
    let mut outcome = child::run(&test, &order, &mut |_| {})?;
    simplify::find_parting(&test, &order, &mut outcome)?;
    listeners.event(&Event::Replayed {
        test: &test,
        seed: args.seed.trim(),
        outcome: &outcome,
    });
    Ok(replay_exit(&outcome))
}

/// The exit code of a replay.
fn replay_exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        _ if outcome.account.diverged.is_some() => Exit::Usage,
        Verdict::Failed => Exit::Failed,
        Verdict::Complete => Exit::Complete,
        Verdict::Incomplete => Exit::Usage,
    }
}

fn diff_states(args: &DiffStatesArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let build = prepare(&args.cargo, listeners)?;
    let test = named(list(&build.binaries)?, &args.name)?;
    // The one that runs both orders of every conflict at once.
    let strategy = Strategy::Context(Context::CDPOR1);
    let order = model_order(&args.model, Mode::DiffStates { pair: args.pair }, strategy);
    let mut outcome = child::run(&test, &order, &mut |_| {})?;
    seeds::keep(&mut outcome, &build.folder)?;
    let again = outcome.seed.as_ref().map(|seed| again(seed, &test, &args.cargo));
    listeners.event(&Event::Compared {
        test: &test,
        number: args.pair,
        outcome: &outcome,
        again: again.as_deref(),
    });
    Ok(diff_states_exit(&outcome))
}

/// The exit code of a search for a pair of orders.
fn diff_states_exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        _ if outcome.pair.is_some() => Exit::Complete,
        Verdict::Failed => Exit::Failed,
        Verdict::Incomplete => Exit::Incomplete,
        // There are some, but fewer than the number of the one that was asked for.
        Verdict::Complete if outcome.counts.equal < outcome.counts.compared => Exit::Usage,
        Verdict::Complete => Exit::Complete,
    }
}

fn print_list(args: &ListArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let build = prepare(&args.cargo, listeners)?;
    let all = list(&build.binaries)?;
    let count = all.len();
    let tests = select(all, &args.select);
    if tests.is_empty() {
        return Err(no_tests(&build, count));
    }
    listeners.event(&Event::Listed { tests: &tests });
    Ok(Exit::Complete)
}

fn no_tests(build: &Build, count: usize) -> Error {
    Error::NoTests(match (build.binaries.len(), count) {
        (0, _) => "no target with tests was built".into(),
        (_, 0) => "the targets that were built have none".into(),
        (_, count) => format!("none of the {count} tests that there are was asked for (ignored ones only on demand)"),
    })
}

/// Builds the facades and the tests.
fn prepare(args: &CargoArgs, listeners: &mut Listeners) -> Result<Build, Error> {
    let toolchain = Toolchain::find()?;
    let facades = Facades::ensure(&toolchain, &args.network(), || listeners.event(&Event::FacadesBuilding))?;
    let build = build::build(args, &toolchain, &facades)?;
    let mut folders = vec![build.workspace_root.clone()];
    folders.extend(build.binaries.iter().map(|binary| binary.folder.clone()));
    listeners.event(&Event::Built { folders: &folders });
    Ok(build)
}

fn order(args: &ExploreArgs) -> Order {
    let ModelArgs {
        max_executions,
        max_steps,
        max_time,
        ..
    } = args.model;
    let boundless = max_executions.is_none() && max_steps.is_none() && max_time.is_none();
    let random = args.strategy.is_random() && boundless;
    let mut order = model_order(&args.model, Mode::Explore, args.strategy);
    order.random_seed = args.seed;
    order.leaks = args.leaks;
    order.exact_states = args.exact_states;
    if random {
        order.limits.executions = Some(RANDOM_EXECUTIONS);
    }
    order
}

fn model_order(args: &ModelArgs, mode: Mode, strategy: Strategy) -> Order {
    Order {
        mode,
        strategy: strategy.to_string(),
        random_seed: 0,
        limits: Limits {
            executions: args.max_executions,
            steps: args.max_steps,
            seconds: args.max_time.map(|time| time.as_secs_f64()),
            depth: args.max_depth,
        },
        spurious_wakeups: args.spurious_wakeups,
        spurious_cas: args.spurious_cas,
        leaks: false,
        exact_states: false,
        stall: args.stall,
    }
}

/// What a worker tells of the test with this index.
enum News {
    Started(usize),
    Progress(usize, Counts),
    Replaying(usize),
    Finished(usize, Box<Result<TestResult, Error>>),
}

/// Explores tests on as many threads as the user wants. Each takes the next test; the reporter stays on this one.
fn explore_all(
    tests: &[Test],
    folder: &Path,
    order: &Order,
    args: &TestArgs,
    reporter: &mut dyn Reporter,
    summary: &mut Summary,
) -> Result<(), Error> {
    let queue = Mutex::new((0..tests.len()).collect::<VecDeque<_>>());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let stop = || queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let (sender, news) = channel();
    std::thread::scope(|scope| {
        for _ in 0..args.explore.test_jobs {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                while let Some(index) = next() {
                    let result = explore(&tests[index], index, folder, order, args, &sender);
                    // The receiver lives until all senders are gone.
                    let _ = sender.send(News::Finished(index, Box::new(result)));
                }
            });
        }
        drop(sender);
        let mut first_error = Ok(());
        for item in news {
            match item {
                News::Started(index) => reporter.event(&Event::TestStarted { test: &tests[index] }),
                News::Progress(index, counts) => {
                    reporter.event(&Event::TestProgress {
                        test: &tests[index],
                        counts: &counts,
                    });
                }
                News::Replaying(index) => reporter.event(&Event::Replaying { test: &tests[index] }),
                News::Finished(index, result) => match *result {
                    Ok(result) => {
                        summary.add(result.outcome.verdict);
                        if result.outcome.verdict == Verdict::Failed && args.explore.fail_fast {
                            stop();
                        }
                        reporter.event(&Event::TestFinished {
                            test: &tests[index],
                            result: &result,
                        });
                    }
                    Err(error) => {
                        stop();
                        first_error = first_error.and(Err(error));
                    }
                },
            }
        }
        first_error
    })
}

/// Explores one test; runs its failing schedule once more, step by step.
fn explore(
    test: &Test,
    index: usize,
    folder: &Path,
    order: &Order,
    args: &TestArgs,
    news: &Sender<News>,
) -> Result<TestResult, Error> {
    // The receiver lives until all senders are gone.
    let tell = |item| drop(news.send(item));
    tell(News::Started(index));
    let outcome = child::run(test, order, &mut |counts| tell(News::Progress(index, counts)))?;
    if outcome.seed.is_none() {
        return Ok(TestResult {
            outcome,
            replay: None,
            again: None,
        });
    }
    tell(News::Replaying(index));
    let (mut outcome, replay) = simplify::replayed(test, order, args.explore.simplify, outcome)?;
    seeds::keep(&mut outcome, folder)?;
    Ok(TestResult {
        again: outcome.seed.as_ref().map(|seed| again(seed, test, &args.cargo)),
        outcome,
        replay: Some(replay),
    })
}

/// The command that replays a seed: with the flags that this run had.
fn again(seed: &str, test: &Test, args: &CargoArgs) -> String {
    let mut line = format!("cargo dpor replay {seed}");
    let mut flags = args.clone();
    if flags.workspace {
        // One package is enough, and faster to build.
        let package = test.binary.id.split('/').next().unwrap_or_default();
        flags = CargoArgs {
            workspace: false,
            exclude: vec![],
            package: vec![package.into()],
            ..flags
        };
    }
    for argument in flags.selection() {
        let argument = argument.to_string_lossy();
        let plain = argument
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./=,@:+".contains(c));
        line.push(' ');
        line.push_str(&if plain {
            argument.into_owned()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        });
    }
    line
}

#[cfg(test)]
mod tests;
