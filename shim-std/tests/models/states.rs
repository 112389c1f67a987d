//! The same steps lead to the same state, down to the last byte, whatever the program uses; and orders that commute
//! reach the same state.

use dpor_explorer::{Context, Statistics, Strategy, Verdict};
use shim_std::Model;
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use shim_std::thread::{self, JoinHandle};

fn explore(test: fn()) -> Statistics {
    let model = Model::new().strategy(Strategy::Context(Context::default()));
    let report = model.exact_states(true).explore(test).report;
    assert_eq!(report.verdict, Verdict::Complete);
    report.statistics
}

fn start<S: Send + Sync + 'static>(threads: usize, shared: S, body: fn(usize, &S)) -> (Arc<S>, Vec<JoinHandle<()>>) {
    let shared = Arc::new(shared);
    let spawn = |i| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || body(i, &shared))
    };
    let handles = (0..threads).map(spawn).collect();
    (shared, handles)
}

fn join(handles: Vec<JoinHandle<()>>) {
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

#[test]
fn increments_commute() {
    let atomic = explore(|| {
        let (count, handles) = start(4, AtomicUsize::new(0), |_, count| {
            count.fetch_add(1, SeqCst);
        });
        join(handles);
        assert_eq!(count.load(SeqCst), 4);
    });
    let locked = explore(|| {
        let (count, handles) = start(3, Mutex::new(0), |_, count| {
            *count.lock().unwrap() += 1;
            *count.lock().unwrap() += 1;
        });
        join(handles);
        assert_eq!(*count.lock().unwrap(), 6);
    });
    assert_eq!((atomic.complete, locked.complete), (1, 1));
}

#[test]
fn the_last_write_wins() {
    let statistics = explore(|| {
        let (last, handles) = start(5, AtomicUsize::new(0), |i, last| last.store(i, SeqCst));
        join(handles);
        assert!(last.load(SeqCst) < 5);
    });
    assert_eq!(statistics.complete, 5);
}

#[test]
fn waiters_are_found_where_they_were() {
    explore(|| {
        let (pair, handles) = start(2, (Mutex::new(false), Condvar::new()), |_, (set, changed)| {
            drop(changed.wait_while(set.lock().unwrap(), |set| !*set));
        });
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        join(handles);
    });
}

#[test]
fn messages_are_found_where_they_were() {
    explore(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let send = |i| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(vec![i; 3]).unwrap())
        };
        let handles: Vec<_> = (0..3).map(send).collect();
        drop(sender);
        assert_eq!(receiver.iter().map(|message| message[0]).sum::<i32>(), 3);
        join(handles);
    });
}

#[test]
fn everything_else_is_found_where_it_was() {
    thread_local! {
        static OWN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    explore(|| {
        let shared = (Barrier::new(2), OnceLock::new(), RwLock::new(String::new()));
        let (shared, handles) = start(2, shared, |i, (barrier, once, text)| {
            OWN.set(i + *once.get_or_init(|| 7));
            barrier.wait();
            text.write().unwrap().push_str("ab");
            assert_eq!(text.read().unwrap().len() % 2, 0);
            assert_eq!(OWN.get(), i + 7);
        });
        join(handles);
        assert_eq!(shared.2.read().unwrap().len(), 4);
        let sum = AtomicUsize::new(0);
        thread::scope(|scope| {
            for i in 1..3 {
                let sum = &sum;
                scope.spawn(move || sum.fetch_add(i, SeqCst));
            }
        });
        assert_eq!(sum.into_inner(), 3);
    });
}
