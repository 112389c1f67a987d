//! The commands.

mod init;
mod outputs;
mod overrides;
mod pages;
mod resume;
mod seeds;
mod simplify;

use crate::build::{self, Build, Listing, Selection, Test, list, named, of_seed};
use crate::child::{self, Order, Outcome};
use crate::cli::{
    CargoArgs, Color, Command, ConfigArgs, DiffStatesArgs, MaxFail, MessageFormat, NoTests, ReplayArgs, SelectArgs,
    ShowConfigArgs, TestArgs,
};
use crate::config::{Config, Limit, RunSettings, Settings};
use crate::error::{Error, Exit};
use crate::facades::Facades;
use crate::interrupt::{self, Signal};
use crate::judgement::{Fault, fault};
use crate::report::{
    Amount, Configuration, Event, GitHub, Html, Human, Json, Junit, Listeners, Reporter, Resumed, SourceTree, Summary,
    TestResult, objects, same_failure,
};
use crate::toolchain::Toolchain;
use cargo_metadata::Metadata;
use dpor_explorer::{Context, Strategy};
use dpor_protocol::{Counts, Limits, Mode, Seed, Verdict};
use owo_colors::OwoColorize;
use resume::{Earlier, Left, Slot};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Default budget of `--strategy random`.
const RANDOM_EXECUTIONS: u64 = 10_000;

/// The colours for a command.
pub fn color(command: &Command) -> Color {
    command.cargo().map_or(Color::Auto, |args| args.color)
}

