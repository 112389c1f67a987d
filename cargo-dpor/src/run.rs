//! The commands.

mod pages;
mod resume;
mod seeds;
mod simplify;

use crate::build::{self, Build, Test, list, named, of_seed, select};
use crate::child::{self, Order, Outcome};
use crate::cli::{
    CargoArgs, Color, Command, ConfigArgs, DiffStatesArgs, ListArgs, MessageFormat, ReplayArgs, ShowConfigArgs,
    TestArgs,
};
use crate::config::{Config, Limit, RunSettings, Settings};
use crate::error::{Error, Exit};
use crate::facades::Facades;
use crate::judgement::{Fault, fault};
use crate::report::{
    Amount, Configuration, Event, GitHub, Html, Human, Json, Junit, Listeners, Reporter, Resumed, SourceTree, Summary,
    TestResult, objects,
};
use crate::toolchain::Toolchain;
use cargo_metadata::Metadata;
use dpor_explorer::{Context, Strategy};
use dpor_protocol::{Counts, Limits, Mode, Seed, Verdict};
use resume::{Earlier, Left, Slot};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The budget of `--strategy random` if none is given.
const RANDOM_EXECUTIONS: u64 = 10_000;

/// The colours that a command is to use.
pub fn color(command: &Command) -> Color {
    command.cargo().map_or(Color::Auto, |args| args.color)
}

/// Who hears of a command, and how much people want to hear.
fn listeners(command: &Command) -> Listeners {
    let format = command.message_format();
    let mut listeners = Listeners::default();
    match format {
        MessageFormat::Human | MessageFormat::Github => {
            let amount = command.cargo().map_or(Amount::Usual, Amount::of);
            let mut human = Human::new(anstream::stdout(), amount);
            human.set_width(terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into()));
            listeners.add(human);
        }
        MessageFormat::Json => listeners.add(Json::new(std::io::stdout())),
    }
    if format == MessageFormat::Github {
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
        Command::ShowConfig(args) => show_config(args, &mut listeners),
        Command::Completions(args) => pages::completions(args),
        Command::Man(args) => pages::man(args),
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
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let run = run_settings(&config, args);
    if !run.junit.value.as_os_str().is_empty() {
        listeners.add(Junit::create(&run.junit.value)?);
    }
    if !run.report.value.as_os_str().is_empty() {
        listeners.add(Html::create(&run.report.value)?);
    }
    let build = project.build(&args.cargo, listeners)?;
    let all = list(&build.binaries)?;
    let count = all.len();
    let tests = select(all, &args.select);
    if tests.is_empty() {
        return Err(no_tests(&build, count));
    }
    let settings = |test: &Test| {
        let mut settings = config.of_test(test.package(), &test.name);
        args.explore.set(&mut settings);
        settings
    };
    let plan: Vec<_> = tests.iter().map(|test| (test, settings(test))).collect();
    for (test, settings) in &plan {
        settings
            .judge()
            .map_err(|what| Error::Usage(format!("{}: {what}", test.name)))?;
        let strategy = settings.strategy.value;
        if args.shard.is_some() && !strategy.can_be_sharded() {
            return Err(Error::Usage(format!(
                "{}: `{strategy}` cannot explore a shard",
                test.name
            )));
        }
    }
    let earlier = Earlier::of(&build.folder, &tests)?;
    let plan: Vec<_> = plan
        .into_iter()
        .map(|(test, settings)| Planned::new(test, settings, &earlier, args))
        .collect();
    listeners.event(&Event::RunStarted {
        tests: &tests,
        resumed: args.resume.then(|| Resumed::of(&plan)),
    });
    let mut summary = Summary {
        left_out: count - tests.len(),
        shard: args.shard,
        ..Summary::default()
    };
    let started = Instant::now();
    explore_all(&plan, &build, &run, args, listeners, &mut summary)?;
    summary.not_run = tests.len() - summary.total();
    summary.time = started.elapsed();
    let exit = exit(summary.fault);
    listeners.event(&Event::RunFinished {
        summary: &summary,
        exit,
    });
    Ok(exit)
}

/// The settings of a run, the command line included.
fn run_settings(config: &Config, args: &TestArgs) -> RunSettings {
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.files.set(&mut run);
    run
}

/// The exit code of a run of tests.
fn exit(fault: Option<Fault>) -> Exit {
    match fault {
        None => Exit::Complete,
        Some(Fault::Failed) => Exit::Failed,
        Some(Fault::Incomplete) => Exit::Incomplete,
        Some(Fault::Vacuous | Fault::WeakOrderings) => Exit::Doubtful,
    }
}

