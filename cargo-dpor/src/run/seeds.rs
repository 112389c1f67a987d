//! Seeds that are too long for a command line.

use crate::error::Error;
use crate::outcome::Outcome;
use dpor_protocol::test_hash;
use std::fs;
use std::path::Path;

/// Maximum length in bytes of a printed seed. The system's limit for an argument is 128 KiB.
const PRINTED: usize = 100 << 10;

/// Writes the outcome's seed to a file if it is too long to be printed: the seed is then the file's path.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(outcome: &mut Outcome, folder: &Path) -> Result<(), Error> {
    let Some(seed) = outcome.seed.as_mut().filter(|seed| seed.len() > PRINTED) else {
        return Ok(());
    };
    let seeds = folder.join("seeds");
    let path = seeds.join(format!("{:08x}", test_hash(seed)));
    fs::create_dir_all(&seeds)
        .and_then(|()| fs::write(&path, &*seed))
        .map_err(Error::io(format!("cannot write {}", path.display())))?;
    *seed = path.display().to_string();
    Ok(())
}

/// The seed in an argument, or in the file of this name.
pub fn read(argument: &str) -> String {
    fs::read_to_string(argument.trim()).unwrap_or_else(|_| argument.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_protocol::Verdict;

    #[test]
    fn a_long_seed_is_kept_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for (length, file) in [(PRINTED, false), (PRINTED + 1, true)] {
            let seed = "s".repeat(length);
            let mut outcome = Outcome {
                seed: Some(seed.clone()),
                ..Outcome::of(Verdict::Failed)
            };
            keep(&mut outcome, folder.path()).unwrap();
            let kept = outcome.seed.unwrap();
            assert_eq!(kept != seed, file);
            assert_eq!(read(&kept), seed);
        }
    }
}
