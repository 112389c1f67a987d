//! Flags of the build: the user's own rustflags, ours, and the profile.

use crate::cli::CargoArgs;
use crate::error::Error;
use crate::toolchain::Toolchain;
use cargo_platform::{Cfg, Platform};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Flags that every crate gets besides the facades. The cap keeps `deny(warnings)` from failing a build because of
/// warnings that only the replacement causes, such as `unused_crate_dependencies`.
///
/// By `rustix_use_libc`, rustix calls the C library's functions, which are the model's, as its documentation says under
/// "Linux-specific". Otherwise it makes system calls by instructions of its own, which nobody sees.
pub fn own() -> Vec<String> {
    [
        "--cfg",
        "dpor",
        "--check-cfg=cfg(dpor)",
        "--cfg",
        "rustix_use_libc",
        "--check-cfg=cfg(rustix_use_libc)",
        "--cap-lints=warn",
    ]
    .map(String::from)
    .into()
}

/// Flags by which LLVM's ThreadSanitizer pass puts calls of hooks before plain accesses to memory, and those of the C
/// library's functions that only read are renamed as in the file of `renames`. The hooks are the scheduler's.
///
/// rustc appends the passes to its pipeline for a module: they see optimised code, at every level of optimisation.
/// Where several codegen units of a crate are optimised together afterwards, rustc runs the pipeline once more, with
/// these passes, and each access would be reported twice; so they are not.
///
/// LLVM merges functions with the same code. By default calls of the one become calls of the other, and nothing tells
/// which was meant; so that reports do not name types by the wrong one, both names stay in the symbol table.
pub fn instrumentation(renames: &Path) -> Vec<String> {
    let mut flags: Vec<String> = [
        "-Cpasses=forceattrs,tsan,rewrite-symbols",
        "-Cllvm-args=-force-attribute=sanitize_thread",
        "-Cllvm-args=-tsan-instrument-func-entry-exit=0",
        "-Cllvm-args=-tsan-instrument-atomics=0",
        "-Cllvm-args=-mergefunc-preserve-debug-info",
        "-Clto=off",
    ]
    .map(String::from)
    .into();
    flags.push(format!("-Cllvm-args=-rewrite-map-file={}", renames.display()));
    flags
}

/// The rustflags that the user has set, looked up in the same places and order as Cargo does.
///
/// # Errors
/// If the compiler cannot be asked for the target's `cfg`s.
pub fn of_user(toolchain: &Toolchain, config: &Value) -> Result<Vec<String>, Error> {
    if let Ok(flags) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
        return Ok(flags
            .split('\x1f')
            .filter(|flag| !flag.is_empty())
            .map(String::from)
            .collect());
    }
    if let Ok(flags) = std::env::var("RUSTFLAGS") {
        return Ok(words(&flags));
    }
    if config["target"].is_null() && config["build"]["rustflags"].is_null() {
        return Ok(Vec::new());
    }
    let cfgs = toolchain.ask(Command::new(&toolchain.rustc).args(["--print", "cfg"]))?;
    let cfgs: Vec<Cfg> = cfgs.lines().filter_map(|line| line.parse().ok()).collect();
    Ok(from_config(config, &toolchain.host, &cfgs))
}

/// Cargo's whole configuration. The command is not yet stable, and what it cannot tell counts as not set.
pub fn config(toolchain: &Toolchain, args: &CargoArgs) -> Option<Value> {
    let mut command = Command::new(&toolchain.cargo);
    command
        .args(["-Zunstable-options", "config", "get", "--format", "json"])
        .args(args.config.iter().flat_map(|config| ["--config", config]))
        .env("RUSTC_BOOTSTRAP", "1");
    serde_json::from_str(&toolchain.ask(&mut command).ok()?).ok()
}

fn from_config(config: &Value, host: &str, cfgs: &[Cfg]) -> Vec<String> {
    let mut flags = Vec::new();
    for (key, table) in config["target"].as_object().into_iter().flatten() {
        if key
            .parse::<Platform>()
            .is_ok_and(|platform| platform.matches(host, cfgs))
        {
            flags.extend(list(&table["rustflags"]));
        }
    }
    if flags.is_empty() {
        list(&config["build"]["rustflags"])
    } else {
        flags
    }
}

/// Cargo takes flags as a list, or as one string.
fn list(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => words(text),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => Vec::new(),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

/// Settings of the selected profile, as environment variables. Unless the user asks for something else, tests are
/// optimised (at level 0, dead stack slots make equal states look different), with all checks on. The symbol table is
/// needed in any case, and debug information for the values in reports.
pub fn profile(args: &CargoArgs) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut set = |profile: &str, settings: &[(&str, &str)]| {
        let profile = profile.to_uppercase().replace('-', "_");
        out.extend(
            settings
                .iter()
                .map(|(key, value)| (format!("CARGO_PROFILE_{profile}_{key}"), value.to_string())),
        );
    };
    let symbols = [("DEBUG", "full"), ("STRIP", "none")];
    match (&args.profile, args.release) {
        (Some(name), _) => set(name, &symbols),
        (None, true) => set("release", &symbols),
        (None, false) => {
            for profile in ["dev", "test"] {
                set(profile, &symbols);
                set(
                    profile,
                    &[
                        ("OPT_LEVEL", "2"),
                        ("DEBUG_ASSERTIONS", "true"),
                        ("OVERFLOW_CHECKS", "true"),
                    ],
                );
            }
        }
    }
    out
}

/// More settings of the selected profile, for which there are no variables: functions and lines are enough for crates
/// that are not the user's own. What the user's crates make of their generic types is in the debug information of the
/// user's crates.
pub fn of_dependencies(args: &CargoArgs) -> String {
    let profile = match (&args.profile, args.release) {
        (Some(name), _) => name,
        (None, true) => "release",
        (None, false) => "dev",
    };
    format!("profile.{profile}.package.\"*\".debug=\"line-tables-only\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOST: &str = "x86_64-unknown-linux-gnu";

    #[test]
    fn flags_of_the_target_go_before_those_of_the_build() {
        let config = json!({
            "build": { "rustflags": ["-Cbuild"] },
            "target": {
                "cfg(unix)": { "rustflags": "-Cone -Ctwo" },
                "cfg(windows)": { "rustflags": ["-Cno"] },
                HOST: { "rustflags": ["-C", "three"] },
                "wasm32-unknown-unknown": { "rustflags": ["-Cno"] },
            }
        });
        let cfgs = ["unix".parse().unwrap()];
        assert_eq!(from_config(&config, HOST, &cfgs), ["-Cone", "-Ctwo", "-C", "three"]);
        assert_eq!(
            from_config(&json!({ "build": config["build"] }), HOST, &cfgs),
            ["-Cbuild"]
        );
        assert!(from_config(&json!({}), HOST, &cfgs).is_empty());
    }

    #[test]
    fn a_profile_of_the_users_choice_is_left_alone() {
        let names = |args: CargoArgs| profile(&args).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        let own = names(CargoArgs::default());
        assert!(own.contains(&"CARGO_PROFILE_TEST_OPT_LEVEL".to_string()));
        let theirs = names(CargoArgs {
            profile: Some("very-fast".into()),
            ..CargoArgs::default()
        });
        assert_eq!(
            theirs,
            ["CARGO_PROFILE_VERY_FAST_DEBUG", "CARGO_PROFILE_VERY_FAST_STRIP"]
        );
    }
}