fn replay(args: &ReplayArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    // Before anything is built: a damaged seed is the user's first concern.
    let text = seeds::read(&args.seed);
    let seed = Seed::decode(&text)?;
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let build = project.build(&args.cargo, listeners)?;
    let test = of_seed(list(&build.binaries)?, &seed)?;
    let mut settings = config.of_test(test.package(), &test.name);
    settings.stall.command_line(args.stall);
    let text = text.trim();
    let order = Order {
        mode: Mode::Replay { seed: text.into() },
        strategy: seed.strategy.clone(),
        random_seed: 0,
        limits: Limits {
            executions: None,
            steps: None,
            seconds: None,
            preemptions: None,
            depth: u32::MAX,
        },
        spurious_wakeups: seed.spurious_wakeups,
        spurious_cas: seed.spurious_cas,
        leaks: seed.leaks,
        exact_states: false,
        executions: false,
        save: None,
        shard: None,
        stall: settings.stall.value,
    };
    let mut outcome = child::run(&test, &order, &mut |_| {})?;
    simplify::find_parting(&test, &order, &mut outcome)?;
    objects::name(&mut outcome, &SourceTree::new(build.source_folders()));
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
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let build = project.build(&args.cargo, listeners)?;
    let test = named(list(&build.binaries)?, &args.name)?;
    let mut settings = config.of_test(test.package(), &test.name);
    args.model.set(&mut settings);
    // The one that runs both orders of every conflict at once.
    settings.strategy.value = Strategy::Context(Context::CDPOR1);
    settings.preemptions.value = Limit(None);
    let order = Order {
        mode: Mode::DiffStates { pair: args.pair },
        leaks: false,
        exact_states: false,
        ..order(&settings)
    };
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
    let build = Project::find(&args.cargo)?.build(&args.cargo, listeners)?;
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

fn show_config(args: &ShowConfigArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.files.set(&mut run);
    let mut tests: Vec<(Vec<String>, Settings)> = Vec::new();
    for package in project.packages(&args.cargo)? {
        let mut settings = match &args.name {
            Some(name) => config.of_test(package, name),
            None => config.of_package(package),
        };
        args.explore.set(&mut settings);
        match tests.iter_mut().find(|(_, known)| *known == settings) {
            Some((packages, _)) => packages.push(package.into()),
            None => tests.push((vec![package.into()], settings)),
        }
    }
    listeners.event(&Event::Configured {
        configuration: &Configuration {
            config: &config,
            run,
            test: args.name.as_deref(),
            tests,
        },
    });
    Ok(Exit::Complete)
}

/// What a command works on.
struct Project {
    toolchain: Toolchain,
    metadata: Metadata,
}

impl Project {
    fn find(args: &CargoArgs) -> Result<Project, Error> {
        let toolchain = Toolchain::find()?;
        let metadata = build::metadata(args, &toolchain)?;
        Ok(Project { toolchain, metadata })
    }

    /// The project, and its configuration: what is wrong there should be known before anything is built.
    fn with_config(cargo: &CargoArgs, config: &ConfigArgs) -> Result<(Project, Config), Error> {
        let project = Project::find(cargo)?;
        let config = Config::load(&project.metadata, config.config_file.as_deref())?;
        Ok((project, config))
    }

    /// The names of the packages that are asked for; all of them, if none is.
    fn packages(&self, args: &CargoArgs) -> Result<Vec<&str>, Error> {
        let all: Vec<&str> = self
            .metadata
            .packages
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        if let Some(unknown) = args.package.iter().find(|name| !all.contains(&name.as_str())) {
            return Err(Error::Usage(format!(
                "there is no package `{unknown}` in the workspace, but {}",
                all.join(", ")
            )));
        }
        let asked = |name: &&str| args.package.is_empty() || args.package.iter().any(|own| own == name);
        Ok(all.into_iter().filter(asked).collect())
    }

    /// Builds the facades and the tests.
    fn build(self, args: &CargoArgs, listeners: &mut Listeners) -> Result<Build, Error> {
        let Project { toolchain, metadata } = self;
        let facades = Facades::ensure(&toolchain, &args.network(), || listeners.event(&Event::FacadesBuilding))?;
        let build = build::build(args, &toolchain, &facades, metadata)?;
        listeners.event(&Event::Built {
            folders: &build.source_folders(),
        });
        Ok(build)
    }
}

/// What a test process is to do under these settings.
fn order(settings: &Settings) -> Order {
    let mut limits = Limits {
        executions: settings.max_executions.value.0,
        steps: settings.max_steps.value.0,
        seconds: settings.max_time.value.0.map(|time| time.as_secs_f64()),
        preemptions: settings.preemptions.value.0,
        depth: settings.max_depth.value,
    };
    let boundless = limits.executions.is_none() && limits.steps.is_none() && limits.seconds.is_none();
    if boundless && settings.strategy.value.is_random() {
        limits.executions = Some(RANDOM_EXECUTIONS);
    }
    Order {
        mode: Mode::Explore,
        strategy: settings.strategy.value.to_string(),
        random_seed: settings.seed.value,
        limits,
        spurious_wakeups: settings.spurious_wakeups.value,
        spurious_cas: settings.spurious_cas.value,
        leaks: settings.leaks.value,
        exact_states: settings.exact_states.value,
        executions: false,
        save: None,
        shard: None,
        stall: settings.stall.value,
    }
}

/// A test that is to be explored.
struct Planned<'a> {
    test: &'a Test,
    settings: Settings,
    slot: Slot,
    /// What is left of an earlier exploration, if that is to be used.
    left: Left,
}

