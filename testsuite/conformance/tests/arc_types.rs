//! `Arc`, `Weak` and `Wake` as types: what they can be made of, compared with, coerced to, called through.

extern crate alloc;

use std::any::Any;
use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::{self, Display};
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{Read, Seek, SeekFrom, Write};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, RawWaker, Wake, Waker};
use std::thread::{self, Thread};

#[test]
fn std_and_alloc_have_the_same() {
    let arc: alloc::sync::Arc<u32> = Arc::new(1);
    let _: alloc::sync::Weak<u32> = Arc::downgrade(&arc);
    fn takes<W: alloc::task::Wake>() {}
    takes::<Unparks>();
}

#[test]
fn there_is_a_niche() {
    assert_eq!(size_of::<Option<Arc<u32>>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Weak<u32>>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Arc<[u32]>>>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<Option<Arc<dyn Any>>>(), 2 * size_of::<usize>());
}

#[test]
fn pointers_are_covariant() {
    #[expect(clippy::redundant_allocation, reason = "the lifetime is what it is about")]
    fn shorter<'a>(arc: Arc<&'static str>, weak: Weak<&'static str>, _: &'a str) -> (Arc<&'a str>, Weak<&'a str>) {
        (arc, weak)
    }
    let arc = Arc::new("static");
    let text = String::from("short");
    let (arc, weak) = shorter(arc.clone(), Arc::downgrade(&arc), &text);
    assert_eq!((*arc, *weak.upgrade().unwrap()), ("static", "static"));
}

#[test]
fn values_may_dangle_where_nothing_looks_at_them() {
    let (arc, weak);
    let text = String::from("dropped before the pointers are");
    arc = Arc::new(&text);
    weak = Arc::downgrade(&arc);
    assert_eq!(**weak.upgrade().unwrap(), text);
}

#[test]
fn pointers_cross_threads_and_unwinding() {
    fn all<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>(_: T) {}
    let arc: Arc<str> = Arc::from("text");
    all(Arc::downgrade(&arc));
    all(arc);
}

trait Named {
    fn name(&self) -> String;
    fn shared(self: Arc<Self>) -> String;
    fn by_reference(self: &Arc<Self>) -> String
    where
        Self: Sized;
    fn pinned(self: Pin<Arc<Self>>) -> String;
}

struct Cat(u32);

impl Named for Cat {
    fn name(&self) -> String {
        format!("cat {}", self.0)
    }

    fn shared(self: Arc<Self>) -> String {
        format!("shared cat {}", self.0)
    }

    fn by_reference(self: &Arc<Self>) -> String {
        format!("cat {} by reference", self.0)
    }

    fn pinned(self: Pin<Arc<Self>>) -> String {
        format!("pinned cat {}", self.0)
    }
}

#[test]
fn methods_take_shares() {
    let cat = Arc::new(Cat(1));
    assert_eq!(cat.name(), "cat 1");
    assert_eq!(cat.by_reference(), "cat 1 by reference");
    assert_eq!(cat.clone().shared(), "shared cat 1");
    assert_eq!(Pin::new(cat).pinned(), "pinned cat 1");
}

#[test]
fn trait_objects_dispatch() {
    let cat: Arc<dyn Named + Send + Sync> = Arc::new(Cat(2));
    let weak: Weak<dyn Named + Send + Sync> = Arc::downgrade(&cat);
    assert_eq!(cat.name(), "cat 2");
    assert_eq!(cat.clone().shared(), "shared cat 2");
    assert_eq!(weak.upgrade().unwrap().name(), "cat 2");
    let sized: Weak<Cat> = Weak::new();
    let unsized_: Weak<dyn Named> = sized;
    assert!(unsized_.upgrade().is_none());
    let pinned: Pin<Arc<dyn Named>> = Arc::pin(Cat(3));
    assert_eq!(pinned.clone().pinned(), "pinned cat 3");
    let future: Pin<Arc<dyn Fn() -> u32>> = Arc::pin(|| 4);
    assert_eq!(future(), 4);
}

