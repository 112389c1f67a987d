//! Reports each execution, for a picture of the whole exploration, as far as a report has room.

use super::describe;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{End, Statistics, Trace, Transition};
use dpor_protocol::{EndReport, ExecutionReport, Message, SiteReport, Taken, ThreadReport};
use dpor_scheduler::report::Source;
use dpor_scheduler::{OperationKind, Program, ThreadId, program};

/// Maximum number of reported executions.
const EXECUTIONS: u32 = 1_000;
/// Maximum number of reported steps, without those that an execution shares with the previous one.
const STEPS: usize = 20_000;

/// The state of the reports so far.
#[derive(Default)]
pub(crate) struct ExecutionLog {
    executions: u32,
    steps: usize,
    /// Whether nothing more is reported.
    full: bool,
    /// Whether exploration has started again since.
    anew: bool,
    last: Vec<Transition>,
    sites: Vec<(Option<OperationKind>, Option<Source>)>,
    /// The sites with these signatures.
    known: KeyMap<u64, u32>,
    threads: Vec<ThreadId>,
}

impl ExecutionLog {
    /// Reports an execution that has ended.
    pub fn tell(&mut self, program: &Program, end: &End, trace: &Trace, statistics: &Statistics) -> Option<Message> {
        if self.full && !matches!(end, End::Failed(_)) {
            return None;
        }
        let events = trace.events();
        let same = self.last.iter().zip(events);
        let common = same.take_while(|(last, event)| **last == event.transition()).count();
        let new = events.len() - common;
        self.full |= self.executions >= EXECUTIONS || self.steps + new > STEPS;
        // A failure is told in any case, unless it alone is more than there is room for.
        if self.full && (new > STEPS || !matches!(end, End::Failed(_))) {
            return None;
        }
        self.executions += 1;
        self.steps += new;
        let listed = self.sites.len();
        let mut steps = Vec::with_capacity(new);
        for event in &events[common..] {
            let site = self.site_of(event.step().signature);
            steps.push(taken(event.transition(), site));
        }
        self.last.truncate(common);
        self.last
            .extend(events[common..].iter().map(|event| event.transition()));
        let end = match end {
            End::Complete => EndReport::Complete,
            End::Failed(failure) => EndReport::Failed(failure.kind.to_owned()),
            End::Blocked => EndReport::Blocked {
                asleep: self.asleep(program),
            },
            End::Pruned => EndReport::Pruned,
            End::Cut => EndReport::Cut,
        };
        let sites = self.sites[listed..].iter().map(|(kind, source)| SiteReport {
            operation: kind.map_or_else(String::new, |kind| kind.to_string()),
            location: describe::location_in_program(source.clone()),
        });
        Some(Message::Execution(ExecutionReport {
            number: statistics.executions(),
            anew: std::mem::take(&mut self.anew),
            common: common as u64,
            steps,
            end,
            sites: sites.collect(),
            threads: self.new_threads(program),
        }))
    }

    /// Forgets the reports, which are void.
    pub fn start_again(&mut self) {
        *self = ExecutionLog {
            anew: true,
            ..ExecutionLog::default()
        };
    }

    /// The transitions that could have gone on in the program's present state.
    fn asleep(&mut self, program: &Program) -> Vec<Taken> {
        let statuses = dpor_explorer::System::threads(program);
        let enabled: Vec<_> = Transition::enabled(statuses).collect();
        let taken = |transition: Transition| {
            let pending = program.pending_operation(transition.thread);
            let (kind, source) = pending.map_or((None, None), |(kind, source)| (Some(kind), source));
            taken(transition, self.site(kind, source))
        };
        enabled.into_iter().map(taken).collect()
    }

    fn site_of(&mut self, signature: u64) -> u32 {
        if let Some(&site) = self.known.get(&signature) {
            return site;
        }
        let (kind, source) = program::operation_of(signature);
        let site = self.site(kind, source);
        self.known.insert(signature, site);
        site
    }

    fn site(&mut self, kind: Option<OperationKind>, source: Option<Source>) -> u32 {
        let site = (kind, source);
        let known = self.sites.iter().position(|known| *known == site);
        let at = known.unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn new_threads(&mut self, program: &Program) -> Vec<ThreadReport> {
        let mut reports = program.thread_reports();
        reports.retain(|thread| !self.threads.contains(&thread.id));
        self.threads.extend(reports.iter().map(|thread| thread.id));
        reports.into_iter().map(describe::thread).collect()
    }
}

fn taken(transition: Transition, site: u32) -> Taken {
    Taken {
        thread: transition.thread.0,
        alternative: transition.alternative,
        site,
    }
}
