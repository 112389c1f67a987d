use super::*;
use crate::memory_model::clocks::entry;
use crate::memory_model::happens_before::HappensBefore;

const AT: usize = 0x2000_0000_0000;
const ALL: u8 = u8::MAX;

/// Shadow memory, and what two threads know: the second one nothing of the first.
struct World {
    shadow: Shadow,
    order: HappensBefore,
}

impl World {
    fn new() -> World {
        let mut order = HappensBefore::default();
        order.epoch(0);
        order.epoch(1);
        let shadow = Shadow::new().expect("there are addresses");
        World { shadow, order }
    }

    fn accessor(order: &HappensBefore, thread: u16, mask: u8) -> Accessor<'_> {
        Accessor {
            epoch: Epoch {
                thread,
                number: entry(&order.views[usize::from(thread)].current, thread.into()),
            },
            order,
            extent: Extent {
                start: 0,
                size: mask.count_ones(),
            },
            beside_others: true,
        }
    }

    fn access(&mut self, thread: u16, mask: u8, kind: Kind) -> Result<Noted, Kind> {
        let World { shadow, order } = self;
        let accessor = World::accessor(order, thread, mask);
        let result = shadow.access(AT, mask, kind, &accessor);
        result.map_err(|conflict| conflict.kind)
    }
}

#[test]
fn accesses_conflict_if_one_of_them_is_plain_and_one_writes() {
    use Kind::{Free, Load, Read, Store, Write};
    let kinds = [Read, Write, Load, Store, Free];
    for first in kinds {
        for second in kinds {
            let mut world = World::new();
            world.access(0, ALL, first).expect("it is the first");
            let both_read = !first.writes() && !second.writes();
            let both_atomic = [first, second].iter().all(|kind| matches!(kind, Load | Store));
            let expected = if both_read || both_atomic { Ok(()) } else { Err(first) };
            let found = world.access(1, ALL, second).map(|_| ());
            assert_eq!(found, expected, "{first:?}, {second:?}");
        }
    }
}

#[test]
fn bytes_are_told_apart() {
    let mut world = World::new();
    for (thread, mask) in [(0, 0x0F), (1, 0xF0), (0, 0x03), (1, 0xC0)] {
        assert!(world.access(thread, mask, Kind::Write).is_ok(), "{mask:#x}");
    }
    assert_eq!(world.access(1, 0x18, Kind::Read), Err(Kind::Write));
    assert_eq!(world.access(1, 0x10, Kind::Read).map(|noted| noted.fresh), Ok(0));
}

#[test]
fn what_is_ordered_does_not_conflict() {
    let mut world = World::new();
    world.access(0, ALL, Kind::Write).expect("it is the first");
    world.order.release(0, dpor_explorer::Location(8));
    world.access(0, ALL, Kind::Read).expect("it is its own");
    world.order.acquire(1, dpor_explorer::Location(8));
    assert!(world.access(1, ALL, Kind::Read).is_ok());
    assert_eq!(world.access(1, ALL, Kind::Write), Err(Kind::Read));
}

#[test]
fn the_use_by_a_second_thread_is_told_once() {
    let mut world = World::new();
    let mut is_shared = |thread, kind| {
        let noted = world.access(thread, ALL, kind);
        noted.map(|noted| noted.is_shared)
    };
    assert_eq!(is_shared(0, Kind::Store), Ok(false));
    assert_eq!(is_shared(1, Kind::Load), Ok(true));
    assert_eq!(is_shared(0, Kind::Store), Ok(false));
}

