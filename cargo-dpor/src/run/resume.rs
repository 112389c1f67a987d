//! Resumes an interrupted run.
//!
//! Each exploration has a file in which the test process keeps it while it goes on. When a test is complete, what its
//! process has said takes the place of that. Both begin with a line that says what was explored, and how: whatever is
//! not the same any more is explored from the start.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::outcome::Outcome;
use dpor_protocol::{Memory, ModelOption, Save, Verdict};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The folder of explorations that can be resumed, within that of the build.
const FOLDER: &str = "resume";

/// The remains of earlier runs.
pub struct Earlier {
    folder: PathBuf,
    /// Digests of the test binaries.
    digests: HashMap<PathBuf, u128>,
}

/// The remains of the exploration of one test.
pub struct Slot {
    /// What is explored, and how, in a line.
    identity: String,
    /// The file in which the test process saves it.
    file: PathBuf,
    /// Its record when it was complete.
    finished: PathBuf,
}

/// How much of a test's exploration an earlier run has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// All of it.
    Finished,
    /// A part.
    Interrupted,
    /// A part that is no longer of use.
    Void(Change),
    Nothing,
}

/// What has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Code,
    Settings,
}

impl Earlier {
    /// The remains of runs of these tests in this folder of builds.
    ///
    /// # Errors
    /// If a test binary cannot be read.
    pub fn of(folder: &Path, tests: &[Test]) -> Result<Earlier, Error> {
        let mut digests = HashMap::new();
        for path in tests.iter().map(|test| &test.binary.path) {
            if !digests.contains_key(path) {
                let content = fs::read(path).map_err(Error::io(format!("cannot read {}", path.display())))?;
                digests.insert(path.clone(), xxh3_128(&content));
            }
        }
        Ok(Earlier {
            folder: folder.join(FOLDER),
            digests,
        })
    }

    /// The remains of the exploration of a test with this task.
    pub fn slot(&self, test: &Test, order: &Order) -> Slot {
        let id = test.id();
        // Each shard has its own, so that several can be explored in one folder.
        let name = order.shard.map_or_else(|| id.clone(), |shard| format!("{id} {shard}"));
        let name = format!("{:016x}", xxh3_64(name.as_bytes()));
        let digest = self.digests.get(&test.binary.path).copied().unwrap_or_default();
        Slot {
            identity: format!(
                "cargo-dpor {}\t{id}\t{digest:032x}\t{}",
                env!("CARGO_PKG_VERSION"),
                settings(order)
            ),
            file: self.folder.join(format!("{name}.state")),
            finished: self.folder.join(format!("{name}.finished")),
        }
    }
}

/// Everything that must be the same for an exploration to resume: all but the limits.
fn settings(order: &Order) -> String {
    let Order {
        strategy,
        random_seed,
        limits,
        options,
        suppressions,
        ..
    } = order;
    let mut settings = format!("{strategy} {random_seed} {}", limits.depth);
    let bounded = limits.preemptions.map(|_| "bounded");
    for name in bounded.into_iter().chain(options.iter().map(ModelOption::name)) {
        let _ = write!(settings, " {name}");
    }
    let _ = write!(settings, " timeouts {}", options.timeouts());
    if options.memory() != Memory::Sc {
        let _ = write!(settings, " memory {}", options.memory());
    }
    for suppression in suppressions {
        let _ = write!(settings, " without races in {suppression}");
    }
    settings
}

impl Slot {
    /// How much is left.
    pub fn left(&self) -> Left {
        let first_line = |path: &Path| {
            let mut line = String::new();
            BufReader::new(File::open(path).ok()?).read_line(&mut line).ok()?;
            Some(line.trim_end_matches('\n').to_owned())
        };
        let left = [(&self.finished, Left::Finished), (&self.file, Left::Interrupted)];
        let found = left
            .into_iter()
            .find_map(|(path, left)| Some((first_line(path)?, left)));
        let Some((identity, left)) = found else {
            return Left::Nothing;
        };
        if identity == self.identity {
            return left;
        }
        let code = |identity: &str| identity.rsplit_once('\t').map(|(code, _)| code.to_owned());
        match code(&identity) == code(&self.identity) {
            true => Left::Void(Change::Settings),
            false => Left::Void(Change::Code),
        }
    }

    /// The outcome of the test, if it is finished.
    pub fn outcome(&self) -> Option<Outcome> {
        let text = fs::read_to_string(&self.finished).ok()?;
        let (identity, said) = text.split_once('\n')?;
        let outcome = child::recorded(said).filter(|_| identity == self.identity)?;
        Some(outcome.with_note("explored before the interruption".to_owned()))
    }

    /// How the test process is to save the exploration.
    pub fn save(&self, resume: bool) -> Save {
        Save {
            file: self.file.clone(),
            identity: self.identity.clone(),
            resume,
        }
    }

    /// Saves the outcome of the test, if nothing is left to explore.
    pub fn keep(&self, outcome: &Outcome) {
        if outcome.verdict != Verdict::Complete {
            return;
        }
        let text = format!("{}\n{}", self.identity, outcome.record);
        let new = self.finished.with_extension("new");
        // Without it, the test would be explored once more.
        let _ = fs::create_dir_all(self.finished.parent().unwrap_or(Path::new(".")))
            .and_then(|()| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &self.finished));
    }

    /// Removes what is left.
    pub fn clear(&self) {
        for path in [&self.file, &self.finished] {
            // What is not there need not be removed.
            let _ = fs::remove_file(path);
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Change::Code => "its code has changed since it was interrupted",
            Change::Settings => "it was interrupted under other settings",
        })
    }
}
