//! Locks on builds of the facades, and removal of those that were not used for a long time.
//!
//! Each build has a folder of its own with a file `lock` in it: who builds or removes holds the lock alone, who uses
//! shares it. A folder is removed with its lock held, so whoever waits for the lock meanwhile gets that of a file that
//! is gone, and has to begin again.

use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Time after which an unused build is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Written when a build is finished; its age tells when the build was last used.
pub const MARKER: &str = "finished.json";
const LOCK: &str = "lock";

/// Whether others may hold the lock as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Shared,
    Alone,
}

/// Creates a folder if necessary, and waits for its lock, which is held until the file is dropped.
///
/// # Errors
/// [`Error::Io`] if it cannot be made or locked.
pub fn lock(folder: &Path, hold: Hold) -> Result<File, Error> {
    let path = folder.join(LOCK);
    loop {
        fs::create_dir_all(folder).map_err(Error::io(format!("cannot create {}", folder.display())))?;
        let file = open(&path, hold).map_err(Error::io(format!("cannot create {}", path.display())))?;
        match hold {
            Hold::Shared => file.lock_shared(),
            Hold::Alone => file.lock(),
        }
        .map_err(Error::io(format!("cannot lock {}", path.display())))?;
        if is_at(&file, &path) {
            return Ok(file);
        }
    }
}

/// Opens the lock. Somebody who only uses a build may do so where nothing can be written.
fn open(path: &Path, hold: Hold) -> io::Result<File> {
    let made = OpenOptions::new().create(true).append(true).open(path);
    match hold {
        Hold::Shared => made.or_else(|error| File::open(path).map_err(|_| error)),
        Hold::Alone => made,
    }
}

/// Whether the file is still the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Records that a build is used now.
pub fn touch(folder: &Path) {
    // Where that cannot be written, nothing can be removed either.
    let marker = OpenOptions::new().append(true).open(folder.join(MARKER));
    let _ = marker.and_then(|marker| marker.set_modified(SystemTime::now()));
}

/// Removes builds that were not used for a long time and are not in use.
pub fn remove_unused(home: &Path, now: SystemTime) {
    // What cannot be read or removed takes space, and does no other harm.
    let Ok(entries) = fs::read_dir(home) else { return };
    for folder in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if is_build(&folder) && is_unused(&folder, now) {
            let _ = remove(&folder, now);
        }
    }
}

/// Whether the folder has the name of a build, and its lock.
fn is_build(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) && folder.join(LOCK).is_file()
}

fn is_unused(folder: &Path, now: SystemTime) -> bool {
    // A build that was never finished has a lock only.
    let used = fs::metadata(folder.join(MARKER)).or_else(|_| fs::metadata(folder.join(LOCK)));
    let age = used
        .and_then(|used| used.modified())
        .map(|used| now.duration_since(used));
    matches!(age, Ok(Ok(age)) if age > UNUSED)
}

fn remove(folder: &Path, now: SystemTime) -> io::Result<()> {
    let path = folder.join(LOCK);
    let file = File::open(&path)?;
    if file.try_lock().is_err() || !is_at(&file, &path) || !is_unused(folder, now) {
        return Ok(());
    }
    // First of all, so that what is left of the folder, should this not come to its end, does not pass for a build.
    match fs::remove_file(folder.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir_all(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closing the file is not enough: a process that another test starts has it as well, from its fork to its exec.
    fn release(file: File) {
        file.unlock().unwrap();
    }

    #[test]
    fn builds_that_nobody_uses_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let later = now + UNUSED + Duration::from_secs(1);
        let build = |name: &str, finished: bool| {
            let folder = home.path().join(name);
            release(lock(&folder, Hold::Alone).unwrap());
            fs::create_dir(folder.join("target")).unwrap();
            if finished {
                fs::write(folder.join(MARKER), "{}").unwrap();
            }
            folder
        };
        let unused = build("0000000000000001", true);
        let unfinished = build("0000000000000002", false);
        let in_use = build("0000000000000003", true);
        let fresh = build("0000000000000004", true);
        let foreign = build("notes", true);
        let user = lock(&in_use, Hold::Shared).unwrap();
        let second_user = lock(&in_use, Hold::Shared).unwrap();
        File::options()
            .append(true)
            .open(fresh.join(MARKER))
            .and_then(|marker| marker.set_modified(later))
            .unwrap();

        remove_unused(home.path(), now);
        assert!(unused.exists() && unfinished.exists(), "they are not that old");
        remove_unused(home.path(), later);
        assert!(!unused.exists() && !unfinished.exists());
        assert!(fresh.exists() && foreign.exists() && in_use.join(MARKER).exists());
        release(user);
        remove_unused(home.path(), later);
        assert!(in_use.exists(), "there is another user");
        release(second_user);
        remove_unused(home.path(), later);
        assert!(!in_use.exists());
    }

    #[test]
    fn who_waits_for_a_build_that_is_removed_begins_again() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("0000000000000001");
        let remover = lock(&folder, Hold::Alone).unwrap();
        let waiter = {
            let folder = folder.clone();
            std::thread::spawn(move || lock(&folder, Hold::Shared).map(|file| is_at(&file, &folder.join(LOCK))))
        };
        fs::remove_dir_all(&folder).unwrap();
        drop(remover);
        assert!(waiter.join().unwrap().unwrap(), "the lock is of a file that is gone");
    }

    #[test]
    fn use_is_noted() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("0000000000000001");
        drop(lock(&folder, Hold::Alone).unwrap());
        let marker = folder.join(MARKER);
        fs::write(&marker, "{}").unwrap();
        let long_ago = SystemTime::now() - 2 * UNUSED;
        File::options()
            .append(true)
            .open(&marker)
            .and_then(|marker| marker.set_modified(long_ago))
            .unwrap();
        assert!(is_unused(&folder, SystemTime::now()));
        touch(&folder);
        assert!(!is_unused(&folder, SystemTime::now()));
        assert_eq!(fs::read_to_string(&marker).unwrap(), "{}");
    }
}