impl<'a> Planned<'a> {
    fn new(test: &'a Test, settings: Settings, earlier: &Earlier, args: &TestArgs) -> Planned<'a> {
        let order = Order {
            shard: args.shard,
            ..order(&settings)
        };
        let slot = earlier.slot(test, &order);
        let left = if args.resume { slot.left() } else { Left::Nothing };
        // What is not gone on with now is of no use to anyone: this run will be the one that was interrupted.
        if matches!(left, Left::Nothing | Left::Void(_)) {
            slot.clear();
        }
        Planned {
            test,
            settings,
            slot,
            left,
        }
    }
}

impl Resumed {
    fn of(plan: &[Planned<'_>]) -> Resumed {
        let number = |left: Left| plan.iter().filter(|planned| planned.left == left).count();
        Resumed {
            finished: number(Left::Finished),
            interrupted: number(Left::Interrupted),
        }
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
    plan: &[Planned<'_>],
    build: &Build,
    run: &RunSettings,
    args: &TestArgs,
    reporter: &mut dyn Reporter,
    summary: &mut Summary,
) -> Result<(), Error> {
    let queue = Mutex::new((0..plan.len()).collect::<VecDeque<_>>());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let stop = || queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let (sender, news) = channel();
    let sources = SourceTree::new(build.source_folders());
    let told = !run.report.value.as_os_str().is_empty();
    std::thread::scope(|scope| {
        for _ in 0..run.test_jobs.value.0 {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                while let Some(index) = next() {
                    let result = explore(&plan[index], index, told, &build.folder, args, &sender);
                    // The receiver lives until all senders are gone.
                    let _ = sender.send(News::Finished(index, Box::new(result)));
                }
            });
        }
        drop(sender);
        let mut first_error = Ok(());
        for item in news {
            match item {
                News::Started(index) => reporter.event(&Event::TestStarted { test: plan[index].test }),
                News::Progress(index, counts) => {
                    reporter.event(&Event::TestProgress {
                        test: plan[index].test,
                        counts: &counts,
                    });
                }
                News::Replaying(index) => reporter.event(&Event::Replaying { test: plan[index].test }),
                News::Finished(index, result) => match *result {
                    Ok(mut result) => {
                        if let Some(replay) = &mut result.replay {
                            objects::name(replay, &sources);
                        }
                        summary.add(plan[index].test, &result);
                        if result.outcome.verdict == Verdict::Failed && run.fail_fast.value {
                            stop();
                        }
                        reporter.event(&Event::TestFinished {
                            test: plan[index].test,
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
    planned: &Planned<'_>,
    index: usize,
    executions: bool,
    folder: &Path,
    args: &TestArgs,
    news: &Sender<News>,
) -> Result<TestResult, Error> {
    // The receiver lives until all senders are gone.
    let tell = |item| drop(news.send(item));
    tell(News::Started(index));
    let Planned { test, settings, .. } = planned;
    let order = Order {
        executions,
        shard: args.shard,
        ..order(settings)
    };
    let outcome = outcome(planned, &order, &mut |counts| tell(News::Progress(index, counts)))?;
    let fault = fault(&outcome, settings);
    if outcome.seed.is_none() {
        return Ok(TestResult {
            fault,
            outcome,
            replay: None,
            again: None,
        });
    }
    tell(News::Replaying(index));
    let (mut outcome, replay) = simplify::replayed(test, &order, settings.simplify.value, outcome)?;
    seeds::keep(&mut outcome, folder)?;
    Ok(TestResult {
        fault,
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

/// What comes of a test: of its exploration from the start, or from where it was interrupted; or what has come of it before.
fn outcome(planned: &Planned<'_>, order: &Order, progress: &mut dyn FnMut(Counts)) -> Result<Outcome, Error> {
    let Planned { test, slot, left, .. } = planned;
    if *left == Left::Finished
        && let Some(outcome) = slot.outcome()
    {
        return Ok(outcome);
    }
    let order = Order {
        save: Some(slot.save(*left == Left::Interrupted)),
        ..order.clone()
    };
    let outcome = child::run(test, &order, progress)?;
    slot.keep(&outcome);
    Ok(match left {
        Left::Void(change) => outcome.with_note(format!("explored from the start: {change}")),
        _ => outcome,
    })
}