#[test]
fn changes_are_undone_to_points_that_are_on_record() {
    let mut world = World::new();
    let empty = world.shadow.point();
    world.access(0, 0x0F, Kind::Write).expect("it is the first");
    let written = world.shadow.point();
    world.access(1, 0xF0, Kind::Load).expect("these are others");
    let later = world.shadow.point();
    world.shadow.undo(written);
    assert_eq!(world.shadow.histories(AT).len(), 1);
    assert!(!world.shadow.can_go_back_to(later), "it was undone");
    world.access(1, 0xF0, Kind::Store).expect("these are others");
    assert!(!world.shadow.can_go_back_to(later), "another change is in its place");
    assert!(world.shadow.can_go_back_to(written));
    world.shadow.undo(empty);
    assert!(!world.shadow.was_accessed(AT));
    world.access(1, ALL, Kind::Write).expect("it is the first");
    assert!(!world.shadow.can_go_back_to(written));
    assert!(world.shadow.can_go_back_to(empty));
}

/// Whatever form a cell has, it tells what its histories do after the access.
#[test]
fn all_forms_tell_the_same() {
    let mut random = dpor_explorer::SplitMix64::new(7);
    let kinds = [Kind::Read, Kind::Write, Kind::Load, Kind::Store];
    let mut forms = [0; 2];
    for _ in 0..2_000 {
        let mut world = World::new();
        for _ in 0..24 {
            let thread = random.below(2) as u16;
            if random.below(4) == 0 {
                let other = usize::from(1 - thread);
                world.order.release(other, dpor_explorer::Location(8));
                world.order.acquire(thread.into(), dpor_explorer::Location(8));
            }
            let mask = [0xFF, 0x0F, 0xF0, 0x0C, 0x01][random.below(5)];
            let kind = kinds[random.below(4)];
            let cell = world.shadow.known_cell(AT).unwrap_or(Cell {
                written: 0,
                read: 0,
                usage: 0,
                followed: 0,
            });
            forms[usize::from(cell.written & LISTED != 0)] += 1;
            let before = sorted(world.shadow.decode(cell));
            let accessor = World::accessor(&world.order, thread, mask);
            let taken_apart = world.shadow.after(cell, AT, mask, kind, &accessor);
            let expected = taken_apart.map(|after| after.histories.map_or(before, sorted));
            let result = world.access(thread, mask, kind);
            assert_eq!(
                result.map(|_| ()),
                expected.as_ref().map(|_| ()).map_err(|conflict| conflict.kind)
            );
            let Ok(expected) = expected else { break };
            assert_eq!(told(&world.shadow.histories(AT)), told(&expected), "{kind:?} {mask:#x}");
        }
    }
    assert!(forms.iter().all(|&seen| seen > 2_000), "{forms:?}");
}

fn sorted(mut histories: Histories) -> Histories {
    histories.sort_unstable_by_key(|history| history.mask);
    histories
}

/// Each byte's accesses, in whatever order, but for reads by a thread after its own write in the same epoch, which are
/// not always noted.
fn told(histories: &[History]) -> Vec<(u8, Kind, u64, u32)> {
    let mut all = Vec::new();
    for history in histories {
        for byte in (0..8).filter(|byte| history.mask >> byte & 1 != 0) {
            let mut add = |kind, epoch: Epoch| all.push((byte, kind, pack(epoch, 0), 0));
            history.write.iter().for_each(|&epoch| add(Kind::Write, epoch));
            let reads = history.reads.iter().filter(|&&epoch| history.write != Some(epoch));
            reads.for_each(|&epoch| add(Kind::Read, epoch));
            for (kind, accesses) in [(Kind::Load, &history.loads), (Kind::Store, &history.stores)] {
                let accesses = accesses.iter();
                all.extend(accesses.map(|&(epoch, extent)| (byte, kind, pack(epoch, 0), extent.size)));
            }
        }
    }
    all.sort_unstable_by_key(|&(byte, kind, epoch, size)| (byte, kind as u8, epoch, size));
    all
}

#[test]
fn two_words_say_what_a_list_does() {
    let mut world = World::new();
    world.access(0, 0x3C, Kind::Write).expect("it is the first");
    world.access(0, 0x18, Kind::Read).expect("it is its own");
    let histories = world.shadow.histories(AT);
    assert!(briefly(&histories).is_some());
    assert_eq!(histories.iter().fold(0, |all, history| all | history.mask), 0x3C);
}
