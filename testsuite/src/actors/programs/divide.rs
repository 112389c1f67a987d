//! fibonacci and quicksort: an actor for each part of a task, which creates two others for parts of its own and waits
//! for their answers.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// A divide-and-conquer computation.
#[derive(Clone, Debug)]
pub struct Divide {
    /// The task to compute.
    pub task: Task,
}

impl Divide {
    fn size(&self) -> usize {
        match &self.task {
            Task::Fibonacci(_) => 1,
            Task::Quicksort(numbers) => numbers.len(),
        }
    }
}

/// A task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Task {
    /// The n-th number of Fibonacci's, where the first and the second are 1.
    Fibonacci(u64),
    /// These numbers in order. The one in the middle separates the smaller ones from the others.
    Quicksort(Vec<u64>),
}

impl Task {
    /// The parts, unless the task is small, and then its result.
    fn divide(&self) -> Result<[Task; 2], Vec<u64>> {
        match self {
            Task::Fibonacci(n @ ..=2) => Err(vec![(*n).min(1)]),
            Task::Fibonacci(n) => Ok([Task::Fibonacci(n - 1), Task::Fibonacci(n - 2)]),
            Task::Quicksort(numbers) if numbers.len() <= 1 => Err(numbers.clone()),
            Task::Quicksort(numbers) => {
                let pivot = *numbers.clone().select_nth_unstable(numbers.len() / 2).1;
                let (less, rest) = numbers.iter().partition(|&&n| n < pivot);
                Ok([Task::Quicksort(less), Task::Quicksort(rest)])
            }
        }
    }

    fn conquer(&self, [left, right]: [&[u64]; 2]) -> Vec<u64> {
        match self {
            Task::Fibonacci(_) => vec![left[0] + right[0]],
            Task::Quicksort(_) => [left, right].concat(),
        }
    }
}

/// An actor of [`Divide`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Worker {
    /// The entry, and the result.
    Main(Vec<u64>),
    /// Without a task.
    Idle,
    /// Waits for its children.
    Waits {
        /// Its task.
        task: Task,
        /// The actor to which its part belongs, and which part.
        parent: (Actor, usize),
        /// The parts that have arrived.
        parts: [Option<Vec<u64>>; 2],
    },
}

/// A message of [`Divide`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// To the main actor.
    Begin,
    /// Compute this, for the actor, as its n-th part.
    Compute(Task, Actor, usize),
    /// The n-th part's result.
    Result(usize, Vec<u64>),
}

impl Protocol for Divide {
    type State = Worker;
    type Content = Part;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let main = out.create(Worker::Main(Vec::new()));
        out.send(main, Part::Begin);
    }

    fn process(&self, me: Actor, state: &mut Worker, message: &Part, out: &mut Outbox<'_, Self>) -> Result<(), String> {
        match (&mut *state, message.clone()) {
            (Worker::Main(_), Part::Begin) => {
                let worker = out.create(Worker::Idle);
                out.send(worker, Part::Compute(self.task.clone(), me, 0));
            }
            (Worker::Main(result), Part::Result(_, numbers)) => *result = numbers,
            (Worker::Idle, Part::Compute(task, parent, number)) => match task.divide() {
                Err(result) => out.send(parent, Part::Result(number, result)),
                Ok(parts) => {
                    for (number, part) in parts.into_iter().enumerate() {
                        let child = out.create(Worker::Idle);
                        out.send(child, Part::Compute(part, me, number));
                    }
                    *state = Worker::Waits {
                        task,
                        parent: (parent, number),
                        parts: [None, None],
                    };
                }
            },
            (Worker::Waits { task, parent, parts }, Part::Result(number, numbers)) => {
                parts[number] = Some(numbers);
                if let [Some(left), Some(right)] = parts {
                    let result = task.conquer([left, right]);
                    // Quicksort's first actor prints the result and sends no more messages, as the published
                    // transitions tell.
                    let prints = matches!(task, Task::Quicksort(all) if all.len() == self.size());
                    if !prints {
                        out.send(parent.0, Part::Result(parent.1, result));
                    }
                }
            }
            (state, message) => return Err(super::misdirected::<Self>(state, &message)),
        }
        Ok(())
    }
}
