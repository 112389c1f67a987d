//! Answers of rustc and Cargo that seldom change, kept from one run to the next: asking takes longer than checking that
//! nothing has changed on which an answer could depend.
//!
//! There is a file of answers for all circumstances alike: the current folder, the environment, the files that say
//! which toolchain is used there, and Cargo's configuration. Each question has the program's size and time of
//! modification with it. A file that is damaged counts for none.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_128;

/// Age at which answers are removed; they are asked for again when they are needed.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Answers in the present circumstances.
#[derive(Debug, Default)]
pub struct Answers {
    /// The file in which they are kept; `None` if nothing is to be kept.
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<String, String>>,
}

impl Answers {
    /// Loads the answers for the present circumstances from a folder.
    pub fn load(home: &Path) -> Answers {
        let variables: Vec<_> = std::env::vars_os().collect();
        let here = std::env::current_dir().ok();
        let Some(circumstances) = here.and_then(|here| circumstances(&here, &variables)) else {
            return Answers::default();
        };
        let name = format!("{:032x}.json", xxh3_128(circumstances.as_bytes()));
        let file = home.join("answers").join(name);
        let known = fs::read_to_string(&file).ok();
        let known = known.and_then(|text| serde_json::from_str(&text).ok());
        Answers {
            file: Some(file),
            known: Mutex::new(known.unwrap_or_default()),
        }
    }

    /// The output of a command: what it printed last, or what `ask` returns. Errors are not kept.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn of<E>(
        &self,
        command: &mut Command,
        ask: impl FnOnce(&mut Command) -> Result<String, E>,
    ) -> Result<String, E> {
        let question = self.file.as_ref().and_then(|_| question(command));
        let Some(question) = question else {
            return ask(command);
        };
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = lock().get(&question) {
            return Ok(answer.clone());
        }
        let answer = ask(command)?;
        let mut known = lock();
        known.insert(question, answer.clone());
        self.keep(&known);
        Ok(answer)
    }

    fn keep(&self, known: &BTreeMap<String, String>) {
        let Some((file, folder)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else {
            return;
        };
        // What cannot be kept is asked for again.
        let _ = fs::create_dir_all(folder).and_then(|()| {
            let mut draft = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut draft, known)?;
            draft.persist(file).map_err(|error| error.error)?;
            remove_old(folder, SystemTime::now());
            Ok(())
        });
    }
}

fn remove_old(folder: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| now.duration_since(written).ok());
        if age.is_some_and(|age| age > OLD) {
            // It takes space, and does no other harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The command in words, and the state of its program; `None` if its answer may depend on something that is not seen
/// here, such as that of a script.
fn question(command: &Command) -> Option<String> {
    let program = found(command.get_program())?;
    let mut start = [0; 4];
    File::open(&program).ok()?.read_exact(&mut start).ok()?;
    if start != *b"\x7fELF" || command.get_current_dir().is_some() {
        return None;
    }
    let state = fs::metadata(&program).ok()?;
    let mut question = format!(
        "{} {} {} {}.{:09}",
        program.to_str()?,
        state.ino(),
        state.len(),
        state.mtime(),
        state.mtime_nsec()
    );
    for (name, value) in command.get_envs() {
        let _ = write!(question, " {name:?}={value:?}");
    }
    for argument in command.get_args() {
        // It may name a file.
        if argument == "--config" {
            return None;
        }
        let _ = write!(question, " {argument:?}");
    }
    Some(question)
}

/// The file of a program, as the system finds it.
fn found(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return std::path::absolute(path).ok();
    }
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(path));
    std::path::absolute(files.find(|path| path.is_file())?).ok()
}

/// Everything that decides which toolchain is used here, and what it answers, except for the programs. `None` if that
/// cannot be seen: a configuration file that includes others, or no home folder.
fn circumstances(here: &Path, variables: &[(OsString, OsString)]) -> Option<String> {
    let mut text = format!("{} {here:?}\n", env!("CARGO_PKG_VERSION"));
    let counts = |name: &str| {
        name.starts_with("CARGO") || name.starts_with("RUST") || ["PATH", "HOME", "LD_LIBRARY_PATH"].contains(&name)
    };
    let mut counting: Vec<_> = variables
        .iter()
        .filter(|(name, _)| counts(&name.to_string_lossy()))
        .collect();
    counting.sort();
    let _ = writeln!(text, "{counting:?}");

    let value = |name: &str| {
        variables
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| PathBuf::from(value))
    };
    let folder = |variable: &str, name: &str| value(variable).or_else(|| Some(value("HOME")?.join(name)));
    let mut files = vec![PathBuf::from("/etc/rustup/settings.toml")];
    let rustup = folder("RUSTUP_HOME", ".rustup")?;
    // `rustup toolchain link` makes links.
    let toolchains = fs::read_dir(rustup.join("toolchains")).into_iter().flatten().flatten();
    let links = toolchains.map(|entry| (entry.file_name(), fs::read_link(entry.path()).ok()));
    let mut links: Vec<_> = links.collect();
    links.sort();
    let _ = writeln!(text, "{links:?}");
    files.push(rustup.join("settings.toml"));
    let toolchain = ["rust-toolchain", "rust-toolchain.toml"];
    files.extend(
        here.ancestors()
            .flat_map(|folder| toolchain.map(|name| folder.join(name))),
    );
    for file in &files {
        note(&mut text, file);
    }
    let mut folders: Vec<PathBuf> = here.ancestors().map(|folder| folder.join(".cargo")).collect();
    folders.push(folder("CARGO_HOME", ".cargo")?);
    for folder in folders {
        for name in ["config", "config.toml"] {
            let content = note(&mut text, &folder.join(name)).unwrap_or_default();
            if content.windows(7).any(|word| word == b"include") {
                return None;
            }
        }
    }
    Some(text)
}

