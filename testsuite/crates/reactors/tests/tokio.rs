//! tokio, with all of its drivers.

use std::io::Write;
use std::thread;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

const TICK: Duration = Duration::from_millis(10);

#[tokio::test]
async fn a_sleep_ends() {
    let begin = Instant::now();
    sleep(TICK).await;
    assert!(begin.elapsed() >= TICK);
}

#[tokio::test]
async fn another_thread_sends() {
    let (sender, receiver) = oneshot::channel();
    let sends = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.await.unwrap(), 1);
    sends.join().unwrap();
}

#[tokio::test]
async fn nobody_sends() {
    let (sender, receiver) = oneshot::channel::<u8>();
    let forgets = thread::spawn(move || std::mem::forget(sender));
    assert_eq!(receiver.await.unwrap(), 1);
    forgets.join().unwrap();
}

#[tokio::test]
async fn another_thread_sends_in_time_or_too_late() {
    let (sender, receiver) = oneshot::channel();
    let sends = thread::spawn(move || sender.send(1).is_ok());
    match timeout(TICK, receiver).await {
        Ok(received) => assert_eq!(received.unwrap(), 1),
        Err(_) => drop(sends.join().unwrap()),
    }
}

#[tokio::test]
async fn reach_another_thread_sends_too_late() {
    let (sender, receiver) = oneshot::channel();
    let sends = thread::spawn(move || sender.send(1).is_ok());
    timeout(TICK, receiver).await.unwrap().unwrap();
    sends.join().unwrap();
}

#[tokio::test]
async fn another_thread_writes() {
    let (mut reader, writer) = UnixStream::pair().unwrap();
    let mut writer = writer.into_std().unwrap();
    let writes = thread::spawn(move || writer.write_all(b"ab").unwrap());
    let mut all = Vec::new();
    reader.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"ab");
    writes.join().unwrap();
}
