//! Who waits for whom, in sentences.

use crate::report::story::words::Words;
use dpor_protocol::{BlockedThread, FailureKind, FailureReport, Flow, OperationKind, SourceLocation, StepReport, Wait};

/// A failure in which threads wait.
pub struct Waits<'a> {
    failure: &'a FailureReport,
    steps: &'a [StepReport],
    words: &'a Words<'a>,
}

/// A thread that waits, or that others wait for.
pub struct Waiting {
    pub thread: u32,
    /// What it holds, what it waits for, and why that does not come.
    pub lines: Vec<Line>,
}

/// A sentence about a thread, and the place that it is about.
pub struct Line {
    pub text: String,
    pub place: Option<SourceLocation>,
}

impl<'a> Waits<'a> {
    pub fn new(failure: &'a FailureReport, steps: &'a [StepReport], words: &'a Words<'a>) -> Waits<'a> {
        Waits { failure, steps, words }
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> Option<String> {
        let blocked = &self.failure.blocked;
        if blocked.is_empty() {
            return None;
        }
        if self.is_livelock() {
            let spinning: Vec<_> = blocked.iter().filter(|thread| is_spinning(thread)).collect();
            let who = self.all(&spinning);
            return Some(match spinning.len() {
                0 => return None,
                1 => format!("{who} spins on a value that no thread will change"),
                _ => format!("{who} spin on values that no thread will change"),
            });
        }
        let cycle = self.cycle();
        match cycle.len() {
            0 => {}
            1 => return Some(format!("{} waits for what it holds itself", self.who(cycle[0]))),
            n => return Some(format!("{n} threads wait for each other")),
        }
        // Whoever waits for the end of another waits for what that one waits for.
        let waiting: Vec<_> = blocked.iter().filter(|thread| !waits_for_end(thread)).collect();
        let first = waiting.first()?;
        let same = waiting.iter().all(|thread| waits_for(thread) == waits_for(first));
        Some(self.in_vain(&waiting, waits_for(first).filter(|_| same)))
    }

    /// What threads wait for that wait for the same, if they do.
    fn in_vain(&self, waiting: &[&BlockedThread], what: Option<Wait>) -> String {
        let who = self.all(waiting);
        let one = waiting.len() == 1;
        let waits = if one { "waits" } else { "wait" };
        match what {
            Some(Wait::Notification) if one => format!("{who} waits for a notification that does not come"),
            Some(Wait::Notification) => format!("{who} wait for notifications that do not come"),
            Some(Wait::Token) if one => format!("{who} waits in park, and nobody unparks it"),
            Some(Wait::Token) => format!("{who} wait in park, and nobody unparks them"),
            Some(Wait::Message) => format!("{who} {waits} for a message that nobody sends"),
            Some(Wait::Receiver) => format!("{who} {waits} to send, and nobody receives"),
            _ => format!("{who} {waits} for ever"),
        }
    }

    fn is_livelock(&self) -> bool {
        self.failure.known_kind() == Some(FailureKind::Livelock)
    }