#[test]
fn any_is_downcast() {
    let any: Arc<dyn Any + Send + Sync> = Arc::new(5_u32);
    let any = any.downcast::<String>().unwrap_err();
    assert_eq!(*any.downcast::<u32>().unwrap(), 5);
}

#[test]
fn uninitialised_memory_is_filled() {
    let mut one = Arc::<u64>::new_uninit();
    Arc::get_mut(&mut one).unwrap().write(7);
    // SAFETY: it has been written.
    assert_eq!(*unsafe { one.assume_init() }, 7);
    let mut many = Arc::<[u16]>::new_uninit_slice(3);
    for (n, place) in (1..).zip(Arc::get_mut(&mut many).unwrap()) {
        place.write(n);
    }
    // SAFETY: all of them have been written.
    assert_eq!(*unsafe { many.assume_init() }, [1, 2, 3]);
    let zero: Arc<MaybeUninit<u128>> = Arc::new_zeroed();
    // SAFETY: all zeros are valid.
    assert_eq!(*unsafe { zero.assume_init() }, 0);
    // SAFETY: as above.
    assert_eq!(*unsafe { Arc::<[u8]>::new_zeroed_slice(4).assume_init() }, [0; 4]);
}

#[test]
fn alignment_and_size_of_the_value_count() {
    #[repr(align(128))]
    #[derive(Clone, PartialEq, Debug)]
    struct Wide(u8);
    let wide = Arc::new(Wide(1));
    assert_eq!(Arc::as_ptr(&wide).addr() % 128, 0);
    let raw = Arc::into_raw(wide);
    // SAFETY: it was given away just now.
    let mut wide = unsafe { Arc::from_raw(raw) };
    let other = wide.clone();
    Arc::make_mut(&mut wide).0 = 2;
    assert_eq!((&*wide, &*other), (&Wide(2), &Wide(1)));
    let weak = Arc::downgrade(&other);
    // SAFETY: as above.
    let weak = unsafe { Weak::from_raw(weak.into_raw()) };
    assert!(Arc::ptr_eq(&weak.upgrade().unwrap(), &other));
    let dynamic: Arc<dyn fmt::Debug> = other;
    // SAFETY: as above.
    let dynamic = unsafe { Arc::from_raw(Arc::into_raw(dynamic)) };
    assert_eq!(format!("{dynamic:?}"), "Wide(1)");
    let nothing = Arc::new(());
    assert_eq!(*nothing.clone(), ());
    // SAFETY: as above; a pointer to nothing.
    let weak = unsafe { Weak::from_raw(Weak::<Wide>::new().into_raw()) };
    assert!(weak.upgrade().is_none() && weak.ptr_eq(&Weak::new()));
    assert_eq!(weak.as_ptr(), Weak::<Wide>::default().as_ptr());
}

fn shows<T: ?Sized + Display>(arc: Arc<T>) -> String {
    arc.to_string()
}

