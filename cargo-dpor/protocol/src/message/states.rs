//! What a process reports of what keeps states apart: those to which two orders of the same steps lead, or all.

use super::step::StepReport;

/// Two orders of the same steps that lead to different states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PairReport {
    /// Number of steps with which both begin.
    pub common: u64,
    /// The rest of the first order.
    pub first: Vec<StepReport>,
    /// The rest of the second order.
    pub second: Vec<StepReport>,
    /// The differences between the states.
    pub differences: Vec<DifferenceReport>,
}

dpor_explorer::codec!(struct PairReport { common, first, second, differences });

/// Bytes in which two states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct DifferenceReport {
    /// The owner of the bytes.
    pub owner: String,
    /// Their address in memory, if they have one.
    pub address: Option<u64>,
    /// Their offset in what belongs to the owner.
    pub offset: u64,
    /// Their number.
    pub length: u64,
    /// The first bytes in the first state; empty if they do not exist there.
    pub first: Vec<u8>,
    /// The first bytes in the second state; empty if they do not exist there.
    pub second: Vec<u8>,
    /// A note on them.
    pub hint: Option<String>,
}

dpor_explorer::codec!(struct DifferenceReport { owner, address, offset, length, first, second, hint });

/// What keeps the states of an exploration apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SurveyReport {
    /// Number of states on record.
    pub states: u64,
    /// Parts of states without which there would be fewer of them, in the order in which it pays most to leave them
    /// out.
    pub parts: Vec<PartReport>,
    /// Number of states that were compared with the nearest of those that differ in one kind of part only.
    pub compared: u64,
    /// Number of states among those that were looked at that differ from each other one in several kinds of parts.
    pub alone: u64,
    /// Where the compared states differ, the most frequent places first.
    pub places: Vec<PlaceReport>,
}

dpor_explorer::codec!(struct SurveyReport { states, parts, compared, alone, places });

/// A part of states that keeps some of them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PartReport {
    /// What it is.
    pub name: String,
    /// Number of states that would be left without it.
    pub without: u64,
    /// Number of states that would be left without it and the parts before it in the list.
    pub without_all: u64,
}

dpor_explorer::codec!(struct PartReport { name, without, without_all });

/// A place in which states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PlaceReport {
    /// Number of pairs of states that differ there.
    pub pairs: u64,
    /// Number of those that differ nowhere else.
    pub only: u64,
    /// The first difference that was met there.
    pub example: DifferenceReport,
}

dpor_explorer::codec!(struct PlaceReport { pairs, only, example });
