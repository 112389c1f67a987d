//! Names one part of an exploration.

use std::fmt;
use std::str::FromStr;

/// One of a number of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The index of the part, counted from 0.
    index: u32,
    count: u32,
}

impl Shard {
    /// Maximum number of parts.
    pub const MOST: u32 = 4096;

    /// Creates part `number`, counted from 1, of `count`; returns `None` if there is no such part.
    pub fn new(number: u32, count: u32) -> Option<Shard> {
        let index = number.checked_sub(1)?;
        (index < count && count <= Self::MOST).then_some(Shard { index, count })
    }

    /// The number of the part, counted from 1.
    pub fn number(self) -> u32 {
        self.index + 1
    }

    /// Number of parts.
    pub fn count(self) -> u32 {
        self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number(), self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("a shard is written K/N, such as 2/4, not `{text}`");
        let (number, count) = text.split_once('/').ok_or_else(form)?;
        let read = |text: &str| text.parse::<u32>().map_err(|_| form());
        let (number, count) = (read(number)?, read(count)?);
        Shard::new(number, count).ok_or_else(|| match count {
            0 => "there must be at least one shard".to_owned(),
            _ if count > Self::MOST => format!("there can be at most {} shards", Self::MOST),
            _ => format!("there is no shard {number} of {count}: they are counted from 1"),
        })
    }
}
