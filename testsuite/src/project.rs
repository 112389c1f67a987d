//! Small projects for tests of the tool as users run it.

use crate::tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A package that is there for a test.
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
}

/// A run of the tool.
#[derive(Debug)]
pub struct Run {
    /// Its exit code.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// And what on standard error.
    pub stderr: String,
}

impl Project {
    /// A package of this source, in a folder of this name, which nobody else must use.
    ///
    /// # Panics
    /// If it cannot be written, or another test of this process uses the folder.
    pub fn new(name: &str, source: &str) -> Project {
        static USERS: Mutex<BTreeMap<String, ThreadId>> = Mutex::new(BTreeMap::new());
        let own = thread::current().id();
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let user = *users.entry(name.to_owned()).or_insert(own);
        drop(users);
        assert!(user == own, "two tests use the folder {name}");
        let folder = tool::target_folder().join("tmp").join("made").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the folder is ours");
        }
        let project = Project { folder };
        project.write(
            "Cargo.toml",
            "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n",
        );
        project.write("src/lib.rs", source);
        project
    }

    /// The package in this folder.
    pub fn of(folder: PathBuf) -> Project {
        Project { folder }
    }

    /// Writes a file of it.
    ///
    /// # Panics
    /// If that is not possible.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the target folder is writable");
        fs::write(path, text).expect("the target folder is writable");
    }

    /// Runs `cargo dpor` in it.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, &[])
    }

    /// Runs `cargo dpor` in it, with more in the environment.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = self.command(arguments);
        let output = command
            .envs(environment.iter().copied())
            .output()
            .expect("the tool can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The command that runs `cargo dpor` in it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(tool::path());
        command
            .arg("dpor")
            .args(arguments)
            .current_dir(&self.folder)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_DPOR_PROFILE")
            .env_remove("GITHUB_WORKSPACE");
        command
    }

    /// Runs `cargo dpor`, and checks that it ends with this exit code, and these words on standard error.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        self.run(arguments).refused(code, words);
    }
}

impl Run {
    /// Checks that it ended with this exit code, and these words on standard error.
    ///
    /// # Panics
    /// If it has not.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(
            words.iter().all(|word| self.stderr.contains(word)),
            "{words:?} in {self:?}"
        );
    }

    /// Checks that it ended with this exit code.
    ///
    /// # Panics
    /// If it has not.
    #[track_caller]
    pub fn ends(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The events of a name, if it was to print JSON.
    ///
    /// # Panics
    /// If it did not.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let lines = self
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("each line is JSON"));
        lines.filter(|line: &Value| line["event"] == name).collect()
    }
}
