//! Explains in sentences who waits for whom.

use crate::report::SourceTree;
use crate::report::source::short;
use crate::report::steps::Names;
use crate::report::words::Words;
use dpor_protocol::{BlockedThread, FailureReport, SourceLocation, StepReport};
use owo_colors::OwoColorize;
use std::fmt::Write;

/// A failure in which threads wait.
pub struct Waits<'a> {
    pub failure: &'a FailureReport,
    pub steps: &'a [StepReport],
    pub words: &'a Words<'a>,
    pub names: &'a Names,
    pub sources: &'a SourceTree,
}

/// A sentence about a thread, on one line.
struct Line {
    text: String,
    place: Option<SourceLocation>,
}

impl Waits<'_> {
    /// The verdict in a sentence.
    pub fn sentence(&self) -> Option<String> {
        let blocked = &self.failure.blocked;
        if blocked.is_empty() {
            return None;
        }
        if self.failure.kind == "livelock" {
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
        let who = self.all(&waiting);
        let all = |operations: &[&str]| {
            waiting
                .iter()
                .all(|thread| operations.contains(&thread.operation.as_str()))
        };
        let (waits, one) = match waiting.len() {
            0 => return None,
            1 => ("waits", true),
            _ => ("wait", false),
        };
        Some(if all(&["condvar-wake"]) {
            let (what, comes) = if one {
                ("a notification", "does")
            } else {
                ("notifications", "do")
            };
            format!("{who} {waits} for {what} that {comes} not come")
        } else if all(&["park"]) {
            format!(
                "{who} {waits} in park, and nobody unparks {}",
                if one { "it" } else { "them" }
            )
        } else if all(&["recv", "recv-wait"]) {
            format!("{who} {waits} for a message that nobody sends")
        } else if all(&["send", "send-wait"]) {
            format!("{who} {waits} to send, and nobody receives")
        } else {
            format!("{who} {waits} for ever")
        })
    }

    fn all(&self, threads: &[&BlockedThread]) -> String {
        let names: Vec<_> = threads.iter().map(|thread| self.names.of(thread.thread)).collect();
        match &names[..] {
            [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    fn who(&self, thread: &BlockedThread) -> String {
        self.names.of(thread.thread)
    }

    /// Threads each of which waits for the next one, and the last for the first.
    fn cycle(&self) -> Vec<&BlockedThread> {
        let blocked = &self.failure.blocked;
        let waits_for = |thread: &BlockedThread| {
            let holders = thread.held_by.iter();
            holders
                .filter_map(|holder| blocked.iter().find(|other| other.thread == holder.thread))
                .next()
        };
        for first in blocked {
            let mut path = vec![first];
            while let Some(next) = path.last().and_then(|last| waits_for(last)) {
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

    /// Prints for one thread after the other what it holds, and what it waits for.
    pub fn print(&self, out: &mut String) {
        let blocked = &self.failure.blocked;
        if blocked.is_empty() {
            return;
        }
        let mut threads = self.cycle();
        let in_cycle = threads.len();
        let rest = blocked
            .iter()
            .filter(|thread| !threads[..in_cycle].iter().any(|known| known.thread == thread.thread));
        let (joining, waiting): (Vec<_>, Vec<_>) = rest.partition(|thread| waits_for_end(thread));
        threads.extend(waiting);
        threads.extend(joining);
        put!(out, "  who waits:\n");
        let told: Vec<(u32, Vec<Line>)> = threads
            .iter()
            .map(|thread| (thread.thread, self.lines(thread)))
            .collect();
        let lines = || told.iter().flat_map(|(_, lines)| lines);
        let text = lines().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let place = lines().filter_map(|line| Some(short(line.place.as_ref()?).chars().count()));
        let place = place.max().unwrap_or(0);
        let name = told
            .iter()
            .map(|(thread, _)| self.names.of(*thread).chars().count())
            .max();
        let name = name.unwrap_or(0);
        for (thread, lines) in &told {
            let mut who = self.names.of(*thread);
            for line in lines {
                let at = line.place.as_ref().map(short).unwrap_or_default();
                let source = line.place.as_ref().and_then(|place| self.sources.line(place));
                let row = format!("{:<text$}  {at:<place$}", line.text);
                put!(
                    out,
                    "    {:<name$}  {}",
                    who.bold(),
                    match source {
                        Some(source) => format!("{row}  {}", source.dimmed()),
                        None => row.trim_end().to_owned(),
                    }
                );
                who.clear();
            }
        }
        put!(out, "");
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
                false => self.names.of(holder.thread),
            })
            .collect();
        let holders = holders.join(" and ");
        let text = match thread.operation.as_str() {
            "join" if !holders.is_empty() => format!("waits for the end of {holders}"),
            "join" | "scope-wait" => "waits for the end of its threads".to_owned(),
            "condvar-wake" => format!("waits for a notification of {object}{}", self.since(thread)),
            "park" | "park-timeout" => "waits to be unparked".to_owned(),
            "sleep" => "sleeps".to_owned(),
            "recv" | "recv-wait" | "recv-timeout" => format!("waits for a message of {object}"),
            "send" | "send-wait" => format!("waits to send to {object}"),
            _ if self.failure.kind == "livelock" && is_spinning(thread) => {
                format!("goes round: {}", self.last_look(thread))
            }
            _ if holders.is_empty() => format!("waits in {} of {object}", thread.operation),
            _ => format!("waits for {object}, which {holders} holds"),
        };
        let text = match &thread.timeout {
            Some(timeout) => format!("{text}, for {timeout}, which no run takes"),
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
                if holder.thread != thread || waiting.operation == "join" {
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
        steps.find(|step| step.thread == thread.thread && step.operation == "condvar-wait")
    }

    fn since(&self, thread: &BlockedThread) -> String {
        self.last_wait(thread)
            .map_or_else(String::new, |wait| format!(" since step {}", wait.index + 1))
    }

    /// What happened to the notification for which the thread waits.
    fn missed(&self, thread: &BlockedThread) -> Option<Line> {
        let notify: &[&str] = match thread.operation.as_str() {
            "condvar-wake" => &["notify-one", "notify-all"],
            _ => return None,
        };
        let wait = self.last_wait(thread)?;
        let notifications = self.steps.iter().filter(|step| {
            notify.contains(&step.operation.as_str()) && step.object == wait.object && step.thread != thread.thread
        });
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
                    self.names.of(last.thread),
                    last.index + 1
                ),
                place: last.location.clone(),
            },
            Some(last) => {
                let woken = self.steps.iter().find(|step| step.reads_from == Some(last.index));
                let whom = woken.map_or_else(String::new, |step| {
                    format!(", which woke {}", self.names.of(step.thread))
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

/// Says whether it waits for other threads to end.
fn waits_for_end(thread: &BlockedThread) -> bool {
    matches!(thread.operation.as_str(), "join" | "scope-wait")
}

/// Operations in which threads wait. A thread that would wait for a lock which nobody holds only repeats itself.
const WAITS: &[&str] = &[
    "join",
    "condvar-wake",
    "park",
    "park-timeout",
    "recv",
    "recv-timeout",
    "recv-wait",
    "send",
    "send-wait",
    "scope-wait",
    "sleep",
    "once-begin",
    "once-wait",
    "barrier-wake",
    "futex-woken",
    "semaphore-wait",
];

/// Says whether the thread does not wait in an operation, but is held back because it repeats itself.
fn is_spinning(thread: &BlockedThread) -> bool {
    thread.held_by.is_empty() && !WAITS.contains(&thread.operation.as_str())
}
