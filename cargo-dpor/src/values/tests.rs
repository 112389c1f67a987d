//! Decodes types of this test binary with its own debug information.

use super::*;
use dpor_protocol::{AccessedMemory, MemoryBytes, MemoryPlace};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroU8;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// As in `shim-std`: debug information has the type at this function's address.
#[inline(never)]
fn named<T>() -> &'static str {
    std::any::type_name::<T>()
}

/// Number of bytes before and after an address that are passed on, whatever they are.
const FOLLOWED: usize = 128;

/// Memory of this process, read through the kernel: it does not matter if other threads write it meanwhile, or have
/// freed it.
fn piece(address: u64, size: usize) -> Option<MemoryBytes> {
    let mut bytes = vec![0; size];
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(MemoryBytes { address, bytes })
}

fn around(address: u64) -> Option<MemoryBytes> {
    let start = address.checked_sub(FOLLOWED as u64)?;
    piece(start, 2 * FOLLOWED).or_else(|| piece(address, FOLLOWED))
}

/// The offset that the loader has added to addresses in the file.
fn bias() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let executable = std::env::current_exe().unwrap();
    let first = maps.lines().find(|line| line.ends_with(executable.to_str().unwrap()));
    u64::from_str_radix(first.unwrap().split('-').next().unwrap(), 16).unwrap()
}

