//! Seeds: a schedule as a short printable string.
//!
//! `dpor1-` and the base64 (RFC 4648 §5, no padding) of: the length of the rest as a varint, the body,
//! the CRC-32 of length and body. The length tells a seed whose end was lost in copying from one with
//! damage; the CRC finds every single wrong character, since that is a burst of at most 32 bits. In
//! the body, creations, steps and operations are run-length encoded: most schedules are a few long runs.

mod bytes;

use super::base64;
use crate::Options;
use bytes::{Reader, Writer};
use dpor_explorer::{ThreadId, Transition};
use std::fmt;
use std::str::FromStr;

const PREFIX: &str = "dpor";
const FORMAT: u32 = 1;
const STRATEGIES: [&str; 3] = ["exhaustive", "source", "random"];
const OTHER_STRATEGY: u64 = 255;

/// A schedule, and everything else needed to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// [`test_hash`] of the test's name.
    pub test: u32,
    /// The strategy that found it.
    pub strategy: String,
    /// The options under which the schedule runs again. Those that are [in no seed](crate::ModelOption::is_in_seeds)
    /// are lost when it is printed.
    pub options: Options,
    /// The creation paths of threads 1, 2, 3, …
    pub threads: Vec<Creation>,
    /// Locations whose releases are scheduling points.
    pub refinements: Vec<u64>,
    /// The schedule.
    pub steps: Vec<SeedStep>,
}

/// How a thread was created, which identifies it across executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Creation {
    /// Its creator.
    pub parent: ThreadId,
    /// Number of threads that the parent had created before.
    pub nth: u32,
}

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeedStep {
    /// The thread that moves, and its alternative.
    pub transition: Transition,
    /// The scheduler's code of the kind of operation, to notice that the code has changed; 0 if unknown.
    pub operation: u8,
}

/// Why a text is not a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedError {
    /// It does not begin like a seed.
    NotASeed,
    /// It is a seed of another format.
    UnknownVersion(u32),
    /// Its end is missing.
    Truncated,
    /// Part of it was changed.
    Damaged,
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeedError::NotASeed => write!(f, "this is not a seed: seeds begin with `{PREFIX}{FORMAT}-`"),
            SeedError::UnknownVersion(v) => {
                write!(
                    f,
                    "this seed has format {v}, and this cargo-dpor reads format {FORMAT} only"
                )
            }
            SeedError::Truncated => f.write_str("this seed is truncated: its end is missing"),
            SeedError::Damaged => f.write_str("this seed is damaged: its checksum does not match"),
        }
    }
}

impl std::error::Error for SeedError {}

/// The error for a seed of another test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTest {
    /// The test for which it was to be used.
    pub test: String,
}

impl fmt::Display for OtherTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this seed is of another test than `{}`", self.test)
    }
}

impl std::error::Error for OtherTest {}

/// The digest of a test's name that seeds hold (FNV-1a, 64 bits folded into 32).
pub fn test_hash(name: &str) -> u32 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

impl Seed {
    /// Checks that the seed was made for the test of this name.
    ///
    /// # Errors
    /// [`OtherTest`] if it was not.
    pub fn check_test(&self, name: &str) -> Result<(), OtherTest> {
        if self.test == test_hash(name) {
            Ok(())
        } else {
            Err(OtherTest { test: name.into() })
        }
    }

