//! The tests of crates from crates.io, fetched as they are, under `cargo dpor test`: those that
//! `testsuite/wild/crates.toml` calls fast. Every test is complete unless the table says what keeps it from that. All
//! crates, and the page of the book about them: `cargo run --release -p dpor-testsuite --bin wild-crates`.

use dpor_testsuite::wild::{Circumstances, Class, Run, Table, fetch, summary};

#[test]
fn fast_crates() {
    let limits = Circumstances {
        max_time: 60,
        stall: "10".into(),
        memory: "sc".into(),
        ..Circumstances::now()
    };
    let table = Table::read();
    let mut mismatches = Vec::new();
    for krate in table.crates.iter().filter(|krate| krate.fast) {
        let run = Run::new(&table, krate, &limits.of(&table, krate));
        println!("{}", summary(&run));
        let concurrent = run.tests.iter().filter(|test| test.is_concurrent()).count();
        if run.error.is_some() || concurrent == 0 {
            mismatches.push(summary(&run));
        }
        for test in &run.tests {
            let expected = match test.class {
                Class::Complete => !krate.failures.contains_key(&test.name) && !krate.open.contains_key(&test.name),
                Class::Failed { .. } => krate.failures.contains_key(&test.name),
                Class::Incomplete(_) => krate.open.contains_key(&test.name),
                Class::NotApplicable(_) => true,
            };
            if !expected {
                mismatches.push(format!("{} {}: {:?}", run.id, test.name, test.class));
            }
        }
    }
    assert!(mismatches.is_empty(), "not as expected:\n{}", mismatches.join("\n"));
}

#[test]
fn changes_of_the_others_fit_what_is_fetched() {
    let table = Table::read();
    let others = table.crates.iter().filter(|krate| !krate.fast);
    let errors: Vec<_> = others
        .filter_map(|krate| Some(format!("{}: {}", krate.id(), fetch(&table, krate).err()?)))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}
