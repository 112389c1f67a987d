//! The options of the model: what the program's environment may do, and what is looked at besides.

use dpor_explorer::codec::Codec;
use std::fmt;
use std::str::FromStr;

/// What an option is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionGroup {
    /// The behaviour of the program's environment: more of its nondeterminism is explored.
    Environment,
    /// Checks: of states, and of accesses to memory.
    Checks,
}

/// A row of the table.
struct Row {
    name: &'static str,
    help: &'static str,
    comment: Option<&'static str>,
    group: OptionGroup,
    in_seeds: bool,
    default: bool,
}

/// A row with the name of the flag and of the key, and the help of both.
const fn row(name: &'static str, help: &'static str, group: OptionGroup) -> Row {
    Row {
        name,
        help,
        comment: None,
        group,
        in_seeds: true,
        default: false,
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
    const fn on_by_default(self) -> Row {
        Row { default: true, ..self }
    }

    const fn not_in_seeds(self) -> Row {
        Row {
            in_seeds: false,
            ..self
        }
    }
}

macro_rules! model_options {
    ($($(#[$doc:meta])* $option:ident = $row:expr;)*) => {
        /// An option of the model, which is on or off: its position is its bit in seeds.
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
        OptionGroup::Checks,
    );
    /// States are kept whole, and everything that the strategy assumes about them is checked.
    ExactStates = row(
        "exact-states",
        "Check the checker: keep states whole, compare them byte by byte, and expect each one where it was met before",
        OptionGroup::Checks,
    )
    .in_files("Check the checker: keep states whole, and compare them byte by byte. Slow.")
    .not_in_seeds();
    /// Accesses to plain memory are looked at: the program is built with hooks before each of them.
    DataRaces = row(
        "data-races",
        "Fail a test in which accesses to plain memory race, or go beyond a live block of the heap [default: true]",
        OptionGroup::Checks,
    )
    .in_files("Fail a test in which accesses to plain memory race, or go beyond a live block of the heap.")
    .on_by_default();
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

    /// Whether it is on where nothing is said.
    pub const fn default(self) -> bool {
        self.row().default
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for ModelOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Lets an option that is more than on or off be printed and read by the names of its values, which a text names.
macro_rules! named {
    ($option:ident, $names:literal) => {
        impl fmt::Display for $option {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $option {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<$option, &'static str> {
                let known = $option::ALL.into_iter().find(|value| value.name() == text);
                known.ok_or($names)
            }
        }
    };
}

/// When a wait with a timeout may time out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Timeouts {
    /// At once: whether it does is always explored.
    #[default]
    Fire,
    /// Only when nothing else can go on.
    Last,
    /// Not at all: a wait with a timeout is one without.
    Never,
}

impl Timeouts {
    /// All values, in the order of their codes in seeds.
    pub const ALL: [Timeouts; 3] = [Timeouts::Fire, Timeouts::Last, Timeouts::Never];

    /// The position of the code in the bits of [`Options`], above those of all flags.
    const SHIFT: u32 = 6;

    /// The name on the command line and in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Timeouts::Fire => "fire",
            Timeouts::Last => "last",
            Timeouts::Never => "never",
        }
    }

    /// The condition on which a verdict rests that was reached with this value; `None` for the one that leaves nothing
    /// out.
    pub const fn condition(self) -> Option<&'static str> {
        match self {
            Timeouts::Fire => None,
            Timeouts::Last => Some("timeouts fire only when nothing else can go on (--timeouts last)"),
            Timeouts::Never => Some("timeouts do not fire (--timeouts never)"),
        }
    }
}

named!(Timeouts, "it is `fire`, `last` or `never`");

/// What the program's atomics promise to its threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Memory {
    /// Sequential consistency: a load reads the latest store, whatever ordering it requests.
    #[default]
    Sc,
    /// RC11 (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI 2017) with the release sequences of C++20: all that the
    /// requested orderings allow, except for load buffering.
    Rc11,
}

