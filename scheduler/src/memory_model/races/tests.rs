use super::*;

const OTHER: ThreadId = ThreadId(1);
/// Neither on the heap nor on a stack.
const PLACE: usize = 0x1000;

fn races() -> DataRaces {
    let mut races = DataRaces::default();
    races.switch_on().unwrap();
    races.begins(false, LearntOrderings::default(), None);
    races
}

fn again(races: &mut DataRaces) -> bool {
    races.starts_again(Asked::Between, true, false)
}

fn again_at_the_end(races: &mut DataRaces) -> bool {
    races.starts_again(Asked::AtTheEnd { complete: true }, true, false)
}

fn write(races: &mut DataRaces, thread: ThreadId) {
    assert!(races.access(thread, PLACE, 8, Kind::Write).is_ok());
}

fn main_uses(races: &mut DataRaces) {
    races.spawned(ThreadId::MAIN, OTHER);
    write(races, ThreadId::MAIN);
    races.release(ThreadId::MAIN, Location(1));
}

fn other_uses(races: &mut DataRaces) {
    races.acquire(OTHER, Location(1));
    write(races, OTHER);
}

/// Both threads use the place, one after the other.
fn share(races: &mut DataRaces) {
    main_uses(races);
    other_uses(races);
}

#[test]
fn an_atomic_learns_nothing_from_stores_of_another_size() {
    for (size, is_race) in [(2, false), (1, true)] {
        let mut races = races();
        races.spawned(ThreadId::MAIN, OTHER);
        let mut atomic = |thread, size, access| races.atomic(thread, Location(PLACE as u64), size, access);
        assert!(atomic(ThreadId::MAIN, 2, AtomicAccess::Store(Ordering::SeqCst)).is_ok());
        let load = atomic(OTHER, size, AtomicAccess::Load(Ordering::SeqCst));
        assert_eq!(load.is_err_and(|bad| bad.fault.is_race()), is_race, "{size}");
    }
}

#[test]
fn exploration_starts_again_when_it_has_doubled_or_is_over() {
    let mut races = races();
    assert!((0..3).all(|_| !again(&mut races)) && !again_at_the_end(&mut races));
    share(&mut races);
    // Found in the fourth execution.
    // Whoever is about to tell something asks as well, and has ended no execution.
    assert!((0..20).all(|_| !races.starts_again(Asked::BeforeFailure, true, false)));
    assert!((4..8).all(|_| !again(&mut races)));
    assert!(again(&mut races));
    // Now it is known.
    assert!((0..20).all(|_| !again(&mut races)) && !again_at_the_end(&mut races));

    let mut races = self::races();
    share(&mut races);
    assert!(!again(&mut races));
    assert!(again_at_the_end(&mut races));
    assert!(!again_at_the_end(&mut races));
}

#[test]
fn many_states_leave_knowledge_out_if_weak_memory_follows() {
    let again = |races: &mut DataRaces, asked| races.starts_again(asked, true, true);
    let is_told = |races: &mut DataRaces| {
        races.spawned(ThreadId::MAIN, OTHER);
        write(races, OTHER);
        races.knowledge(&mut Vec::new()) != 0
    };
    // Few executions are explored again with what was found.
    let mut races = races();
    share(&mut races);
    assert!(!again(&mut races, Asked::Between) && again(&mut races, Asked::Between));
    assert!(is_told(&mut races) && !races.leaves_out_knowledge());
    // Many are not.
    assert!((1..64).all(|_| !again(&mut races, Asked::Between)));
    assert!(again(&mut races, Asked::Between) && races.leaves_out_knowledge() && !is_told(&mut races));
    let place = PLACE + 64;
    assert!(races.access(ThreadId::MAIN, place, 8, Kind::Write).is_ok());
    races.release(ThreadId::MAIN, Location(2));
    races.acquire(OTHER, Location(2));
    assert!(races.access(OTHER, place, 8, Kind::Write).is_ok());
    assert!((0..1000).all(|_| !again(&mut races, Asked::Between)));
    let others = [Asked::Ahead, Asked::BeforeFailure, Asked::AtTheEnd { complete: true }];
    assert!(others.into_iter().all(|asked| !again(&mut races, asked)));
    // Another process goes on with that.
    let mut second = self::races();
    second.go_on_from(&races.learnt());
    assert!(second.leaves_out_knowledge());
    // When weak memory has come, all is known.
    races.turn_to_weak_memory();
    assert!(is_told(&mut races) && !races.leaves_out_knowledge() && !again_at_the_end(&mut races));
    // Nothing follows.
    let mut races = self::races();
    assert!((0..1000).all(|_| !self::again(&mut races)) && !races.leaves_out_knowledge());
}

