//! The settings, each with its name, its default, and its parser. The command line and configuration files parse values
//! in the same way.

use clap::ValueEnum;
use dpor_explorer::Strategy;
use dpor_protocol::{Memory, ModelOption, Options, RaceSuppression, Timeouts};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Index, IndexMut};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The origin of a setting's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Default,
    /// The default, with a note.
    DefaultFor(&'static str),
    CommandLine,
    /// A line of a file, and the profile or the override to which it belongs, in words.
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
            Origin::DefaultFor(why) => write!(f, "default; {why}"),
            Origin::CommandLine => f.write_str("command line"),
            Origin::File { name, line, of: None } => write!(f, "{name}:{line}"),
            Origin::File {
                name,
                line,
                of: Some(of),
            } => write!(f, "{name}:{line}, {of}"),
        }
    }
}

/// A value and its origin.
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

    /// Sets the value of the command line, if there is one.
    pub fn command_line(&mut self, value: Option<T>) {
        if let Some(value) = value {
            *self = Setting {
                value,
                origin: Origin::CommandLine,
            };
        }
    }
}

impl<T: Value> Setting<T> {
    /// Sets the value that a text says.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn set(&mut self, text: &str, origin: &Origin) -> Result<(), String> {
        let value = T::read(text)?;
        let origin = origin.clone();
        *self = Setting { value, origin };
        Ok(())
    }

    fn row(&self, key: &'static str) -> Row<'_> {
        Row {
            key,
            value: self.value.show(),
            origin: &self.origin,
        }
    }
}

/// A setting in readable form: its name, its value, and its origin.
pub struct Row<'a> {
    pub key: &'static str,
    pub value: String,
    pub origin: &'a Origin,
}

/// Maximum duration of a test, unless a limit is configured or the test is run alone.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// The documentation of a setting, for a configuration file's author.
pub struct KeyDoc {
    pub key: &'static str,
    /// Its meaning, in a sentence.
    pub meaning: Cow<'static, str>,
    /// An example value, as it is written in a file.
    pub example: &'static str,
}

macro_rules! settings {
    (
        $(#[$doc:meta])* $name:ident {
            $(
                $(#[$field_doc:meta])*
                $field:ident, $key:literal: $type:ty = $default:expr, $example:literal, $meaning:literal;
            )*
            $(
                [$options:ident: ModelOptions];
                $($later:ident, $later_key:literal: $later_type:ty = $later_default:expr, $later_example:literal,
                    $later_meaning:literal;)*
            )?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Setting<$type>,)*
            $(pub $options: ModelOptions, $(pub $later: Setting<$later_type>,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: Setting::by_default($default),)*
                    $($options: ModelOptions::default(), $($later: Setting::by_default($later_default),)*)?
                }
            }
        }

        impl $name {
            /// The documentation of each setting.
            pub fn docs() -> Vec<KeyDoc> {
                let docs = [$(KeyDoc { key: $key, meaning: $meaning.into(), example: $example },)*].into_iter();
                $(
                    let docs = docs.chain(ModelOptions::docs());
                    let later = [$(($later_key, $later_meaning, $later_example)),*];
                    let docs = docs.chain(later.map(|(key, meaning, example)| KeyDoc {
                        key,
                        meaning: meaning.into(),
                        example,
                    }));
                )?
                docs.collect()
            }

            /// Whether there is a setting of this name.
            pub fn has(key: &str) -> bool {
                $(if ModelOptions::named(key).is_some() || [$($later_key),*].contains(&key) {
                    return true;
                })?
                [$($key),*].contains(&key)
            }

            /// Sets the setting of this name.
            ///
            /// # Errors
            /// What is wrong with the value.
            pub fn set(&mut self, key: &str, text: &str, origin: &Origin) -> Result<(), String> {
                match key {
                    $($key => self.$field.set(text, origin)?,)*
                    $($($later_key => self.$later.set(text, origin)?,)*)?
                    _ => {
                        $(if let Some(option) = ModelOptions::named(key) {
                            return self.$options[option].set(text, origin);
                        })?
                        unreachable!("there is a setting of this name")
                    }
                }
                Ok(())
            }

            /// All settings, in readable form.
            pub fn rows(&self) -> Vec<Row<'_>> {
                let rows = [$(self.$field.row($key)),*].into_iter();
                $(let rows = rows.chain(self.$options.rows()).chain([$(self.$later.row($later_key)),*]);)?
                rows.collect()
            }
        }
    };
}

/// The settings of the options of the model: one for each row of their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOptions([Setting<bool>; ModelOption::ALL.len()]);

