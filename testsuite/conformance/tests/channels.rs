//! std::sync::mpsc.

use conformance::unless;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn dropped_sender_wakes_receiver() {
    let (sender, receiver) = mpsc::channel::<()>();
    let child = thread::spawn(move || drop(sender));
    assert_eq!(receiver.recv(), Err(RecvError));
    child.join().unwrap();
}

#[test]
fn last_dropped_sender_wakes_receiver() {
    let (sender, receiver) = mpsc::channel::<()>();
    let children = [sender.clone(), sender].map(|sender| thread::spawn(move || drop(sender)));
    assert_eq!(receiver.recv(), Err(RecvError));
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn messages_come_before_the_end() {
    let (sender, receiver) = mpsc::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Err(RecvError));
    child.join().unwrap();
}

#[test]
fn send_after_receiver_dropped_gives_the_message_back() {
    let (sender, receiver) = mpsc::channel();
    drop(receiver);
    assert_eq!(sender.send(7), Err(SendError(7)));
    let (sender, receiver) = mpsc::sync_channel(1);
    drop(receiver);
    assert_eq!(sender.send(7), Err(SendError(7)));
    assert_eq!(sender.try_send(7), Err(TrySendError::Disconnected(7)));
}

fn send_against_drop() -> bool {
    let (sender, receiver) = mpsc::channel();
    let child = thread::spawn(move || drop(receiver));
    let sent = sender.send(1).is_ok();
    child.join().unwrap();
    sent
}

#[test]
fn reach_send_before_drop() {
    unless(send_against_drop());
}

#[test]
fn reach_send_after_drop() {
    unless(!send_against_drop());
}

fn try_recv_against_send() -> Result<i32, TryRecvError> {
    let (sender, receiver) = mpsc::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    let result = receiver.try_recv();
    child.join().unwrap();
    result
}

#[test]
fn reach_try_recv_empty() {
    unless(try_recv_against_send() == Err(TryRecvError::Empty));
}

#[test]
fn reach_try_recv_ok() {
    unless(try_recv_against_send() == Ok(1));
}

#[test]
fn try_recv_has_two_outcomes() {
    assert!([Ok(1), Err(TryRecvError::Empty)].contains(&try_recv_against_send()));
}

fn try_recv_against_drop() -> TryRecvError {
    let (sender, receiver) = mpsc::channel::<()>();
    let child = thread::spawn(move || drop(sender));
    let result = receiver.try_recv();
    child.join().unwrap();
    result.unwrap_err()
}

#[test]
fn reach_try_recv_before_disconnection() {
    unless(try_recv_against_drop() == TryRecvError::Empty);
}

#[test]
fn reach_try_recv_after_disconnection() {
    unless(try_recv_against_drop() == TryRecvError::Disconnected);
}

#[test]
fn recv_timeout_ends() {
    let (sender, receiver) = mpsc::channel::<()>();
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    drop(sender);
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
}

fn recv_timeout_against_send() -> Result<i32, RecvTimeoutError> {
    let (sender, receiver) = mpsc::channel();
    let child = thread::spawn(move || {
        sender.send(1).unwrap();
        sender
    });
    let result = receiver.recv_timeout(SHORT);
    drop(child.join().unwrap());
    result
}

#[test]
fn reach_recv_timeout_fires() {
    unless(recv_timeout_against_send() == Err(RecvTimeoutError::Timeout));
}

#[test]
fn reach_recv_timeout_does_not_fire() {
    unless(recv_timeout_against_send() == Ok(1));
}

#[test]
fn fail_recv_with_a_sender_alive_deadlocks() {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv();
}

#[test]
fn each_sender_keeps_its_order() {
    let (sender, receiver) = mpsc::channel();
    let children = [(sender.clone(), 0), (sender, 10)].map(|(sender, base)| {
        thread::spawn(move || {
            sender.send(base + 1).unwrap();
            sender.send(base + 2).unwrap();
        })
    });
    let received: Vec<i32> = receiver.iter().collect();
    children.into_iter().for_each(|child| child.join().unwrap());
    let of = |base: i32| {
        received
            .iter()
            .copied()
            .filter(move |m| m / 10 == base / 10)
            .collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(10)), (vec![1, 2], vec![11, 12]));
}

