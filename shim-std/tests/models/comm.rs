//! Mailboxes and asynchronous mutexes: their outcomes, the independent steps, and the deadlocks.

use crate::outcomes::{all_find, fails, traces};
use dpor_explorer::Verdict;
use shim_std::Model;
use shim_std::comm::{AsyncMutex, Mailbox, test_any, wait_all, wait_any};
use shim_std::thread::scope;

/// Runs two threads, and returns their results as digits.
fn two(a: impl FnOnce() -> usize + Send, b: impl FnOnce() -> usize + Send) -> usize {
    scope(|s| {
        let a = s.spawn(a);
        let b = s.spawn(b);
        a.join().unwrap() * 10 + b.join().unwrap()
    })
}

#[test]
fn sends_to_one_mailbox_are_ordered_by_chance() {
    let test = || {
        let mailbox = Mailbox::new();
        let send = |digit| {
            mailbox.send(digit);
            0
        };
        two(|| send(1), || send(2));
        mailbox.receive().wait() * 10 + mailbox.receive().wait()
    };
    all_find(test, [12, 21]);
    assert_eq!(traces(test), 2);
}

#[test]
fn messages_of_one_sender_stay_in_order() {
    let test = || {
        let mailbox = Mailbox::new();
        let send = || {
            for digit in 1..=3 {
                mailbox.send(digit);
            }
            0
        };
        let receive = || (0..3).fold(0, |number, _| number * 10 + mailbox.receive().wait());
        two(send, receive)
    };
    all_find(test, [123]);
    assert_eq!(traces(test), 1);
}

/// Theorem 3: communications by distinct mailboxes. Theorem 4: a send and a receive, also those that meet.
#[test]
fn independent_communications_have_one_trace() {
    let distinct = || {
        let mailboxes = [const { Mailbox::new() }; 3];
        let use_one = |mailbox: &Mailbox<usize>| {
            mailbox.send(1);
            mailbox.receive().wait() - 1
        };
        let [a, b, c] = &mailboxes;
        two(|| use_one(a), || use_one(b)) + use_one(c)
    };
    assert_eq!(traces(distinct), 1);
    let matching = || {
        let mailbox = Mailbox::new();
        let send = || {
            mailbox.send(3);
            mailbox.send(4);
            0
        };
        let receive = || {
            let (three, four) = (mailbox.receive(), mailbox.receive());
            three.wait() + four.wait()
        };
        two(send, receive)
    };
    all_find(matching, [7]);
    assert_eq!(traces(matching), 1);
}

/// Theorem 6: a test depends on the tested communication, and on nothing else in its mailbox.
#[test]
fn a_test_sees_its_own_communication_only() {
    let own = || {
        let mailbox = Mailbox::new();
        let send = || {
            mailbox.send(3);
            0
        };
        two(send, || mailbox.receive().take().unwrap_or(9))
    };
    all_find(own, [3, 9]);
    assert_eq!(traces(own), 2);
    let another = || {
        let mailbox = Mailbox::new();
        mailbox.send(3);
        let first = mailbox.receive();
        let send = || {
            mailbox.send(4);
            0
        };
        // The main thread's own test runs beside the second send.
        scope(|s| {
            s.spawn(send);
            usize::from(first.test())
        })
    };
    all_find(another, [1]);
    assert_eq!(traces(another), 1);
    let sender = || {
        let mailbox = Mailbox::new();
        let send = || usize::from(mailbox.send(3).test());
        two(send, || mailbox.receive().wait())
    };
    all_find(sender, [3, 13]);
    assert_eq!(traces(sender), 2);
}

/// Theorem 5: tests of one mailbox. Only the order of the receives counts.
#[test]
fn tests_are_independent_of_each_other() {
    let test = || {
        let mailbox = Mailbox::<()>::new();
        let test = || usize::from(mailbox.receive().test());
        two(test, test)
    };
    all_find(test, [0]);
    assert_eq!(traces(test), 2);
}

/// Theorem 2: a communication and a synchronisation. Theorem 7: distinct mutexes.
#[test]
fn what_has_nothing_in_common_is_independent() {
    let test = || {
        let (mailbox, a, b) = (Mailbox::new(), AsyncMutex::new(0), AsyncMutex::new(0));
        let communicate = || {
            mailbox.send(3);
            usize::from(mailbox.receive().test())
        };
        let lock = |mutex: &AsyncMutex<usize>| {
            let request = mutex.request();
            let owns = request.test();
            *request.wait() += 1;
            usize::from(owns)
        };
        scope(|s| {
            s.spawn(|| lock(&b));
            two(communicate, || lock(&a))
        })
    };
    all_find(test, [11]);
    assert_eq!(traces(test), 1);
}

