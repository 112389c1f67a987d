//! Options of the two strategies of the literature on actors.

use std::fmt;

/// How [`Strategy::Dpor`](super::Strategy::Dpor) and [`Strategy::Trans`](super::Strategy::Trans) explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dpor {
    /// Whether explored transitions sleep in the states below their siblings.
    pub sleep: bool,
    /// Which enabled transition comes first.
    pub order: Order,
}

/// Which enabled transition comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The one that has been pending for the longest time: of messages, the first one to the actor that has the oldest.
    ///
    /// Where the oldest is not asleep, that is the one that was sent first. Where it is, the next message to the same
    /// actor comes before older ones to others; so the published transitions come out.
    #[default]
    Fifo,
    /// *Earliest created actor*: the transition of the thread, or for a message of the receiver, that was created
    /// first.
    Eca,
    /// *Latest created actor*: the transition of the thread, or for a message of the receiver, that was created last.
    Lca,
}

impl Default for Dpor {
    fn default() -> Self {
        Dpor {
            sleep: true,
            order: Order::Fifo,
        }
    }
}

impl Dpor {
    /// Reads a list such as `nosleep,eca`.
    pub(super) fn from_options(options: &str) -> Option<Dpor> {
        let mut dpor = Dpor::default();
        for option in options.split(',') {
            match option {
                "sleep" => dpor.sleep = true,
                "nosleep" => dpor.sleep = false,
                "fifo" => dpor.order = Order::Fifo,
                "eca" => dpor.order = Order::Eca,
                "lca" => dpor.order = Order::Lca,
                _ => return None,
            }
        }
        Some(dpor)
    }

    /// Writes the strategy's name with the options that differ from the defaults.
    pub(super) fn write(self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sleep = (!self.sleep).then_some("nosleep");
        let order = match self.order {
            Order::Fifo => None,
            Order::Eca => Some("eca"),
            Order::Lca => Some("lca"),
        };
        f.write_str(name)?;
        for (option, before) in sleep.into_iter().chain(order).zip([':', ',']) {
            write!(f, "{before}{option}")?;
        }
        Ok(())
    }
}
