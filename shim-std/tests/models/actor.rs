//! Actors: their possible orders, the number of executions, and the results of incorrect programs.

use crate::outcomes::{all_find, fails, traces};
use dpor_explorer::Verdict;
use shim_std::actor::{Actor, Address, Lost, ReplyTo, System, Turn};
use shim_std::sync::Mutex;
use shim_std::{Model, thread};
use std::sync::Arc;

/// Records the digits that it receives, as a number.
#[derive(Default)]
struct Digits(usize);

impl Digits {
    fn add(&mut self, digit: usize) {
        self.0 = self.0 * 10 + digit;
    }
}

impl Actor for Digits {
    type Message = usize;

    fn handle(turn: &mut Turn<'_, Digits>, digit: usize) {
        turn.add(digit);
    }
}

fn digits(system: &System, address: &Address<Digits>) -> usize {
    system.settle();
    address.look(|digits| digits.0)
}

#[test]
fn messages_of_one_sender_come_in_any_order() {
    let test = || {
        let system = System::new();
        let actor = system.spawn(Digits::default());
        (1..=3).for_each(|digit| actor.send(digit));
        digits(&system, &actor)
    };
    all_find(test, [123, 132, 213, 231, 312, 321]);
    assert_eq!(traces(test), 6);
}

#[test]
fn messages_to_different_actors_are_independent() {
    let test = || {
        let system = System::new();
        let actors: Vec<_> = (0..4).map(|_| system.spawn(Digits::default())).collect();
        (1..).zip(&actors).for_each(|(digit, actor)| actor.send(digit));
        system.settle();
        actors.iter().map(|actor| actor.look(|digits| digits.0)).sum()
    };
    all_find(test, [10]);
    assert_eq!(traces(test), 1);
}

/// A message that another one caused comes after it; there is no other order.
#[test]
fn causes_come_first() {
    struct Echo(Address<Digits>);
    impl Actor for Echo {
        type Message = usize;
        fn handle(turn: &mut Turn<'_, Echo>, digit: usize) {
            turn.0.send(digit);
            turn.0.send(digit + 1);
        }
    }
    let test = || {
        let system = System::new();
        let actor = system.spawn(Digits::default());
        let echo = system.spawn(Echo(actor.clone()));
        actor.send(1);
        echo.send(2);
        digits(&system, &actor)
    };
    all_find(test, [123, 132, 213, 231, 312, 321]);
    assert_eq!(traces(test), 6);
}

/// The registry of FASE 2012: the master registers itself, and tells two workers to register themselves.
#[test]
fn the_registry_has_six_traces() {
    struct Worker(usize);
    impl Actor for Worker {
        type Message = Address<Digits>;
        fn handle(turn: &mut Turn<'_, Worker>, registry: Address<Digits>) {
            registry.send(turn.0);
        }
    }
    let test = || {
        let system = System::new();
        let registry = system.spawn(Digits::default());
        registry.send(1);
        for worker in 2..=3 {
            system.spawn(Worker(worker)).send(registry.clone());
        }
        digits(&system, &registry)
    };
    all_find(test, [123, 132, 213, 231, 312, 321]);
    assert_eq!(traces(test), 6);
}

/// Takes digits only in ascending order, by a constraint.
#[derive(Default)]
struct Ascending(Digits);

impl Actor for Ascending {
    type Message = usize;

    fn accepts(&self, digit: &usize) -> bool {
        *digit == self.0.0 % 10 + 1
    }

    fn handle(turn: &mut Turn<'_, Ascending>, digit: usize) {
        turn.0.add(digit);
    }
}

#[test]
fn a_constraint_orders_messages() {
    all_find(
        || {
            let system = System::new();
            let actor = system.spawn(Ascending::default());
            [3, 1, 2].into_iter().for_each(|digit| actor.send(digit));
            system.settle();
            actor.look(|actor| actor.0.0)
        },
        [123],
    );
}

