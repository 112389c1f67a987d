//! What a process reports of two orders of the same steps that lead to different states.

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
