//! Guards: when an operation is enabled, as data.
//!
//! Race detection asks whether an operation would have been enabled at a place where it did not run:
//! after a subset of the events so far (ALGORITHMS, traps 1 and 2: a lock that is held across steps, a
//! thread that is blocked at the end). Nothing can be run to answer that. So a system hands over an
//! operation's enabling condition as a [`Guard`] over integer [`Variable`]s, and each step the
//! [`Effect`]s that it had on them; the explorer folds the effects of any set of events.

use super::footprint::Location;
use smallvec::SmallVec;

/// An integer on which guards depend: whether a mutex is held, how many messages a channel holds.
///
/// A variable with the number of a [`Location`] belongs to it: only steps that write or update the location change the
/// variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Variable(pub u64);

crate::codec!(struct Variable { 0 });

/// A step's effect on a variable. A fold adds `after - before`, so that effects of independent steps can be left out or
/// reordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The variable.
    pub variable: Variable,
    /// Its value before the step.
    pub before: i64,
    /// Its value after the step.
    pub after: i64,
}

crate::codec!(struct Effect { variable, before, after });

/// A condition on one variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// The variable has this value.
    Equals(Variable, i64),
    /// The variable has at least this value.
    AtLeast(Variable, i64),
    /// The variable has less than this value.
    LessThan(Variable, i64),
    /// A step after the first `steps` steps of the execution has written or updated the location: a thread that would
    /// only repeat its last loop iteration waits for this.
    ChangedSince {
        /// The watched location.
        location: Location,
        /// The length of the execution when the thread last looked at it.
        steps: u32,
    },
}

crate::codec!(enum Condition {
    0 => Equals(variable, value),
    1 => AtLeast(variable, value),
    2 => LessThan(variable, value),
    3 => ChangedSince { location, steps },
});

impl Condition {
    /// The variable that the condition is about; `None` for [`Condition::ChangedSince`].
    pub fn variable(self) -> Option<Variable> {
        match self {
            Condition::Equals(v, _) | Condition::AtLeast(v, _) | Condition::LessThan(v, _) => Some(v),
            Condition::ChangedSince { .. } => None,
        }
    }

    /// The direction in which a change moves the variable, from the given value on, so that the condition fails: 1, -1,
    /// or 0 where either does.
    pub(crate) fn away(self, value: i64) -> i64 {
        match self {
            Condition::Equals(_, n) => (value - n).signum(),
            Condition::AtLeast(..) => -1,
            Condition::LessThan(..) => 1,
            Condition::ChangedSince { .. } => 0,
        }
    }

    /// Decides a condition on a variable from the variable's value.
    ///
    /// `None` for [`Condition::ChangedSince`], which is not about a variable.
    #[inline]
    pub fn holds_for(self, value: impl FnOnce(Variable) -> i64) -> Option<bool> {
        match self {
            Condition::Equals(v, n) => Some(value(v) == n),
            Condition::AtLeast(v, n) => Some(value(v) >= n),
            Condition::LessThan(v, n) => Some(value(v) < n),
            Condition::ChangedSince { .. } => None,
        }
    }
}

/// A conjunction of disjunctions of conditions. The empty guard always holds.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Guard {
    // Four without allocation: guards are also made by code that runs on model threads, where an allocation would be
    // a change of the explored program.
    /// The conditions of one clause after the other.
    conditions: SmallVec<[Condition; 4]>,
    /// The end of each clause.
    ends: SmallVec<[u32; 4]>,
}

crate::codec!(struct Guard { conditions, ends });

impl Clone for Guard {
    fn clone(&self) -> Self {
        Guard {
            // `SmallVec::clone` copies element by element.
            conditions: SmallVec::from_slice(&self.conditions),
            ends: SmallVec::from_slice(&self.ends),
        }
    }
}

impl Guard {
    /// The guard of an operation that never blocks.
    #[inline]
    pub const fn always() -> Self {
        Guard {
            conditions: SmallVec::new_const(),
            ends: SmallVec::new_const(),
        }
    }

    /// The guard that holds when `condition` does.
    #[inline]
    pub fn when(condition: Condition) -> Self {
        let mut guard = Guard::always();
        guard.conditions.push(condition);
        guard.ends.push(1);
        guard
    }

    /// Adds a clause: one of `conditions` must hold as well.
    #[inline]
    pub fn and(mut self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.conditions.extend(conditions);
        self.ends.push(self.conditions.len() as u32);
        self
    }

    /// Says whether this is the guard of an operation that never blocks.
    pub fn is_always(&self) -> bool {
        self.ends.is_empty()
    }

    /// The clauses; at least one condition of each must hold.
    pub fn clauses(&self) -> impl Iterator<Item = &[Condition]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let clause = &self.conditions[start..end as usize];
            start = end as usize;
            clause
        })
    }

    /// The variables of the guard; one may occur more than once.
    pub fn variables(&self) -> impl Iterator<Item = Variable> + '_ {
        self.conditions.iter().filter_map(|condition| condition.variable())
    }

    /// The condition on this variable alone that is a clause of the guard, if there is one.
    pub fn demand_on(&self, variable: Variable) -> Option<Condition> {
        self.clauses().find_map(|clause| match clause {
            [condition] if condition.variable() == Some(variable) => Some(*condition),
            _ => None,
        })
    }

    /// Evaluates the guard, given a function that decides a condition.
    #[inline]
    pub fn holds(&self, mut decide: impl FnMut(Condition) -> bool) -> bool {
        self.clauses().all(|clause| clause.iter().any(|&c| decide(c)))
    }
}