/// A message that is acceptable only at first: the order decides whether it is processed, and both outcomes are found.
#[test]
fn a_constraint_may_become_false() {
    #[derive(Default)]
    struct Closing(Digits);
    impl Actor for Closing {
        type Message = usize;
        fn accepts(&self, digit: &usize) -> bool {
            *digit != 1 || self.0.0 == 0
        }
        fn handle(turn: &mut Turn<'_, Closing>, digit: usize) {
            turn.0.add(digit);
        }
    }
    let test = |helper: bool| {
        let system = System::new();
        let actor = system.spawn(Closing::default());
        let sender = actor.clone();
        actor.send(2);
        if helper {
            thread::spawn(move || sender.send(1)).join().unwrap();
        } else {
            actor.send(1);
        }
        let three = actor.call(|turn| {
            turn.0.add(3);
            turn.0.0
        });
        three.wait().unwrap()
    };
    // 1 comes first or never.
    all_find(move || test(false), [3, 13, 23, 123]);
    all_find(move || test(true), [3, 13, 23, 123]);
}

/// A late sender: the message may be sent after states in which it would have been accepted.
#[test]
fn a_message_that_comes_late_could_have_come_early() {
    struct Window(Digits);
    impl Actor for Window {
        type Message = usize;
        fn accepts(&self, digit: &usize) -> bool {
            *digit < 9 || self.0.0 < 10
        }
        fn handle(turn: &mut Turn<'_, Window>, digit: usize) {
            turn.0.add(digit);
        }
    }
    let test = || {
        let system = System::new();
        let actor = system.spawn(Window(Digits::default()));
        let late = system.spawn(Digits::default());
        let window = actor.clone();
        (1..=3).for_each(|digit| actor.send(digit));
        drop(late.call(move |_| window.send(9)));
        thread::yield_now();
        actor.call(|turn| turn.0.0).wait().unwrap()
    };
    // 9 comes where there was no digit or one.
    let mut expected = std::collections::BTreeSet::from([0]);
    let mut grow = vec![vec![]];
    while let Some(digits) = grow.pop() {
        let number = digits.iter().fold(0, |number, digit| number * 10 + digit);
        expected.insert(number);
        for digit in [1, 2, 3, 9] {
            let fits = digit != 9 || digits.len() < 2;
            if fits && !digits.contains(&digit) {
                grow.push([digits.as_slice(), &[digit]].concat());
            }
        }
    }
    all_find(test, expected);
}

#[test]
fn a_message_that_is_never_accepted_is_a_deadlock_for_who_waits() {
    let wait = || {
        let system = System::new();
        system.spawn(Ascending::default()).send(2);
        system.settle();
    };
    let message = fails("deadlock", wait);
    assert!(
        message.contains("process-refused of actor#1") && message.contains("Ascending"),
        "{message}"
    );
    // Who does not wait need not care.
    let outcome = Model::new().explore(|| System::new().spawn(Ascending::default()).send(2));
    assert_eq!(outcome.report.verdict, Verdict::Complete);
}

/// The producer and the consumer of CAV 2017, figure 3, which call their buffer's methods and await the results.
#[test]
fn awaiting_producer_and_consumer() {
    for (n, expected) in [(1, 2), (2, 6), (3, 20)] {
        let test = move || {
            let system = System::new();
            let buffer = system.spawn(Vec::new());
            let (store, take) = (buffer.clone(), buffer);
            let produced = system.spawn(()).call(move |turn| {
                for item in 0..n {
                    turn.wait_for(store.call(move |buffer| buffer.push(item))).unwrap();
                }
            });
            let consumed = system.spawn(()).call(move |turn| {
                let mut taken = 0;
                for _ in 0..n {
                    let item = turn.wait_for(take.call(|buffer| (!buffer.is_empty()).then(|| buffer.remove(0))));
                    taken += usize::from(item.unwrap().is_some());
                }
                taken
            });
            produced.wait().unwrap();
            consumed.wait().unwrap()
        };
        assert_eq!(traces(test), expected);
        all_find(test, 0..=n);
    }
}

