//! Executions per second of each checker on the same programs.
//!
//! An element of criterion's throughput is an execution. How many executions a checker needs is printed, too, and
//! whether they were all or the cap has cut them.

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use peers::{Checker, Dpor, DporContext, Loom, Program, Shuttle};
use std::time::Duration;

fn bench_on<C: Checker>(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(C::NAME);
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    for program in Program::ALL.map(C::adapt) {
        let executions = C::explore(program);
        let end = if executions + 1 >= C::CAP { "cut" } else { "complete" };
        eprintln!("{} {program}: {executions} executions, {end}", C::NAME);
        group.throughput(Throughput::Elements(executions));
        group.bench_function(BenchmarkId::from_parameter(program), |bencher| {
            bencher.iter(|| C::explore(program))
        });
    }
    group.finish();
}

/// The same explorations by cargo-dpor, with a step as the element of the throughput.
fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cargo-dpor steps");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    for program in Program::ALL {
        let steps = Dpor::steps(program);
        eprintln!("cargo-dpor {program}: {steps} steps");
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(program), |bencher| {
            bencher.iter(|| Dpor::steps(program))
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    steps,
    bench_on::<Dpor>,
    bench_on::<DporContext>,
    bench_on::<Loom>,
    bench_on::<Shuttle>
);
criterion_main!(benches);