    /// The seed as text; the same as its `Display`.
    pub fn encode(&self) -> String {
        let mut body = Writer::default();
        self.write(&mut body);
        let body = body.into_bytes();
        let mut out = Writer::default();
        out.number(body.len() as u64 + 4);
        out.raw(&body);
        let mut bytes = out.into_bytes();
        let checksum = crc32(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        format!("{PREFIX}{FORMAT}-{}", base64::encode(&bytes))
    }

    /// Reads a seed; the same as its `FromStr`. Space around it is ignored.
    ///
    /// # Errors
    /// [`SeedError`] if it is none, or not whole.
    pub fn decode(text: &str) -> Result<Seed, SeedError> {
        let rest = text.trim().strip_prefix(PREFIX).ok_or(SeedError::NotASeed)?;
        let (version, data) = rest.split_once('-').ok_or(SeedError::NotASeed)?;
        if version.is_empty() || !version.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SeedError::NotASeed);
        }
        let version: u32 = version.parse().map_err(|_| SeedError::NotASeed)?;
        if version != FORMAT {
            return Err(SeedError::UnknownVersion(version));
        }
        let (bytes, whole) = base64::decode(data).ok_or(SeedError::Damaged)?;
        let mut reader = Reader::new(&bytes);
        let length = reader.number().ok_or(SeedError::Truncated)?;
        match (reader.left() as u64).cmp(&length) {
            std::cmp::Ordering::Less => return Err(SeedError::Truncated),
            std::cmp::Ordering::Greater => return Err(SeedError::Damaged),
            std::cmp::Ordering::Equal if length < 4 || !whole => return Err(SeedError::Damaged),
            std::cmp::Ordering::Equal => {}
        }
        let (content, checksum) = bytes.split_at(bytes.len() - 4);
        if crc32(content).to_le_bytes() != checksum {
            return Err(SeedError::Damaged);
        }
        let mut body = Reader::new(&content[bytes.len() - length as usize..]);
        let seed = Seed::read(&mut body).ok_or(SeedError::Damaged)?;
        if body.left() == 0 {
            Ok(seed)
        } else {
            Err(SeedError::Damaged)
        }
    }

    fn write(&self, out: &mut Writer) {
        out.raw(&self.test.to_le_bytes());
        out.number(self.options.seed_bits());
        match STRATEGIES.iter().position(|&name| name == self.strategy) {
            Some(code) => out.number(code as u64),
            None => {
                out.number(OTHER_STRATEGY);
                out.number(self.strategy.len() as u64);
                out.raw(self.strategy.as_bytes());
            }
        }
        // Successive children of one parent are one run.
        out.runs(
            &self.threads,
            |a, b| a.parent == b.parent && a.nth.checked_add(1) == Some(b.nth),
            |out, first| {
                out.number(u64::from(first.parent.0));
                out.number(u64::from(first.nth));
            },
        );
        out.number(self.refinements.len() as u64);
        self.refinements.iter().for_each(|&location| out.number(location));
        out.runs(
            &self.steps,
            |a, b| a.transition.thread == b.transition.thread,
            |out, first| {
                out.number(u64::from(first.transition.thread.0));
            },
        );
        out.runs(
            &self.steps,
            |a, b| (a.operation, a.transition.alternative) == (b.operation, b.transition.alternative),
            |out, first| {
                // Alternatives other than 0 are rare: a flag in the operation's number announces them.
                let alternative = first.transition.alternative;
                out.number(u64::from(first.operation) << 1 | u64::from(alternative != 0));
                if alternative != 0 {
                    out.number(u64::from(alternative));
                }
            },
        );
    }

    fn read(from: &mut Reader<'_>) -> Option<Seed> {
        let test = u32::from_le_bytes(from.raw(4)?.try_into().ok()?);
        let options = from.number()?;
        let strategy = match from.number()? {
            OTHER_STRATEGY => {
                let length = from.number()?;
                String::from_utf8(from.raw(usize::try_from(length).ok()?)?.to_vec()).ok()?
            }
            code => STRATEGIES.get(usize::try_from(code).ok()?)?.to_string(),
        };
        let mut threads = Vec::new();
        from.runs(
            |from| Some((ThreadId(from.small()?), from.small()?)),
            |(parent, nth), length| {
                for i in 0..length {
                    threads.push(Creation {
                        parent,
                        nth: nth.checked_add(u32::try_from(i).ok()?)?,
                    });
                }
                Some(())
            },
        )?;
        let count = from.number()?;
        let refinements = (0..count).map(|_| from.number()).collect::<Option<Vec<_>>>()?;
        let mut steps = Vec::new();
        from.runs(Reader::small, |thread, length| {
            let transition = Transition {
                thread: ThreadId(thread),
                alternative: 0,
            };
            steps.extend((0..length).map(|_| SeedStep {
                transition,
                operation: 0,
            }));
            Some(())
        })?;
        let mut rest = steps.iter_mut();
        from.runs(
            |from| {
                let code = from.number()?;
                Some((
                    u8::try_from(code >> 1).ok()?,
                    if code & 1 == 1 { from.small()? } else { 0 },
                ))
            },
            |(operation, alternative), length| {
                for _ in 0..length {
                    let step = rest.next()?;
                    step.operation = operation;
                    step.transition.alternative = alternative;
                }
                Some(())
            },
        )?;
        if rest.next().is_some() {
            return None;
        }
        Some(Seed {
            test,
            strategy,
            options: Options::from_seed_bits(options)?,
            threads,
            refinements,
            steps,
        })
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.encode())
    }
}

impl FromStr for Seed {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        Seed::decode(text)
    }
}

/// CRC-32 (IEEE 802.3).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}

#[cfg(test)]
mod tests;
