//! What can be set: each setting with its name, its default, and how it is read. The command line and configuration files read
//! values in the same way.

use clap::ValueEnum;
use dpor_explorer::Strategy;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Where the value of a setting comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Default,
    CommandLine,
    /// A line of a file, of an override if it is one.
    File {
        name: Arc<str>,
        line: usize,
        of: Option<Arc<str>>,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::CommandLine => f.write_str("command line"),
            Origin::File { name, line, of: None } => write!(f, "{name}:{line}"),
            Origin::File {
                name,
                line,
                of: Some(of),
            } => write!(f, "{name}:{line}, override for {of}"),
        }
    }
}

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Setting<T> {
    fn by_default(value: T) -> Self {
        Setting {
            value,
            origin: Origin::Default,
        }
    }

    /// Takes what the command line says, if it says anything.
    pub fn command_line(&mut self, value: Option<T>) {
        if let Some(value) = value {
            *self = Setting {
                value,
                origin: Origin::CommandLine,
            };
        }
    }
}

/// A setting for people: its name, its value, and where that comes from.
pub struct Row<'a> {
    pub key: &'static str,
    pub value: String,
    pub origin: &'a Origin,
}

macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident, $key:literal: $type:ty = $default:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Setting<$type>,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: Setting::by_default($default),)* }
            }
        }

        impl $name {
            /// The names of all settings.
            pub const KEYS: &[&str] = &[$($key),*];

            /// Sets what has this name.
            ///
            /// # Errors
            /// What is wrong with the value.
            pub fn set(&mut self, key: &str, text: &str, origin: &Origin) -> Result<(), String> {
                match key {
                    $($key => {
                        let value = <$type as Value>::read(text)?;
                        self.$field = Setting { value, origin: origin.clone() };
                    })*
                    _ => unreachable!("names are those in KEYS"),
                }
                Ok(())
            }

            /// All settings, for people.
            pub fn rows(&self) -> Vec<Row<'_>> {
                vec![$(Row {
                    key: $key,
                    value: Value::show(&self.$field.value),
                    origin: &self.$field.origin,
                },)*]
            }
        }
    };
}

settings! {
    /// What is set for each test.
    Settings {
        strategy, "strategy": Strategy = Strategy::default();
        seed, "seed": u64 = 0;
        max_executions, "max-executions": Limit<u64> = Limit(None);
        max_time, "max-time": Limit<Duration> = Limit(None);
        max_steps, "max-steps": Limit<u64> = Limit(None);
        preemptions, "preemptions": Limit<u32> = Limit(None);
        max_depth, "max-depth": u32 = 100_000;
        stall, "stall": Duration = Duration::from_secs(10);
        spurious_wakeups, "spurious-wakeups": bool = false;
        spurious_cas, "spurious-cas": bool = false;
        leaks, "leaks": bool = false;
        exact_states, "exact-states": bool = false;
        simplify, "simplify": Duration = Duration::from_secs(2);
        incomplete, "incomplete": Policy = Policy::Fail;
        vacuous, "vacuous": Policy = Policy::Ok;
        weak_orderings, "weak-orderings": Policy = Policy::Ok;
    }
}

impl Settings {
    /// Whether the settings fit together.
    ///
    /// # Errors
    /// What does not.
    pub fn judge(&self) -> Result<(), String> {
        let strategy = self.strategy.value;
        match self.preemptions.value {
            Limit(Some(_)) if !strategy.can_be_bounded() => Err(format!(
                "preemptions cannot be bounded with the strategy `{strategy}`, only with `context`, `source` and `exhaustive`"
            )),
            _ => Ok(()),
        }
    }
}

settings! {
    /// What is set for a whole run.
    RunSettings {
        fail_fast, "fail-fast": bool = false;
        test_jobs, "test-jobs": Jobs = Jobs(1);
        /// Empty: none.
        junit, "junit": PathBuf = PathBuf::new();
        /// Empty: none.
        report, "report": PathBuf = PathBuf::new();
    }
}

/// A limit, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<T>(pub Option<T>);

/// How many tests are explored at the same time; not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs(pub u16);

/// What becomes of the exit code if something that is no failure comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// Nothing: it is only said
    Ok,
    /// It tells of it
    Fail,
}

/// Reading and showing values.
pub trait Value: Sized {
    /// # Errors
    /// What is wrong with the text.
    fn read(text: &str) -> Result<Self, String>;

    fn show(&self) -> String;
}

macro_rules! by_text {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|error| format!("`{text}`: {error}"))
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

by_text!(u64, u32, bool, Jobs, Policy);

impl Value for Strategy {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: <Self as FromStr>::Err| error.to_string())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }

    fn show(&self) -> String {
        if self.as_os_str().is_empty() {
            "none".into()
        } else {
            self.display().to_string()
        }
    }
}

impl<T: Value> Value for Limit<T> {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Limit(None)),
            text => T::read(text).map(|limit| Limit(Some(limit))),
        }
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(|| "none".into(), Value::show)
    }
}

impl Value for Duration {
    /// A number with an optional unit; seconds without one.
    fn read(text: &str) -> Result<Self, String> {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match &text[number.len()..] {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            unit => return Err(format!("`{text}`: unknown unit `{unit}`: use ms, s, m or h")),
        };
        let value: f64 = number
            .parse()
            .map_err(|_| format!("`{text}` is no number with an optional unit, such as 30s"))?;
        Duration::try_from_secs_f64(value * scale).map_err(|error| format!("`{text}`: {error}"))
    }

    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("there must be at least 1".into()),
            Ok(jobs) => Ok(Jobs(jobs)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl fmt::Display for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Policy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "ok" => Ok(Policy::Ok),
            "fail" => Ok(Policy::Fail),
            _ => Err("it is either `ok` or `fail`"),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Ok => "ok",
            Policy::Fail => "fail",
        })
    }
}
