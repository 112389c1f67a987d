//! Context-sensitive DPOR: Albert, Arenas, García de la Banda, Gómez-Zamalloa and Stuckey, *Context-Sensitive Dynamic
//! Partial Order Reduction* (CAV 2017), Algorithm 1.
//!
//! Two steps that conflict may commute in the state in which they meet: then the state after them is the same in both
//! orders, and what follows need be explored once. Depending on [`Check`], that is found out by running the reversal of
//! a race at once (Algorithm 1, lines 11 to 16), by storing the state with the reversal (§6.2), or by storing the
//! states of all nodes of the search. In each case the search is cut at a state `s` that was explored completely
//! elsewhere.
//!
//! # Races of what is cut off
//!
//! Theorem 1 of the paper compares the cut tree with the tree that Source-DPOR would explore. But that tree's backtrack
//! sets come from races, also from those between the steps before a cut and those after it, and these are not seen if
//! the cut is made: in another order of the same steps, what happens after `s` can race with an earlier step with which
//! it does not race where it was explored, because there it was ordered after it by steps between. With
//! `A: y = 1; x = 5` and `P: x = 5; r = y` and both orders of the `x = 5` found equal, `r = y` is ordered after `y = 1`
//! where it is explored, and in the other order it would be in a race with it whose reversal ends with `r == 0`; an
//! anticipating cut loses that. Without any optimisation a program can lose one if it lets the first of two commuting
//! steps wake a third thread; and a search that stores states loses the deadlock of the dining philosophers
//! (tests/engine/regressions.rs of the testsuite has all of them).
//!
//! So at each cut we look for all races that steps after it *could* have with steps before it, as stateful searches
//! must (Yang, Chen, Gopalakrishnan and Kirby 2008). What can come after the cut is known: from equal states the same
//! steps are possible, with the same footprints, and all that is possible from `s` has been run, or has been pending at
//! the end of an execution, in an order equivalent to one of `s`, or from a state that is equal in turn.
//! [`AccessSummary`](summary::AccessSummary) keeps for each thread which location its steps were seen to access and
//! which step was the last.
//!
//! Let `f` be a step of thread `t` in the future of the cut, and `g` one before it, from node `N`, that conflicts with
//! `f` and need not come before it. Source sets ask for an initial of the reversal `notdep(g, F.w).f`. Steps of
//! `notdep(g, F)` that have run before the cut are part of that whatever `w` is, so the first of them will do. If there
//! are none, the initial depends on what runs between, so all are added that can be one: `t`, the threads that can have
//! a step from `N` on that is independent of `g` (else it is no part of `notdep`) and conflicts with a later one of
//! these, and those that create them (`AccessSummary::may_come_before`). Less will not do: with `t` alone, if it can
//! move at `N` (the rule for persistent sets), two senders and two receivers of one channel lose an outcome.
//!
//! Why that is enough: let `w` be an execution from `N` none of whose weak initials is explored from `N` or asleep
//! there. The proof for Source-DPOR (Abdulla et al. 2017) takes a thread `p` that is explored from `N` and the first
//! step `f` of `w` that conflicts with `p`'s, and shows that the exploration of `N.p` comes to the race of the two, so
//! that an initial of what precedes `f` in `w` is added: against the choice of `w`. If a cut is in the way, it is made
//! where the steps after `p` are some of those of `w` up to `f`, and others that are independent of those; so nothing
//! orders `p` before `t`'s next step there, `f` is in the future of the cut, and the same initial is among those that
//! are added. That is an argument and no full proof; the oracle of the testsuite checks it on generated programs.
//!
//! What is *not* possible is left out: a step that waits for something cannot come before it ([`Awaits`],
//! `Trace::waited`), and one that waits for a lock cannot come inside a critical section (`Wait`).
//!
//! # Ends from which the program goes on
//!
//! An execution can end where threads are held back that repeat themselves, and the program would go on if they did
//! ([`Outlook::GoesOn`]). That state is stored like any other, although nothing that follows it was run from there, and
//! others that reach it are cut. Who is held back, and by what, is part of the state, and how many steps each thread
//! has made is part of what it is stored under. So every execution that reaches it has made an idle round of that kind,
//! and was in the state before the round, where the thread was not held back. What follows is reached from there,
//! because of the races that the operations that are pending at the end have with steps of the round. These operations
//! are learnt (`ContextSensitive::pending`), so that a cut at the stored state finds the same races as the end itself.
//! More rounds of the thread would be copies of the one that it has made, and what races with a copy races with that.
//! The thread's later steps may be learnt with smaller numbers, as it has made them with a round less; but they are
//! looked for where they are made. This is an argument, too; generated programs with such loops are compared with brute
//! force in the testsuite.
//!
//! [`Check`]: super::Check
//! [`Awaits`]: crate::system::Awaits
//! [`Outlook::GoesOn`]: crate::system::Outlook::GoesOn

mod checks;
mod cuts;
mod policy;
mod sequence;
mod summary;

pub(super) use policy::ContextSensitive;
