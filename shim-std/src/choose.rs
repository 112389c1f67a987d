//! Values that the test leaves open: all of them are explored.

use dpor_scheduler::{MOST_CHOICES, Operation, note, on_model_thread, perform};
use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Returns any value of the range: each is explored.
///
/// This is a step of its own that touches nothing, so it adds as many executions as there are values, and no
/// interleavings.
///
/// # Panics
/// If the range is empty, has no end, or has more than 1024 values; and off model threads, where nobody would try the
/// other values: silently to take one of them would look like a test of all.
#[track_caller]
#[must_use]
pub fn choose(range: impl RangeBounds<usize>) -> usize {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => panic!("choose: the range has no end; at most {MOST_CHOICES} values can be explored"),
    };
    assert!(
        start < end,
        "choose: the range is empty, so there is nothing to choose from"
    );
    start + pick(end - start, |chosen| (start + chosen).to_string())
}

/// Returns any element of the slice: each is explored.
///
/// # Panics
/// As [`choose`].
#[track_caller]
#[must_use]
pub fn choose_from<T>(elements: &[T]) -> &T {
    let count = elements.len();
    assert!(
        count > 0,
        "choose_from: the slice is empty, so there is nothing to choose from"
    );
    &elements[pick(count, |chosen| format!("element {chosen} of {count}"))]
}

/// Returns any value of the type: each is explored.
///
/// # Panics
/// Off model threads, as [`choose`].
#[track_caller]
#[must_use]
pub fn nondet<T: Nondet>() -> T {
    T::nondet()
}

/// A type with so few values that all can be explored.
///
/// An enum of one's own takes one line:
///
/// ```ignore
/// impl Nondet for Colour {
///     fn nondet() -> Colour {
///         *choose_from(&[Colour::Red, Colour::Green])
///     }
/// }
/// ```
pub trait Nondet {
    /// Any value.
    ///
    /// # Panics
    /// Off model threads, as [`choose`].
    #[track_caller]
    fn nondet() -> Self;
}

/// While this is set, the first value is chosen off model threads.
static FIRST: AtomicBool = AtomicBool::new(false);

/// Runs `f` off model threads, as one example of what has been explored: always chooses the first value.
pub(crate) fn with_first_values<R>(f: impl FnOnce() -> R) -> R {
    struct Until;
    impl Drop for Until {
        fn drop(&mut self) {
            FIRST.store(false, Relaxed);
        }
    }
    FIRST.store(true, Relaxed);
    let _until = Until;
    f()
}

/// Chooses a number below `count`, which is not 0.
#[track_caller]
fn pick(count: usize, show: impl Fn(usize) -> String) -> usize {
    assert!(
        count <= MOST_CHOICES,
        "choose: {count} values are too many to explore; at most {MOST_CHOICES} can be"
    );
    if !on_model_thread() {
        assert!(
            FIRST.load(Relaxed),
            "choose and nondet explore all values, and need a model: `cargo dpor test`, or `shim_std::model`"
        );
        return 0;
    }
    if count == 1 {
        return 0;
    }
    perform(&Operation::choice(count), |chosen, _| {
        note(|| format!("→ {}", show(chosen as usize)));
        chosen as usize
    })
}

impl Nondet for () {
    fn nondet() {}
}

impl Nondet for bool {
    #[track_caller]
    fn nondet() -> bool {
        pick(2, |chosen| (chosen == 1).to_string()) == 1
    }
}

impl Nondet for u8 {
    #[track_caller]
    fn nondet() -> u8 {
        pick(1 << u8::BITS, |chosen| chosen.to_string()) as u8
    }
}

impl Nondet for i8 {
    #[track_caller]
    fn nondet() -> i8 {
        pick(1 << i8::BITS, |chosen| (chosen as i8).to_string()) as i8
    }
}

impl Nondet for Ordering {
    #[track_caller]
    fn nondet() -> Ordering {
        *choose_from(&[Ordering::Less, Ordering::Equal, Ordering::Greater])
    }
}

impl<T: Nondet> Nondet for Option<T> {
    #[track_caller]
    fn nondet() -> Option<T> {
        let some = pick(2, |chosen| if chosen == 1 { "Some" } else { "None" }.to_string()) == 1;
        if some { Some(T::nondet()) } else { None }
    }
}

impl<T: Nondet, E: Nondet> Nondet for Result<T, E> {
    #[track_caller]
    fn nondet() -> Result<T, E> {
        let ok = pick(2, |chosen| if chosen == 0 { "Ok" } else { "Err" }.to_string()) == 0;
        if ok { Ok(T::nondet()) } else { Err(E::nondet()) }
    }
}

impl<T: Nondet, const N: usize> Nondet for [T; N] {
    #[track_caller]
    fn nondet() -> [T; N] {
        // Not by `from_fn`: in a closure, the caller's place in the source is lost.
        let mut elements = [const { None }; N];
        for element in &mut elements {
            *element = Some(T::nondet());
        }
        elements.map(|element| element.expect("all of them have been chosen"))
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {
        $(impl<$($name: Nondet),*> Nondet for ($($name,)*) {
            #[track_caller]
            fn nondet() -> Self {
                ($($name::nondet(),)*)
            }
        })*
    };
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
