//! Numbers and runs as bytes: varints (LEB128), and run-length encoding.

/// Maximum length of a run: a larger number is damage, and must not be used as a size to allocate.
const MAX_RUN: u64 = 1 << 24;

#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes the number of runs, then for each run what `first` writes for its first element, and its length minus
    /// one.
    pub fn runs<T>(&mut self, items: &[T], same: impl FnMut(&T, &T) -> bool, mut first: impl FnMut(&mut Writer, &T)) {
        let runs: Vec<&[T]> = items.chunk_by(same).collect();
        self.number(runs.len() as u64);
        for run in runs {
            first(self, &run[0]);
            self.number(run.len() as u64 - 1);
        }
    }
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    pub fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// Reads what [`Writer::runs`] wrote: `first` reads the part of a run's first element, `expand` receives what it
    /// read and the run's length.
    pub fn runs<T>(
        &mut self,
        mut first: impl FnMut(&mut Reader<'a>) -> Option<T>,
        mut expand: impl FnMut(T, u64) -> Option<()>,
    ) -> Option<()> {
        for _ in 0..self.number()? {
            let item = first(self)?;
            let more = self.number()?;
            if more >= MAX_RUN {
                return None;
            }
            expand(item, more + 1)?;
        }
        Some(())
    }
}