#[test]
fn another_process_goes_on_with_what_was_learnt() {
    let through_a_file = |learnt: &LearntRaces| {
        let bytes = dpor_explorer::codec::to_bytes(learnt);
        dpor_explorer::codec::from_bytes::<LearntRaces>(&bytes).unwrap()
    };
    let mut first = races();
    share(&mut first);
    // What is found, but was not yet a reason to start again.
    let mut second = races();
    second.go_on_from(&through_a_file(&first.learnt()));
    assert!(again_at_the_end(&mut second));
    // What was a reason.
    let mut third = races();
    third.go_on_from(&through_a_file(&second.learnt()));
    share(&mut third);
    assert!(!again_at_the_end(&mut third));
    // Who has used what.
    let mut first = races();
    main_uses(&mut first);
    let mut second = races();
    second.go_on_from(&through_a_file(&first.learnt()));
    second.spawned(ThreadId::MAIN, OTHER);
    write(&mut second, OTHER);
    assert!(again_at_the_end(&mut second));
}

#[test]
fn own_stacks_are_left_out_until_they_are_exposed() {
    let main_writes = |races: &mut DataRaces, place| races.access(ThreadId::MAIN, place, 8, Kind::Write).is_ok();
    let other_writes = |races: &mut DataRaces, place| races.access(OTHER, place, 8, Kind::Write).is_ok();
    let place = region::stack_slot(0).1 - 64;
    let mut races = races();
    races.leave_out_private(true);
    races.spawned(ThreadId::MAIN, OTHER);
    assert!(main_writes(&mut races, place) && !races.starts_again(Asked::BeforeFailure, false, false));
    // It is noticed, and changes nothing yet.
    assert!(other_writes(&mut races, place) && main_writes(&mut races, place));
    assert!(races.starts_again(Asked::BeforeFailure, false, false));
    // SAFETY: there is no program.
    unsafe { races.reset() };
    races.begins(false, LearntOrderings::default(), None);
    races.spawned(ThreadId::MAIN, OTHER);
    assert!(main_writes(&mut races, place) && !other_writes(&mut races, place));
    assert!(!races.starts_again(Asked::AtTheEnd { complete: true }, false, false));
    // What other threads do on theirs is still left out.
    let place = region::stack_slot(1).1 - 64;
    assert!(other_writes(&mut races, place) && main_writes(&mut races, place));
    assert!(races.starts_again(Asked::Between, false, false));
    // Who records all does so at once.
    let mut races = self::races();
    races.spawned(ThreadId::MAIN, OTHER);
    assert!(main_writes(&mut races, place) && !other_writes(&mut races, place));
}

/// An access that leaves no trace is judged, and no later one by it.
#[test]
fn what_is_tried_is_not_recorded() {
    let mut races = races();
    races.spawned(ThreadId::MAIN, OTHER);
    assert!(races.try_access(ThreadId::MAIN, PLACE, 8, Kind::Write).is_ok());
    write(&mut races, OTHER);
    let judged = races.try_access(ThreadId::MAIN, PLACE, 8, Kind::Read);
    assert!(judged.is_err_and(|bad| bad.fault.is_race()));
    assert!(races.access(ThreadId::MAIN, PLACE, 8, Kind::Read).is_err());
}

/// Otherwise a resumed exploration could be complete that is not.
#[test]
fn who_goes_on_knows_that_there_were_more_values() {
    let mut races = DataRaces::default();
    assert!(!races.learnt().has_more_values);
    races.rc11.go_on(true);
    let mut other = DataRaces::default();
    other.go_on_from(&races.learnt());
    assert!(other.have_more_values());
    other.start_again_with_values();
    assert!(!other.have_more_values());
}
