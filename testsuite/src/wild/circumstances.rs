//! The circumstances of a crate's run: date, machine, toolchain and tool.

use crate::tool;
use crate::wild::{Crate, Table};
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::time::SystemTime;

/// The circumstances of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The day.
    pub date: String,
    /// The version of rustc.
    pub toolchain: String,
    /// The processor, and how many of it.
    pub machine: String,
    /// `--max-time`, in seconds.
    pub max_time: u64,
    /// `--stall`.
    pub stall: String,
    /// `--test-jobs`.
    pub test_jobs: u16,
    /// `--memory`.
    pub memory: String,
    /// A digest of the tool, and of the crate's part of the table.
    pub digest: String,
}

impl Circumstances {
    /// Those of now, with the usual limits, before a crate is chosen.
    ///
    /// # Panics
    /// If there is no compiler.
    pub fn now() -> Circumstances {
        let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let toolchain = Command::new(rustc).arg("--version").output();
        let toolchain = String::from_utf8(toolchain.expect("rustc can be started").stdout).unwrap_or_default();
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model.map_or("a processor", |text| text.trim_start_matches([' ', '\t', ':']));
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        Circumstances {
            date: date.split('T').next().unwrap_or_default().into(),
            toolchain: toolchain.split(" (").next().unwrap_or_default().trim().into(),
            machine: format!("{count} cores of {model}"),
            max_time: 10,
            stall: "3".into(),
            test_jobs: 1,
            memory: "rc11".into(),
            digest: String::new(),
        }
    }

    /// These, for a crate.
    ///
    /// # Panics
    /// If the tool cannot be read.
    pub fn of(&self, table: &Table, krate: &Crate) -> Circumstances {
        let mut hasher = DefaultHasher::new();
        let tool = fs::read(tool::path()).unwrap_or_else(|error| panic!("{}: {error}", tool::path().display()));
        tool.hash(&mut hasher);
        format!("{krate:?}").hash(&mut hasher);
        if !krate.small.is_empty() {
            format!("{:?}", table.small).hash(&mut hasher);
        }
        Circumstances {
            digest: format!("{:016x}", hasher.finish()),
            ..self.clone()
        }
    }

    /// Whether a run under these would say the same as one under the others: whatever the day and the machine.
    pub fn agree(&self, others: &Circumstances) -> bool {
        let key = |c: &Circumstances| {
            let limits = (c.max_time, c.stall.clone(), c.memory.clone());
            (c.toolchain.clone(), limits, c.digest.clone())
        };
        key(self) == key(others)
    }
}
