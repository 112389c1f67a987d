//! The exploration of the tests of a run, and the search for what to show of a failure.

use crate::build::Build;
use crate::child::{self, Order};
use crate::cli::{MaxFail, TestArgs};
use crate::config::{RunSettings, Settings};
use crate::error::Error;
use crate::interrupt;
use crate::judgement::fault;
use crate::outcome::Outcome;
use crate::report::{Event, Reporter, SourceTree, Summary, TestResult, objects, same_failure};
use crate::run::order::{again, order};
use crate::run::plan::Planned;
use crate::run::resume::Left;
use crate::run::suppressions::Suppressions;
use crate::run::{mend, outputs, seeds, sequential, simplify};
use dpor_protocol::{Counts, Verdict};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

/// A worker's news of the test with this index.
enum News {
    Started(usize),
    Progress(usize, Counts),
    Replaying(usize),
    Finished(usize, Box<Result<TestResult, Error>>),
}

/// Explores tests on as many threads as requested. Each takes the next test; the reporter stays on this thread. Returns
/// what became of the suppressions of data races.
pub fn explore_all(
    plan: &[Planned<'_>],
    build: &Build,
    run: &RunSettings,
    args: &TestArgs,
    reporter: &mut dyn Reporter,
    summary: &mut Summary,
) -> Result<Suppressions, Error> {
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
        let mut suppressions = Ok(Suppressions::default());
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
                        if let Ok(suppressions) = &mut suppressions {
                            suppressions.add(&plan[index].settings, &result.outcome);
                        }
                        reporter.event(&Event::TestFinished {
                            test: plan[index].test,
                            result: &result,
                        });
                    }
                    Err(error) => {
                        stop();
                        suppressions = suppressions.and(Err(error));
                    }
                },
            }
        }
        suppressions
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
        outcome = match sequential::note(test, &order, settings.simplify.value, &simplified)? {
            Some(note) => simplified.with_note(note),
            None => simplified,
        };
        outcome.mends = mend::look(test, &order, settings.simplify.value, &outcome, &run)?;
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

/// The note for a test that has reached the default limit.
pub fn default_limit(outcome: &Outcome, settings: &Settings) -> Option<String> {
    let limit = settings.max_time.value.0.filter(|_| settings.has_default_time())?;
    let met = outcome.verdict == Verdict::Incomplete && outcome.time >= limit && interrupt::received().is_none();
    met.then(|| {
        format!(
            "{limit:?} is the default in a run of several tests: `--max-time 10m --resume` goes on, `--max-time none` \
             lifts it, max-time in dpor.toml sets another one"
        )
    })
}
