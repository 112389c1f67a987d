//! The names of threads.

use std::collections::HashMap;

/// Threads' names by their ids.
pub struct Names {
    names: HashMap<u32, String>,
}

impl Names {
    pub fn new<'a>(named: impl Iterator<Item = (u32, &'a Option<String>)>) -> Names {
        Names {
            names: named.filter_map(|(id, name)| Some((id, name.clone()?))).collect(),
        }
    }

    pub fn of(&self, thread: u32) -> String {
        match self.names.get(&thread) {
            Some(name) => format!("t{thread} ({name})"),
            None if thread == 0 => "t0 (main)".into(),
            None => format!("t{thread}"),
        }
    }

    /// The name of an object, which may be a thread.
    pub fn of_object(&self, object: &str) -> String {
        let thread = object.strip_prefix('t').and_then(|number| number.parse().ok());
        thread.map_or_else(|| object.to_owned(), |thread| self.of(thread))
    }
}

/// `1 step`, `2 steps`, `2 switches`.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}
