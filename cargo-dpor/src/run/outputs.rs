//! Outputs that are too long to be printed.

use crate::error::Error;
use crate::outcome::Outcome;
use crate::report::story::output::printed_whole;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// The folder of outputs, within that of the build.
const FOLDER: &str = "output";

/// Writes the output of a test's process to files where a report shows only the end of it, and returns their names in
/// the outcome. They replace those of the previous run.
///
/// # Errors
/// If a file cannot be written.
pub fn keep(outcome: &mut Outcome, test: &str, folder: &Path) -> Result<(), Error> {
    let folder = folder.join(FOLDER);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = test.chars().map(plain).take(100).collect();
    let file = |stream| folder.join(format!("{name}-{:08x}.{stream}", xxh3_64(test.as_bytes()) as u32));
    let account = &mut outcome.account;
    let text = account.output_text(outcome.failure.as_ref());
    if !printed_whole(&text) {
        let path = file("output");
        write(&path, |to| io::Write::write_all(to, text.as_bytes()))?;
        account.output_file = Some(path);
    }
    if let Some(whole) = &account.stderr_whole {
        let path = file("stderr");
        write(&path, |to| {
            let mut whole = &**whole;
            whole.rewind()?;
            io::copy(&mut whole, to).map(drop)
        })?;
        account.stderr_file = Some(path);
    }
    Ok(())
}

fn write(path: &PathBuf, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
        .and_then(|()| fill(&mut File::create(path)?))
        .map_err(Error::io(format!("cannot write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::failed;
    use dpor_protocol::OutputStream;
    use std::io::Write;
    use std::sync::Arc;

    #[test]
    fn what_is_printed_whole_is_in_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut outcome = failed();
        keep(&mut outcome, "bank/lib/bank::a", folder.path()).unwrap();
        assert_eq!((outcome.account.output_file, outcome.account.stderr_file), (None, None));
        assert!(!folder.path().join(FOLDER).exists());
    }

    #[test]
    fn long_outputs_are_in_files_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut outcome = failed();
        let line = "a line\n".to_owned();
        outcome.account.output = vec![(OutputStream::Out, line.clone()); 1000];
        let mut stderr = tempfile::tempfile().unwrap();
        stderr.write_all(&[b'x'; 100_000]).unwrap();
        outcome.account.stderr_whole = Some(Arc::new(stderr));
        for _again in 0..2 {
            keep(&mut outcome, "bank/lib/bank::a", folder.path()).unwrap();
        }
        let account = outcome.account;
        let (output, stderr) = (account.output_file.unwrap(), account.stderr_file.unwrap());
        assert_eq!(fs::read_to_string(&output).unwrap(), line.repeat(1000));
        assert_eq!(fs::read(&stderr).unwrap(), [b'x'; 100_000]);
        let name = output.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with("bank-lib-bank--a-") && name.ends_with(".output"),
            "{name}"
        );
    }
}