#[test]
fn a_condition_is_awaited_while_others_have_their_turns() {
    let test = || {
        let system = System::new();
        let actor = system.spawn(Digits::default());
        drop(actor.call(|turn| {
            turn.add(1);
            turn.wait_until(|digits| digits.0 > 100);
            turn.add(4);
        }));
        actor.send(2);
        actor.send(3);
        digits(&system, &actor)
    };
    // Whoever waits goes on once two others were there: before it, or meanwhile.
    all_find(test, [1234, 1324, 2134, 3124, 2314, 3214]);
}

#[test]
fn a_condition_that_never_holds() {
    let message = fails("deadlock", || {
        let system = System::new();
        drop(
            system
                .spawn(Digits::default())
                .call(|turn| turn.wait_until(|digits| digits.0 == 1)),
        );
        system.settle();
    });
    assert!(message.contains("await"), "{message}");
}

/// ABS's `get` instead of `await`: the actor waits for an answer that only it could give.
#[test]
fn to_block_in_a_turn_is_a_deadlock() {
    let test = |release: bool| {
        let system = System::new();
        let actor = system.spawn(Digits(1));
        let own = actor.clone();
        let answer = actor.call(move |turn| {
            let inner = own.call(|turn| turn.0);
            if release { turn.wait_for(inner) } else { inner.wait() }.unwrap()
        });
        assert_eq!(answer.wait(), Ok(1));
    };
    fails("deadlock", move || test(false));
    all_find(
        move || {
            test(true);
            0
        },
        [0],
    );
}

#[test]
fn answers_are_given_once_or_lost() {
    #[derive(Debug)]
    struct Question(ReplyTo<usize>);
    struct Forgetful(bool);
    impl Actor for Forgetful {
        type Message = Question;
        fn handle(turn: &mut Turn<'_, Forgetful>, Question(to): Question) {
            turn.0 = !turn.0;
            if turn.0 {
                to.answer(5);
            }
        }
    }
    all_find(
        || {
            let actor = System::new().spawn(Forgetful(false));
            let (a, b) = (actor.ask(Question), actor.ask(Question));
            match (a.wait(), b.wait()) {
                (Ok(5), Err(Lost)) => 1,
                (Err(Lost), Ok(5)) => 2,
                other => panic!("{other:?}"),
            }
        },
        [1, 2],
    );
}

#[test]
fn an_answer_may_not_be_there_yet() {
    all_find(
        || {
            let actor = System::new().spawn(Digits(3));
            match actor.call(|turn| turn.0).try_take() {
                Ok(answer) => answer.unwrap(),
                Err(reply) => 10 + reply.wait().unwrap(),
            }
        },
        [3, 13],
    );
}

