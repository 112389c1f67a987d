//! Saves an exploration to a file while it runs, so that another process can resume it if this one is killed.
//!
//! The file begins with two lines for `cargo dpor`: what the exploration is of, and how many executions there were. It
//! is written anew each time, beside the old one, which it then replaces. Keys of explored states are many, and only
//! ever added: they have a file of their own, to which the new ones are appended.

use super::journal::Explored;
use super::sharing::Sharing;
use dpor_explorer::Explorer;
use dpor_explorer::codec;
use dpor_explorer::keys::KeyHasher;
use dpor_protocol::Save;
use dpor_scheduler::Learnt;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Minimum interval between saves, which is also at least `PART` times the duration of the last one.
const INTERVAL: Duration = Duration::from_millis(700);
const PART: u32 = 50;
/// Number of steps between looks at the clock.
const STEPS: u64 = 1 << 10;
/// Size of a key in bytes.
const KEY: usize = size_of::<u128>();

/// The contents of the file after its two lines and a digest.
struct Saved {
    /// Addresses of this process's code: the saved exploration is full of addresses.
    layout: [u64; 2],
    learnt: Learnt,
    sharing: Sharing,
    /// The explorer's snapshot.
    snapshot: Vec<u8>,
    /// The file with the keys of explored states, and the number of those that belong to the snapshot.
    keys: PathBuf,
    count: u64,
}

dpor_explorer::codec!(struct Saved { layout, learnt, sharing, snapshot, keys, count });

/// Saves the exploration at intervals.
pub(crate) struct Saving {
    save: Save,
    /// The file with keys, once there are some.
    keys: Option<(File, PathBuf)>,
    count: u64,
    /// Number of such files so far.
    generation: u32,
    due: Instant,
    /// The number of steps at which the clock is looked at.
    look_at: u64,
    /// The error if it cannot be saved.
    error: Option<io::Error>,
}

impl Saving {
    pub fn new(save: Save) -> Saving {
        Saving {
            save,
            keys: None,
            count: 0,
            generation: 0,
            due: Instant::now() + INTERVAL,
            look_at: 0,
            error: None,
        }
    }

    /// Whether to resume the saved exploration.
    pub fn resumes(&self) -> bool {
        self.save.resume
    }

