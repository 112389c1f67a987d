//! `cargo dpor diff-states`.

use crate::build::{Variant, list, named};
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
use dpor_protocol::{Memory, Mode, OptionGroup, Verdict};

pub fn diff_states(args: &DiffStatesArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let variant = Variant {
        // It is about the bytes that differ.
        instrumented: false,
        ..project.variant(&config, &args.cargo, None)
    };
    let build = project.build(&args.cargo, variant, listeners)?;
    let test = named(list(&build.binaries)?.tests, &args.name)?;
    let mut settings = config.of_test(test.package(), &test.name);
    args.model.set(&mut settings);
    settings.settle(true);
    // The one that runs both orders of every conflict at once.
    settings.strategy.value = Strategy::Context(Context::CDPOR1);
    settings.preemptions.value = Limit(None);
    // Old values that are still known make states differ, which is hardly what is asked.
    if settings.memory.origin == Origin::Default {
        settings.memory.value = Memory::Sc;
    }
    let order = order(&settings);
    let order = Order {
        mode: Mode::DiffStates { pair: args.pair },
        options: order.options.of(OptionGroup::Environment),
        ..order
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
