//! The explicit use of the model, which `cargo test` explores by itself, and `cargo dpor test` as part of the test.

#[cfg(test)]
mod tests {
    use shim_std::cell::UnsafeCell;
    use shim_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, Ordering::SeqCst};
    use shim_std::sync::{Arc, Mutex, mpsc};
    use shim_std::{Model, choose, model, must_reach, nondet, reach, thread};

    #[test]
    fn increments_under_a_lock_are_kept() {
        model(|| {
            let count = Arc::new(Mutex::new(0));
            let other = Arc::clone(&count);
            let handle = thread::spawn(move || *other.lock().unwrap() += 1);
            *count.lock().unwrap() += 1;
            handle.join().unwrap();
            assert_eq!(*count.lock().unwrap(), 2);
        });
    }

    #[test]
    fn both_orders_are_reached() {
        Model::new().check(|| {
            must_reach!("first", "second");
            let turn = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&turn);
            let handle = thread::spawn(move || other.fetch_add(1, SeqCst));
            match turn.fetch_add(1, SeqCst) {
                0 => reach!("first"),
                _ => reach!("second"),
            }
            handle.join().unwrap();
        });
    }

    #[test]
    fn any_messages_arrive_in_order() {
        model(|| {
            let (sender, receiver) = mpsc::channel();
            let messages: [bool; 2] = nondet();
            let count = choose(0..=messages.len());
            let handle = thread::spawn(move || {
                for message in &messages[..count] {
                    sender.send(*message).unwrap();
                }
            });
            assert_eq!(receiver.into_iter().collect::<Vec<_>>(), messages[..count]);
            handle.join().unwrap();
        });
    }

    #[test]
    #[should_panic(expected = "lost")]
    fn a_failure_of_the_model_is_one_of_the_test() {
        model(|| panic!("lost"));
    }

    struct Message {
        ready: AtomicBool,
        text: UnsafeCell<u32>,
    }

    // SAFETY: the text is written before `ready` is set, and read after that; or else the model ends.
    unsafe impl Sync for Message {}

    fn sends_a_message(ready: Ordering) {
        let message = Arc::new(Message {
            ready: AtomicBool::new(false),
            text: UnsafeCell::new(0),
        });
        let other = Arc::clone(&message);
        let handle = thread::spawn(move || {
            // SAFETY: nobody reads it yet.
            other.text.with_mut(|text| unsafe { *text = 7 });
            other.ready.store(true, ready);
        });
        if message.ready.load(Ordering::Acquire) {
            let text = message.text.get();
            // SAFETY: nobody writes it any more.
            assert_eq!(unsafe { *text.deref() }, 7);
        }
        drop(message);
        handle.join().unwrap();
    }

    #[test]
    fn a_cell_is_published() {
        model(|| sends_a_message(Ordering::Release));
    }

    #[test]
    #[cfg_attr(not(dpor), should_panic(expected = "data-race: "))]
    fn a_cell_is_used_without_an_order() {
        model(|| sends_a_message(Ordering::Relaxed));
    }

    /// Only here can a model know that it is one.
    #[cfg(dpor)]
    #[test]
    fn names_of_both_kinds_mean_the_same() {
        fn same(lock: &std::sync::Mutex<u8>) -> &shim_std::sync::Mutex<u8> {
            lock
        }
        let lock = Mutex::new(3);
        assert_eq!(*same(&lock).lock().unwrap(), 3);
        shim_std::thread_local!(static OWN: std::cell::Cell<u8> = const { std::cell::Cell::new(1) });
        shim_std::println!("{}", OWN.get());
        model(|| assert_eq!(std::thread::spawn(|| OWN.replace(5)).join().unwrap(), 1));
    }

    #[cfg(dpor)]
    #[test]
    fn a_model_in_a_model_cannot_explore_by_itself() {
        let _ = Model::new().explore(|| ());
    }
}