fn bytes_of<T>(value: &T) -> ValueBytes {
    let value = piece(std::ptr::from_ref(value).addr() as u64, size_of::<T>()).unwrap();
    let mut memory: Vec<MemoryBytes> = Vec::new();
    let words_in = |piece: &MemoryBytes| -> Vec<u64> {
        let words = piece.bytes.chunks_exact(8);
        words.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let mut words = VecDeque::from(words_in(&value));
    let mut followed = HashSet::new();
    while let Some(word) = words.pop_front() {
        // Beside what belongs to the value there may be pointers to anything, as other tests have left them.
        if memory.len() < 1000
            && followed.insert(word)
            && let Some(piece) = around(word)
        {
            words.extend(words_in(&piece));
            memory.push(piece);
        }
    }
    ValueBytes {
        function: named::<T> as fn() -> &'static str as usize as u64 - bias(),
        value,
        memory,
    }
}

fn whole<T>(value: &T) -> Option<String> {
    let values = Values::of(&std::env::current_exe().unwrap());
    Some(values.words(&bytes_of(value))?.whole())
}

#[track_caller]
fn shown<T>(value: &T, expected: &str) {
    assert_eq!(whole(value).as_deref(), Some(expected));
}

#[track_caller]
fn shown_as_debug<T: std::fmt::Debug>(value: &T) {
    shown(value, &format!("{value:?}"));
}

#[derive(Debug, Clone, Default)]
#[allow(dead_code)]
struct Account {
    owner: String,
    balance: i64,
    limits: Option<(u32, u8)>,
    rate: f32,
    open: bool,
}

#[derive(Debug, Clone)]
#[allow(dead_code)]
enum Command {
    Start { id: u32, name: String },
    Move(i16, f64),
    Nested(Option<Option<bool>>),
    Next(Box<Command>),
    Stop,
}

#[derive(Debug, Clone, Copy)]
#[allow(dead_code)]
enum Sign {
    Plus = 300,
    Minus = -2,
}

#[derive(Debug)]
#[allow(dead_code)]
struct Pair<A, B>(A, B);

#[derive(Debug)]
struct Marker;

#[test]
fn structs_are_shown_as_by_debug() {
    let account = Account {
        owner: "Ann\n".into(),
        balance: -3,
        limits: Some((7, 1)),
        rate: 0.5,
        open: true,
    };
    shown_as_debug(&account);
    shown_as_debug(&Account::default());
    shown_as_debug(&Pair(account, Pair('x', Marker)));
    shown_as_debug(&(1u8, (-1i128, u128::MAX), ()));
    shown_as_debug(&[[1u16, 2], [3, 4]]);
    assert_eq!(whole(&()), None);
}

#[test]
fn enums_are_shown_by_their_variants() {
    for command in [
        Command::Start {
            id: 3,
            name: "x".into(),
        },
        Command::Move(-1, f64::MAX),
        Command::Nested(Some(None)),
        Command::Nested(Some(Some(true))),
        Command::Nested(None),
        Command::Next(Box::new(Command::Next(Box::new(Command::Stop)))),
        Command::Stop,
    ] {
        shown_as_debug(&command);
    }
    shown_as_debug(&[Sign::Plus, Sign::Minus]);
    shown_as_debug(&[Some(Sign::Minus), None]);
    shown_as_debug(&Some(NonZeroU8::MIN));
    shown_as_debug(&None::<NonZeroU8>);
    shown_as_debug(&Ok::<Box<u8>, String>(Box::new(1)));
    shown_as_debug(&Err::<Box<u8>, String>("no".into()));
    shown_as_debug(&[Some("a"), None]);
    shown_as_debug(&[std::cmp::Ordering::Less, std::cmp::Ordering::Greater]);
}

#[test]
fn what_is_on_the_heap_is_shown_as_far_as_it_is_known() {
    shown_as_debug(&vec![Some(Box::new(1u64)), None]);
    shown_as_debug(&vec![vec!["a".to_owned()], vec![]]);
    shown_as_debug(&Box::new([1u8, 2]));
    shown_as_debug(&vec![1u8, 2].into_boxed_slice());
    shown_as_debug(&Box::<str>::from("text"));
    shown_as_debug(&Rc::new(Pair(1u8, "static")));
    shown_as_debug(&std::sync::Arc::new(Command::Stop));
    shown_as_debug(&Duration::from_millis(1500));
    let mut queue: VecDeque<u32> = (0..4).collect();
    queue.rotate_left(3);
    queue.pop_front();
    queue.push_back(9);
    shown_as_debug(&queue);
    shown_as_debug(&HashMap::<u32, u32>::new());
    shown(&HashMap::from([(2u16, "two"), (1, "one")]), "{1: \"one\", 2: \"two\"}");
    shown(&HashSet::from([2u16, 1]), "{1, 2}");
    shown(&RefCell::new(5u8), "5");
    shown(&&Pair(1u8, 2u8), "&Pair(1, 2)");
    shown(&vec![Marker, Marker], "[Marker, Marker]");
    // More than is followed.
    let long = whole(&"x".repeat(100 * FOLLOWED)).unwrap();
    assert!(long.starts_with("\"xxxx") && long.ends_with("x\"…"), "{long}");
}

#[test]
fn addresses_and_what_is_not_known_are_not_shown() {
    let number = 5u8;
    shown(&Pair(&raw const number, std::ptr::null::<u8>()), "Pair(…, null)");
    shown(&Some(Box::new(|| 1u8) as Box<dyn Fn() -> u8>), "Some(…)");
    assert_eq!(whole(&(main as fn())), None);
    let mut bytes = bytes_of(&Pair(vec![1u8], 2u8));
    bytes.memory.clear();
    let values = Values::of(&std::env::current_exe().unwrap());
    assert_eq!(values.words(&bytes).unwrap().whole(), "Pair(…, 2)");
}

fn main() {}

#[test]
fn damaged_bytes_do_no_harm() {
    let values = Values::of(&std::env::current_exe().unwrap());
    let whole = bytes_of(&Some(Pair(vec![Some(String::from("abc"))], [true, false])));
    for at in 0..whole.value.bytes.len() {
        for byte in [0, 1, 2, 0x7F, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes.value.bytes[at] = byte;
            assert!(values.words(&bytes).is_some());
        }
        let mut bytes = whole.clone();
        bytes.value.bytes.truncate(at);
        assert_eq!(values.words(&bytes), None);
    }
    for piece in 0..whole.memory.len() {
        let mut bytes = whole.clone();
        bytes.memory[piece].bytes.fill(0xFF);
        assert!(values.words(&bytes).is_some());
        bytes.memory[piece].address = u64::MAX - 3;
        assert!(values.words(&bytes).is_some());
    }
    for function in [0, whole.function + 1, u64::MAX] {
        assert_eq!(
            values.words(&ValueBytes {
                function,
                ..whole.clone()
            }),
            None
        );
    }
}

#[test]
fn without_debug_information_there_are_no_words() {
    let folder = tempfile::tempdir().unwrap();
    let executable = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let bytes = bytes_of(&Command::Stop);
    for (name, content) in [
        ("missing", None),
        ("empty", Some(&[][..])),
        ("text", Some(b"#!/bin/sh\n")),
        ("cut", Some(&executable[..executable.len() / 2])),
    ] {
        let path = folder.path().join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        assert_eq!(Values::of(&path).words(&bytes), None, "{name}");
    }
}

#[test]
fn a_report_has_words_in_the_place_of_bytes() {
    let values = Values::of(&std::env::current_exe().unwrap());
    let text = |value: &Command| bytes_of(value).to_text();
    let nowhere = ValueBytes {
        function: 1,
        ..bytes_of(&Command::Stop)
    }
    .to_text();
    let value = |before: &str, after: &str| ValueReport {
        object: "mutex#1".into(),
        before: before.into(),
        after: after.into(),
    };
    let stop = text(&Command::Stop);
    let mut message = Message::Step(StepReport {
        detail: Some(format!("message 1: {stop}, full")),
        values: vec![
            value(&text(&Command::Move(1, 1.0)), &stop),
            value(&nowhere, &nowhere),
            value("0", "1"),
        ],
        ..StepReport::default()
    });
    values.tell(&mut message);
    let Message::Step(step) = message else {
        unreachable!("it is a step")
    };
    assert_eq!(step.detail.as_deref(), Some("message 1: Stop, full"));
    assert_eq!(step.values, [value("Move(1, 1.0)", "Stop"), value("0", "1")]);
}

struct Pool {
    #[allow(dead_code)]
    name: u64,
    queues: [(u8, AtomicU32); 3],
    used: AtomicU32,
}

static POOL: Pool = Pool {
    name: 1,
    queues: [const { (0, AtomicU32::new(0)) }; 3],
    used: AtomicU32::new(0),
};

#[test]
fn a_part_of_a_static_is_called_by_the_way_to_it() {
    let values = Values::of(&std::env::current_exe().unwrap());
    let bias = bias();
    let way =
        |part: *const AtomicU32| values.with_types(|types| place::within_static(types, part.addr() as u64 - bias));
    assert_eq!(way(&raw const POOL.used).as_deref(), Some(".used"));
    assert_eq!(way(&raw const POOL.queues[2].1).as_deref(), Some(".queues[2].1"));
    // It is no atomic.
    assert_eq!(way((&raw const POOL.name).cast()), None);
    assert_eq!(values.with_types(|types| place::within_static(types, u64::MAX)), None);
}

/// The message about bytes of memory, the name, and the type.
fn accessed(address: usize, size: u64) -> (String, Option<(String, String)>) {
    let mut message = Message::Finished {
        verdict: dpor_protocol::Verdict::Failed,
        reason: None,
        note: None,
        counts: dpor_protocol::Counts::default(),
        failure: Some(Box::new(FailureReport {
            message: "t0 reads 8 bytes of it, and so on".into(),
            memory: Some(AccessedMemory {
                name: String::new(),
                type_name: String::new(),
                words: "8 bytes of it".into(),
                size,
                place: MemoryPlace::Static {
                    address: address as u64 - bias(),
                },
            }),
            ..FailureReport::default()
        })),
        seed: None,
    };
    Values::of(&std::env::current_exe().unwrap()).tell(&mut message);
    let Message::Finished {
        failure: Some(failure), ..
    } = message
    else {
        unreachable!("it is the end")
    };
    let memory = failure.memory.map(|memory| (memory.name, memory.type_name));
    (failure.message, memory)
}

#[test]
fn accessed_memory_is_called_by_the_smallest_part_that_has_it() {
    let at = |part: *const u8, size, told: &str, name: &str, ty: &str| {
        let name = format!("cargo_dpor::values::tests::{name}");
        let message = format!("t0 reads {}, and so on", told.replace('@', &format!("{name} ({ty})")));
        assert_eq!(accessed(part.addr(), size), (message, Some((name, ty.to_owned()))));
    };
    let name: *const u8 = (&raw const POOL.name).cast();
    at(name, 8, "@", "POOL.name", "u64");
    at(name.wrapping_add(2), 1, "1 byte of @, from byte 2", "POOL.name", "u64");
    let queue: *const (u8, AtomicU32) = &raw const POOL.queues[2];
    at(queue.cast(), 8, "@", "POOL.queues[2]", "(u8, AtomicU32)");
    at(
        (&raw const POOL.queues[2].1).cast(),
        4,
        "@",
        "POOL.queues[2].1",
        "AtomicU32",
    );
    at(
        queue.wrapping_sub(1).cast(),
        16,
        "16 bytes of @, from byte 8",
        "POOL.queues",
        "[(u8, AtomicU32); 3]",
    );
    let whole = size_of::<Pool>() as u64;
    at((&raw const POOL).cast(), whole, "@", "POOL", "Pool");
    // It ends before that, and there is none.
    let unknown = ("t0 reads 8 bytes of it, and so on".to_owned(), None);
    assert_eq!(accessed((&raw const POOL).addr(), whole + 1), unknown);
    assert_eq!(accessed(main as fn() as usize, 1), unknown);
}

#[test]
fn names_of_types_are_short() {
    for (whole, short) in [
        ("u64", "u64"),
        ("alloc::vec::Vec<a::b::C, alloc::alloc::Global>", "Vec<C>"),
        ("alloc::vec::Vec<a::C, b::Arena>", "Vec<C, Arena>"),
        ("(u8, &mut a::b::C)", "(u8, &mut C)"),
        ("[a::b::f::{closure_env#0}; 3]", "[f::{closure_env#0}; 3]"),
        ("a::{impl#1}::f::C<dyn core::fmt::Debug>", "C<dyn Debug>"),
    ] {
        assert_eq!(memory::short(whole), short);
    }
}
