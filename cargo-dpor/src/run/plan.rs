//! What is to be done for each test of a run.

use crate::build::Test;
use crate::child::Order;
use crate::cli::TestArgs;
use crate::config::Settings;
use crate::run::order::order;
use crate::run::resume::{Earlier, Left, Slot};

/// A test that is to be explored.
pub struct Planned<'a> {
    pub test: &'a Test,
    pub settings: Settings,
    pub slot: Slot,
    /// What is left of an earlier exploration, if it is to be used.
    pub left: Left,
}

impl<'a> Planned<'a> {
    pub fn new(test: &'a Test, settings: Settings, earlier: &Earlier, args: &TestArgs) -> Planned<'a> {
        let order = Order {
            shard: args.shard,
            ..order(&settings)
        };
        let slot = earlier.slot(test, &order);
        let left = if args.resume { slot.left() } else { Left::Nothing };
        // What is not gone on with now is of no use to anyone: this run will be the one that was interrupted.
        if matches!(left, Left::Nothing | Left::Void(_)) {
            slot.clear();
        }
        Planned {
            test,
            settings,
            slot,
            left,
        }
    }
}
