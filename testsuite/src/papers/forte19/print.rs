//! The table as text: published beside measured values.

use super::{Row, explore, rmq_receiving};
use crate::message_passing::{Machine, interleavings};
use crate::papers::Limit;
use crate::papers::print::{Format, text};
use crate::programs::lastzero;
use crate::toy::Toy;
use dpor_explorer::{Report, Statistics, Strategy, Verdict};
use std::num::NonZeroU32;

fn executions(report: &Report) -> String {
    let cut = matches!(report.verdict, Verdict::Incomplete { .. });
    format!("{}{}", if cut { ">" } else { "" }, report.statistics.complete)
}

fn milliseconds(statistics: &Statistics) -> String {
    format!("{:.1}", statistics.time.as_secs_f64() * 1000.0)
}

/// Table 1. Interleavings are counted as the paths through the graph of states, and run one by one if there is time.
pub fn print(rows: &[Row], limit: Limit, format: Format) -> String {
    let header = [
        "program",
        "processes",
        "deadlock",
        "exhaustive: published",
        "s",
        "interleavings",
        "run",
        "ms",
        "UDPOR: published",
        "s",
        "unfolding",
        "blocked",
        "steps",
        "ms",
        "source",
        "blocked",
        "steps",
        "ms",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for row in rows {
        let strategies = [
            Strategy::Exhaustive,
            Strategy::Unfolding { partial: None },
            Strategy::Source,
        ];
        let [exhaustive, unfolding, source] =
            strategies.map(|strategy| explore(Machine::new(row.program.clone()), strategy, limit));
        let deadlock = match &unfolding.verdict {
            Verdict::Complete => "no",
            Verdict::Failed { .. } => "yes",
            Verdict::Incomplete { .. } => "unknown",
        };
        let (traces, seconds) = row
            .exhaustive
            .map_or(("-".to_owned(), "TO"), |(n, s)| (n.to_string(), s));
        let mut line = vec![
            row.name.to_owned(),
            row.program.actors.len().to_string(),
            deadlock.to_owned(),
            traces,
            seconds.to_owned(),
            interleavings(&row.program).to_string(),
            executions(&exhaustive),
            milliseconds(&exhaustive.statistics),
            row.unfolding.0.to_string(),
            row.unfolding.1.to_owned(),
        ];
        for report in [unfolding, source] {
            line.push(executions(&report));
            line.push(report.statistics.blocked.to_string());
            line.push(report.statistics.steps.to_string());
            line.push(milliseconds(&report.statistics));
        }
        lines.push(line);
    }
    text(&lines, format)
}

/// The study of k-partial alternatives: RMQ-receiving with 5 processes, and a program for which source sets are not
/// optimal.
pub fn print_partial(limit: Limit, format: Format) -> String {
    let rmq = Machine::new(rmq_receiving(4));
    let lastzero = Toy::new(lastzero(8));
    let header = ["program", "k", "traces", "blocked", "steps", "ms"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let partials = || (1..=7).map(NonZeroU32::new).chain([None]);
    let strategies = || partials().map(|partial| (partial, Strategy::Unfolding { partial }));
    let rmq = strategies().map(|(k, strategy)| ("RMQ-receiving (5)", k, explore(rmq.clone(), strategy, limit)));
    let lastzero = strategies().map(|(k, strategy)| ("lastzero(8)", k, explore(lastzero.clone(), strategy, limit)));
    for (program, partial, report) in rmq.chain(lastzero) {
        lines.push(vec![
            program.to_owned(),
            partial.map_or("all".to_owned(), |k| k.to_string()),
            executions(&report),
            report.statistics.blocked.to_string(),
            report.statistics.steps.to_string(),
            milliseconds(&report.statistics),
        ]);
    }
    text(&lines, format)
}
