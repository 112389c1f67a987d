//! Names of packages and targets that do not exist, reported before anything is built.

use crate::cli::CargoArgs;
use crate::error::Error;
use crate::near;
use cargo_metadata::{Metadata, Package, Target, TargetKind};

/// Checks that the requested packages and targets exist. Cargo would check them as well, but the facades are built
/// before it runs.
///
/// # Errors
/// [`Error::Usage`] if the workspace has none of such a name.
pub fn check_names(args: &CargoArgs, metadata: &Metadata) -> Result<(), Error> {
    let packages = metadata.workspace_packages();
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let known = |name: &String| names.contains(&name.as_str());
    if let Some(name) = args.package.iter().find(|name| is_plain(name) && !known(name)) {
        return Err(Error::Usage(format!(
            "there is no package `{name}` in the workspace, but {}{}",
            names.join(", "),
            near::question(&near::names(name, names.iter().copied()))
        )));
    }
    let all_plain = !args.package.is_empty() && args.package.iter().all(|name| is_plain(name));
    let asked = |package: &&Package| !all_plain || args.package.iter().any(|name| *name == *package.name);
    let asked: Vec<&Package> = packages.iter().copied().filter(asked).collect();
    for (names, kind, flag) in [
        (&args.bin, TargetKind::Bin, "bin"),
        (&args.test, TargetKind::Test, "test"),
        (&args.example, TargetKind::Example, "example"),
        (&args.bench, TargetKind::Bench, "bench"),
    ] {
        for name in names.iter().filter(|name| is_plain(name)) {
            check_target(name, &kind, flag, &packages, &asked)?;
        }
    }
    Ok(())
}

/// Says whether it is a name, and not a pattern, a path or one with a version, which Cargo understands better.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
}

fn check_target(name: &str, kind: &TargetKind, flag: &str, all: &[&Package], asked: &[&Package]) -> Result<(), Error> {
    let of = |packages: &[&Package]| {
        let own = |target: &&Target| target.kind.contains(kind);
        let targets = packages.iter().flat_map(|package| package.targets.iter().filter(own));
        targets.map(|target| target.name.clone()).collect::<Vec<_>>()
    };
    let known = of(asked);
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let has = |package: &&&Package| {
        package
            .targets
            .iter()
            .any(|target| target.name == name && target.kind.contains(kind))
    };
    let question = match all.iter().find(has) {
        Some(package) => format!("; package `{}` has one: `-p {}`", package.name, package.name),
        None => near::question(&near::names(name, known.iter().map(String::as_str))),
    };
    let others = match known.is_empty() {
        true => format!("there are none for `--{flag}`"),
        false => format!("there are {}", known.join(", ")),
    };
    Err(Error::Usage(format!(
        "there is no target `{name}` for `--{flag}`; {others}{question}"
    )))
}