/// The receivers of a command's events, according to its flags.
fn listeners(command: &Command) -> Listeners {
    let format = command.message_format();
    let mut listeners = Listeners::default();
    match format {
        MessageFormat::Human | MessageFormat::Github => {
            let amount = command.cargo().map_or(Amount::Usual, Amount::of);
            let mut human = Human::new(anstream::stdout(), amount);
            human.set_width(|| terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into()));
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

/// Runs a command; returns its exit code.
pub fn run(command: &Command) -> Exit {
    let mut listeners = listeners(command);
    let result = match command {
        Command::Test(args) if args.list => print_list(&args.cargo, &args.select, &mut listeners),
        Command::Test(args) if args.no_run => build_only(&args.cargo, &mut listeners),
        Command::Test(args) => test(args, &mut listeners),
        Command::Replay(args) => replay(args, &mut listeners),
        Command::DiffStates(args) => diff_states(args, &mut listeners),
        Command::List(args) => print_list(&args.cargo, &args.select, &mut listeners),
        Command::ShowConfig(args) => show_config(args, &mut listeners),
        Command::Init(args) => init::init(args),
        Command::Completions(args) => pages::completions(args),
        Command::Man(args) => pages::man(args),
    };
    let interrupted = interrupt::received();
    match (&result, interrupted) {
        (_, Some(signal)) => {
            interrupt::end_descendants();
            let resumable = result.is_ok() && matches!(command, Command::Test(_));
            listeners.event(&Event::Interrupted { signal, resumable });
        }
        (Err(error), None) => listeners.event(&Event::Stopped { error }),
        (Ok(_), None) => {}
    }
    match (result, listeners.close()) {
        (Err(error), _) => interrupted.map_or(error.exit(), Signal::exit),
        (Ok(exit), Ok(())) => interrupted.map_or(exit, Signal::exit),
        (Ok(_), Err(error)) => {
            listeners.event(&Event::Stopped { error: &error });
            error.exit()
        }
    }
}

fn test(args: &TestArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let mut run = run_settings(&config, args);
    if args.open.open && run.report.value.as_os_str().is_empty() {
        run.report.command_line(Some(project.report_folder(&args.cargo)));
    }
    if !run.junit.value.as_os_str().is_empty() {
        listeners.add(Junit::create(&run.junit.value)?);
    }
    if !run.report.value.as_os_str().is_empty() {
        listeners.add(Html::create(&run.report.value, args.open.open)?);
    }
    let packages = overrides::Packages::of(&project.metadata);
    let build = project.build(&args.cargo, listeners)?;
    let Listing { tests: all, broken } = list(&build.binaries)?;
    packages.warn(&config, &args.cargo, &build, &all, listeners);
    let Selection { tests, left_out, .. } = match selected(&build, all, &args.select) {
        Ok(selection) => selection,
        Err(Error::NoTests(why)) if args.no_tests != NoTests::Fail => {
            if args.no_tests == NoTests::Warn {
                warn(&format!("no tests to run: {why}"));
            }
            Selection::default()
        }
        Err(error) => return Err(error),
    };
    let alone = tests.len() == 1 && !args.select.names.filters.is_empty();
    let settings = |test: &Test| {
        let mut settings = config.of_test(test.package(), &test.name);
        args.explore.set(&mut settings);
        settings.settle(alone);
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
        left_out,
        shard: args.shard,
        ..Summary::default()
    };
    let started = Instant::now();
    explore_all(&plan, &build, &run, args, listeners, &mut summary)?;
    summary.not_run = tests.len() - summary.total();
    summary.time = started.elapsed();
    let exit = interrupt::received().map_or_else(|| exit(summary.fault, broken), Signal::exit);
    listeners.event(&Event::RunFinished {
        summary: &summary,
        exit,
    });
    Ok(exit)
}

/// The settings of a run, including the command line.
fn run_settings(config: &Config, args: &TestArgs) -> RunSettings {
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.files.set(&mut run);
    run
}

/// The exit code of a run of tests; `broken` says that the tests of some target could not be listed.
fn exit(fault: Option<Fault>, broken: bool) -> Exit {
    match fault {
        Some(Fault::Failed) => Exit::Failed,
        _ if broken => Exit::Internal,
        None => Exit::Complete,
        Some(Fault::Incomplete) => Exit::Incomplete,
        Some(Fault::Vacuous | Fault::WeakOrderings) => Exit::Doubtful,
    }
}

fn replay(args: &ReplayArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    // Before anything is built: a damaged seed is the user's first concern.
    let text = seeds::read(&args.seed);
    let seed = Seed::decode(&text)?;
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let folder = args
        .html
        .clone()
        .or_else(|| args.open.open.then(|| project.report_folder(&args.cargo)));
    if let Some(folder) = &folder {
        listeners.add(Html::create(folder, args.open.open)?);
    }
    let build = project.build(&args.cargo, listeners)?;
    let test = of_seed(list(&build.binaries)?.tests, &seed)?;
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
        printed: false,
        save: None,
        shard: None,
        stall: settings.stall.value,
    };
    let mut outcome = child::run(&test, &order, &mut |_| {})?;
    simplify::find_parting(&test, &order, &mut outcome)?;
    outputs::keep(&mut outcome, &test.id(), &build.folder)?;
    objects::name(&mut outcome, &SourceTree::new(build.source_folders()));
    listeners.event(&Event::Replayed {
        test: &test,
        seed: args.seed.trim(),
        outcome: &outcome,
        again: &again(args.seed.trim(), &test, &args.cargo),
    });
    Ok(replay_exit(&outcome))
}

/// The exit code of a replay.
fn replay_exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        _ if outcome.account.diverged.is_some() => Exit::Usage,
        Verdict::Failed => Exit::Failed,
        Verdict::Complete => Exit::Complete,
        // It has run its steps, and the last one takes too long.
        Verdict::Incomplete if outcome.seed.is_some() => Exit::Incomplete,
        Verdict::Incomplete => Exit::Usage,
    }
}

