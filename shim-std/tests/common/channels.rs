// Included twice, with `lib` being std and the shim.

use lib::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, channel, sync_channel,
};
use lib::thread;
use lib::time::{Duration, Instant};
use std::sync::Arc;

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn unbounded() {
    let (tx, rx) = channel();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let tx = tx.clone();
            thread::spawn(move || (0..50).for_each(|j| tx.send((i, j)).unwrap()))
        })
        .collect();
    let mut next = [0; 4];
    for (i, j) in rx.iter().take(200) {
        assert_eq!(next[i], j);
        next[i] += 1;
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    tx.send((0, 0)).unwrap();
    drop(tx);
    assert_eq!(rx.recv(), Ok((0, 0)));
    assert_eq!(rx.recv(), Err(RecvError));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn dropping_the_last_sender_wakes() {
    let (tx, rx) = channel::<u8>();
    let thread = thread::spawn(move || rx.recv());
    thread::sleep(SHORT);
    drop(tx.clone());
    drop(tx);
    assert_eq!(thread.join().unwrap(), Err(RecvError));
}

#[test]
fn dropping_the_receiver_drops_messages() {
    let message = Arc::new(());
    let (tx, rx) = channel();
    tx.send(message.clone()).unwrap();
    tx.send(message.clone()).unwrap();
    assert_eq!(Arc::strong_count(&message), 3);
    drop(rx);
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(matches!(tx.send(message), Err(SendError(_))));
}

#[test]
fn bounded() {
    let (tx, rx) = sync_channel(2);
    assert_eq!(tx.try_send(0), Ok(()));
    tx.send(1).unwrap();
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    let thread = thread::spawn(move || {
        (2..20).for_each(|i| tx.send(i).unwrap());
        tx
    });
    assert_eq!(
        (&rx).into_iter().take(20).collect::<Vec<_>>(),
        (0..20).collect::<Vec<_>>()
    );
    let tx = thread.join().unwrap();
    tx.send(20).unwrap();
    tx.clone().send(21).unwrap();
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [20, 21]);
    tx.send(22).unwrap();
    tx.send(23).unwrap();
    let blocked = thread::spawn({
        let tx = tx.clone();
        move || tx.send(24)
    });
    thread::sleep(SHORT);
    drop(rx);
    assert_eq!(blocked.join().unwrap(), Err(SendError(24)));
    assert_eq!(tx.try_send(25), Err(TrySendError::Disconnected(25)));
}

#[test]
fn rendezvous() {
    let (tx, rx) = sync_channel::<String>(0);
    assert_eq!(
        tx.try_send("nobody waits".into()),
        Err(TrySendError::Full("nobody waits".into()))
    );
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    // Nobody waits any more.
    assert!(tx.try_send(String::new()).is_err());
    let start = Instant::now();
    let thread = thread::spawn({
        let tx = tx.clone();
        move || {
            tx.send("one".into()).unwrap();
            start.elapsed()
        }
    });
    thread::sleep(SHORT);
    assert_eq!(rx.recv().unwrap(), "one");
    assert!(thread.join().unwrap() >= SHORT);

    let thread = thread::spawn(move || (rx.recv().unwrap(), rx));
    while tx.try_send("two".into()).is_err() {
        thread::yield_now();
    }
    let (two, rx) = thread.join().unwrap();
    assert_eq!(two, "two");

    let blocked: Vec<_> = (0..3)
        .map(|i| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(i.to_string()).unwrap_err().0)
        })
        .collect();
    thread::sleep(SHORT);
    drop(rx);
    for (i, thread) in blocked.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), i.to_string());
    }
    assert!(matches!(tx.try_send(String::new()), Err(TrySendError::Disconnected(_))));

    let (tx, rx) = sync_channel::<u8>(0);
    let thread = thread::spawn(move || rx.recv());
    thread::sleep(SHORT);
    drop(tx);
    assert_eq!(thread.join().unwrap(), Err(RecvError));
}

#[test]
fn rendezvous_in_order() {
    let (tx, rx) = sync_channel(0);
    let thread = thread::spawn(move || (0..50).for_each(|i| tx.send(i).unwrap()));
    assert_eq!(rx.into_iter().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    thread.join().unwrap();
}

#[test]
fn debug() {
    let (tx, rx): (_, Receiver<u8>) = channel();
    assert_eq!(
        format!("{tx:?} {rx:?} {:?}", rx.iter()),
        "Sender { .. } Receiver { .. } Iter { rx: Receiver { .. } }"
    );
    let (tx, rx) = sync_channel::<u8>(1);
    assert_eq!(
        format!("{tx:?} {:?}", rx.try_iter()),
        "SyncSender { .. } TryIter { rx: Receiver { .. } }"
    );
    assert_eq!(format!("{:?}", rx.into_iter()), "IntoIter { rx: Receiver { .. } }");
}
