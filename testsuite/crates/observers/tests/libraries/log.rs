//! log.

use log::{LevelFilter, Log, Metadata, Record};
use std::sync::Mutex;
use std::thread;

struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn enabled(&self, _: &Metadata) -> bool {
        true
    }

    fn log(&self, record: &Record) {
        self.0.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

static LINES: Lines = Lines(Mutex::new(Vec::new()));

#[test]
fn lines_of_two_threads_are_kept() {
    log::set_logger(&LINES).unwrap();
    log::set_max_level(LevelFilter::Info);
    let child = thread::spawn(|| log::info!("theirs"));
    log::info!("mine");
    child.join().unwrap();
    assert_eq!(LINES.0.lock().unwrap().len(), 2);
}

#[test]
fn one_of_two_sets_the_logger() {
    let child = thread::spawn(|| log::set_logger(&LINES).is_ok());
    let mine = log::set_logger(&LINES).is_ok();
    assert!(mine != child.join().unwrap());
}
