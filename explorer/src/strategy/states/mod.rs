//! Search over states: each state is expanded once, and from it only what can come into conflict.
//!
//! The whole state of the program is known, so two executions that lead to equal states have equal futures. The search
//! goes depth first, keeps a table of states, and stops where it meets one of them. From each state it explores a
//! *persistent set* of threads (Godefroid, *Partial-Order Methods for the Verification of Concurrent Systems*, LNCS
//! 1032, 1996, chapter 4): whatever other threads do before one of these moves is independent of their next steps. That
//! is found afterwards, from what was seen to follow, as in stateful DPOR (Yang, Chen, Gopalakrishnan and Kirby,
//! *Efficient Stateful Dynamic Partial Order Reduction*, SPIN 2008; Yi, Wang, Li and Yang 2006): one thread is explored
//! first, and another is added if something in the future of a step races with that step.
//!
//! | module | what |
//! |---|---|
//! | `futures` | what can still happen after a state |
//! | `pasts` | what comes before that |
//! | `numbered` | values that are kept once |
//! | `table` | the states that were reached |
//! | `policy` | the hooks of the search |
//!
//! # Why that is enough
//!
//! The claim for a state `s` that is left, in a graph of states without cycles: each execution from `s` to an end has
//! an equivalent one whose steps were all explored; and each access that can be made after `s`, or is pending at an
//! end, is in the future of `s`, with a past that holds only what comes before it in each execution from `s` that makes
//! it. By induction from the ends on:
//!
//! * Let `w` be an execution from `s`, and `T` the explored threads. If `w` has a step of `T`, take the first, `t`.
//!   Were a step before it dependent on the next step of some thread of `T`, take the first such step `b`, of thread
//!   `q`, and a `t'` of `T` that it depends on. All before `b` is independent of `t'`, so after `s.t'` the same steps
//!   are possible, and `b` is pending after them. So `b` is in the future of `s.t'`. Its past has no step of `T` and
//!   nothing that depends on `t'`, because nothing before `b` in this execution is or does, and a past has no more than
//!   any execution shows. So it is a race, and `q` was added, or what `q` waits for; against the choice of `T`. So `t`
//!   can come first, and the claim holds for the rest, from `s.t`. If `w` has no step of `T`, all of it is independent
//!   of each step of `T`, by the same argument, and can follow one.
//! * What `q` waits for: if `q` is enabled at `s`, `q` itself is added. If it does not exist yet, its creator must
//!   move; if it is blocked, a step must come that touches what its operation touches and is independent of `t'`. These
//!   are in the future of `s.t'` as well (`States::want`).
//! * An access of an operation that waits for what only `t'` can bring about, comes after `t'` in any case
//!   (`States::waits`).
//! * The future of `s` is all that follows its explored steps, and these steps. The past of an access before a step is
//!   longer by the step if the step is before it in the order of dependency: if it is of the same thread, creates it,
//!   or is before something in the past: creates or is of a thread that moves there, or conflicts with an access there.
//!   Where two futures meet, a past is what they have in common: threads and accesses, each for themselves.
//!
//! That an access is the same in equal states, and that a step's footprint does not hide a conflict, is the contract of
//! [`System`](crate::system::System).
//!
//! # Execution graphs
//!
//! Where operations on atomics choose what they find, executions with the same [execution
//! graph](crate::system::GraphEvent) are equivalent, and the argument above holds with that, but for two words. A step
//! `t'` *depends* on an earlier `b` of another thread, so that it cannot come first, if it reads and `b` writes: it
//! could read from `b`, or `b` could exclude it. All else can come in either order, in the same graph: the later one of
//! the two chooses the place that it has in it. So a step that only stores is in no race. And of what is *before* an
//! access, as far as atomics make it so, there are only the stores that were read from. A past names each by its place
//! in the order of its atomic, counted from the last store, because a state has no other name for it. Before a step that
//! stores, the places of earlier stores are one less, and who has the step's own store in its past has the step there.
//! What such a past loses, because what is read differs between two futures that meet, makes it smaller, which is right.
//!
//! An operation that has no place in the graph, because it is held back, or because something else tells in which order
//! operations ran, depends on others by its footprint, and what it stores is read from by nobody: places in the order of
//! its atomic are not known before it.
//!
//! # States that cover others
//!
//! What threads know is a part of the state that decides which access is in a race, and, if operations choose what they
//! find, what they can find, and nothing else ([`System::knowledge`](crate::system::System::knowledge)). An explored
//! state *covers* another one that is equal but for that, if all that can follow the other one can follow it, by the
//! same steps. So nothing has to be explored from the other one: a failure after it is found after the covering state.
//! The future of that one will do for both. Each execution from the covered state is one from the covering one, so its
//! accesses are in the future. And a past has no more than any execution from the covering state shows, so no more than
//! those from the covered one. A state that has not been left covers none.
//!
//! A component of states that the program never leaves, after the covered state, is found after the covering one as
//! well. That could be left only by a choice that the covered state does not have: of a message that is not the last,
//! by a thread that does not know there of a later one. But in the component each thread can take the last message
//! wherever it chooses. Once it has done so, it knows of that after the covering state, too, and can find no older one.
//!
//! # Cycles
//!
//! A state that is met while it, or one that leads to it, is still on the way, has a future that is not known yet. Then
//! all threads are explored from all nodes from there on: the states of a cycle are expanded in full. When the first
//! state of such a cycle (of a strongly connected component; Tarjan 1972) is left, the future of all is known, and is
//! that of the first, without pasts. Above it, the argument is as before.
//!
//! If nothing leads out of such a component, and the main thread has not ended, the program never ends. Then everything
//! is explored again, with the number of steps that each thread has made in what is compared: there are no cycles then,
//! and the system finds who only repeats itself, so that there is a failure with a schedule. If it does not, the
//! verdict is incomplete. A component that can be left is no failure.
//!
//! # Threads that are held back
//!
//! A system may hold a thread back that only repeats itself. From which round on is no part of a state, and can be
//! another one each time ([`System::lessons`](crate::System::lessons)): a round leads from a state to itself, as far as
//! states are compared. But what can happen only while all threads wait, such as that time passes, comes after a state
//! in which it is held back. So where a thread goes round that has come to where it is when the system knew less than
//! now, the search goes on, instead of closing the cycle: after one more round, all that the system knows counts.
//!
//! # Deviations
//!
//! Sleep sets are not used: a step to a known state costs one step. So a state is never stored with less than all its
//! persistent set explored, and none has to be opened again. Along a way without branches only the first two states
//! are stored.
//!
//! Invariant: the future of a node on the stack has all that follows the steps that were left.

mod futures;
mod numbered;
mod pasts;
mod policy;
mod table;

pub(super) use policy::States;