#[test]
fn conversions() {
    assert_eq!(shows::<str>(Arc::from("str")), "str");
    assert_eq!(shows::<str>(Arc::from(String::from("string"))), "string");
    assert_eq!(shows::<str>(Arc::from(&mut *String::from("mutable"))), "mutable");
    assert_eq!(shows::<str>(Arc::from(Box::from("box"))), "box");
    assert_eq!(shows::<str>(Arc::from(Cow::from("cow"))), "cow");
    assert_eq!(shows::<str>(Arc::from(Cow::from(String::from("owned")))), "owned");
    assert_eq!(shows(Arc::<u8>::from(7)), "7");
    assert_eq!(*Arc::<[u8]>::from(Arc::<str>::from("ab")), *b"ab");

    let texts = || vec![String::from("a"), String::from("b")];
    let expected: &[String] = &texts();
    assert_eq!(*Arc::<[String]>::from(texts()), *expected);
    assert_eq!(*Arc::<[String]>::from(&texts()[..]), *expected);
    assert_eq!(*Arc::<[String]>::from(&mut texts()[..]), *expected);
    assert_eq!(*Arc::<[String]>::from(texts().into_boxed_slice()), *expected);
    assert_eq!(*Arc::<[String]>::from(["a".to_string(), "b".to_string()]), *expected);
    assert_eq!(*texts().into_iter().collect::<Arc<[String]>>(), *expected);
    assert_eq!(*Arc::<[String]>::from(Cow::from(expected)), *expected);
    let array: Arc<[String; 2]> = Arc::<[String]>::from(texts()).try_into().unwrap();
    assert_eq!(*array, expected);
    let slice: Arc<[String]> = array;
    assert_eq!(<Arc<[String; 3]>>::try_from(slice).unwrap_err().len(), 2);
    let boxed: Arc<dyn Display> = Arc::from(Box::new(8) as Box<dyn Display>);
    assert_eq!(shows(boxed), "8");
    let error: Arc<dyn Error + Send + Sync> = Arc::from(Box::<dyn Error + Send + Sync>::from("wrong"));
    assert_eq!(shows(error), "wrong");

    assert_eq!(*Arc::<CStr>::from(c"c"), *c"c");
    assert_eq!(*Arc::<CStr>::from(CString::from(c"c")), *c"c");
    assert_eq!(*Arc::<OsStr>::from(OsStr::new("os")), *"os");
    assert_eq!(*Arc::<OsStr>::from(OsString::from("os")), *"os");
    assert_eq!(*Arc::<Path>::from(Path::new("a/b")), *Path::new("a/b"));
    assert_eq!(*Arc::<Path>::from(PathBuf::from("a/b")), *Path::new("a/b"));
    assert_eq!(*Arc::<OsStr>::from(&mut *OsString::from("os")), *"os");
}

#[test]
fn defaults() {
    assert_eq!(*Arc::<u32>::default(), 0);
    assert_eq!(*Arc::<str>::default(), *"");
    assert_eq!(*Arc::<CStr>::default(), *c"");
    assert!(Arc::<[String]>::default().is_empty());
    assert_eq!(*Pin::<Arc<u32>>::default(), 0);
}

#[test]
fn values_are_made_mutable() {
    let (mut text, mut list): (Arc<str>, Arc<[String]>) = (Arc::from("text"), Arc::from(vec!["a".to_string()]));
    let (mut path, mut c): (Arc<Path>, Arc<CStr>) = (Arc::from(Path::new("p")), Arc::from(c"c"));
    let mut os: Arc<OsStr> = Arc::from(OsStr::new("os"));
    let others = (text.clone(), list.clone(), path.clone(), c.clone(), os.clone());
    Arc::make_mut(&mut text).make_ascii_uppercase();
    Arc::make_mut(&mut list)[0].push('b');
    Arc::make_mut(&mut os).make_ascii_uppercase();
    Arc::make_mut(&mut path).as_mut_os_str().make_ascii_uppercase();
    assert_eq!(*Arc::make_mut(&mut c), *c"c");
    assert_eq!(
        (&*text, &*list, &*os),
        ("TEXT", &["ab".to_string()][..], OsStr::new("OS"))
    );
    assert_eq!(*path, *Path::new("P"));
    assert_eq!((&*others.0, &*others.1), ("text", &["a".to_string()][..]));
    assert!(!Arc::ptr_eq(&others.3, &c) && *others.2 == *Path::new("p") && *others.4 == *"os");
}

#[test]
fn a_clone_that_panics_leaves_the_old_value() {
    #[derive(Debug)]
    struct Second(u32);
    impl Clone for Second {
        fn clone(&self) -> Second {
            assert_ne!(self.0, 2, "the second");
            Second(self.0)
        }
    }
    let mut list: Arc<[Second]> = Arc::from([Second(1), Second(2)]);
    let other = list.clone();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Arc::make_mut(&mut list);
    }));
    assert!(made.is_err() && Arc::ptr_eq(&list, &other));
}

