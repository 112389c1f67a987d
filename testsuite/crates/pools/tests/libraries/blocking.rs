//! blocking.

#[test]
fn a_closure_runs_elsewhere() {
    assert_eq!(pollster::block_on(blocking::unblock(|| 1)), 1);
}
