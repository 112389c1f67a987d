//! `cargo dpor test`: the plan of a run, and its summary.

use crate::build::{Build, Listing, Selection, Test, list};
use crate::cli::{NoTests, TestArgs};
use crate::config::{ConfigFiles, RunSettings};
use crate::error::{Error, Exit};
use crate::interrupt::{self, Signal};
use crate::judgement::Fault;
use crate::report::{Event, Html, Junit, Listeners, Reporter, Resumed, Summary};
use crate::run::explore::explore_all;
use crate::run::list::selected;
use crate::run::overrides;
use crate::run::plan::Planned;
use crate::run::project::{Project, warn};
use crate::run::resume::{Earlier, Left};
use crate::unseen::Unseen;
use dpor_protocol::ModelOption;
use std::time::Instant;

pub fn test(args: &TestArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
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
    let variant = project.variant(&config, &args.cargo, Some(&args.explore));
    let packages = overrides::Packages::of(&project.metadata);
    let build = project.build(&args.cargo, variant, listeners)?;
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
    tell_unseen(&plan, &build, listeners);
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
    let suppressions = explore_all(&plan, &build, &run, args, listeners, &mut summary)?;
    summary.not_run = tests.len() - summary.total();
    summary.time = started.elapsed();
    if summary.not_run == 0 {
        for message in suppressions.unused(summary.left_out) {
            listeners.event(&Event::Warning { message: &message });
        }
    }
    let exit = interrupt::received().map_or_else(|| exit(summary.fault, broken), Signal::exit);
    listeners.event(&Event::RunFinished {
        summary: &summary,
        exit,
    });
    Ok(exit)
}

/// Tells which code is not seen of each binary with tests that look for data races.
fn tell_unseen(plan: &[Planned<'_>], build: &Build, listeners: &mut Listeners) {
    let looks = plan
        .iter()
        .filter(|planned| planned.settings.options[ModelOption::DataRaces].value);
    let mut binaries: Vec<_> = looks.map(|planned| &planned.test.binary).collect();
    binaries.dedup_by_key(|binary| &binary.path);
    for binary in binaries {
        match Unseen::read(&binary.path, &build.compiled) {
            Ok(unseen) if unseen.is_empty() => {}
            Ok(unseen) => listeners.event(&Event::Unseen {
                binary,
                unseen: &unseen,
            }),
            Err(error) => {
                let message = format!("cannot tell which code of {} is not seen: {error}", binary.name);
                listeners.event(&Event::Warning { message: &message });
            }
        }
    }
}

/// The settings of a run, including the command line.
fn run_settings(config: &ConfigFiles, args: &TestArgs) -> RunSettings {
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.cargo.set(&mut run);
    args.files.set(&mut run);
    run
}

/// The exit code of a run of tests; `broken` says that the tests of some target could not be listed.
pub fn exit(fault: Option<Fault>, broken: bool) -> Exit {
    match fault {
        Some(Fault::Failed) => Exit::Failed,
        _ if broken => Exit::Internal,
        None => Exit::Complete,
        Some(Fault::Incomplete) => Exit::Incomplete,
        Some(Fault::Vacuous | Fault::WeakOrderings) => Exit::Doubtful,
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
