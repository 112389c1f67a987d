//! Generated programs with actors, mailboxes and asynchronous mutexes: under each strategy the same outcomes, or a
//! deadlock, as by brute force.

use dpor_explorer::Verdict;
use shim_std::Model;
use shim_std::actor::{Actor, Address, System, Turn};
use shim_std::comm::{
    AsyncMutex, Completion, Guard, Mailbox, Receiving, Request, Sending, test_any, wait_all, wait_any,
};
use shim_std::thread::{self, scope};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Number of programs of each kind.
const PROGRAMS: u64 = 300;
/// Maximum number of executions by brute force; programs with more are left out.
const MOST: u64 = 2000;

/// Steele, Lea, Flood 2014: SplitMix64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

#[derive(PartialEq, Eq)]
enum Came {
    To(BTreeSet<u64>),
    Deadlock,
    TooMany,
}

impl fmt::Debug for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Came::To(outcomes) => outcomes.fmt(f),
            Came::Deadlock => f.write_str("deadlock"),
            Came::TooMany => f.write_str("too many"),
        }
    }
}

fn explore(strategy: &str, test: impl Fn() -> u64 + 'static) -> Came {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let inner = Arc::clone(&seen);
    let model = Model::new().strategy(strategy.parse().unwrap()).max_executions(MOST);
    let outcome = model.exact_states(strategy.starts_with("context")).explore(move || {
        let value = test();
        shim_std::outside(|| {
            inner.lock().unwrap().insert(value);
        });
    });
    match &outcome.report.verdict {
        Verdict::Complete => Came::To(std::mem::take(&mut *seen.lock().unwrap())),
        Verdict::Failed { failure, .. } if failure.kind == "deadlock" => Came::Deadlock,
        Verdict::Incomplete { .. } => Came::TooMany,
        Verdict::Failed { .. } => panic!("{outcome}"),
    }
}

/// Compares the strategies on the programs that a generator makes from seeds.
fn compare(test: impl Fn(u64) -> u64 + Copy + 'static) {
    let (mut compared, mut deadlocks, mut several) = (0, 0, 0u64);
    for seed in 0..PROGRAMS {
        let expected = explore("exhaustive", move || test(seed));
        match &expected {
            Came::To(outcomes) => several += u64::from(outcomes.len() > 1),
            Came::Deadlock => deadlocks += 1,
            Came::TooMany => continue,
        }
        compared += 1;
        for strategy in ["source", "optimal", "states", "context", "context:lazy", "cdpor3"] {
            assert_eq!(
                explore(strategy, move || test(seed)),
                expected,
                "program {seed} under {strategy}"
            );
        }
    }
    println!("{compared} programs, {deadlocks} with a deadlock, {several} with several outcomes");
    assert!(
        compared > PROGRAMS / 3 && several > PROGRAMS / 12 && deadlocks > PROGRAMS / 20,
        "the generator has become dull"
    );
}

/// The requirement of a state.
#[derive(Clone, Copy, Debug)]
enum Needs {
    Nothing,
    AtLeast(usize),
    Below(usize),
    Even,
}

impl Needs {
    fn any(random: &mut Random) -> Needs {
        match random.below(9) {
            0 => Needs::AtLeast(1 + random.below(2)),
            1 => Needs::Below(1 + random.below(3)),
            2 => Needs::Even,
            _ => Needs::Nothing,
        }
    }

    fn hold(self, state: &State) -> bool {
        match self {
            Needs::Nothing => true,
            Needs::AtLeast(n) => state.count >= n,
            Needs::Below(n) => state.count < n,
            Needs::Even => state.count.is_multiple_of(2),
        }
    }
}

/// An actor that keeps a history of the messages that it has processed.
#[derive(Default)]
struct State {
    count: usize,
    history: u64,
    peers: Vec<Address<State>>,
}

/// The actions of an actor because of a message, in this order.
#[derive(Clone, Debug)]
struct Script {
    name: u64,
    needs: Needs,
    sends: Vec<(usize, Script)>,
    awaits: Option<Needs>,
    asks: Option<usize>,
}

impl Script {
    fn any(random: &mut Random, actors: usize, budget: &mut usize, names: &mut u64) -> Script {
        *names += 1;
        let name = *names;
        let mut sends = Vec::new();
        while *budget > 0 && random.below(3) == 0 {
            *budget -= 1;
            sends.push((random.below(actors), Script::any(random, actors, budget, names)));
        }
        Script {
            name,
            needs: Needs::any(random),
            sends,
            awaits: (random.below(5) == 0).then(|| Needs::any(random)),
            asks: (random.below(6) == 0).then(|| random.below(actors)),
        }
    }
}

impl State {
    fn note(&mut self, what: u64) {
        self.history = self.history.wrapping_mul(31).wrapping_add(what);
    }
}

impl Actor for State {
    type Message = Script;

    fn accepts(&self, script: &Script) -> bool {
        script.needs.hold(self)
    }