    /// Resumes the saved exploration. Returns the number of its executions.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn resume(&mut self, explorer: &mut Explorer<Explored>, sharing: &mut Sharing) -> Result<u64, String> {
        let damaged = || "the saved exploration is damaged".to_owned();
        let unreadable = |error: io::Error| format!("the saved exploration cannot be read: {error}");
        let bytes = fs::read(&self.save.file).map_err(unreadable)?;
        let (executions, saved) = parse(&bytes).ok_or_else(damaged)?;
        if saved.layout != layout() {
            return Err("the process is loaded at other addresses than before".to_owned());
        }
        let keys = read_keys(&saved.keys, saved.count).map_err(unreadable)?;
        explorer.system().go_on_from(saved.learnt);
        let keys = keys.chunks_exact(KEY);
        let keys = keys.map(|key| u128::from_le_bytes(key.try_into().expect("a chunk has this length")));
        explorer
            .resume(&saved.snapshot, keys)
            .map_err(|error| error.to_string())?;
        if saved.count > 0 {
            // What was written after the last snapshot does not count.
            let file = File::options().append(true).open(&saved.keys).map_err(unreadable)?;
            file.set_len(saved.count * KEY as u64).map_err(unreadable)?;
            self.keys = Some((file, saved.keys));
        }
        self.count = saved.count;
        *sharing = saved.sharing;
        Ok(executions)
    }

    /// Removes the saved exploration: nothing is left to explore.
    pub fn forget(&self) {
        // What is not there need not be removed, and what cannot be is for another program.
        let _ = fs::remove_file(&self.save.file);
        remove_other_keys(&self.save.file, None);
    }

    /// Saves the exploration, which is between two executions, if the interval is over.
    pub fn look(&mut self, explorer: &mut Explorer<Explored>, sharing: &Sharing) {
        let steps = explorer.statistics().steps;
        if steps < self.look_at || self.error.is_some() {
            return;
        }
        self.look_at = steps + STEPS;
        if Instant::now() >= self.due {
            self.save(explorer, sharing);
        }
    }

    /// Saves the exploration, if it is between two executions.
    pub fn save(&mut self, explorer: &mut Explorer<Explored>, sharing: &Sharing) {
        let started = Instant::now();
        if let Err(error) = self.write(explorer, sharing) {
            self.error = Some(error);
        }
        self.due = Instant::now() + INTERVAL.max(started.elapsed() * PART);
    }

    /// The final note if it could not be saved.
    pub fn note(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let file = self.save.file.display();
        Some(format!("it could not be saved for --resume, to {file}: {error}"))
    }

    fn write(&mut self, explorer: &mut Explorer<Explored>, sharing: &Sharing) -> io::Result<()> {
        let Some(snapshot) = explorer.save() else {
            return Ok(());
        };
        if let Some(folder) = self.save.file.parent() {
            fs::create_dir_all(folder)?;
        }
        if snapshot.anew {
            self.keys = None;
            self.count = 0;
        }
        if !snapshot.keys.is_empty() {
            self.append(&snapshot.keys)?;
        }
        let saved = Saved {
            layout: layout(),
            learnt: explorer.system().program.learnt(),
            sharing: sharing.clone(),
            snapshot: snapshot.bytes,
            keys: self.keys.as_ref().map(|(_, path)| path.clone()).unwrap_or_default(),
            count: self.count,
        };
        let body = codec::to_bytes(&saved);
        let new = self.save.file.with_extension("new");
        let mut file = File::create(&new)?;
        let head = format!("{}\n{}\n", self.save.identity, snapshot.executions);
        file.write_all(head.as_bytes())?;
        file.write_all(&digest(&body).to_le_bytes())?;
        file.write_all(&body)?;
        fs::rename(&new, &self.save.file)?;
        remove_other_keys(&self.save.file, self.keys.as_ref().map(|(_, path)| path.as_path()));
        Ok(())
    }

    fn append(&mut self, keys: &[u128]) -> io::Result<()> {
        if self.keys.is_none() {
            self.generation += 1;
            // The file that the last snapshot names must stay as it is until there is another snapshot.
            let name = format!("{}-{}.keys", std::process::id(), self.generation);
            let path = self.save.file.with_extension(name);
            self.keys = Some((File::create(&path)?, path));
        }
        let (file, _) = self.keys.as_mut().expect("there is one now");
        let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        file.write_all(&bytes)?;
        self.count += keys.len() as u64;
        Ok(())
    }
}

/// The number of executions, and the exploration saved after them.
fn parse(bytes: &[u8]) -> Option<(u64, Saved)> {
    let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
    let (_identity, executions, rest) = (lines.next()?, lines.next()?, lines.next()?);
    let executions = std::str::from_utf8(executions).ok()?.parse().ok()?;
    let (known, body) = rest.split_first_chunk()?;
    if u64::from_le_bytes(*known) != digest(body) {
        return None;
    }
    Some((executions, codec::from_bytes(body)?))
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The first `count` keys of a file.
fn read_keys(path: &Path, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if count > 0 {
        let length = count * KEY as u64;
        File::open(path)?.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(bytes)
}

/// Removes files with keys that no snapshot names.
fn remove_other_keys(file: &Path, kept: Option<&Path>) {
    let (Some(folder), Some(stem)) = (file.parent(), file.file_stem().and_then(|stem| stem.to_str())) else {
        return;
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own = name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.'));
        if own && name.ends_with(".keys") && kept != Some(&path) {
            // It takes space, and does no other harm.
            let _ = fs::remove_file(path);
        }
    }
}

/// The addresses of some code of this executable, and of another library.
fn layout() -> [u64; 2] {
    [layout as *const () as u64, libc::read as *const () as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_missing_are_noticed() {
        let file = std::env::temp_dir().join(format!("dpor-keys-{}", std::process::id()));
        fs::write(&file, [7; 3 * KEY + 1]).unwrap();
        assert_eq!(read_keys(&file, 3).unwrap(), [7; 3 * KEY]);
        assert!(read_keys(&file, 4).is_err());
        fs::remove_file(&file).unwrap();
        assert!(read_keys(&file, 1).is_err());
        assert!(read_keys(&file, 0).unwrap().is_empty());
    }
}
