//! The programs with known numbers of executions, at several sizes.

use classics::counts;

macro_rules! sizes {
    ($($test:ident: $run:expr;)*) => {
        $(
            #[test]
            fn $test() {
                $run
            }
        )*
    };
}

fn lastwrite(n: usize) {
    assert_eq!(counts::lastwrite(n), (1..=n).collect::<Vec<_>>());
}

fn writers(n: usize) {
    assert!(counts::writers(n) <= n);
}

fn readers(n: usize) {
    assert!(counts::readers(n).iter().all(|value| *value <= 1));
}

fn counterobs(n: usize) {
    let mut seen = counts::counterobs(n);
    seen.sort();
    assert_eq!(seen, (0..n).collect::<Vec<_>>());
}

fn lastzero(n: usize) {
    assert!(counts::lastzero(n) <= n);
}

fn prodcons(n: u32) {
    let got = counts::prodcons(n);
    assert_eq!(got, (0..got.len() as u32).collect::<Vec<_>>());
}

fn channel(k: usize) {
    let received = counts::channel(k);
    assert_eq!(received.iter().filter(|id| **id == 0).count(), k);
    assert_eq!(received.len(), 2 * k);
}

sizes! {
    lastwrite_2: lastwrite(2);
    lastwrite_3: lastwrite(3);
    lastwrite_4: lastwrite(4);
    lastwrite_5: lastwrite(5);
    writers_3: writers(3);
    writers_4: writers(4);
    writers_5: writers(5);
    readers_2: readers(2);
    readers_3: readers(3);
    readers_4: readers(4);
    readers_5: readers(5);
    counterobs_2: counterobs(2);
    counterobs_3: counterobs(3);
    counterobs_4: counterobs(4);
    counter_2: counts::counter(2);
    counter_3: counts::counter(3);
    counter_4: counts::counter(4);
    lastzero_3: lastzero(3);
    lastzero_5: lastzero(5);
    philosophers_left_first_2: counts::philosophers_left_first(2);
    philosophers_left_first_3: counts::philosophers_left_first(3);
    philosophers_left_first_4: counts::philosophers_left_first(4);
    philosophers_ordered_2: counts::philosophers_ordered(2);
    philosophers_ordered_3: counts::philosophers_ordered(3);
    philosophers_ordered_4: counts::philosophers_ordered(4);
    mutexcounter_2_2: counts::mutexcounter(2, 2);
    mutexcounter_2_4: counts::mutexcounter(2, 4);
    mutexcounter_3_2: counts::mutexcounter(3, 2);
    prodcons_3: prodcons(3);
    prodcons_5: prodcons(5);
    channel_2_senders_1: channel(1);
    channel_2_senders_2: channel(2);
    channel_2_senders_3: channel(3);
}