/// Adds the contents of a file. A missing file has no line, so that it counts once it exists.
fn note(text: &mut String, file: &Path) -> Option<Vec<u8>> {
    let content = fs::read(file).ok()?;
    let _ = writeln!(text, "{file:?} {:032x}", xxh3_128(&content));
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answers: &Answers, argument: &str) -> (String, bool) {
        let mut asked = false;
        let answer = answers.of(Command::new("/bin/echo").arg(argument), |command| {
            asked = true;
            let output = command.output()?.stdout;
            std::io::Result::Ok(String::from_utf8_lossy(&output).into_owned())
        });
        (answer.unwrap(), asked)
    }

    #[test]
    fn what_was_answered_is_known_in_the_next_run() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(asked(&Answers::load(home.path()), "a"), ("a\n".into(), true));
        let answers = Answers::load(home.path());
        assert_eq!(asked(&answers, "a"), ("a\n".into(), false));
        assert_eq!(asked(&answers, "b"), ("b\n".into(), true), "another question");
        assert!(!asked(&Answers::load(home.path()), "a").1, "that one was kept, too");

        let file = answers.file.unwrap();
        for damage in ["", "{", "[1]", "{\"a\":1}"] {
            fs::write(&file, damage).unwrap();
            assert_eq!(
                asked(&Answers::load(home.path()), "a"),
                ("a\n".into(), true),
                "{damage}"
            );
        }
        remove_old(file.parent().unwrap(), SystemTime::now() + OLD * 2);
        assert!(!file.exists());
    }

    #[test]
    fn whatever_an_answer_may_depend_on_counts() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        };
        let here = folder("workspace/member");
        let homes = [("RUSTUP_HOME", folder("rustup")), ("CARGO_HOME", folder("cargo"))];
        let base: Vec<(OsString, OsString)> = homes.map(|(name, home)| (name.into(), home.into())).into();
        let with = |name: &str| [&base[..], &[(name.into(), "x".into())]].concat();
        let seen = || circumstances(&here, &base).unwrap();

        let first = seen();
        assert_eq!(seen(), first);
        assert_ne!(circumstances(root.path(), &base).unwrap(), first, "another folder");
        assert_eq!(circumstances(&here, &with("EDITOR")).unwrap(), first);
        for name in [
            "RUSTUP_TOOLCHAIN",
            "RUSTFLAGS",
            "RUSTC",
            "CARGO_BUILD_RUSTFLAGS",
            "PATH",
        ] {
            assert_ne!(circumstances(&here, &with(name)).unwrap(), first, "{name}");
        }
        folder("workspace/.cargo");
        for name in [
            "rustup/settings.toml",
            "workspace/rust-toolchain.toml",
            "workspace/member/rust-toolchain",
            "workspace/.cargo/config.toml",
            "cargo/config",
        ] {
            let file = root.path().join(name);
            fs::write(&file, "[build]").unwrap();
            let made = seen();
            assert_ne!(made, first, "{name} is there");
            fs::write(&file, "[targe]").unwrap();
            assert_ne!(seen(), made, "{name} has changed");
            fs::remove_file(&file).unwrap();
            assert_eq!(seen(), first);
        }
        fs::write(
            root.path().join("workspace/.cargo/config.toml"),
            "include = 'other.toml'",
        )
        .unwrap();
        assert_eq!(circumstances(&here, &base), None);
    }

    #[test]
    fn an_answer_belongs_to_a_program_that_is_no_script() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("rustc");
        fs::write(&script, "#!/bin/sh\necho x").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(question(&Command::new(&script)), None);

        let program = home.path().join("echo");
        fs::copy("/bin/echo", &program).unwrap();
        let before = question(&Command::new(&program)).unwrap();
        assert_eq!(question(&Command::new(&program)).unwrap(), before);
        assert_ne!(question(Command::new(&program).arg("x")).unwrap(), before);
        assert_eq!(question(Command::new(&program).args(["--config", "x.toml"])), None);
        let changed = File::options().append(true).open(&program);
        changed
            .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH))
            .unwrap();
        assert_ne!(question(&Command::new(&program)).unwrap(), before);
    }
}
