//! The effect of a step, in a few words.

use crate::report::change::change;
use crate::report::steps::Names;
use dpor_protocol::StepReport;
use std::collections::HashMap;

/// The words for the steps of one schedule.
pub struct Words<'a> {
    steps: &'a [StepReport],
    names: &'a Names,
    /// The names of objects.
    objects: HashMap<&'a str, &'a str>,
    blocks: Blocks,
}

impl<'a> Words<'a> {
    pub fn new(steps: &'a [StepReport], names: &'a Names) -> Self {
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

    /// The name of an object.
    pub fn object(&self, object: &str) -> String {
        match self.objects.get(object) {
            Some(name) => (*name).to_owned(),
            None => self.names.short(object),
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
        let told = step.operation == "condvar-wait" || step.operation.ends_with("unlock");
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

    fn action(&self, step: &StepReport) -> String {
        let name = self.object(&step.object);
        let detail = self.blocks.replaced(step.detail.as_deref().unwrap_or_default());
        let detail = detail.as_str();
        let and = |what: String| match detail {
            "" => what,
            detail => format!("{what}: {detail}"),
        };
        match step.operation.as_str() {
            "load" | "store" | "swap" | "compare-exchange" | "read-modify-write" if !detail.is_empty() => {
                let sign = if detail.contains('→') { ":" } else { " =" };
                format!("{name}{sign} {detail}")
            }
            "lock" => and(format!("lock {name}{}", self.value(step, &step.object))),
            "try-lock" => match detail {
                "" => format!("try-lock {name}{}: locked", self.value(step, &step.object)),
                _ => format!("try-lock {name}: {detail}"),
            },
            "read-lock" | "write-lock" | "try-read-lock" | "try-write-lock" => {
                and(format!("{} {name}{}", step.operation, self.value(step, &step.object)))
            }
            "condvar-wait" => {
                let locks: Vec<_> = step.released.iter().map(|lock| self.object(lock)).collect();
                let locks = locks.join(", ");
                match locks.is_empty() {
                    true => format!("wait on {name}"),
                    false => format!("wait on {name}, unlock {locks}"),
                }
            }
            "condvar-wake" => match detail {
                "" => format!("woken on {name}"),
                detail => format!("{name}: {detail}"),
            },
            "notify-one" | "notify-all" => {
                let woken: Vec<_> = self
                    .steps
                    .iter()
                    .filter(|other| other.reads_from == Some(step.index))
                    .collect();
                match (detail, &woken[..]) {
                    ("nobody waits" | "0 waiting", _) => format!("notify {name}: nobody waits"),
                    (_, []) => and(format!("notify {name}")),
                    (_, woken) => {
                        let woken: Vec<_> = woken.iter().map(|other| format!("t{}", other.thread)).collect();
                        format!("notify {name}: wakes {}", woken.join(", "))
                    }
                }
            }
            "send" | "try-send" => match detail.split_once(": ") {
                Some((_, message)) => format!("{name} ← {message}"),
                None => and(format!("send to {name}")),
            },
            "recv" | "try-recv" | "recv-timeout" => match detail.split_once(": ") {
                Some((_, message)) => format!("recv ← {message}"),
                None => and(format!("recv from {name}")),
            },
            "once-begin" | "once-end" | "once-wait" | "once-query" => {
                and(format!("{} {name}{}", step.operation, self.value(step, &step.object)))
            }
            // Which message it is, and whether it has met its counterpart.
            "async-send" | "async-receive" => match detail.split_once(": ") {
                Some((_, message)) if step.operation == "async-send" => format!("{name} ← {message}"),
                Some((_, message)) => format!("receive {name}: {message}"),
                None => and(format!("{} {name}", step.operation)),
            },
            // A thread that is joined has a name; all those of a scope are waited for by one step.
            "join" if step.object.starts_with("thread#") => "end of the scope".to_owned(),
            "park" | "park-timeout" => and(step.operation.clone()),
            // What std's waits do with park tokens.
            "enter-wait" | "look-in-wait" if detail.is_empty() => format!("look at {name}"),
            "enter-wait" | "look-in-wait" => format!("{name}: {detail}"),
            "recv-wait" | "send-wait" => format!("unparked in {name}"),
            "look-at-scope" => "look at the scope".to_owned(),
            "scope-wait" => "unparked in the scope".to_owned(),
            "leave-scope" => "leave the scope".to_owned(),
            "wake-thread" => format!("unpark {name}"),
            operation if name.is_empty() => and(operation.to_owned()),
            operation => and(format!("{operation} {name}")),
        }
    }
}

/// Numbers for addresses of memory, in the order in which they are met.
#[derive(Default)]
struct Blocks {
    known: Vec<String>,
}

/// Minimum number of digits of an address; other hexadecimal numbers mostly have fewer.
const DIGITS: usize = 9;

impl Blocks {
    fn learn(&mut self, text: &str) {
        for (address, _) in addresses(text) {
            if !self.known.iter().any(|known| known == address) {
                self.known.push(address.to_owned());
            }
        }
    }

    /// The number of a block whose address was met.
    fn number(&self, address: &str) -> Option<String> {
        let known = self.known.iter().position(|known| known == address);
        known.map(|number| format!("&{}", number + 1))
    }

    fn replaced(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((address, at)) = addresses(rest).next() {
            out.push_str(&rest[..at]);
            out.push_str(self.number(address).as_deref().unwrap_or(address));
            rest = &rest[at + address.len()..];
        }
        out.push_str(rest);
        // As pointers are printed.
        match out.split(' ').any(|word| word.trim_end_matches(',') == "0x0") {
            true => out
                .split(' ')
                .map(|word| {
                    if word.trim_end_matches(',') == "0x0" {
                        word.replace("0x0", "null")
                    } else {
                        word.to_owned()
                    }
                })
                .collect::<Vec<_>>()
                .join(" "),
            false => out,
        }
    }
}

/// The addresses in a text, and their positions.
fn addresses(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.match_indices("0x").filter_map(|(at, _)| {
        let digits = text[at + 2..].chars().take_while(char::is_ascii_hexdigit).count();
        (digits >= DIGITS).then(|| (&text[at..at + 2 + digits], at))
    })
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
        let words = Words::new(steps, &names);
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
