//! Actor programs: the numbers of paths and transitions that Tasharofi et al. published (FMOODS/FORTE 2012).

use dpor_explorer::{Explorer, Limits, Strategy, Verdict};
use dpor_testsuite::actors::programs::Registry;
use dpor_testsuite::actors::{Actors, Protocol};

/// Paths, those that were given up included, and transitions: the edges of the search tree.
fn explore(protocol: impl Protocol, strategy: &str) -> (u64, u64) {
    let strategy: Strategy = strategy.parse().expect("the strategy is known");
    let report = Explorer::new(Actors::new(protocol), strategy, Limits::default()).run(&mut ());
    assert_eq!(report.verdict, Verdict::Complete, "{strategy}");
    (report.statistics.executions(), report.statistics.states - 1)
}

/// §2 and Figure 1.
#[test]
fn registry_example() {
    let example = Registry {
        workers: 2,
        master: false,
    };
    for (strategy, paths) in [("exhaustive", 30), ("dpor:nosleep", 24), ("trans:nosleep", 10)] {
        assert_eq!(explore(example, strategy).0, paths, "{strategy}");
    }
}

/// Tables 1 and 2: regsim is the registry with five workers.
#[test]
fn registry_simulation() {
    let example = Registry {
        workers: 5,
        master: true,
    };
    for (strategy, published) in [
        ("trans:nosleep", (1320, 3607)),
        ("trans:nosleep,eca", (1950, 5434)),
        ("trans:nosleep,lca", (720, 1962)),
        ("dpor:nosleep,lca", (720, 1962)),
        ("trans:eca", (720, 2152)),
        ("trans:lca", (720, 1962)),
        ("dpor:lca", (720, 1962)),
    ] {
        assert_eq!(explore(example, strategy), published, "{strategy}");
    }
    // Of 1245 paths, sleep sets block 525, which the paper does not count.
    assert_eq!(explore(example, "dpor:eca"), (1245, 4054));
}
