//! `cargo dpor diff-states`.

use crate::build::{Test, Variant, list, named};
use crate::child::{self, Order};
use crate::cli::DiffStatesArgs;
use crate::config::{Limit, Origin};
use crate::error::{Error, Exit};
use crate::outcome::Outcome;
use crate::report::{Event, Listeners, Reporter};
use crate::run::order::{again, order};
use crate::run::project::Project;
use crate::run::{outputs, seeds};
use dpor_explorer::{Context, Strategy};
use dpor_protocol::{Memory, Mode, ModelOption, OptionGroup, Verdict};

pub fn diff_states(args: &DiffStatesArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let look = Look {
        mode: Mode::DiffStates { pair: args.pair },
        // It is about the bytes that differ.
        follow_accesses: false,
        // The one that runs both orders of every conflict at once.
        strategy: Strategy::Context(Context::CDPOR1),
        // Old values that are still known make states differ, which is hardly what is asked.
        memory: Some(Memory::Sc),
    };
    let (test, outcome, again) = run(args, look, listeners)?;
    listeners.event(&Event::Compared {
        test: &test,
        number: args.pair,
        outcome: &outcome,
        again: again.as_deref(),
    });
    Ok(diff_states_exit(&outcome))
}

/// Looks for what keeps all states of a test apart.
pub fn survey(args: &DiffStatesArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let look = Look {
        mode: Mode::Survey,
        follow_accesses: true,
        strategy: Strategy::States,
        memory: None,
    };
    let (test, outcome, again) = run(args, look, listeners)?;
    listeners.event(&Event::Surveyed {
        test: &test,
        outcome: &outcome,
        again: again.as_deref(),
    });
    Ok(match outcome.verdict {
        Verdict::Complete => Exit::Complete,
        Verdict::Incomplete => Exit::Incomplete,
        Verdict::Failed => Exit::Failed,
    })
}

/// How states are looked at.
struct Look {
    mode: Mode,
    /// Whether plain accesses to memory are followed, if they are to be in the test.
    follow_accesses: bool,
    strategy: Strategy,
    /// The memory model, if none is chosen.
    memory: Option<Memory>,
}

/// Runs the test; returns it, what came of it, and the command that shows a failure again.
fn run(args: &DiffStatesArgs, look: Look, listeners: &mut Listeners) -> Result<(Test, Outcome, Option<String>), Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let variant = project.variant(&config, &args.cargo, None);
    let variant = Variant {
        instrumented: variant.instrumented && look.follow_accesses,
        ..variant
    };
    let build = project.build(&args.cargo, variant, listeners)?;
    let test = named(list(&build.binaries)?.tests, &args.name)?;
    let mut settings = config.of_test(test.package(), &test.name);
    args.model.set(&mut settings);
    settings.settle(true);
    settings.strategy.value = look.strategy;
    settings.preemptions.value = Limit(None);
    if let Some(memory) = look.memory
        && settings.memory.origin == Origin::Default
    {
        settings.memory.value = memory;
    }
    let order = order(&settings);
    // What the program is asked is passed over, but for what decides how its states are told apart.
    let follows = look.follow_accesses && order.options.has(ModelOption::DataRaces);
    let environment = order.options.of(OptionGroup::Environment);
    let order = Order {
        mode: look.mode,
        options: environment.with(ModelOption::DataRaces, follows),
        ..order
    };
    let mut outcome = child::run(&test, &order, &mut |_| {})?;
    seeds::keep(&mut outcome, &build.folder)?;
    outputs::keep(&mut outcome, &test.id(), &build.folder)?;
    let again = outcome.seed.as_ref().map(|seed| again(seed, &test, &args.cargo));
    Ok((test, outcome, again))
}

/// The exit code of a search for a pair of orders.
pub fn diff_states_exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        _ if outcome.pair.is_some() => Exit::Complete,
        Verdict::Failed => Exit::Failed,
        Verdict::Incomplete => Exit::Incomplete,
        // There are some, but fewer than the number of the one that was asked for.
        Verdict::Complete if outcome.counts.equal < outcome.counts.compared => Exit::Usage,
        Verdict::Complete => Exit::Complete,
    }
}