#[test]
fn any_of_several_is_waited_for() {
    let test = || {
        let (a, b) = (Mailbox::new(), Mailbox::new());
        let send = |mailbox: &Mailbox<usize>, digit| {
            mailbox.send(digit);
        };
        scope(|s| {
            s.spawn(|| send(&a, 1));
            s.spawn(|| send(&b, 2));
            let (one, two) = (a.receive(), b.receive());
            match wait_any(&[&one, &two]) {
                0 => one.wait() * 10 + two.wait(),
                _ => two.wait() * 10 + one.wait(),
            }
        })
    };
    all_find(test, [12, 21]);
}

#[test]
fn any_of_several_is_tested() {
    let test = || {
        let (a, b) = (Mailbox::new(), Mailbox::new());
        scope(|s| {
            s.spawn(|| {
                a.send(1);
            });
            s.spawn(|| {
                b.send(2);
            });
            let (one, two) = (a.receive(), b.receive());
            let first = test_any(&[&one, &two]);
            wait_all(&[&one, &two]);
            assert!(one.test() && two.test());
            match first {
                None => 0,
                Some(0) => one.wait(),
                Some(_) => two.wait(),
            }
        })
    };
    all_find(test, [0, 1, 2]);
}

#[test]
fn a_message_is_received_once() {
    let test = || {
        let mailbox = Mailbox::new();
        let receive = || mailbox.receive().take().unwrap_or(0);
        mailbox.send(1);
        let got = two(receive, receive);
        got * 10 + mailbox.receive().take().unwrap_or(0)
    };
    all_find(test, [100, 10]);
}

/// A receive that is abandoned keeps its place, so that the message is lost.
#[test]
fn what_a_dropped_receive_gets_is_lost() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
    all_find(
        || {
            let mailbox = Mailbox::new();
            drop(mailbox.receive());
            mailbox.send(Counted);
            mailbox.send(Counted);
            mailbox.send(Counted);
            drop(mailbox.receive().wait());
            let received = DROPPED.load(Relaxed);
            drop(mailbox);
            received * 10 + DROPPED.load(Relaxed)
        },
        [13],
    );
}

/// Wait-deadlock of FORTE 2019: two processes receive from each other before they send.
#[test]
fn receiving_before_sending_deadlocks() {
    let message = fails("deadlock", || {
        let (a, b) = (Mailbox::new(), Mailbox::new());
        two(
            || {
                let got = a.receive().wait();
                b.send(1);
                got
            },
            || {
                let got = b.receive().wait();
                a.send(2);
                got
            },
        );
    });
    for thread in ["t1", "t2"] {
        assert!(
            message.contains(&format!("{thread} waits in wait of mailbox#")),
            "{message}"
        );
    }
    // Asynchronously it does not.
    let test = || {
        let (a, b) = (Mailbox::new(), Mailbox::new());
        let exchange = |from: &Mailbox<usize>, to: &Mailbox<usize>, digit| {
            let got = from.receive();
            to.send(digit);
            got.wait()
        };
        two(|| exchange(&a, &b, 1), || exchange(&b, &a, 2))
    };
    all_find(test, [21]);
    assert_eq!(traces(test), 1);
}

#[test]
fn requests_are_served_in_order() {
    let test = || {
        let mutex = AsyncMutex::new(0);
        let add = |digit| {
            let request = mutex.request();
            let mut number = request.wait();
            *number = *number * 10 + digit;
            0
        };
        scope(|s| {
            for digit in 1..=3 {
                let add = &add;
                s.spawn(move || add(digit));
            }
        });
        mutex.into_inner()
    };
    all_find(test, [123, 132, 213, 231, 312, 321]);
    // The order of requests decides.
    assert_eq!(traces(test), 6);
}

/// Theorem 8: a request and an unlock. Theorem 11: a request and a wait of another.
#[test]
fn requests_are_independent_of_all_but_requests() {
    let test = || {
        let mutex = AsyncMutex::new(());
        let first = mutex.request();
        scope(|s| {
            s.spawn(|| drop(mutex.request().wait()));
            drop(first.wait());
        });
        0
    };
    all_find(test, [0]);
    assert_eq!(traces(test), 1);
}

/// Theorem 9: tests. Theorem 10: an unlock and a test, of requests that do not own the mutex. Theorem 11: a request and
/// a test. Only the order of the requests counts.
#[test]
fn tests_of_who_waits_are_independent() {
    let test = || {
        let mutex = AsyncMutex::new(());
        let _held = mutex.request().wait();
        // The request is dropped, which is an unlock in the paper's terms.
        let test = || usize::from(mutex.request().test());
        two(test, test)
    };
    all_find(test, [0]);
    assert_eq!(traces(test), 2);
}