impl Default for ModelOptions {
    fn default() -> Self {
        ModelOptions(std::array::from_fn(|at| {
            Setting::by_default(ModelOption::ALL[at].default())
        }))
    }
}

impl Index<ModelOption> for ModelOptions {
    type Output = Setting<bool>;

    fn index(&self, option: ModelOption) -> &Setting<bool> {
        &self.0[option as usize]
    }
}

impl IndexMut<ModelOption> for ModelOptions {
    fn index_mut(&mut self, option: ModelOption) -> &mut Setting<bool> {
        &mut self.0[option as usize]
    }
}

impl ModelOptions {
    /// The options that are on.
    pub fn chosen(&self) -> Options {
        let all = ModelOption::ALL.iter().copied();
        all.filter(|&option| self[option].value).collect()
    }

    fn named(key: &str) -> Option<ModelOption> {
        ModelOption::ALL.iter().copied().find(|option| option.name() == key)
    }

    fn docs() -> impl Iterator<Item = KeyDoc> {
        ModelOption::ALL.iter().map(|option| KeyDoc {
            key: option.name(),
            meaning: option.comment().into(),
            example: if option.default() { "false" } else { "true" },
        })
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        ModelOption::ALL.iter().map(|&option| self[option].row(option.name()))
    }
}

settings! {
    /// The settings of each test.
    Settings {
        strategy, "strategy": Strategy = Strategy::default(), "\"source\"",
            "How to search for schedules: states, context, source, unfolding, exhaustive, random or pct.";
        seed, "seed": u64 = 0, "7",
            "The seed of the strategies random and pct.";
        max_executions, "max-executions": Limit<u64> = Limit(None), "100000",
            "Give up a test after this number of executions, or \"none\".";
        max_time, "max-time": Limit<Duration> = Limit(Some(DEFAULT_TIME)), "\"30s\"",
            "Give up a test after this time (a number of seconds, or \"500ms\", \"30s\", \"5m\", \"1h\"), or \"none\".";
        max_steps, "max-steps": Limit<u64> = Limit(None), "1000000",
            "Give up a test after this number of steps of all its executions together, or \"none\".";
        preemptions, "preemptions": Limit<u32> = Limit(None), "2",
            "Explore executions with at most this number of preemptions, fewest first, or \"none\" for no bound.";
        max_depth, "max-depth": u32 = 100_000, "100000",
            "Cut an execution after this number of steps.";
        stall, "stall": Duration = Duration::from_secs(10), "\"10s\"",
            "Give up a test, as incomplete, when a step takes longer than this.";
        timeouts, "timeouts": Timeouts = Timeouts::Fire, "\"last\"",
            "When a wait with a timeout times out: at once (\"fire\"), only when nothing else can go on (\"last\"), \
             or \"never\".";
        memory, "memory": Memory = Memory::Rc11, "\"sc\"",
            "What atomics promise: what their orderings say (\"rc11\"), or sequential consistency (\"sc\").";
        [options: ModelOptions];
        suppressed_races, "suppressed-races": Suppressions = Suppressions::default(), "[\"seqlock::SeqLock::read\"]",
            "Functions and source files whose plain accesses to memory are in no data race, in an array.";
        simplify, "simplify": Duration = Duration::from_secs(2), "\"2s\"",
            "Look for a simpler schedule that fails in the same way for at most this time; 0 to skip this.";
        incomplete, "incomplete": Policy = Policy::Fail, "\"ok\"",
            "Whether incomplete tests change the exit code: \"ok\" or \"fail\".";
        vacuous, "vacuous": Policy = Policy::Ok, "\"fail\"",
            "Whether tests in which nothing is interleaved change the exit code: \"ok\" or \"fail\".";
        weak_orderings, "weak-orderings": Policy = Policy::Ok, "\"fail\"",
            "Whether racing atomics with orderings weaker than SeqCst change the exit code: \"ok\" or \"fail\".";
    }
}

impl Settings {
    /// Adapts defaults to what else is set. The time limit is not meant to apply to a test that is run `alone` because
    /// the user named it, nor where another budget is configured; and some strategies cannot explore weak memory.
    pub fn settle(&mut self, alone: bool) {
        self.settle_time(alone);
        if self.memory.origin == Origin::Default && !self.strategy.value.can_choose_values() {
            self.memory = Setting {
                value: Memory::Sc,
                origin: Origin::DefaultFor("the strategy cannot explore weak memory"),
            };
        }
    }

