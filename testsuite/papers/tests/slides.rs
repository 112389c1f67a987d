//! The examples of the slides.

use papers::slides;

#[test]
fn slides_two_variables() {
    slides::two_variables();
}

#[test]
fn slides_read_and_kept() {
    assert!([0, 3].contains(&slides::read_and_kept()));
}

#[test]
fn slides_read_and_forgotten() {
    slides::read_and_forgotten();
}

#[test]
fn slides_two_readers() {
    assert!(slides::two_readers().into_iter().all(|read| read <= 1));
}
