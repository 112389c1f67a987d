//! The effect of a step, in a few words.

use crate::report::story::blocks::Blocks;
use crate::report::story::change::change;
use crate::report::story::names::Names;
use dpor_protocol::{OperationKind, Phrase, StepReport};
use std::collections::HashMap;

/// The words for the steps of one schedule.
pub struct Words<'a> {
    steps: &'a [StepReport],
    names: Names,
    /// The names of objects.
    objects: HashMap<&'a str, &'a str>,
    blocks: Blocks,
}

impl<'a> Words<'a> {
    pub fn new(steps: &'a [StepReport], names: Names) -> Self {
        let named = steps
            .iter()
            .filter_map(|step| Some((step.object.as_str(), step.object_name.as_deref()?)));
        let mut blocks = Blocks::default();
        for detail in steps.iter().filter_map(|step| step.detail.as_deref()) {
            blocks.learn(detail);
        }
        Words {
            steps,
            names,
            objects: named.collect(),
            blocks,
        }
    }

    /// The name of a thread.
    pub fn thread(&self, thread: u32) -> String {
        self.names.of(thread)
    }

    /// The name of an object.
    pub fn object(&self, object: &str) -> String {
        match self.objects.get(object) {
            Some(name) => (*name).to_owned(),
            None => self.names.of_object(object),
        }
    }

    /// The text with numbers instead of addresses of memory.
    pub fn with_blocks(&self, text: &str) -> String {
        self.blocks.replaced(text)
    }

    /// The effect of the step, and the origin of what it reads.
    pub fn effect(&self, step: &StepReport) -> String {
        let mut text = self.action(step);
        let writer = step
            .reads_from
            .and_then(|from| self.steps.iter().find(|step| step.index == from));
        if let Some(writer) = writer.filter(|writer| writer.thread != step.thread) {
            text.push_str(&format!(" (step {})", writer.index + 1));
        }
        // An unlock that is a step of its own says so already, and who waits on a condition gives its lock back by
        // that.
        let kind = step.kind();
        let told = kind.is_some_and(|kind| kind.releases() || kind.phrase() == Phrase::WaitOn);
        for lock in step.released.iter().filter(|_| !told) {
            text.push_str(&format!(", {}", self.given_back(step, lock)));
        }
        for block in step.freed.iter().filter_map(|block| self.blocks.number(block)) {
            text.push_str(&format!(", free {block}"));
        }
        text
    }

    fn given_back(&self, step: &StepReport, lock: &str) -> String {
        match lock == step.object {
            true => "unlock".to_owned(),
            false => match self.change(step, lock) {
                Some(change) => format!("unlock {}{change}", self.object(lock)),
                None => format!("unlock {}", self.object(lock)),
            },
        }
    }

    /// ` = 0`, or `: 0 → 1`.
    fn value(&self, step: &StepReport, object: &str) -> String {
        let value = step.values.iter().find(|value| value.object == object);
        match value {
            Some(value) if value.before == value.after => format!(" = {}", value.after),
            Some(_) => self.change(step, object).unwrap_or_default(),
            None => String::new(),
        }
    }

    /// `: 0 → 1`, if the step has changed the object's value.
    fn change(&self, step: &StepReport, object: &str) -> Option<String> {
        let value = step.values.iter().find(|value| value.object == object)?;
        (value.before != value.after).then(|| format!(": {}", change(&value.before, &value.after)))
    }

    /// What the step has done: the template of its kind, with its object, its value and its effect.
    fn action(&self, step: &StepReport) -> String {
        let name = self.object(&step.object);
        let operation = step.operation.as_str();
        let detail = self.blocks.replaced(step.detail.as_deref().unwrap_or_default());
        let detail = detail.as_str();
        let and = |what: String| match detail {
            "" => what,
            detail => format!("{what}: {detail}"),
        };
        let value = || self.value(step, &step.object);
        // Of a message, its contents come after its number.
        let message = detail.split_once(": ").map(|(_, message)| message);
        // A kind that is not known has its name.
        match step.kind().map_or(Phrase::Operation, OperationKind::phrase) {
            Phrase::Access if !detail.is_empty() => {
                let sign = if detail.contains('→') { ":" } else { " =" };
                format!("{name}{sign} {detail}")
            }
            Phrase::WithValue => and(format!("{operation} {name}{}", value())),
            Phrase::Attempt => match detail {
                "" => format!("{operation} {name}{}: locked", value()),
                _ => format!("{operation} {name}: {detail}"),
            },
            Phrase::WaitOn => {
                let locks: Vec<_> = step.released.iter().map(|lock| self.object(lock)).collect();
                match locks.is_empty() {
                    true => format!("wait on {name}"),
                    false => format!("wait on {name}, unlock {}", locks.join(", ")),
                }
            }
            Phrase::Woken => match detail {
                "" => format!("woken on {name}"),
                detail => format!("{name}: {detail}"),
            },
            Phrase::Notify => self.notification(step, &name, detail),
            Phrase::Send => match message {
                Some(message) => format!("{name} ← {message}"),
                None => and(format!("send to {name}")),
            },
            Phrase::Receive => match message {
                Some(message) => format!("recv ← {message}"),
                None => and(format!("recv from {name}")),
            },
            // Which message it is, and whether it has met its counterpart.
            Phrase::SendAsync => match message {
                Some(message) => format!("{name} ← {message}"),
                None => and(format!("{operation} {name}")),
            },
            Phrase::ReceiveAsync => match message {
                Some(message) => format!("receive {name}: {message}"),
                None => and(format!("{operation} {name}")),
            },
            // A thread that is joined has a name; all those of a scope are waited for by one step.
            Phrase::Join if step.object.starts_with("thread#") => "end of the scope".to_owned(),
            Phrase::Bare => and(operation.to_owned()),
            Phrase::Look if detail.is_empty() => format!("look at {name}"),
            Phrase::Look => format!("{name}: {detail}"),
            Phrase::Unparked => format!("unparked in {name}"),
            Phrase::Unpark => format!("unpark {name}"),
            Phrase::Fixed(words) => words.to_owned(),
            Phrase::Access | Phrase::Join | Phrase::Operation => match name.is_empty() {
                true => and(operation.to_owned()),
                false => and(format!("{operation} {name}")),
            },
        }
    }