    fn handle(turn: &mut Turn<'_, State>, script: Script) {
        turn.count += 1;
        turn.note(script.name);
        for (to, script) in script.sends {
            turn.peers[to].send(script);
        }
        if let Some(needs) = script.awaits {
            turn.wait_until(move |state| needs.hold(state));
            turn.note(script.name + 100);
        }
        if let Some(peer) = script.asks {
            let reply = turn.peers[peer].call(|state| state.history);
            let answer = turn.wait_for(reply).unwrap();
            turn.note(answer);
        }
    }
}

#[test]
fn actors() {
    compare(|seed| {
        let mut random = Random(seed);
        let system = System::new();
        let actors: Vec<_> = (0..1 + random.below(3))
            .map(|_| system.spawn(State::default()))
            .collect();
        for actor in &actors {
            let peers = actors.clone();
            // Nobody else knows it yet, so this is done at once.
            actor.call(move |state| state.peers = peers).wait().unwrap();
        }
        let (mut budget, mut names) = (2, 0);
        let mut roots = |random: &mut Random, count: usize| -> Vec<_> {
            let mut root = |random: &mut Random| {
                let to = actors[random.below(actors.len())].clone();
                (to, Script::any(random, actors.len(), &mut budget, &mut names))
            };
            (0..count).map(|_| root(random)).collect()
        };
        let theirs = roots(&mut random, 2);
        let ours = roots(&mut random, 1);
        let beside = random.below(2) == 0;
        let other = thread::spawn(move || theirs.into_iter().for_each(|(to, script)| to.send(script)));
        ours.into_iter().for_each(|(to, script)| to.send(script));
        let mut seen = 0;
        if beside {
            seen = actors[0].look(|state| state.history);
        }
        other.join().unwrap();
        // Messages that are not accepted any more are a deadlock for who waits for all.
        if random.below(2) == 0 {
            system.settle();
        }
        actors.iter().fold(seen, |outcome, actor| {
            outcome
                .wrapping_mul(1_000_003)
                .wrapping_add(actor.look(|state| state.history))
        })
    });
}

/// A process that sends, receives, requests, tests and waits at random, and records its observations.
fn process(mut random: Random, name: u64, mailboxes: &[Mailbox<u64>; 2], mutexes: &[AsyncMutex<u64>; 2]) -> u64 {
    let mut history = 0u64;
    let mut note = |what: u64| history = history.wrapping_mul(31).wrapping_add(what + 1);
    let mut sendings: Vec<Sending<'_>> = Vec::new();
    let mut receivings: Vec<Receiving<'_, u64>> = Vec::new();
    let mut requests: Vec<Request<'_, u64>> = Vec::new();
    let mut guards: Vec<Guard<'_, u64>> = Vec::new();
    for step in 0..4 {
        let which = random.below(2);
        match random.below(12) {
            0 | 1 => sendings.push(mailboxes[which].send(name * 10 + step)),
            2 | 3 => receivings.push(mailboxes[which].receive()),
            4 | 5 => requests.push(mutexes[which].request()),
            6 => {
                guards.pop();
            }
            7 => {
                requests.pop();
            }
            8 => {
                if let Some(receiving) = receivings.pop() {
                    match random.below(2) {
                        0 => note(receiving.wait()),
                        _ => note(receiving.take().unwrap_or(77)),
                    }
                }
            }
            9 => {
                if let Some(request) = requests.pop() {
                    let guard = match random.below(2) {
                        0 => Some(request.wait()),
                        _ => request.take().ok(),
                    };
                    note(guard.as_ref().map_or(55, |value| **value));
                    guards.extend(guard.map(|mut value| {
                        *value = *value * 3 + name;
                        value
                    }));
                }
            }
            kind => {
                let mut handles: Vec<&dyn Completion> = Vec::new();
                handles.extend(sendings.iter().map(|handle| handle as &dyn Completion));
                handles.extend(receivings.iter().map(|handle| handle as &dyn Completion));
                handles.extend(requests.iter().map(|handle| handle as &dyn Completion));
                match (kind, random.below(3)) {
                    _ if handles.is_empty() => {}
                    (10, _) => note(test_any(&handles).map_or(44, |done| done as u64)),
                    (_, 0) => wait_all(&handles),
                    _ => note(wait_any(&handles) as u64),
                }
            }
        }
    }
    drop(guards);
    drop(requests);
    history
}

#[test]
fn processes() {
    compare(|seed| {
        let mut random = Random(seed);
        let mailboxes = [const { Mailbox::new() }; 2];
        let mutexes = [const { AsyncMutex::new(0) }; 2];
        let seen: Vec<u64> = scope(|s| {
            let (mailboxes, mutexes) = (&mailboxes, &mutexes);
            let processes: Vec<_> = (1..=2 + random.below(2) as u64)
                .map(|name| {
                    let random = Random(seed ^ (random.below(1 << 30) as u64) << 20);
                    s.spawn(move || process(random, name, mailboxes, mutexes))
                })
                .collect();
            processes.into_iter().map(|process| process.join().unwrap()).collect()
        });
        let values = mutexes.map(AsyncMutex::into_inner);
        seen.into_iter()
            .chain(values)
            .fold(0, |outcome, part| outcome.wrapping_mul(1_000_003).wrapping_add(part))
    });
}
