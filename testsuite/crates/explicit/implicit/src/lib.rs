//! A small parser, with tests that ask for all its inputs where somebody explores them.

/// The number that a few digits of base 4 stand for.
pub fn parse(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |number, &digit| (digit < 4).then(|| number * 4 + u32::from(digit)))
}

#[cfg(all(test, dpor))]
mod tests {
    use super::parse;
    use std::dpor::{choose, choose_from, must_reach, nondet, reach};
    use std::sync::Mutex;
    use std::thread;

    #[test]
    fn all_inputs_are_parsed() {
        must_reach!("number", "none");
        let digits = [choose(0..6) as u8, *choose_from(&[0, 3, 5])];
        match parse(&digits) {
            Some(number) => {
                reach!("number");
                assert_eq!(number, u32::from(digits[0]) * 4 + u32::from(digits[1]));
            }
            None => reach!("none"),
        }
    }

    #[test]
    fn three_digits_are_never_too_large() {
        must_reach!("too large");
        let digits = [3; 3];
        if parse(&digits).is_none_or(|number| number > 63) {
            reach!("too large");
        }
    }

    #[test]
    fn choices_of_two_threads() {
        static SUM: Mutex<u32> = Mutex::new(0);
        let add = || *SUM.lock().unwrap() += u32::from(nondet::<bool>());
        let handle = thread::spawn(add);
        add();
        handle.join().unwrap();
        match *SUM.lock().unwrap() {
            0 => reach!("nothing"),
            1 => reach!("one"),
            2 => reach!("both"),
            _ => unreachable!("two bits"),
        }
    }

    #[test]
    fn messages_of_two_threads() {
        use std::dpor::actor::System;
        use std::dpor::comm::Mailbox;
        let mailbox = Mailbox::new();
        thread::scope(|scope| {
            for message in 0..2 {
                let mailbox = &mailbox;
                scope.spawn(move || {
                    mailbox.send(message);
                });
            }
        });
        let list = System::new().spawn(Vec::new());
        let first = mailbox.receive().wait();
        list.call(move |list| list.push(first)).wait().unwrap();
        list.look(|list| assert!(*list == [0] || *list == [1]));
    }
}