    fn notification(&self, step: &StepReport, name: &str, detail: &str) -> String {
        let woken = self.steps.iter().filter(|other| other.reads_from == Some(step.index));
        let woken: Vec<_> = woken.map(|other| format!("t{}", other.thread)).collect();
        match (detail, woken.is_empty()) {
            ("nobody waits" | "0 waiting", _) => format!("notify {name}: nobody waits"),
            ("", true) => format!("notify {name}"),
            (detail, true) => format!("notify {name}: {detail}"),
            (_, false) => format!("notify {name}: wakes {}", woken.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_protocol::ValueReport;

    fn step(index: u64, thread: u32, operation: &str, object: &str, detail: &str) -> StepReport {
        StepReport {
            index,
            thread,
            operation: operation.into(),
            object: object.into(),
            object_name: object.contains('#').then(|| object.replace("#1", "")),
            detail: (!detail.is_empty()).then(|| detail.into()),
            ..StepReport::default()
        }
    }

    fn effects(steps: &[StepReport]) -> Vec<String> {
        let names = Names::new(std::iter::empty());
        let words = Words::new(steps, names);
        steps.iter().map(|step| words.effect(step)).collect()
    }

    #[test]
    fn values_are_told() {
        let lock = |before: &str, after: &str, released: bool| StepReport {
            values: vec![ValueReport {
                object: "m#1".into(),
                before: before.into(),
                after: after.into(),
            }],
            released: released.then(|| "m#1".into()).into_iter().collect(),
            ..step(5, 0, "lock", "m#1", "")
        };
        let from_another = StepReport {
            reads_from: Some(1),
            ..step(2, 1, "load", "n#1", "1")
        };
        assert_eq!(
            effects(&[
                step(0, 0, "load", "n#1", "0"),
                step(1, 0, "store", "n#1", "0 → 1"),
                from_another,
                step(3, 0, "compare-exchange", "n#1", "1, not exchanged"),
                lock("7", "7", false),
                lock("7", "8", true),
            ]),
            [
                "n = 0",
                "n: 0 → 1",
                "n = 1 (step 2)",
                "n = 1, not exchanged",
                "lock m = 7",
                "lock m: 7 → 8, unlock"
            ]
        );
    }

    #[test]
    fn messages_and_notifications_are_told() {
        let woken = StepReport {
            reads_from: Some(3),
            ..step(4, 2, "condvar-wake", "c#1", "")
        };
        let wait = StepReport {
            released: vec!["m#1".into()],
            ..step(2, 2, "condvar-wait", "c#1", "")
        };
        assert_eq!(
            effects(&[
                step(0, 0, "send", "jobs#1", "message 0: 7"),
                step(1, 0, "recv", "jobs#1", "message 0: 7"),
                wait,
                step(3, 0, "notify-one", "c#1", ""),
                woken,
                step(5, 0, "notify-all", "c#1", "0 waiting"),
                step(6, 0, "join", "t1", ""),
                step(7, 0, "join", "thread#1", ""),
                step(8, 0, "async-send", "inbox#1", "number 1: [1, 2], pending"),
                step(9, 0, "async-receive", "inbox#1", "number 1: [1, 2], done"),
                step(10, 0, "async-receive", "inbox#1", "number 2, pending"),
            ]),
            [
                "jobs ← 7",
                "recv ← 7",
                "wait on c, unlock m#1",
                "notify c: wakes t2",
                "woken on c (step 4)",
                "notify c: nobody waits",
                "join t1",
                "end of the scope",
                "inbox ← [1, 2], pending",
                "receive inbox: [1, 2], done",
                "async-receive inbox: number 2, pending"
            ]
        );
    }

    #[test]
    fn every_kind_has_words_and_an_unknown_one_its_name() {
        for kind in OperationKind::ALL {
            let text = &effects(&[step(0, 0, kind.name(), "x#1", "")])[0];
            assert!(!text.is_empty() && !text.ends_with(' '), "{kind}: {text:?}");
        }
        assert_eq!(effects(&[step(0, 0, "warp", "x#1", "far")]), ["warp x: far"]);
    }

    #[test]
    fn addresses_become_numbers() {
        assert_eq!(
            effects(&[
                step(0, 0, "store", "head#1", "0x0 → 0x200000000120"),
                step(1, 0, "swap", "head#1", "0x200000000120 → 0x200000000150"),
                step(2, 0, "load", "flags#1", "0x0100"),
                StepReport {
                    freed: vec!["0x200000000120".into(), "0x200000000180".into()],
                    ..step(3, 0, "yield", "", "")
                },
            ]),
            ["head: null → &1", "head: &1 → &2", "flags = 0x0100", "yield, free &1"]
        );
    }
}
