//! Saved states: an execution that resumes from one is, byte for byte, the same as after the steps that lead there.
//!
//! Generated programs (those of `differential`) are run at random, with checkpoints on the way; `DPOR_FUZZ_PROGRAMS`
//! sets how many (400 by default). That explorations do not depend on saved states is compared in `differential`.

use dpor_explorer::{Checkpoint, Rewindable, SplitMix64, Status, Step, System, Transition};
use dpor_scheduler::{Program as Model, StateImage};
use dpor_testsuite::descriptors;
use dpor_testsuite::rust_programs::{kept, model, polling_programs, programs};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Maximum number of steps of an execution.
const LONGEST: usize = 200;

/// A saved state of an execution.
struct Kept {
    checkpoint: Checkpoint,
    schedule: Vec<Transition>,
    image: StateImage,
    statuses: String,
}

/// A program that runs at random.
struct Walk {
    model: Model,
    random: SplitMix64,
    schedule: Vec<Transition>,
    kept: Vec<Kept>,
    /// Number of comparisons.
    compared: usize,
}

impl Walk {
    /// The statuses of the threads. Those at the end that do not exist have ids from other executions, if any.
    fn statuses(&self) -> String {
        let threads = self.model.threads();
        let count = threads.iter().rposition(|status| *status != Status::Finished);
        format!("{:?}", &threads[..count.map_or(0, |last| last + 1)])
    }

    /// Makes steps until the execution ends, and saves some states. Returns false if exploration would have to start
    /// again.
    fn go_on(&mut self) -> bool {
        let mut step = Step::default();
        while self.schedule.len() < LONGEST {
            let enabled: Vec<_> = Transition::enabled(self.model.threads()).collect();
            if enabled.is_empty() {
                break;
            }
            if self.random.below(3) == 0
                && let Some(checkpoint) = self.model.checkpoint()
            {
                self.kept.push(Kept {
                    checkpoint,
                    schedule: self.schedule.clone(),
                    image: self.model.capture(),
                    statuses: self.statuses(),
                });
            }
            let transition = enabled[self.random.below(enabled.len())];
            step.clear();
            // A failure is an end as well.
            match self.model.step(transition, &mut step) {
                Ok(()) => self.schedule.push(transition),
                Err(dpor_explorer::Stop::Refine) => return false,
                Err(_) => break,
            }
        }
        true
    }

    /// Goes back to a saved state, and compares it with what it was. Returns false if the model has since learnt that
    /// it wants to begin executions in another way.
    fn go_back(&mut self, to: usize) -> bool {
        let kept = &self.kept[to];
        if !self.model.rewind(kept.checkpoint) {
            return false;
        }
        let differences = kept.image.diff(&self.model.capture());
        assert!(differences.is_empty(), "{differences:#?}");
        assert_eq!(self.statuses(), kept.statuses);
        self.schedule.clone_from(&kept.schedule);
        self.compared += 1;
        true
    }

    /// Runs the present schedule from the start, and compares the final state.
    fn replay(&mut self) {
        let (image, statuses) = (self.model.capture(), self.statuses());
        self.model.restart();
        for (number, &transition) in self.schedule.clone().iter().enumerate() {
            let repeated = self.model.repeat(transition, &mut Step::default());
            assert!(matches!(repeated, Ok(Some(_))), "step {number} is {repeated:?}");
        }
        let differences = image.diff(&self.model.capture());
        assert!(differences.is_empty(), "{differences:#?}");
        assert_eq!(self.statuses(), statuses);
        self.compared += 1;
    }
}

/// Runs a program at random until nothing is left to learn, then back and forth.
fn walk(mut model: Model, seed: u64) -> usize {
    model.compare_states(true);
    let mut walk = Walk {
        model,
        random: SplitMix64::new(seed),
        schedule: Vec::new(),
        kept: Vec::new(),
        compared: 0,
    };
    // Each time, there is at least one more scheduling point.
    for _ in 0..100 {
        walk.model.restart();
        walk.schedule.clear();
        if let Some(first) = walk.kept.first() {
            walk.model.forget_from(first.checkpoint);
        }
        walk.kept.clear();
        if (0..12).all(|_| rounds(&mut walk)) {
            break;
        }
    }
    walk.compared
}

/// One execution from the present state to its end, a replay of it, and the way back to one of the saved states.
fn rounds(walk: &mut Walk) -> bool {
    if !walk.go_on() {
        return false;
    }
    if walk.schedule.len() < LONGEST {
        walk.replay();
    }
    if !walk.kept.is_empty() {
        let to = walk.random.below(walk.kept.len());
        if !walk.go_back(to) {
            return false;
        }
        if walk.random.below(2) == 0
            && let Some(next) = walk.kept.get(to + 1)
        {
            let forgotten = next.checkpoint;
            walk.model.forget_from(forgotten);
            walk.kept.truncate(to + 1);
            assert!(!walk.model.rewind(forgotten), "it has been forgotten");
        }
    }
    true
}

fn check<P: std::fmt::Debug>(generator: impl Strategy<Value = P>, model: impl Fn(&P) -> Model) {
    let cases: u64 = std::env::var("DPOR_FUZZ_PROGRAMS").map_or(400, |number| number.parse().expect("a number"));
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[3; 32]));
    let compared: usize = (0..cases)
        .map(|number| {
            let program = generator.new_tree(&mut runner).expect("nothing is rejected").current();
            walk(model(&program), number)
        })
        .sum();
    println!("{compared} states of {cases} programs compared");
    assert!(compared as u64 > 10 * cases);
}

/// In one test, one after the other: statics of this executable are part of a model's state.
#[test]
fn what_goes_on_from_a_saved_state_is_the_same_byte_for_byte() {
    check(programs(), |program| model(kept(program)));
    check(polling_programs(), |program| model(kept(program)));
    check(descriptors::programs(), descriptors::model);
}
