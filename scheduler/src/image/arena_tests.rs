use super::*;
use crate::image::switch::in_checker;
use crate::image::testing::{Model, on_thread};
use std::sync::Mutex;

static FAULTS: Mutex<Vec<(HeapFault, usize)>> = Mutex::new(Vec::new());

fn note(kind: HeapFault, address: usize) {
    in_checker(|| FAULTS.lock().unwrap().push((kind, address)));
}

fn faults() -> Vec<(HeapFault, usize)> {
    std::mem::take(&mut FAULTS.lock().unwrap())
}

fn used(thread: usize) -> usize {
    // SAFETY: a `Model` is held by every test here.
    unsafe { used_ranges() }
        .find(|range| range.start == region::arena_slot(thread).0)
        .map_or(0, |range| range.len())
}

#[test]
fn each_thread_allocates_in_its_own_arena() {
    let _model = Model::enter();
    let addresses = || {
        [0, 1, 5, 2000].map(|thread| {
            on_thread(thread, move || {
                let block = Box::new([thread; 3]);
                assert_eq!(region::thread_of(&raw const *block as usize), Some(thread));
                Box::into_raw(block) as usize
            })
        })
    };
    let first = addresses();
    assert_eq!(first[0], region::arena_slot(0).0 + HEADER);
    let second = addresses();
    assert_ne!(first, second);
    // SAFETY: nothing of the arenas is used any more.
    unsafe { reset() };
    assert_eq!(used(2000), 0);
    assert_eq!(addresses(), first);
    assert!(!region::in_arena(&raw const *Box::new(1) as usize));
}

#[test]
fn freed_memory_is_filled_and_not_used_again() {
    let _model = Model::enter();
    on_thread(0, || {
        for size in [1, 24, 5000, LARGE - 1, LARGE, LARGE + 5000] {
            let block = vec![7u8; size];
            let address = block.as_ptr() as usize;
            drop(block);
            for (i, expected) in [(0, FREED_FILL), (size / 2, if size < LARGE { FREED_FILL } else { 0 })] {
                // SAFETY: freed memory of an arena stays readable.
                assert_eq!(unsafe { ((address + i) as *const u8).read_volatile() }, expected);
            }
            let next = vec![7u8; size];
            assert_ne!(next.as_ptr() as usize, address);
        }
    });
}

#[test]
fn alignment_is_kept() {
    let _model = Model::enter();
    on_thread(1, || {
        for align in (0..=21).map(|bits| 1 << bits) {
            for size in [1, 17, 4096] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the size is not zero, and each block is freed with its layout.
                unsafe {
                    let block = DporAllocator.alloc_zeroed(layout);
                    assert!(block.addr().is_multiple_of(align) && region::in_arena(block as usize));
                    assert!(std::slice::from_raw_parts(block, size).iter().all(|&byte| byte == 0));
                    block.write_bytes(1, size);
                    let block = DporAllocator.realloc(block, layout, size + 5000);
                    assert!(block.addr().is_multiple_of(align) && block.add(size - 1).read() == 1);
                    DporAllocator.dealloc(block, Layout::from_size_align(size + 5000, align).unwrap());
                }
            }
        }
    });
}

#[test]
fn the_last_block_grows_where_it_is() {
    let _model = Model::enter();
    on_thread(0, || {
        let mut last = Vec::with_capacity(4);
        last.extend([1u64; 4]);
        let place = last.as_ptr();
        last.extend([2u64; 100]);
        assert_eq!(last.as_ptr(), place);
        let _newer = std::hint::black_box(Box::new(0));
        last.reserve_exact(1000);
        assert_ne!(last.as_ptr(), place);
        assert_eq!((last[3], last[103]), (1, 2));
        let place = last.as_ptr();
        last.shrink_to_fit();
        assert_eq!((last.as_ptr(), last.len()), (place, 104));
    });
    // Another thread may not extend it, but may move it into its own arena.
    let mut shared = on_thread(0, || vec![1u8; 16]);
    on_thread(1, || {
        shared.extend([2; 16]);
        assert_eq!(region::thread_of(shared.as_ptr() as usize), Some(1));
    });
    shared.extend([3; 64]);
    assert_eq!(region::thread_of(shared.as_ptr() as usize), None);
    assert_eq!(&shared[15..33], [&[1][..], &[2; 16], &[3]].concat());
}

