//! The rows of the tables.

use papers::*;

macro_rules! rows {
    ($($row:ident: $run:expr;)*) => {
        $(
            #[test]
            fn $row() {
                $run
            }
        )*
    };
}

fn section3() {
    assert!([0, 5].contains(&papers::section3::run()));
}

fn prodcons(n: u64) {
    let taken: Vec<_> = papers::prodcons::run(n).into_iter().flatten().collect();
    assert_eq!(taken, (0..taken.len() as u64).collect::<Vec<_>>());
}

fn fib(n: u64) {
    let expected = (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(papers::fib::run(n), expected);
}

fn sort(run: fn(Vec<u64>) -> Vec<u64>, list: Vec<u64>) {
    let mut expected = list.clone();
    expected.sort();
    assert_eq!(run(list), expected);
}

fn pi(workers: u64) {
    assert!((3141..=3143).contains(&papers::pi::run(workers)));
}

fn reg(n: usize) {
    let (entries, clients) = papers::reg::run(n);
    assert!(entries.iter().all(|entered| *entered));
    let name = |i| 100 + i as u64;
    assert!(
        clients
            .iter()
            .enumerate()
            .all(|(i, client)| client.has_entered && client.name == name(i))
    );
}

rows! {
    section_3: section3();
    prodcons_3: prodcons(3);
    prodcons_5: prodcons(5);
    prodcons_7: prodcons(7);
    prodcons_9: prodcons(9);
    fib_5: fib(5);
    fib_6: fib(6);
    fib_7: fib(7);
    qsort_9: sort(qsort::run, qsort::list(9));
    qsort_12: sort(qsort::run, qsort::list(12));
    qsort_15: sort(qsort::run, qsort::list(15));
    msort_9: sort(msort::run, msort::list(9));
    msort_12: sort(msort::run, msort::list(12));
    msort_15: sort(msort::run, msort::list(15));
    pi_5: pi(5);
    pi_6: pi(6);
    pi_7: pi(7);
    psort_4: sort(psort::run, psort::list(4));
    psort_5: sort(psort::run, psort::list(5));
    psort_6: sort(psort::run, psort::list(6));
    reg_4: reg(4);
    reg_5: reg(5);
    reg_6: reg(6);
}
