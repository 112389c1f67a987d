//! ValueText for values of the user's own types, which a test process sends as bytes ([`ValueBytes`]), decoded with the
//! debug information of its executable.
//!
//! Whatever cannot be decoded is `…`, or is not told at all if nothing can: there is no debug information, or it is
//! damaged. Addresses are not shown, as they mean nothing to readers.

mod debug_info;
mod decode;
mod library;
mod memory;
mod place;
#[cfg(test)]
mod tests;
mod words;

use dashmap::DashMap;
use debug_info::DebugInfo;
use decode::Decoder;
use dpor_protocol::{FailureReport, Message, StepReport, ValueBytes, ValueReport};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use words::ValueText;

/// The debug information of each executable, or `None` if it has none. Read when the first value is decoded, and kept:
/// many tests share an executable, and several threads run tests.
static KNOWN: LazyLock<DashMap<PathBuf, Option<DebugInfo>>> = LazyLock::new(DashMap::new);

/// Finds words for the values in the messages of an executable's process.
#[derive(Debug, Default)]
pub struct Values {
    executable: PathBuf,
}

impl Values {
    pub fn of(executable: &Path) -> Values {
        Values {
            executable: executable.into(),
        }
    }

    /// Replaces bytes by words.
    pub fn tell(&self, message: &mut Message) {
        match message {
            Message::Step(step) => self.tell_step(step),
            Message::Pair(pair) => {
                let steps = pair.first.iter_mut().chain(&mut pair.second);
                steps.for_each(|step| self.tell_step(step));
            }
            Message::Finished {
                failure: Some(failure), ..
            } => {
                for thread in &mut failure.blocked {
                    self.tell_name(&mut thread.object_name, thread.static_address.take());
                }
                self.tell_memory(failure);
            }
            _ => {}
        }
    }

    fn tell_name(&self, name: &mut Option<String>, address: Option<u64>) {
        if let (Some(name), Some(address)) = (name, address)
            && let Some(way) = self.with_types(|types| place::within_static(types, address))
        {
            name.push_str(&way);
        }
    }

    /// Puts the name of the memory that was accessed in the message, if it has one.
    fn tell_memory(&self, failure: &mut FailureReport) {
        let Some(mut memory) = failure.memory.take() else {
            return;
        };
        if let Some(told) = self.with_types(|types| memory::tell(types, &mut memory)) {
            failure.message = failure.message.replacen(&memory.words, &told, 1);
            failure.memory = Some(memory);
        }
    }

    fn tell_step(&self, step: &mut StepReport) {
        self.tell_name(&mut step.object_name, step.static_address.take());
        if let Some(detail) = step.detail.take_if(|detail| ValueBytes::are_in(detail)) {
            let told = ValueBytes::replaced(&detail, |bytes| Some(self.words(bytes)?.short()));
            step.detail = Some(told).filter(|told| !told.is_empty());
        }
        step.values.retain_mut(|value| self.tell_value(value).is_some());
    }

    fn tell_value(&self, value: &mut ValueReport) -> Option<()> {
        if ValueBytes::are_in(&value.before) || ValueBytes::are_in(&value.after) {
            let [before, after] = [&value.before, &value.after].map(|text| self.words(&ValueBytes::of_text(text)?));
            (value.before, value.after) = ValueText::short_pair(&before?, &after?);
        }
        Some(())
    }

    fn words(&self, bytes: &ValueBytes) -> Option<ValueText> {
        self.with_types(|types| Decoder::new(types, bytes).value())
    }

    fn with_types<R>(&self, find: impl FnOnce(&mut DebugInfo) -> Option<R>) -> Option<R> {
        let mut known = KNOWN
            .entry(self.executable.clone())
            .or_insert_with(|| DebugInfo::open(&self.executable));
        find(known.as_mut()?)
    }
}