#[test]
fn wrong_frees_are_reported() {
    let _model = Model::enter();
    set_fault_hook(note);
    faults();
    let layout = Layout::new::<[u64; 4]>();
    // SAFETY: a wrong free has no effect but the call of the hook.
    let free = |address: usize| unsafe { DporAllocator.dealloc(address as *mut u8, layout) };
    let block = on_thread(0, move || {
        let block = Box::into_raw(Box::new([1u64; 4])) as usize;
        free(block + 16);
        free(block + 8);
        free(block + 4096);
        free(block);
        block
    });
    assert_eq!(
        faults(),
        [block + 16, block + 8, block + 4096].map(|address| (HeapFault::InvalidFree, address))
    );
    on_thread(1, move || free(block));
    free(block);
    assert_eq!(faults(), [(HeapFault::DoubleFree, block); 2]);
    // SAFETY: nothing of the arenas is used any more.
    unsafe { reset() };
    free(block);
    assert_eq!(faults(), []);
}

#[test]
fn an_arena_ends() {
    let _model = Model::enter();
    set_fault_hook(note);
    faults();
    on_thread(2000, || {
        let layout = Layout::from_size_align(100 << 20, 1).unwrap();
        // SAFETY: the size is not zero, and the blocks are not used.
        let blocks = [(); 3].map(|()| unsafe { DporAllocator.alloc(layout) });
        assert!(!blocks[0].is_null() && !blocks[1].is_null() && blocks[2].is_null());
        let huge = Layout::from_size_align(isize::MAX as usize - 4096, 4096).unwrap();
        // SAFETY: as above.
        assert!(unsafe { DporAllocator.alloc(huge) }.is_null());
    });
    assert_eq!(faults(), [(HeapFault::Exhausted, region::arena_slot(2000).1); 2]);
}

#[test]
fn the_checker_allocates_outside() {
    let _model = Model::enter();
    on_thread(0, || {
        let before = used(0);
        let outside = in_checker(|| Box::new(1));
        assert_eq!(used(0), before);
        assert!(!region::in_arena(&raw const *outside as usize));
        in_checker(|| drop(outside));
    });
}

#[test]
fn a_block_of_the_system_outlives_its_free_by_the_program() {
    let _model = Model::enter();
    let outside = vec![1u8; 100];
    let address = outside.as_ptr() as usize;
    on_thread(0, move || {
        let mut moved = outside;
        moved.reserve_exact(1000);
        assert!(region::in_arena(moved.as_ptr() as usize) && moved[99] == 1);
    });
    // SAFETY: the block was left alone; it is freed here.
    drop(unsafe { Vec::from_raw_parts(address as *mut u8, 100, 100) });
}

#[test]
fn reset_gives_zeroes_again() {
    let _model = Model::enter();
    for size in [100, 70_000, 3 << 20] {
        let range = on_thread(9, move || {
            let block = vec![0xABu8; size];
            block.as_ptr() as usize - HEADER..block.as_ptr() as usize + size
        });
        // SAFETY: nothing of the arenas is used any more, and they stay readable.
        let bytes = unsafe {
            reset();
            std::slice::from_raw_parts(range.start as *const u8, range.len())
        };
        assert!(bytes.iter().all(|&byte| byte == 0));
    }
}

#[test]
fn blocks_are_found_in_a_copy() {
    let _model = Model::enter();
    let expected = on_thread(4, || {
        let mut expected = Vec::new();
        for (size, align, free) in [
            (10, 1, false),
            (100, 256, true),
            (0, 1, false),
            (64, 64, false),
            (16, 16, true),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: a live block of that layout is freed once.
            unsafe {
                let block = DporAllocator.alloc(layout);
                if free {
                    DporAllocator.dealloc(block, layout);
                }
                in_checker(|| expected.push((block as usize, size, free)));
            }
        }
        expected
    });
    // SAFETY: a `Model` is held.
    let range = unsafe { used_ranges() }.next().unwrap();
    // SAFETY: the used part of an arena.
    let bytes = unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) };
    let found: Vec<_> = blocks(bytes, range.start)
        .map(|block| (block.bytes.start, block.bytes.len(), block.freed))
        .collect();
    assert_eq!(found, expected);
    in_checker(|| drop(expected));
}

#[test]
fn a_live_block_is_found_by_any_address_in_it() {
    let _model = Model::enter();
    let blocks = on_thread(1, || {
        let live = Box::into_raw(Box::new([0u64; 9]));
        let freed = Box::new([0u64; 9]);
        (live as usize, &raw const *freed as usize)
    });
    let (live, freed) = blocks;
    for address in [live, live + 1, live + 71] {
        assert_eq!(live_block(address), Some(live..live + 72));
    }
    for address in [
        live - 1,
        live + 72,
        freed,
        freed + 8,
        freed + 4096,
        region::arena_slot(0).0,
        RECORDS_END,
    ] {
        assert_eq!(live_block(address), None, "{address:#x}");
    }
    // SAFETY: nothing of the arenas is used any more.
    unsafe { reset() };
}

/// The last address in the area of arenas.
const RECORDS_END: usize = region::arena_slot(region::MAX_THREADS - 1).1 - 1;
