//! What an operation waits for, as far as one location tells.

use crate::system::{Condition, Guard, Location, Variable};

/// What a step waits for before it accesses a location.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::strategy) enum Wait {
    /// It never blocks.
    #[default]
    Nothing,
    /// It can run only if the condition, on the location's own variable, holds.
    For {
        condition: Condition,
        /// Whether it can always run when the condition holds.
        only: bool,
    },
    /// It waits for something else, or not for the same each time.
    Other,
}

crate::codec!(enum Wait { 0 => Nothing, 1 => For { condition, only }, 2 => Other });

impl Wait {
    /// What an operation with these guards waits for before it accesses the location.
    pub fn of(guards: &[Guard], location: Location) -> Wait {
        let [first, rest @ ..] = guards else {
            return Wait::Nothing;
        };
        let variable = Variable(location.0);
        match first.demand_on(variable) {
            Some(condition) if rest.iter().all(|guard| guard.demand_on(variable) == Some(condition)) => Wait::For {
                condition,
                only: rest.is_empty() && first.clauses().count() == 1,
            },
            _ => Wait::Other,
        }
    }
}
