//! arcstr.

use arcstr::{ArcStr, literal};
use std::thread;

#[test]
fn the_last_owner_frees_the_text() {
    let text = ArcStr::from("text");
    let child = {
        let text = text.clone();
        thread::spawn(move || text.len())
    };
    assert_eq!(text, "text");
    drop(text);
    assert_eq!(child.join().unwrap(), 4);
}

#[test]
fn a_literal_is_never_freed() {
    static TEXT: ArcStr = literal!("text");
    let child = thread::spawn(|| TEXT.clone().len());
    assert_eq!(TEXT.clone().len(), 4);
    assert_eq!(child.join().unwrap(), 4);
}
