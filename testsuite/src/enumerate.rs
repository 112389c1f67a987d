//! Brute force: every interleaving of a system's steps, found without the explorer's driver.

use dpor_explorer::{Step, Stop, System, Transition};

/// Runs every schedule of the system by re-execution and calls `visit` at the end of each, with the
/// steps that ran.
///
/// Starts again when the system asks for refinement, after calling `reset`. `Ok(n)` tells the number of
/// executions; `Err(n)` that there are more than `limit`.
pub fn enumerate<S: System, V>(
    system: &mut S,
    limit: u64,
    mut reset: impl FnMut() -> V,
    mut visit: impl FnMut(&mut V, &mut S, &[(Transition, Step)]),
) -> Result<(u64, V), u64> {
    'refined: loop {
        let mut result = reset();
        let mut executions = 0;
        // For each step of the current schedule, the transitions that were not tried yet at its place.
        let mut untried: Vec<Vec<Transition>> = Vec::new();
        let mut schedule: Vec<Transition> = Vec::new();
        loop {
            system.restart();
            let mut steps: Vec<(Transition, Step)> = Vec::new();
            loop {
                let at = steps.len();
                if at == schedule.len() {
                    let mut enabled = enabled(system);
                    let Some(next) = enabled.pop() else { break };
                    untried.push(enabled);
                    schedule.push(next);
                }
                let mut step = Step::default();
                let outcome = system.step(schedule[at], &mut step);
                steps.push((schedule[at], step));
                match outcome {
                    Ok(()) => {}
                    Err(Stop::Refine) => continue 'refined,
                    Err(_) => break,
                }
            }
            executions += 1;
            visit(&mut result, system, &steps);
            if executions > limit {
                return Err(executions);
            }
            loop {
                let Some(rest) = untried.last_mut() else {
                    return Ok((executions, result));
                };
                schedule.pop();
                if let Some(next) = rest.pop() {
                    schedule.push(next);
                    break;
                }
                untried.pop();
            }
        }
    }
}

/// The enabled transitions, last thread first.
pub fn enabled<S: System>(system: &S) -> Vec<Transition> {
    let mut all: Vec<Transition> = Transition::enabled(system.threads()).collect();
    all.reverse();
    all
}

/// The number of interleavings of threads with these numbers of steps, at most `u64::MAX`.
pub(crate) fn multinomial(counts: &[usize]) -> u64 {
    let mut result: u64 = 1;
    let mut total = 0u64;
    for &count in counts {
        for i in 1..=count as u64 {
            total += 1;
            // Exact: the running product is a product of binomial coefficients and a partial one.
            result = match result.checked_mul(total) {
                Some(product) => product / i,
                None => return u64::MAX,
            };
        }
    }
    result
}
