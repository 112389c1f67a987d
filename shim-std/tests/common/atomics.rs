// Included twice, with `lib` being std and the shim.

use lib::sync::atomic::{self, *};
use std::panic::catch_unwind;

macro_rules! integer {
    ($name:ident, $atomic:ident, $value:ident) => {
        #[test]
        fn $name() {
            static ZERO: $atomic = $atomic::new(0);
            assert_eq!(ZERO.load(Ordering::SeqCst), 0);
            let mut a = $atomic::new(5);
            assert_eq!(a.swap(6, Ordering::SeqCst), 5);
            assert_eq!(
                a.compare_exchange(6, 7, Ordering::SeqCst, Ordering::Relaxed),
                Ok(6)
            );
            assert_eq!(
                a.compare_exchange(6, 8, Ordering::SeqCst, Ordering::Relaxed),
                Err(7)
            );
            while a
                .compare_exchange_weak(7, 12, Ordering::AcqRel, Ordering::Acquire)
                .is_err()
            {}
            assert_eq!(a.fetch_add(3, Ordering::SeqCst), 12);
            assert_eq!(a.fetch_sub(1, Ordering::SeqCst), 15);
            assert_eq!(a.fetch_and(6, Ordering::SeqCst), 14);
            assert_eq!(a.fetch_or(9, Ordering::SeqCst), 6);
            assert_eq!(a.fetch_xor(1, Ordering::SeqCst), 15);
            assert_eq!(a.fetch_nand(6, Ordering::SeqCst), 14);
            assert_eq!(a.swap(3, Ordering::SeqCst), !6);
            assert_eq!(a.fetch_max(9, Ordering::SeqCst), 3);
            assert_eq!(a.fetch_min(2, Ordering::SeqCst), 9);
            assert_eq!(
                a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |v| v.checked_add(1)),
                Ok(2)
            );
            assert_eq!(a.try_update(Ordering::SeqCst, Ordering::SeqCst, |_| None), Err(3));
            assert_eq!(a.update(Ordering::SeqCst, Ordering::SeqCst, |v| v * 2), 3);
            *a.get_mut() += 1;
            assert_eq!(format!("{a:?}"), "7");
            assert_eq!(
                $atomic::from($value::MAX).fetch_add(1, Ordering::SeqCst),
                $value::MAX
            );
            assert_eq!($atomic::default().into_inner(), 0);
            const INNER: $value = $atomic::new(4).into_inner();
            assert_eq!(INNER, 4);
            let mut plain: $value = 1;
            // SAFETY: aligned, alive, and not accessed otherwise meanwhile.
            unsafe { $atomic::from_ptr(&raw mut plain) }.store(2, Ordering::Release);
            assert_eq!(plain, 2);
            // SAFETY: nobody else accesses it.
            assert_eq!(unsafe { *a.as_ptr() }, 7);
            assert_eq!(size_of::<$atomic>(), size_of::<$value>());
            assert_eq!(align_of::<$atomic>(), size_of::<$value>());
        }
    };
}

integer!(i8, AtomicI8, i8);
integer!(u8, AtomicU8, u8);
integer!(i16, AtomicI16, i16);
integer!(u16, AtomicU16, u16);
integer!(i32, AtomicI32, i32);
integer!(u32, AtomicU32, u32);
integer!(i64, AtomicI64, i64);
integer!(u64, AtomicU64, u64);
integer!(isize, AtomicIsize, isize);
integer!(usize, AtomicUsize, usize);

#[test]
fn booleans() {
    let mut a = AtomicBool::new(true);
    assert!(a.fetch_and(false, Ordering::SeqCst));
    assert!(!a.fetch_or(true, Ordering::SeqCst));
    assert!(a.fetch_xor(true, Ordering::SeqCst));
    assert!(!a.fetch_nand(true, Ordering::SeqCst));
    assert!(a.fetch_not(Ordering::SeqCst));
    assert_eq!(
        a.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst),
        Ok(false)
    );
    assert_eq!(
        a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |v| Some(!v)),
        Ok(true)
    );
    assert!(!a.update(Ordering::SeqCst, Ordering::SeqCst, |v| !v));
    assert_eq!(a.try_update(Ordering::SeqCst, Ordering::SeqCst, |_| None), Err(true));
    *a.get_mut() = false;
    assert_eq!(format!("{a:?} {:?}", AtomicBool::from(true)), "false true");
    assert!(!AtomicBool::default().into_inner());
    #[allow(deprecated)]
    {
        assert!(!a.compare_and_swap(false, true, Ordering::AcqRel));
        assert!(!ATOMIC_BOOL_INIT.into_inner());
        assert_eq!(ATOMIC_USIZE_INIT.into_inner(), 0);
        assert_eq!(ATOMIC_ISIZE_INIT.into_inner(), 0);
        atomic::spin_loop_hint();
    }
}

#[test]
fn pointers() {
    let mut array = [1u32, 2, 3];
    let start = array.as_mut_ptr();
    let mut a = AtomicPtr::new(start);
    assert_eq!(a.fetch_ptr_add(2, Ordering::SeqCst), start);
    assert_eq!(a.fetch_ptr_sub(1, Ordering::SeqCst), start.wrapping_add(2));
    assert_eq!(a.fetch_byte_add(4, Ordering::SeqCst), start.wrapping_add(1));
    assert_eq!(a.fetch_byte_sub(8, Ordering::SeqCst), start.wrapping_add(2));
    assert_eq!(a.fetch_or(1, Ordering::SeqCst), start);
    assert_eq!(a.fetch_and(!1, Ordering::SeqCst), start.wrapping_byte_add(1));
    assert_eq!(a.fetch_xor(0, Ordering::SeqCst), start);
    assert_eq!(
        a.compare_exchange(start, start, Ordering::SeqCst, Ordering::SeqCst),
        Ok(start)
    );
    assert_eq!(format!("{a:p} {a:?}"), format!("{start:p} {start:?}"));
    *a.get_mut() = std::ptr::null_mut();
    assert!(AtomicPtr::<u8>::default().into_inner().is_null());
    assert!(
        AtomicPtr::from(std::ptr::null_mut::<String>())
            .load(Ordering::Acquire)
            .is_null()
    );
}

#[test]
fn orderings_are_checked() {
    fn panics(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let payload = catch_unwind(f).unwrap_err();
        payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .unwrap_or_default()
    }
    let order = std::hint::black_box([
        Ordering::Release,
        Ordering::Acquire,
        Ordering::AcqRel,
        Ordering::Relaxed,
    ]);
    assert_eq!(
        panics(move || _ = AtomicU8::new(0).load(order[0])),
        "there is no such thing as a release load"
    );
    assert_eq!(
        panics(move || AtomicU8::new(0).store(0, order[1])),
        "there is no such thing as an acquire store"
    );
    assert!(!panics(move || _ = AtomicU8::new(0).compare_exchange(0, 1, order[2], order[2])).is_empty());
    assert_eq!(
        panics(move || atomic::fence(order[3])),
        "there is no such thing as a relaxed fence"
    );
    assert!(!panics(move || atomic::compiler_fence(order[3])).is_empty());
    atomic::fence(Ordering::SeqCst);
    atomic::compiler_fence(Ordering::SeqCst);
}