fn first_of_two() -> i32 {
    let (sender, receiver) = mpsc::channel();
    let children = [(sender.clone(), 1), (sender, 2)].map(|(sender, m)| thread::spawn(move || sender.send(m).unwrap()));
    let first = receiver.recv().unwrap();
    receiver.recv().unwrap();
    children.into_iter().for_each(|child| child.join().unwrap());
    first
}

#[test]
fn reach_first_sender_first() {
    unless(first_of_two() == 1);
}

#[test]
fn reach_second_sender_first() {
    unless(first_of_two() == 2);
}

#[test]
fn rendezvous_waits_for_the_receiver() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let taken = Arc::new(AtomicUsize::new(0));
    let child = {
        let taken = Arc::clone(&taken);
        thread::spawn(move || {
            taken.store(1, SeqCst);
            receiver.recv().unwrap()
        })
    };
    sender.send(5).unwrap();
    assert_eq!(taken.load(SeqCst), 1);
    assert_eq!(child.join().unwrap(), 5);
}

#[test]
fn rendezvous_try_send_needs_a_waiting_receiver() {
    let (sender, receiver) = mpsc::sync_channel(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    drop(receiver);
    assert_eq!(sender.try_send(1), Err(TrySendError::Disconnected(1)));
}

#[test]
fn rendezvous_send_fails_when_the_receiver_goes() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let child = thread::spawn(move || drop(receiver));
    assert_eq!(sender.send(1), Err(SendError(1)));
    child.join().unwrap();
}

#[test]
fn fail_rendezvous_with_oneself_deadlocks() {
    let (sender, _receiver) = mpsc::sync_channel(0);
    let _ = sender.send(1);
}

#[test]
fn full_channel_blocks_until_there_is_room() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let child = thread::spawn(move || (0..3).for_each(|m| sender.send(m).unwrap()));
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    child.join().unwrap();
}

#[test]
fn full_channel_refuses_try_send() {
    let (sender, receiver) = mpsc::sync_channel(1);
    sender.try_send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1]);
    sender.try_send(3).unwrap();
}

fn try_send_against_recv() -> bool {
    let (sender, receiver) = mpsc::sync_channel(1);
    sender.send(1).unwrap();
    let child = thread::spawn(move || {
        receiver.recv().unwrap();
        receiver
    });
    let sent = sender.try_send(2).is_ok();
    drop(child.join().unwrap());
    sent
}

#[test]
fn reach_try_send_full() {
    unless(!try_send_against_recv());
}

#[test]
fn reach_try_send_ok() {
    unless(try_send_against_recv());
}

#[test]
fn an_endless_timeout_does_not_fire() {
    for bound in [0, 1] {
        let (sender, receiver) = mpsc::sync_channel(bound);
        let child = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(7));
        child.join().unwrap();
    }
}

#[test]
fn fail_an_endless_timeout_is_a_deadlock() {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv_timeout(Duration::MAX);
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn dropped_receiver_drops_what_is_queued() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    sender.send(Counted(Arc::clone(&drops))).unwrap();
    sender.send(Counted(Arc::clone(&drops))).unwrap();
    drop(receiver);
    assert_eq!(drops.load(SeqCst), 2);
    drop(sender);
    assert_eq!(drops.load(SeqCst), 2);
}

#[test]
fn message_is_dropped_once_however_send_and_drop_race() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    let child = thread::spawn(move || drop(receiver));
    drop(sender.send(Counted(Arc::clone(&drops))));
    child.join().unwrap();
    drop(sender);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn senders_are_shared_by_reference() {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(1).unwrap());
        scope.spawn(|| sender.send(2).unwrap());
    });
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
}

#[test]
fn receiver_is_shared_through_a_lock() {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    let recv = || receiver.lock().unwrap().recv().unwrap();
    let sum = thread::scope(|scope| {
        let handles = [scope.spawn(recv), scope.spawn(recv)];
        handles.into_iter().map(|handle| handle.join().unwrap()).sum::<i32>()
    });
    assert_eq!(sum, 3);
}

#[test]
fn errors_read_like_std() {
    assert_eq!(RecvError.to_string(), "receiving on a closed channel");
    assert_eq!(SendError(()).to_string(), "sending on a closed channel");
    assert_eq!(TryRecvError::Empty.to_string(), "receiving on an empty channel");
    assert_eq!(TrySendError::Full(()).to_string(), "sending on a full channel");
    assert_eq!(RecvTimeoutError::Timeout.to_string(), "timed out waiting on channel");
}
