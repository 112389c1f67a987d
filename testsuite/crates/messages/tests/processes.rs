//! The programs of Table 1 of Pham, Jéron and Quinson, *Unfolding-Based Dynamic Partial Order Reduction of Asynchronous
//! Distributed Programs* (FORTE 2019), as far as they are known: the first five are tests of the MPI checker Umpire.
//! Each process receives in a mailbox of its own, whatever the source; a blocking send is one that is waited for.

use shim_std::comm::{Mailbox, wait_all};
use std::thread::scope;

type Process<'a> = Box<dyn FnOnce() + Send + 'a>;

fn mailboxes<const N: usize>() -> [Mailbox<usize>; N] {
    std::array::from_fn(|_| Mailbox::new())
}

/// Runs the processes to their ends.
fn run<const N: usize>(processes: [Process<'_>; N]) {
    scope(|scope| {
        for process in processes {
            scope.spawn(process);
        }
    });
}

fn send(to: &Mailbox<usize>) {
    to.send(0).wait();
}

fn receive(from: &Mailbox<usize>) {
    from.receive().wait();
}

#[test]
fn wait_deadlock() {
    let [a, b] = &mailboxes();
    run([
        Box::new(|| {
            receive(a);
            send(b);
        }),
        Box::new(|| {
            receive(b);
            send(a);
        }),
    ]);
}

#[test]
fn complex_deadlock() {
    let [a, b, c] = &mailboxes();
    run([
        Box::new(|| {
            send(c);
            receive(a);
            send(b);
        }),
        Box::new(|| {
            receive(b);
            send(a);
        }),
        Box::new(|| receive(c)),
    ]);
}

#[test]
fn waitall_deadlock() {
    let [a, b, c] = &mailboxes();
    run([
        Box::new(|| {
            wait_all(&[&a.receive(), &a.receive()]);
            send(b);
        }),
        Box::new(|| {
            wait_all(&[&a.send(0), &c.send(0)]);
            receive(b);
            send(a);
        }),
        Box::new(|| receive(c)),
    ]);
}

#[test]
fn no_error_wait_any_src() {
    let [a, b] = &mailboxes();
    run([
        Box::new(|| {
            let receiving = a.receive();
            send(b);
            receiving.wait();
        }),
        Box::new(|| {
            receive(b);
            send(a);
        }),
    ]);
}

/// The master waits for whoever comes first, and answers the first process.
#[test]
fn any_src_can_deadlock() {
    let [a, b] = &mailboxes();
    run([
        Box::new(|| {
            // Whose number it is was not looked at.
            if a.receive().wait() == 1 {
                send(b);
            }
            receive(a);
        }),
        Box::new(|| {
            a.send(1).wait();
            receive(b);
        }),
        Box::new(|| {
            a.send(2).wait();
        }),
    ]);
}

/// Several processes send to one: each order of their sends is a trace.
fn rmq_receiving(senders: usize) {
    let mailbox = &Mailbox::new();
    scope(|scope| {
        for sender in 0..senders {
            scope.spawn(move || mailbox.send(sender).wait());
        }
        scope.spawn(move || {
            let sum: usize = (0..senders).map(|_| mailbox.receive().wait()).sum();
            assert_eq!(sum, (0..senders).sum());
        });
    });
}

#[test]
fn rmq_receiving_4() {
    rmq_receiving(3);
}

#[test]
fn rmq_receiving_5() {
    rmq_receiving(4);
}

/// The master gives each worker a task, and takes the results as they come.
fn master_worker<const WORKERS: usize>() {
    let results = &Mailbox::new();
    let tasks = &mailboxes::<WORKERS>();
    scope(|scope| {
        for task in tasks {
            scope.spawn(move || {
                let number = task.receive().wait();
                results.send(number * number).wait();
            });
        }
        scope.spawn(move || {
            let sent: Vec<_> = tasks.iter().zip(1..).map(|(task, number)| task.send(number)).collect();
            sent.into_iter().for_each(|sending| sending.wait());
            let sum: usize = (0..WORKERS).map(|_| results.receive().wait()).sum();
            assert_eq!(sum, (1..=WORKERS).map(|number| number * number).sum());
        });
    });
}

#[test]
fn master_worker_3() {
    master_worker::<2>();
}

#[test]
fn master_worker_4() {
    master_worker::<3>();
}