fn diff_states(args: &DiffStatesArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let build = project.build(&args.cargo, listeners)?;
    let test = named(list(&build.binaries)?.tests, &args.name)?;
    let mut settings = config.of_test(test.package(), &test.name);
    args.model.set(&mut settings);
    settings.settle(true);
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
    outputs::keep(&mut outcome, &test.id(), &build.folder)?;
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

fn print_list(cargo: &CargoArgs, select: &SelectArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let build = Project::find(cargo)?.build(cargo, listeners)?;
    let Listing { tests: all, broken } = list(&build.binaries)?;
    let tests = selected(&build, all, select)?.tests;
    listeners.event(&Event::Listed { tests: &tests });
    Ok(exit(None, broken))
}

fn build_only(args: &CargoArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let build = Project::find(args)?.build(args, listeners)?;
    listeners.event(&Event::Executables {
        binaries: &build.binaries,
    });
    Ok(Exit::Complete)
}

/// The selected tests among those that were built.
fn selected(build: &Build, all: Vec<Test>, args: &SelectArgs) -> Result<Selection, Error> {
    if all.is_empty() {
        return Err(Error::NoTests(match build.binaries.len() {
            0 => "no target with tests was built".into(),
            _ => "the targets that were built have none".into(),
        }));
    }
    let mut selection = build::select(all, &args.names);
    match selection.none.take() {
        Some(why) => Err(Error::NoTests(why)),
        None => {
            selection.idle.iter().for_each(|idle| warn(idle));
            Ok(selection)
        }
    }
}

fn warn(text: &str) {
    anstream::eprintln!("{} {text}", "warning:".yellow().bold());
}

fn show_config(args: &ShowConfigArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    overrides::Packages::of(&project.metadata).warn_of_names(&config, listeners);
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.files.set(&mut run);
    let mut tests: Vec<(Vec<String>, Settings)> = Vec::new();
    for package in project.packages(&args.cargo) {
        let mut settings = match &args.name {
            Some(name) => config.of_test(package, name),
            None => config.of_package(package),
        };
        args.explore.set(&mut settings);
        settings.settle(false);
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

/// The project on which a command works.
struct Project {
    toolchain: Toolchain,
    metadata: Metadata,
}

impl Project {
    fn find(args: &CargoArgs) -> Result<Project, Error> {
        let toolchain = Toolchain::find()?;
        let metadata = build::metadata(args, &toolchain)?;
        build::check_names(args, &metadata)?;
        Ok(Project { toolchain, metadata })
    }

    /// Loads the project and its configuration: errors there should be reported before anything is built.
    fn with_config(cargo: &CargoArgs, config: &ConfigArgs) -> Result<(Project, Config), Error> {
        let project = Project::find(cargo)?;
        let (file, profile) = (config.config_file.as_deref(), config.config_profile.as_deref());
        let config = Config::load(&project.metadata, file, profile)?;
        Ok((project, config))
    }

    /// The default folder of pages that are to be opened.
    fn report_folder(&self, args: &CargoArgs) -> PathBuf {
        build::folder(args, &self.metadata).join("report")
    }

    /// The names of the selected packages; all of them, if none is selected.
    fn packages(&self, args: &CargoArgs) -> impl Iterator<Item = &str> {
        let names = self.metadata.packages.iter().map(|package| package.name.as_str());
        names.filter(|name| args.package.is_empty() || args.package.iter().any(|own| own == name))
    }

    /// Builds the facades and the tests.
    fn build(self, args: &CargoArgs, listeners: &mut Listeners) -> Result<Build, Error> {
        let Project { toolchain, metadata } = self;
        // What cannot be built should be known before anything is.
        let wishes = build::Wishes::read(args, &toolchain, &metadata)?;
        let facades = Facades::ensure(&toolchain, &args.network(), args.quiet, || {
            listeners.event(&Event::FacadesBuilding)
        })?;
        let build = build::build(args, &toolchain, &facades, wishes, metadata)?;
        listeners.event(&Event::Built {
            folders: &build.source_folders(),
        });
        Ok(build)
    }
}

/// The task of a test process under these settings.
fn order(settings: &Settings) -> Order {
    let mut limits = Limits {
        executions: settings.max_executions.value.0,
        steps: settings.max_steps.value.0,
        seconds: settings.max_time.value.0.map(|time| time.as_secs_f64()),
        preemptions: settings.preemptions.value.0,
        depth: settings.max_depth.value,
    };
    let timed = limits.seconds.is_some() && !settings.has_default_time();
    let boundless = limits.executions.is_none() && limits.steps.is_none() && !timed;
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
        printed: false,
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
    /// What is left of an earlier exploration, if it is to be used.
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

/// A worker's news of the test with this index.
enum News {
    Started(usize),
    Progress(usize, Counts),
    Replaying(usize),
    Finished(usize, Box<Result<TestResult, Error>>),
}

/// Explores tests on as many threads as requested. Each takes the next test; the reporter stays on this thread.
fn explore_all(
    plan: &[Planned<'_>],
    build: &Build,
    run: &RunSettings,
    args: &TestArgs,
    reporter: &mut dyn Reporter,
    summary: &mut Summary,
) -> Result<(), Error> {
    let queue = Mutex::new((0..plan.len()).collect::<VecDeque<_>>());
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front().filter(|_| interrupt::received().is_none())
    };
    let stop = || queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let (most, failed) = (most_failures(run, args), AtomicUsize::new(0));
    let (sender, news) = channel();
    let sources = SourceTree::new(build.source_folders());
    let told = !run.report.value.as_os_str().is_empty();
    std::thread::scope(|scope| {
        for _ in 0..run.test_jobs.value.0 {
            let sender = sender.clone();
            let (next, stop, failed) = (&next, &stop, &failed);
            scope.spawn(move || {
                while let Some(index) = next() {
                    let result = explore(&plan[index], index, told, &build.folder, args, &sender);
                    let has_failed = |result: &TestResult| result.outcome.verdict == Verdict::Failed;
                    if result.as_ref().is_ok_and(has_failed) && failed.fetch_add(1, Ordering::SeqCst) + 1 >= most {
                        stop();
                    }
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

/// Number of failing tests after which no other test is started.
fn most_failures(run: &RunSettings, args: &TestArgs) -> usize {
    match args.max_fail {
        Some(MaxFail(most)) => most.unwrap_or(usize::MAX),
        None if run.fail_fast.value => 1,
        None => usize::MAX,
    }
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
        printed: args.no_capture,
        shard: args.shard,
        ..order(settings)
    };
    let outcome = outcome(planned, &order, &mut |counts| tell(News::Progress(index, counts)))?;
    let mut outcome = match default_limit(&outcome, settings) {
        Some(note) => outcome.with_note(note),
        None => outcome,
    };
    let fault = fault(&outcome, settings);
    let mut replay = None;
    // A schedule that did not come to its end would take as long once more.
    if outcome.seed.is_some() && outcome.verdict == Verdict::Failed {
        tell(News::Replaying(index));
        let (simplified, run) = simplify::replayed(test, &order, settings.simplify.value, outcome)?;
        outcome = simplified;
        // It says nothing if it was ended by a signal.
        replay = Some(run).filter(|run| interrupt::received().is_none() || same_failure(&outcome, run));
    }
    seeds::keep(&mut outcome, folder)?;
    // Only one of the two is shown.
    match &mut replay {
        Some(run) if same_failure(&outcome, run) => outputs::keep(run, &test.id(), folder)?,
        _ => outputs::keep(&mut outcome, &test.id(), folder)?,
    }
    Ok(TestResult {
        fault,
        again: outcome.seed.as_ref().map(|seed| again(seed, test, &args.cargo)),
        outcome,
        replay,
    })
}

/// The note for a test that has reached the default limit.
fn default_limit(outcome: &Outcome, settings: &Settings) -> Option<String> {
    let limit = settings.max_time.value.0.filter(|_| settings.has_default_time())?;
    let met = outcome.verdict == Verdict::Incomplete && outcome.time >= limit && interrupt::received().is_none();
    met.then(|| {
        format!(
            "{limit:?} is the default in a run of several tests: `--max-time 10m --resume` goes on, `--max-time none` \
             lifts it, max-time in dpor.toml sets another one"
        )
    })
}

/// The command that replays a seed, with this run's flags.
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

/// The outcome of a test: of its exploration from the start, or from where it was interrupted; or an earlier outcome.
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