    fn all(&self, threads: &[&BlockedThread]) -> String {
        let names: Vec<_> = threads.iter().map(|thread| self.words.thread(thread.thread)).collect();
        match &names[..] {
            [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    fn who(&self, thread: &BlockedThread) -> String {
        self.words.thread(thread.thread)
    }

    /// Threads each of which waits for the next one, and the last for the first.
    fn cycle(&self) -> Vec<&BlockedThread> {
        let blocked = &self.failure.blocked;
        let waits_on = |thread: &BlockedThread| {
            let holders = thread.held_by.iter();
            holders
                .filter_map(|holder| blocked.iter().find(|other| other.thread == holder.thread))
                .next()
        };
        for first in blocked {
            let mut path = vec![first];
            while let Some(next) = path.last().and_then(|last| waits_on(last)) {
                if next.thread == first.thread {
                    return path;
                }
                if path.iter().any(|known| known.thread == next.thread) {
                    break;
                }
                path.push(next);
            }
        }
        Vec::new()
    }

    /// The threads that wait: first those that wait for each other, last those that wait for the end of others.
    pub fn threads(&self) -> Vec<Waiting> {
        let mut threads = self.cycle();
        let in_cycle = threads.len();
        let rest = self.failure.blocked.iter();
        let rest = rest.filter(|thread| !threads[..in_cycle].iter().any(|known| known.thread == thread.thread));
        let (joining, waiting): (Vec<_>, Vec<_>) = rest.partition(|thread| waits_for_end(thread));
        threads.extend(waiting);
        threads.extend(joining);
        let told = threads.into_iter().map(|thread| Waiting {
            thread: thread.thread,
            lines: self.lines(thread),
        });
        told.collect()
    }

    fn lines(&self, thread: &BlockedThread) -> Vec<Line> {
        let mut lines = self.holds(thread.thread);
        let object = match &thread.object_name {
            Some(name) => name.clone(),
            None => self.words.object(&thread.object),
        };
        let holders: Vec<_> = thread
            .held_by
            .iter()
            .map(|holder| match holder.thread == thread.thread {
                true => "it".to_owned(),
                false => self.words.thread(holder.thread),
            })
            .collect();
        let holders = holders.join(" and ");
        let text = match waits_for(thread) {
            Some(Wait::End) if !holders.is_empty() => format!("waits for the end of {holders}"),
            Some(Wait::End) => "waits for the end of its threads".to_owned(),
            Some(Wait::Notification) => format!("waits for a notification of {object}{}", self.since(thread)),
            Some(Wait::Token | Wait::TokenOrTime) => "waits to be unparked".to_owned(),
            Some(Wait::Time) => "sleeps".to_owned(),
            Some(Wait::Message | Wait::MessageOrTime) => format!("waits for a message of {object}"),
            Some(Wait::Receiver) => format!("waits to send to {object}"),
            _ if self.is_livelock() && is_spinning(thread) => format!("goes round: {}", self.last_look(thread)),
            _ if holders.is_empty() => format!("waits in {} of {object}", thread.operation),
            _ => format!("waits for {object}, which {holders} holds"),
        };
        let text = match &thread.timeout {
            Some(timeout) if thread.timeouts_fire => format!("{text}, for {timeout}, which no run takes"),
            Some(timeout) => format!("{text}, for {timeout}, and timeouts do not fire"),
            None => text,
        };
        lines.push(Line {
            text,
            place: thread.location.clone(),
        });
        lines.extend(self.missed(thread));
        lines
    }

    /// The objects that the thread holds and others wait for.
    fn holds(&self, thread: u32) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for waiting in &self.failure.blocked {
            for holder in &waiting.held_by {
                if holder.thread != thread || waits_for_end(waiting) {
                    continue;
                }
                let object = waiting
                    .object_name
                    .clone()
                    .unwrap_or_else(|| self.words.object(&waiting.object));
                let taken = self.steps.iter().rev().find(|step| {
                    step.thread == thread && step.object == waiting.object && step.location == holder.location
                });
                let since = taken.map_or_else(String::new, |step| format!(" since step {}", step.index + 1));
                let text = format!("holds {object}{since}");
                if !lines.iter().any(|line| line.text == text) {
                    lines.push(Line {
                        text,
                        place: holder.location.clone(),
                    });
                }
            }
        }
        lines
    }

    fn last_wait(&self, thread: &BlockedThread) -> Option<&StepReport> {
        let mut steps = self.steps.iter().rev();
        steps.find(|step| step.thread == thread.thread && step.kind() == Some(OperationKind::CondvarWait))
    }

    fn since(&self, thread: &BlockedThread) -> String {
        self.last_wait(thread)
            .map_or_else(String::new, |wait| format!(" since step {}", wait.index + 1))
    }

    /// What happened to the notification for which the thread waits.
    fn missed(&self, thread: &BlockedThread) -> Option<Line> {
        if waits_for(thread) != Some(Wait::Notification) {
            return None;
        }
        let wait = self.last_wait(thread)?;
        let notifies = |step: &StepReport| step.kind().and_then(OperationKind::gives) == Some(Flow::Notification);
        let notifications = self
            .steps
            .iter()
            .filter(|step| notifies(step) && step.object == wait.object && step.thread != thread.thread);
        let all: Vec<_> = notifications.collect();
        let after = all.iter().any(|step| step.index > wait.index);
        Some(match all.last() {
            None => Line {
                text: "nobody notifies it".into(),
                place: None,
            },
            Some(last) if !after => Line {
                text: format!(
                    "the notification is lost: {} notified in step {}, before the wait",
                    self.words.thread(last.thread),
                    last.index + 1
                ),
                place: last.location.clone(),
            },
            Some(last) => {
                let woken = self.steps.iter().find(|step| step.reads_from == Some(last.index));
                let whom = woken.map_or_else(String::new, |step| {
                    format!(", which woke {}", self.words.thread(step.thread))
                });
                Line {
                    text: format!("the last notification is step {}{whom}", last.index + 1),
                    place: last.location.clone(),
                }
            }
        })
    }

    /// The last observation of a thread in a loop.
    fn last_look(&self, thread: &BlockedThread) -> String {
        let mut steps = self.steps.iter().rev();
        let last = steps.find(|step| step.thread == thread.thread && step.object == thread.object);
        match last {
            Some(step) => self.words.effect(step),
            None => thread.operation.clone(),
        }
    }
}

/// What the thread waits for, if its operation can block.
fn waits_for(thread: &BlockedThread) -> Option<Wait> {
    thread.kind().and_then(OperationKind::waits_for)
}

/// Says whether it waits for other threads to end.
fn waits_for_end(thread: &BlockedThread) -> bool {
    waits_for(thread) == Some(Wait::End)
}

/// Says whether the thread does not wait in an operation, but is held back because it repeats itself.
fn is_spinning(thread: &BlockedThread) -> bool {
    thread.held_by.is_empty() && matches!(waits_for(thread), None | Some(Wait::Holder))
}