    fn settle_time(&mut self, alone: bool) {
        if self.max_time.origin != Origin::Default {
            return;
        }
        let (lifted, why) = match (self.max_executions.value, self.max_steps.value) {
            (Limit(Some(_)), _) => (true, "`max-executions` is the limit"),
            (_, Limit(Some(_))) => (true, "`max-steps` is the limit"),
            _ if alone => (true, "the test is run alone, by its name"),
            _ => (false, "none for a test that is run alone, by its name"),
        };
        if lifted {
            self.max_time.value = Limit(None);
        }
        self.max_time.origin = Origin::DefaultFor(why);
    }

    /// Whether a test is limited to the time that applies where none is configured.
    pub fn has_default_time(&self) -> bool {
        let by_default = matches!(self.max_time.origin, Origin::Default | Origin::DefaultFor(_));
        by_default && self.max_time.value.0.is_some()
    }

    /// Checks that the settings fit together.
    ///
    /// # Errors
    /// What does not.
    pub fn judge(&self) -> Result<(), String> {
        let strategy = self.strategy.value;
        match self.preemptions.value {
            Limit(Some(_)) if !strategy.can_be_bounded() => Err(format!(
                "the strategy `{strategy}` cannot bound preemptions; `states`, `context`, `source` and `exhaustive` can"
            )),
            _ if self.timeouts.value == Timeouts::Last && !strategy.can_let_time_pass() => Err(format!(
                "the strategy `{strategy}` cannot let timeouts fire last; all other strategies can"
            )),
            _ if self.memory.value == Memory::Rc11 && !strategy.can_choose_values() => Err(format!(
                "the strategy `{strategy}` cannot explore weak memory; all but `optimal`, `unfolding` and `trans` can"
            )),
            _ => Ok(()),
        }
    }

    /// The options of the model.
    pub fn model_options(&self) -> Options {
        let options = self.options.chosen().with_timeouts(self.timeouts.value);
        options.with_memory(self.memory.value)
    }
}

settings! {
    /// The settings of a whole run.
    RunSettings {
        fail_fast, "fail-fast": bool = false, "true",
            "Stop after the first failing test.";
        test_jobs, "test-jobs": Jobs = Jobs(1), "2",
            "Number of tests to explore at the same time.";
        as_written, "as-written": bool = false, "true",
            "Compile all libraries as they are written, also the parts that are taken as specified otherwise.";
        /// Empty: none.
        junit, "junit": PathBuf = PathBuf::new(), "\"target/dpor.xml\"",
            "Also write the results of the tests to this file, in JUnit's format. Relative to this file.";
        /// Empty: none.
        report, "report": PathBuf = PathBuf::new(), "\"target/dpor-pages\"",
            "Write a page for each test to this folder, for a browser. Relative to this file.";
    }
}

/// A limit, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<T>(pub Option<T>);

/// Code whose plain accesses to memory are in no data race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions(pub Vec<RaceSuppression>);

/// Number of tests that are explored at the same time; not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs(pub u16);

/// The effect on the exit code of something that is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// None: it is only reported
    Ok,
    /// The exit code shows it
    Fail,
}

/// Parses and shows values.
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

by_text!(Jobs, Memory, Policy, Timeouts);

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| match text.parse::<u128>() {
                    Ok(_) => format!("`{text}` is too large: {} is the most", <$type>::MAX),
                    Err(_) => format!("`{text}` is not a whole number in digits"),
                })
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

whole_numbers!(u64, u32);

impl Value for bool {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("`{text}` is neither `true` nor `false`"))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for Suppressions {
    /// One suppression a line.
    fn read(text: &str) -> Result<Self, String> {
        let rule = |line: &str| line.parse().map_err(|error| format!("`{line}`: {error}"));
        text.lines().map(rule).collect::<Result<_, _>>().map(Suppressions)
    }

    fn show(&self) -> String {
        let rules: Vec<_> = self.0.iter().map(|rule| format!("{:?}", rule.to_string())).collect();
        format!("[{}]", rules.join(", "))
    }
}

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
        Ok(match text {
            "none" => PathBuf::new(),
            path => path.into(),
        })
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
        let form = || {
            format!("`{text}` is not a duration: a number of seconds, or one with a unit such as 500ms, 30s, 5m or 1h")
        };
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        // `1e9` and the like are rather a mistake than 31 years.
        let Some(value) = number
            .parse::<f64>()
            .ok()
            .filter(|_| !number.contains(['e', 'E', '-', '+']))
        else {
            return Err(form());
        };
        let scale = match &text[number.len()..] {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            unit => return Err(format!("`{text}`: unknown unit `{unit}`: use ms, s, m or h")),
        };
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
            _ if text == "num-cpus" => {
                let number = std::thread::available_parallelism().map_or(1, |number| number.get());
                Ok(Jobs(number.try_into().unwrap_or(u16::MAX)))
            }
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
