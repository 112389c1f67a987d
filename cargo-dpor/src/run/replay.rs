//! `cargo dpor replay`.

use crate::build::{Variant, list, of_seed};
use crate::child::{self, Order};
use crate::cli::ReplayArgs;
use crate::error::{Error, Exit};
use crate::outcome::Outcome;
use crate::report::{Event, Html, Listeners, Reporter, SourceTree, objects};
use crate::run::order::again;
use crate::run::project::Project;
use crate::run::{outputs, seeds, simplify};
use dpor_protocol::{Limits, Mode, ModelOption, Seed, Verdict};

pub fn replay(args: &ReplayArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
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
    let variant = Variant {
        instrumented: seed.options.has(ModelOption::DataRaces),
        ..project.variant(&config, &args.cargo, None)
    };
    let build = project.build(&args.cargo, variant, listeners)?;
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
        options: seed.options,
        suppressions: settings.suppressed_races.value.0.clone(),
        stronger: Vec::new(),
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
pub fn replay_exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        _ if outcome.account.diverged.is_some() => Exit::Usage,
        Verdict::Failed => Exit::Failed,
        Verdict::Complete => Exit::Complete,
        // It has run its steps, and the last one takes too long.
        Verdict::Incomplete if outcome.seed.is_some() => Exit::Incomplete,
        Verdict::Incomplete => Exit::Usage,
    }
}