#[test]
fn a_panic_of_an_actor_is_a_failure() {
    let message = fails("panic", || {
        let actor = System::new().spawn(Digits::default());
        drop(actor.call(|turn| assert_eq!(turn.0, 0, "too late")));
        actor.send(1);
    });
    assert!(
        message.contains("too late") && message.contains("actor.rs"),
        "{message}"
    );
    let message = fails("panic", || {
        struct Picky;
        impl Actor for Picky {
            type Message = ();
            fn accepts(&self, (): &()) -> bool {
                panic!("not asked")
            }
            fn handle(_: &mut Turn<'_, Picky>, (): ()) {}
        }
        System::new().spawn(Picky).send(());
    });
    assert!(message.contains("not asked"), "{message}");
}

/// A turn with its own operations is more than one step, and still excludes others.
#[test]
fn a_turn_of_several_steps_is_exclusive() {
    let test = || {
        let system = System::new();
        let lock = Arc::new(Mutex::new(0));
        let actor = system.spawn(Digits::default());
        for digit in 1..=2 {
            let lock = Arc::clone(&lock);
            drop(actor.call(move |turn| {
                turn.add(digit);
                let seen = *lock.lock().unwrap();
                turn.add(seen);
                *lock.lock().unwrap() += 1;
            }));
        }
        *lock.lock().unwrap() += 5;
        digits(&system, &actor)
    };
    // The lock's value that the two turns see: 5 is added before both, between them, or after both.
    all_find(test, [1526, 1026, 1021, 2516, 2016, 2011]);
}

#[test]
fn constraints_look_at_the_state_only() {
    let outcome = Model::new().explore(|| {
        struct Curious(Arc<Mutex<bool>>);
        impl Actor for Curious {
            type Message = ();
            fn accepts(&self, (): &()) -> bool {
                *self.0.lock().unwrap()
            }
            fn handle(_: &mut Turn<'_, Curious>, (): ()) {}
        }
        System::new().spawn(Curious(Arc::default())).send(());
    });
    let Verdict::Incomplete { reason } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert!(reason.contains("Curious") && reason.contains("own state"), "{reason}");
}

/// The thread that drops the last address destroys the state, which others can see here.
#[test]
fn the_state_is_dropped_with_the_last_address() {
    struct Noted(Arc<Mutex<usize>>, usize);
    impl Drop for Noted {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += self.1;
        }
    }
    all_find(
        || {
            let sum = Arc::new(Mutex::new(0));
            let system = System::new();
            let actor = system.spawn(Noted(Arc::clone(&sum), 1));
            drop(actor.call(|noted| noted.1 += 1));
            drop(actor);
            let early = *sum.lock().unwrap();
            system.settle();
            early * 10 + *sum.lock().unwrap()
        },
        [2, 22],
    );
}

#[test]
fn nothing_is_leaked() {
    let outcome = Model::new().leaks(true).explore(|| {
        #[derive(Default)]
        struct Stack(Vec<String>);
        impl Actor for Stack {
            type Message = String;
            fn accepts(&self, message: &String) -> bool {
                message.len() >= self.0.len()
            }
            fn handle(turn: &mut Turn<'_, Stack>, message: String) {
                turn.0.push(message);
            }
        }
        let system = System::new();
        let stack = system.spawn(Stack::default());
        (0..3).for_each(|length| stack.send("x".repeat(length)));
        let length = stack.call(|turn| {
            turn.wait_until(|stack| stack.0.len() == 3);
            Box::new(turn.0.len())
        });
        drop(stack);
        drop(length);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
}

mod off_model {
    //! The same on real threads.

    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn messages_are_processed() {
        let system = System::new();
        let actor = system.spawn(Ascending::default());
        (1..=9).rev().for_each(|digit| actor.send(digit));
        system.settle();
        assert_eq!(actor.look(|actor| actor.0.0), 123_456_789);
    }

    #[test]
    fn waits_end() {
        let system = System::new();
        let (a, b) = (system.spawn(Digits::default()), system.spawn(Digits(7)));
        let answer = a.call(move |turn| {
            turn.wait_until(|digits| digits.0 == 1);
            turn.wait_for(b.call(|turn| turn.0)).unwrap()
        });
        a.send(1);
        assert_eq!(answer.wait(), Ok(7));
    }

    #[test]
    fn a_panic_is_noticed() {
        let system = System::new();
        let actor = system.spawn(Digits::default());
        let waits = actor.call(|turn| turn.wait_until(|digits| digits.0 == 1));
        let answer: shim_std::actor::Reply<usize> = actor.call(|_| panic!("as it must"));
        assert_eq!(answer.wait(), Err(Lost));
        assert_eq!(waits.wait(), Err(Lost));
        actor.send(2);
        assert!(catch_unwind(AssertUnwindSafe(|| system.settle())).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| actor.look(|_| ()))).is_err());
    }
}