impl Memory {
    /// Both values, in the order of their codes in seeds.
    pub const ALL: [Memory; 2] = [Memory::Sc, Memory::Rc11];

    /// The bit of [`Options`] that stands for [`Memory::Rc11`], above those of [`Timeouts`].
    const BIT: u16 = 1 << 8;

    /// The name on the command line and in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Memory::Sc => "sc",
            Memory::Rc11 => "rc11",
        }
    }

    /// The condition on which a verdict rests that was reached with this value. `None` for [`Memory::Sc`], whose
    /// verdicts tell by themselves where orderings are weaker.
    pub const fn condition(self) -> Option<&'static str> {
        match self {
            Memory::Sc => None,
            Memory::Rc11 => Some("weak memory without load buffering"),
        }
    }
}

named!(Memory, "it is `sc` or `rc11`");

/// What stands among the [refinements](crate::Seed::refinements) of a schedule for weak orderings that the program
/// requests: [`Memory::Rc11`] makes a difference from there on. No location is like this.
pub const WEAK_ORDERINGS: u64 = 1;

/// The options that are on, when timeouts fire, and what atomics promise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options(u16);

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

    /// When timeouts fire.
    #[inline]
    pub const fn timeouts(self) -> Timeouts {
        match self.0 >> Timeouts::SHIFT & 3 {
            0 => Timeouts::Fire,
            1 => Timeouts::Last,
            _ => Timeouts::Never,
        }
    }

    /// The same with another value for when timeouts fire.
    #[must_use]
    pub const fn with_timeouts(self, timeouts: Timeouts) -> Options {
        let others = self.0 & !(3 << Timeouts::SHIFT);
        Options(others | (timeouts as u16) << Timeouts::SHIFT)
    }

    /// What atomics promise.
    #[inline]
    pub const fn memory(self) -> Memory {
        match self.0 & Memory::BIT {
            0 => Memory::Sc,
            _ => Memory::Rc11,
        }
    }

    /// The same with another promise of atomics.
    #[must_use]
    pub const fn with_memory(self, memory: Memory) -> Options {
        match memory {
            Memory::Sc => Options(self.0 & !Memory::BIT),
            Memory::Rc11 => Options(self.0 | Memory::BIT),
        }
    }

    /// The options that a schedule needs with these [refinements](crate::Seed::refinements): without weak orderings
    /// among them, atomics have promised sequential consistency.
    #[must_use]
    pub fn with_refinements(self, refinements: &[u64]) -> Options {
        match refinements.contains(&WEAK_ORDERINGS) {
            true => self,
            false => self.with_memory(Memory::Sc),
        }
    }

    /// The options that are on, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = ModelOption> {
        ModelOption::ALL.iter().copied().filter(move |&option| self.has(option))
    }

    /// The options of a group that are on. When timeouts fire, and what atomics promise, is about the environment.
    #[must_use]
    pub fn of(self, group: OptionGroup) -> Options {
        let flags: Options = self.iter().filter(|option| option.group() == group).collect();
        match group {
            OptionGroup::Environment => flags.with_timeouts(self.timeouts()).with_memory(self.memory()),
            OptionGroup::Checks => flags,
        }
    }

    /// The bits for a seed, of the options that are in seeds.
    pub(crate) fn seed_bits(self) -> u64 {
        let of_seeds = self.iter().filter(|option| option.is_in_seeds());
        let flags: Options = of_seeds.collect();
        u64::from(flags.with_timeouts(self.timeouts()).with_memory(self.memory()).0)
    }

    /// The options in a seed, if they are known.
    pub(crate) fn from_seed_bits(bits: u64) -> Option<Options> {
        let options = Options(u16::try_from(bits).ok()?);
        (options.seed_bits() == bits).then_some(options)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeouts = Some(self.timeouts()).filter(|&timeouts| timeouts != Timeouts::Fire);
        let timeouts = timeouts.iter().map(|timeouts| timeouts as &dyn fmt::Debug);
        let memory = Some(self.memory()).filter(|&memory| memory != Memory::Sc);
        let memory = memory.iter().map(|memory| memory as &dyn fmt::Debug);
        let flags: Vec<ModelOption> = self.iter().collect();
        let flags = flags.iter().map(|option| option as &dyn fmt::Debug);
        f.debug_set().entries(flags.chain(timeouts).chain(memory)).finish()
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
        u32::from(self.0).encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let bits: u32 = Codec::decode(from)?;
        u16::try_from(bits).ok().map(Options)
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
            [SpuriousWakeups, SpuriousCas, Leaks, ExactStates, DataRaces].map(|option| bits(&[option])),
            [1, 2, 4, 0, 16]
        );
        assert_eq!(
            Options::from_seed_bits(6),
            Some([SpuriousCas, Leaks].into_iter().collect())
        );
        assert_eq!((Options::from_seed_bits(8), Options::from_seed_bits(512)), (None, None));
        assert_eq!(Options::NONE.with_memory(Memory::Rc11).seed_bits(), 256);
    }

    #[test]
    fn what_atomics_promise_is_in_seeds_and_touches_nothing_else() {
        for memory in Memory::ALL {
            assert_eq!(memory.name().parse(), Ok(memory));
            let options = Options::NONE
                .with(ModelOption::DataRaces, true)
                .with_timeouts(Timeouts::Never)
                .with_memory(memory);
            assert_eq!((options.memory(), options.timeouts()), (memory, Timeouts::Never));
            assert_eq!(options.iter().count(), 1);
            assert_eq!(Options::from_seed_bits(options.seed_bits()), Some(options));
            assert_eq!(options.of(OptionGroup::Environment).memory(), memory);
            assert_eq!(options.with_memory(Memory::Sc).timeouts(), Timeouts::Never);
        }
        let weak = Options::NONE.with_memory(Memory::Rc11);
        assert_eq!(format!("{weak:?}"), "{Rc11}");
        let refined = |refinements: &[u64]| weak.with_refinements(refinements).memory();
        assert_eq!(refined(&[4096, WEAK_ORDERINGS]), Memory::Rc11);
        assert_eq!((refined(&[4096]), refined(&[])), (Memory::Sc, Memory::Sc));
        assert!("tso".parse::<Memory>().is_err_and(|error| error.contains("`rc11`")));
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
    fn when_timeouts_fire_is_in_seeds_and_touches_no_flag() {
        for timeouts in Timeouts::ALL {
            assert_eq!(timeouts.name().parse(), Ok(timeouts));
            let options = Options::NONE
                .with(ModelOption::SpuriousCas, true)
                .with_timeouts(timeouts);
            assert_eq!((options.timeouts(), options.iter().count()), (timeouts, 1));
            assert_eq!(Options::from_seed_bits(options.seed_bits()), Some(options));
            assert_eq!(options.of(OptionGroup::Environment), options);
            assert_eq!(options.of(OptionGroup::Checks), Options::NONE);
        }
        let last = Options::NONE.with_timeouts(Timeouts::Last);
        assert_eq!(last.seed_bits(), 64);
        assert_eq!(format!("{last:?}"), "{Last}");
        assert_eq!(last.with_timeouts(Timeouts::Fire), Options::NONE);
        assert_eq!(Options::from_seed_bits(192), None);
        assert!(
            "seldom"
                .parse::<Timeouts>()
                .is_err_and(|error| error.contains("`last`"))
        );
        assert!(ModelOption::ALL.len() <= Timeouts::SHIFT as usize);
    }

    #[test]
    fn each_option_has_its_words() {
        for &option in ModelOption::ALL {
            assert!(!option.name().contains(char::is_uppercase));
            assert!(!option.help().ends_with('.') && option.comment().ends_with('.'));
        }
    }
}