#[test]
fn comparisons_are_the_values() {
    let (one, two) = (Arc::new(1.5), Arc::new(2.5));
    assert!([one < two, one <= two, two > one, two >= one, one != two] == [true; 5]);
    assert_eq!(one.partial_cmp(&Arc::new(f64::NAN)), None);
    assert!(Arc::new(f64::NAN) != Arc::new(f64::NAN));
    assert_eq!(Arc::new("a").max(Arc::new("b")), Arc::new("b"));
    assert!(!Arc::ptr_eq(&one, &Arc::new(1.5)) && Arc::ptr_eq(&one, &one.clone()));
    let map: HashMap<Arc<str>, u32> = HashMap::from([(Arc::from("key"), 1)]);
    assert_eq!(map["key"], 1);
    let tree: BTreeMap<Arc<str>, u32> = BTreeMap::from([(Arc::from("key"), 2)]);
    assert_eq!(tree.get("key"), Some(&2));
    let set: HashSet<Arc<u32>> = HashSet::from_iter([Arc::new(1), Arc::new(1)]);
    assert_eq!(set.len(), 1);
    let text: Arc<str> = Arc::from("text");
    let (a, b): (&str, &str) = (text.as_ref(), text.borrow());
    assert_eq!(a, b);
}

#[test]
fn formats_are_the_values() {
    let arc = Arc::new(5);
    assert_eq!(
        format!("{arc} {arc:?} {arc:>3} {:?}", Arc::downgrade(&arc)),
        "5 5   5 (Weak)"
    );
    assert_eq!(format!("{arc:p}"), format!("{:p}", Arc::as_ptr(&arc)));
}

#[test]
fn errors_are_the_values() {
    #[derive(Debug)]
    struct Outer(fmt::Error);
    impl Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }
    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let error: Box<dyn Error> = Box::new(Arc::new(Outer(fmt::Error)));
    assert_eq!(error.to_string(), "outer");
    assert!(error.source().unwrap().is::<fmt::Error>());
}

#[test]
fn files_are_shared() {
    let path = std::env::temp_dir().join(format!("conformance-arc-{}", std::process::id()));
    let options = || {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
    };
    let mut file = Arc::new(options().unwrap());
    file.write_all(b"shared").unwrap();
    file.flush().unwrap();
    file.clone().seek(SeekFrom::Start(2)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ared");
    assert_eq!(file.as_fd().as_raw_fd(), file.as_raw_fd());
    std::fs::remove_file(&path).unwrap();
}

/// Wakes a thread, and counts how often.
struct Unparks {
    thread: Thread,
    woken: AtomicUsize,
}

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let unparks = Arc::new(Unparks {
        thread: thread::current(),
        woken: AtomicUsize::new(0),
    });
    let waker = Waker::from(unparks);
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_waker_wakes() {
    let ready = Arc::new(AtomicBool::new(false));
    let mut child = None;
    block_on(poll_fn(|context| {
        if child.is_none() {
            let (waker, ready) = (context.waker().clone(), Arc::clone(&ready));
            child = Some(thread::spawn(move || {
                ready.store(true, SeqCst);
                waker.wake();
            }));
        }
        if ready.load(SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    child.unwrap().join().unwrap();
}

#[test]
fn wakers_are_shares() {
    struct Counts(AtomicUsize);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    let waker = Waker::from(counts.clone());
    let clone = waker.clone();
    assert!(clone.will_wake(&waker));
    assert_eq!(Arc::strong_count(&counts), 3);
    waker.wake_by_ref();
    clone.wake();
    assert_eq!(Arc::strong_count(&counts), 2);
    // SAFETY: it is made of a share, as the one of `Waker` is.
    let raw = unsafe { Waker::from_raw(RawWaker::from(counts.clone())) };
    raw.wake();
    drop(waker);
    assert_eq!((Arc::strong_count(&counts), counts.0.load(SeqCst)), (1, 3));
}
