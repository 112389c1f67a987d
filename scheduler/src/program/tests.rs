use super::*;
use std::sync::atomic::Ordering;

/// Nothing that is left out of states while weak memory is still to come is left out once it has come.
#[test]
fn weak_memory_leaves_nothing_out() {
    let options = Options::default().with_memory(Memory::Rc11);
    let mut program = Program::new(options, || Ok(())).unwrap();
    program.put_weak_memory_off();
    let session = &mut Program::machine().session;
    session.comparing = true;
    session
        .refinements
        .note_orderings(|known| known.with(Ordering::Relaxed, Ordering::Relaxed));
    assert!((1..64).all(|_| !program.starts_again(Asked::Between)));
    assert!(program.starts_again(Asked::Between));
    assert!(Program::machine().execution.races.leaves_out_knowledge() && program.puts_weak_memory_off());
    assert!(program.starts_again(Asked::AtTheEnd { complete: true }));
    assert!(!Program::machine().execution.races.leaves_out_knowledge() && !program.puts_weak_memory_off());
    assert_eq!(program.explored_first(), Sequential::AllButRaces);
    // It does not start again for that.
    assert!((0..200).all(|_| !program.starts_again(Asked::Between)));
}
