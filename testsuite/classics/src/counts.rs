//! Programs whose number of executions is known, by derivation or from the literature.
//!
//! The main thread spawns all threads, joins all of them, and does nothing else that another thread could see:
//! every operation is one of the program's own, so the numbers in `expected.toml` are exact. Results come back
//! through `join`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

fn join_all<R>(handles: Vec<JoinHandle<R>>) -> Vec<R> {
    handles
        .into_iter()
        .map(|handle| handle.join().expect("no thread panics"))
        .collect()
}

/// `n` threads store their number in one variable: n! executions. Returns the numbers.
pub fn lastwrite(n: usize) -> Vec<usize> {
    let variable = Arc::new(AtomicUsize::new(0));
    join_all((1..=n).map(|i| spawn_store(&variable, i)).collect())
}

/// [`lastwrite`], and one more thread that loads the variable: (n + 1)! executions. Returns what it has read.
pub fn writers(n: usize) -> usize {
    let variable = Arc::new(AtomicUsize::new(0));
    let writers = (1..=n).map(|i| spawn_store(&variable, i)).collect();
    let reader = spawn_load(&variable);
    join_all(writers);
    reader.join().expect("it does not panic")
}

/// One thread stores 1, `n` threads load: 2^n executions. Returns what they have read.
pub fn readers(n: usize) -> Vec<usize> {
    let variable = Arc::new(AtomicUsize::new(0));
    let writer = spawn_store(&variable, 1);
    let readers = (0..n).map(|_| spawn_load(&variable)).collect();
    writer.join().expect("it does not panic");
    join_all(readers)
}

fn spawn_store(variable: &Arc<AtomicUsize>, value: usize) -> JoinHandle<usize> {
    let variable = Arc::clone(variable);
    thread::spawn(move || {
        variable.store(value, SeqCst);
        value
    })
}

fn spawn_load(variable: &Arc<AtomicUsize>) -> JoinHandle<usize> {
    let variable = Arc::clone(variable);
    thread::spawn(move || variable.load(SeqCst))
}

/// `n` threads increment a variable and keep what it was: n! executions. Returns what they have seen.
pub fn counterobs(n: usize) -> Vec<usize> {
    let variable = Arc::new(AtomicUsize::new(0));
    let spawn = |_| {
        let variable = Arc::clone(&variable);
        thread::spawn(move || variable.fetch_add(1, SeqCst))
    };
    join_all((0..n).map(spawn).collect())
}

/// `n` threads increment a variable: n! executions, which all end in the same state.
pub fn counter(n: usize) {
    let variable = Arc::new(AtomicUsize::new(0));
    let spawn = |_| {
        let variable = Arc::clone(&variable);
        thread::spawn(move || {
            variable.fetch_add(1, SeqCst);
        })
    };
    join_all((0..n).map(spawn).collect());
}

/// Abdulla et al. 2014: thread `j` of `n` sets `x[j] = x[j - 1] + 1`; one more looks for the last zero, from the end.
/// 2^(n-2) (n + 3) executions. Returns the index of the zero that it has found.
pub fn lastzero(n: usize) -> usize {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let reader = {
        let array = Arc::clone(&array);
        thread::spawn(move || {
            let mut i = n;
            while array[i].load(SeqCst) != 0 {
                i -= 1;
            }
            i
        })
    };
    let spawn = |j: usize| {
        let array = Arc::clone(&array);
        thread::spawn(move || array[j].store(array[j - 1].load(SeqCst) + 1, SeqCst))
    };
    let workers: Vec<_> = (1..=n).map(spawn).collect();
    let found = reader.join().expect("it does not panic");
    join_all(workers);
    found
}

fn philosophers(n: usize, order: fn(usize, usize) -> (usize, usize)) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
    let spawn = |i: usize| {
        let forks = Arc::clone(&forks);
        thread::spawn(move || {
            let (first, second) = order(i, (i + 1) % n);
            let _first = forks[first].lock().expect("not poisoned");
            let _second = forks[second].lock().expect("not poisoned");
        })
    };
    join_all((0..n).map(spawn).collect());
}

/// `n` philosophers, who all take the left fork first: 2^n - 1 executions, one of which is a deadlock.
pub fn philosophers_left_first(n: usize) {
    philosophers(n, |left, right| (left, right));
}

/// `n` philosophers, who take the fork with the lower number first: 2^n - 2 executions.
pub fn philosophers_ordered(n: usize) {
    philosophers(n, |left, right| (left.min(right), left.max(right)));
}

/// `threads` threads increment a guarded counter `times` times each: (threads · times)! / (times!)^threads executions.
pub fn mutexcounter(threads: usize, times: usize) {
    let counter = Arc::new(Mutex::new(0));
    let spawn = |_| {
        let counter = Arc::clone(&counter);
        thread::spawn(move || {
            for _ in 0..times {
                *counter.lock().expect("not poisoned") += 1;
            }
        })
    };
    join_all((0..threads).map(spawn).collect());
}

/// Albert et al. 2017: a producer puts `n` elements into a queue, a consumer looks `n` times and takes what there is,
/// each time under a lock: (2n)! / (n!)^2 executions. Returns what the consumer got.
pub fn prodcons(n: u32) -> Vec<u32> {
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    let producer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            for i in 0..n {
                queue.lock().expect("not poisoned").push_back(i);
            }
        })
    };
    let consumer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            (0..n)
                .filter_map(|_| queue.lock().expect("not poisoned").pop_front())
                .collect()
        })
    };
    producer.join().expect("it does not panic");
    consumer.join().expect("it does not panic")
}

/// Two senders send `k` messages each, one receiver receives all: (2k)! / (k!)^2 executions. Returns the senders'
/// numbers in the order of arrival.
pub fn channel(k: usize) -> Vec<usize> {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let spawn = |sender: mpsc::Sender<usize>, id| {
        thread::spawn(move || {
            for _ in 0..k {
                sender.send(id).expect("the receiver waits");
            }
        })
    };
    let senders = vec![spawn(sender, 0), spawn(other, 1)];
    let received = (0..2 * k)
        .map(|_| receiver.recv().expect("a message is to come"))
        .collect();
    join_all(senders);
    received
}
