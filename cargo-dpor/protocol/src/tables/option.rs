//! The options of the model: what the program's environment may do, and what is looked at besides.

use dpor_explorer::codec::Codec;
use std::fmt;

/// What an option is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionGroup {
    /// The behaviour of the program's environment: more of its nondeterminism is explored.
    Environment,
    /// Checks of states.
    States,
}

/// A row of the table.
struct Row {
    name: &'static str,
    help: &'static str,
    comment: Option<&'static str>,
    group: OptionGroup,
    in_seeds: bool,
}

/// A row with the name of the flag and of the key, and the help of both.
const fn row(name: &'static str, help: &'static str, group: OptionGroup) -> Row {
    Row {
        name,
        help,
        comment: None,
        group,
        in_seeds: true,
    }
}

impl Row {
    /// The words for a configuration file, if they are not those for the command line.
    const fn in_files(self, comment: &'static str) -> Row {
        Row {
            comment: Some(comment),
            ..self
        }
    }

    /// It has no effect on what the program does, so that its value is no part of a seed.
    const fn not_in_seeds(self) -> Row {
        Row {
            in_seeds: false,
            ..self
        }
    }
}

macro_rules! model_options {
    ($($(#[$doc:meta])* $option:ident = $row:expr;)*) => {
        /// An option of the model, which is on or off, and off by default: its position is its bit in seeds.
        ///
        /// Its row makes it a flag of the command line, a key of configuration files, and a part of what an interrupted
        /// exploration and a seed are resumed with.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ModelOption {
            $($(#[$doc])* $option,)*
        }

        impl ModelOption {
            /// All options, in the order in which they are shown.
            pub const ALL: &[ModelOption] = &[$(ModelOption::$option,)*];

            const fn row(self) -> &'static Row {
                match self {
                    $(ModelOption::$option => const { &$row },)*
                }
            }
        }
    };
}

model_options! {
    /// Waits on condition variables and futexes, and parks, may end without a wake-up.
    SpuriousWakeups = row(
        "spurious-wakeups",
        "Let waits on condition variables, futexes, park and park_timeout end without a wake-up",
        OptionGroup::Environment,
    );
    /// `compare_exchange_weak` may fail although the value was the expected one.
    SpuriousCas = row(
        "spurious-cas",
        "Let compare_exchange_weak fail without a reason",
        OptionGroup::Environment,
    );
    /// Memory that was neither freed nor is reachable at the end of an execution is a failure. In a seed: the
    /// schedule's failure is leaked memory.
    Leaks = row(
        "leaks",
        "Fail a test that leaves memory behind that is neither freed nor reachable",
        OptionGroup::States,
    );
    /// States are kept whole, and everything that the strategy assumes about them is checked.
    ExactStates = row(
        "exact-states",
        "Check the checker: keep states whole, compare them byte by byte, and expect each one where it was met before",
        OptionGroup::States,
    )
    .in_files("Check the checker: keep states whole, and compare them byte by byte. Slow.")
    .not_in_seeds();
}

impl ModelOption {
    /// The name of the flag and of the key.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The effect, for the command line: a sentence without its full stop.
    pub const fn help(self) -> &'static str {
        self.row().help
    }

    /// The effect, for configuration files: a sentence.
    pub fn comment(self) -> String {
        let row = self.row();
        row.comment.map_or_else(|| format!("{}.", row.help), str::to_owned)
    }

    /// What it is about.
    pub const fn group(self) -> OptionGroup {
        self.row().group
    }

    /// Whether it has an effect on what the program does, so that a schedule runs again only with the same value.
    pub const fn is_in_seeds(self) -> bool {
        self.row().in_seeds
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for ModelOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The options that are on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options(u8);

impl Options {
    /// None is on.
    pub const NONE: Options = Options(0);

    /// Whether the option is on.
    #[inline]
    pub const fn has(self, option: ModelOption) -> bool {
        self.0 & option.bit() != 0
    }

    /// The same with the option on or off.
    #[must_use]
    pub const fn with(self, option: ModelOption, on: bool) -> Options {
        match on {
            true => Options(self.0 | option.bit()),
            false => Options(self.0 & !option.bit()),
        }
    }

    /// The options that are on, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = ModelOption> {
        ModelOption::ALL.iter().copied().filter(move |&option| self.has(option))
    }

    /// The options of a group that are on.
    #[must_use]
    pub fn of(self, group: OptionGroup) -> Options {
        self.iter().filter(|option| option.group() == group).collect()
    }

    /// The bits for a seed, of the options that are in seeds.
    pub(crate) fn seed_bits(self) -> u64 {
        let of_seeds = self.iter().filter(|option| option.is_in_seeds());
        of_seeds.fold(0, |bits, option| bits | u64::from(option.bit()))
    }

    /// The options in a seed, if they are known.
    pub(crate) fn from_seed_bits(bits: u64) -> Option<Options> {
        let options = Options(u8::try_from(bits).ok()?);
        (options.seed_bits() == bits).then_some(options)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<ModelOption> for Options {
    fn from_iter<I: IntoIterator<Item = ModelOption>>(options: I) -> Options {
        options
            .into_iter()
            .fold(Options::NONE, |all, option| all.with(option, true))
    }
}

impl Codec for Options {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Codec::decode(from).map(Options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stay_as_they_are_in_seeds() {
        use ModelOption::*;
        let bits = |options: &[ModelOption]| options.iter().copied().collect::<Options>().seed_bits();
        assert_eq!(
            [bits(&[SpuriousWakeups]), bits(&[SpuriousCas]), bits(&[Leaks])],
            [1, 2, 4]
        );
        assert_eq!(bits(&[ExactStates]), 0);
        assert_eq!(
            Options::from_seed_bits(6),
            Some([SpuriousCas, Leaks].into_iter().collect())
        );
        assert_eq!((Options::from_seed_bits(8), Options::from_seed_bits(256)), (None, None));
    }

    #[test]
    fn an_option_is_on_or_off() {
        let both = Options::NONE
            .with(ModelOption::Leaks, true)
            .with(ModelOption::SpuriousCas, true);
        assert_eq!(format!("{both:?}"), "{SpuriousCas, Leaks}");
        let one = both.with(ModelOption::Leaks, false);
        assert!(one.has(ModelOption::SpuriousCas) && !one.has(ModelOption::Leaks));
    }

    #[test]
    fn each_option_has_its_words() {
        for &option in ModelOption::ALL {
            assert!(!option.name().contains(char::is_uppercase));
            assert!(!option.help().ends_with('.') && option.comment().ends_with('.'));
        }
    }
}