/// Theorem 10, the exception: a test and an unlock by the owner.
#[test]
fn a_test_sees_whether_the_owner_has_left() {
    let test = || {
        let mutex = AsyncMutex::new(());
        let first = mutex.request();
        let second = mutex.request();
        scope(|s| {
            s.spawn(|| drop(mutex.request()));
            drop(first.wait());
        });
        usize::from(second.test())
    };
    all_find(test, [1]);
    let beside = || {
        let mutex = AsyncMutex::new(());
        let first = mutex.request().wait();
        scope(|s| {
            let other = s.spawn(|| usize::from(mutex.request().take().is_ok()));
            drop(first);
            other.join().unwrap()
        })
    };
    all_find(beside, [0, 1]);
    // Where the test says no, the request is withdrawn, before the unlock or after it.
    assert_eq!(traces(beside), 3);
}

#[test]
fn a_request_is_withdrawn() {
    let test = || {
        let mutex = AsyncMutex::new(0);
        scope(|s| {
            s.spawn(|| {
                let request = mutex.request();
                drop(request);
            });
            s.spawn(|| *mutex.request().wait() += 1);
            s.spawn(|| *mutex.request().wait() += 2);
        });
        mutex.into_inner()
    };
    all_find(test, [3]);
    // Before it comes to the front, and after.
    let own = || {
        let mutex = AsyncMutex::new(());
        let [a, b, c, d] = [(); 4].map(|()| mutex.request());
        drop(b);
        drop(c);
        assert!(!d.test());
        drop(a);
        drop(d.wait());
        usize::from(mutex.request().test())
    };
    all_find(own, [1]);
}

#[test]
fn mutexes_and_messages_are_waited_for_together() {
    let test = || {
        let (mutex, mailbox) = (AsyncMutex::new(()), Mailbox::new());
        let held = mutex.request().wait();
        scope(|s| {
            s.spawn(|| {
                mailbox.send(1);
            });
            let both = s.spawn(|| {
                let (lock, message) = (mutex.request(), mailbox.receive());
                let first = wait_any(&[&lock, &message]);
                drop(lock.wait());
                first * 10 + message.wait()
            });
            drop(held);
            both.join().unwrap()
        })
    };
    all_find(test, [1, 11]);
}

#[test]
fn two_mutexes_in_different_orders_deadlock() {
    fails("deadlock", || {
        let (a, b) = (AsyncMutex::new(()), AsyncMutex::new(()));
        let both = |first: &AsyncMutex<()>, second: &AsyncMutex<()>| {
            let _first = first.request().wait();
            let _second = second.request().wait();
            0
        };
        two(|| both(&a, &b), || both(&b, &a));
    });
}

#[test]
fn nothing_is_leaked() {
    let outcome = Model::new().leaks(true).explore(|| {
        let (mailbox, mutex) = (Mailbox::new(), AsyncMutex::new(Box::new(0)));
        let exchange = || {
            mailbox.send(Box::new(1));
            let request = mutex.request();
            match mailbox.receive().take() {
                Ok(message) => **request.wait() += *message,
                Err(receiving) => drop(receiving),
            }
            0
        };
        two(exchange, exchange);
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
}

mod off_model {
    //! The same on real threads.

    use super::*;

    #[test]
    fn messages_arrive() {
        let mailbox = Mailbox::new();
        let sum = scope(|s| {
            for i in 0..20 {
                let mailbox = &mailbox;
                s.spawn(move || mailbox.send(i).wait());
            }
            let receives: Vec<_> = (0..20).map(|_| mailbox.receive()).collect();
            receives.into_iter().map(|receive| receive.wait()).sum::<usize>()
        });
        assert_eq!(sum, 190);
        assert!(!mailbox.receive().test());
    }

    #[test]
    fn locks_exclude() {
        let mutex = AsyncMutex::new(0);
        scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    drop(mutex.request());
                    for _ in 0..100 {
                        *mutex.request().wait() += 1;
                    }
                });
            }
        });
        assert_eq!(mutex.into_inner(), 800);
    }

    #[test]
    fn any_is_waited_for() {
        let (mailbox, mutex) = (Mailbox::new(), AsyncMutex::new(()));
        let held = mutex.request().wait();
        scope(|s| {
            s.spawn(|| {
                mailbox.send(1);
            });
            let (lock, message) = (mutex.request(), mailbox.receive());
            assert_eq!(wait_any(&[&lock, &message]), 1);
            assert_eq!(test_any(&[&lock]), None);
            drop(held);
            wait_all(&[&lock, &message]);
            assert_eq!(message.wait(), 1);
        });
    }
}
