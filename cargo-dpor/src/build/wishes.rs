//! The user's requests for the build, by flags, configuration files, the environment and profiles; and those that are
//! impossible under the model.

use crate::build::flags;
use crate::cli::CargoArgs;
use crate::error::Error;
use crate::stand_ins;
use crate::toolchain::Toolchain;
use cargo_metadata::Metadata;
use owo_colors::OwoColorize;
use serde_json::Value;
use std::path::PathBuf;

/// The user's requests that the build follows.
#[derive(Debug)]
pub struct Wishes {
    /// The user's compiler flags.
    pub rustflags: Vec<String>,
    /// Values of Cargo's configuration that override impossible requests.
    pub covered: Vec<String>,
    /// The user's wrapper of the compiler.
    pub wrapper: Option<PathBuf>,
}

impl Wishes {
    /// Reads them, names those that are not followed, and refuses those without which the build would not be the
    /// requested one.
    ///
    /// # Errors
    /// [`Error::Usage`] for another target than this machine, and for rustflags with which nothing can unwind; others
    /// if Cargo or the compiler cannot be asked.
    pub fn read(args: &CargoArgs, toolchain: &Toolchain, metadata: &Metadata) -> Result<Wishes, Error> {
        let config = flags::config(toolchain, args).unwrap_or_default();
        check_target(args, &config, &toolchain.host)?;
        let (rustflags, dropped) = without_lto(flags::of_user(toolchain, &config)?);
        if asks_to_abort(&rustflags) {
            return Err(Error::Usage(
                "the rustflags (in RUSTFLAGS, or in a configuration file of Cargo) have `-C panic=abort`, with which \
                 tests cannot be built\n  a panic has to unwind, so that it ends one execution of a test and not the \
                 process that explores all of them"
                    .into(),
            ));
        }
        if !dropped.is_empty() {
            let dropped = dropped.join(" ");
            warn(&format!(
                "`{dropped}` of the rustflags is ignored: the checker's part of a test cannot be optimised together \
                 with the test"
            ));
        }
        let wrapper = stand_ins::configured_wrapper(&config);
        let profiles = Profiles {
            manifest: manifest(metadata),
            config,
        };
        Ok(Wishes {
            rustflags,
            covered: profiles.cover(args),
            wrapper,
        })
    }
}

fn warn(what: &str) {
    anstream::eprintln!("{} {what}", "warning:".yellow().bold());
}

/// Refuses any target but this machine: tests run here.
fn check_target(args: &CargoArgs, config: &Value, host: &str) -> Result<(), Error> {
    let variable = std::env::var("CARGO_BUILD_TARGET")
        .ok()
        .filter(|value| !value.is_empty());
    let configured = match &config["build"]["target"] {
        Value::String(target) => vec![target.clone()],
        Value::Array(targets) => targets.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => vec![],
    };
    let (origin, targets) = match variable {
        _ if !args.target.is_empty() => ("`--target`", args.target.clone()),
        Some(target) => ("CARGO_BUILD_TARGET", vec![target]),
        None => ("`build.target` in a configuration file of Cargo", configured),
    };
    let Some(other) = targets.iter().find(|&target| target != host && target != "host-tuple") else {
        return Ok(());
    };
    Err(Error::Usage(format!(
        "{origin} asks for {other}, but tests run on this machine, which is {host}: each is explored in a process of \
         it\n  `--target {host}` builds them for this machine, whatever is configured"
    )))
}

/// Code generation options among the flags of rustc: the start, number of words and text of each.
fn codegen_options(flags: &[String]) -> impl Iterator<Item = (usize, usize, &str)> {
    flags.iter().enumerate().filter_map(|(at, flag)| {
        if flag == "-C" || flag == "--codegen" {
            return Some((at, 2, flags.get(at + 1)?.as_str()));
        }
        let option = flag.strip_prefix("--codegen=").or_else(|| flag.strip_prefix("-C"))?;
        Some((at, 1, option))
    })
}

fn asks_to_abort(flags: &[String]) -> bool {
    // The last one counts.
    let strategy = codegen_options(flags).filter_map(|(_, _, option)| option.strip_prefix("panic="));
    strategy.last().is_some_and(|strategy| strategy != "unwind")
}

/// The flags without those that request optimisation at link time, and those.
fn without_lto(mut flags: Vec<String>) -> (Vec<String>, Vec<String>) {
    let found: Vec<(usize, usize)> = codegen_options(&flags)
        .filter(|(_, _, option)| {
            let name = option.split('=').next().unwrap_or_default().replace('_', "-");
            name == "lto" || name == "linker-plugin-lto"
        })
        .map(|(at, words, _)| (at, words))
        .collect();
    let mut dropped = Vec::new();
    for (at, words) in found.into_iter().rev() {
        dropped.splice(0..0, flags.drain(at..at + words));
    }
    (flags, dropped)
}

/// The workspace's manifest; Cargo has read it before, and has reported any error.
fn manifest(metadata: &Metadata) -> Value {
    let text = std::fs::read_to_string(metadata.workspace_root.join("Cargo.toml"));
    text.ok()
        .and_then(|text| toml::from_str(&text).ok())
        .unwrap_or_default()
}

/// The configured profiles.
struct Profiles {
    manifest: Value,
    config: Value,
}

impl Profiles {
    /// Overrides settings of the selected profile, and says so.
    fn cover(&self, args: &CargoArgs) -> Vec<String> {
        let (used, covered): (_, &[&str]) = match (&args.profile, args.release) {
            (Some(name), _) => (name.as_str(), &[name]),
            (None, true) => ("release", &["release"]),
            (None, false) => ("test", &["dev", "test"]),
        };
        let mut out = Vec::new();
        let mut cover = |key: &str, value: &str| {
            out.extend(covered.iter().map(|profile| format!("profile.{profile}.{key}={value}")));
        };
        if let Some(lto) = self.setting(used, "lto").filter(is_lto) {
            warn(&format!(
                "`lto = {lto}` of the profile `{used}` is not followed: the checker's part of a test cannot be \
                 optimised together with the test"
            ));
            cover("lto", "false");
        }
        if let Some(panic) = self.setting(used, "panic").filter(|value| value != "unwind") {
            warn(&format!(
                "`panic = {panic}` of the profile `{used}` is not followed: a panic has to unwind, so that it ends one \
                 execution of a test and not the process that explores all of them"
            ));
            cover("panic", "\"unwind\"");
        }
        out
    }

    /// A setting of a profile, or of the one that it inherits from.
    fn setting(&self, profile: &str, key: &str) -> Option<Value> {
        let mut name = profile.to_string();
        // There cannot be more profiles than that, unless they inherit in a circle; which Cargo complains about.
        for _ in 0..100 {
            let places = [&self.config, &self.manifest].map(|place| &place["profile"][&name]);
            let variable = format!(
                "CARGO_PROFILE_{}_{}",
                name.to_uppercase().replace('-', "_"),
                key.to_uppercase()
            );
            let set = std::env::var(variable).ok().map(Value::String);
            let set = set.or_else(|| {
                places
                    .map(|place| place[key].clone())
                    .into_iter()
                    .find(|value| !value.is_null())
            });
            if set.is_some() {
                return set;
            }
            let parent = places.iter().find_map(|place| place["inherits"].as_str());
            name = match (name.as_str(), parent) {
                (_, Some(parent)) => parent.to_string(),
                ("test", None) => "dev".into(),
                ("bench", None) => "release".into(),
                _ => return None,
            };
        }
        None
    }
}

/// Whether this requests optimisation of several crates together.
fn is_lto(value: &Value) -> bool {
    match value {
        Value::Bool(on) => *on,
        Value::String(text) => !["off", "false", "no", "n"].contains(&text.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOST: &str = "x86_64-unknown-linux-gnu";

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn another_target_is_refused() {
        let args = |target: &str| CargoArgs {
            target: words(target),
            ..CargoArgs::default()
        };
        let elsewhere = json!({ "build": { "target": ["wasm32-unknown-unknown", HOST] } });
        let refused =
            |args: &CargoArgs, config: &Value| check_target(args, config, HOST).map_err(|error| error.to_string());
        assert!(refused(&args(""), &json!({})).is_ok());
        assert!(refused(&args(""), &json!({ "build": { "target": HOST } })).is_ok());
        assert!(refused(&args("host-tuple"), &elsewhere).is_ok());
        assert!(refused(&args(HOST), &elsewhere).is_ok(), "the command line is nearer");
        let error = refused(&args(""), &elsewhere).unwrap_err();
        assert!(
            error.starts_with("`build.target` in a configuration file of Cargo asks for wasm32-unknown-unknown"),
            "{error}"
        );
        let error = refused(&args("i686-unknown-linux-gnu"), &json!({})).unwrap_err();
        assert!(
            error.starts_with("`--target` asks for i686") && error.contains(HOST),
            "{error}"
        );
    }

    #[test]
    fn flags_that_abort_are_found() {
        for flags in [
            "-Cpanic=abort",
            "-C panic=abort",
            "--codegen panic=abort",
            "--codegen=panic=abort -Copt-level=1",
        ] {
            assert!(asks_to_abort(&words(flags)), "{flags}");
        }
        for flags in ["", "-C panic=abort -Cpanic=unwind", "--cfg panic=abort", "-C"] {
            assert!(!asks_to_abort(&words(flags)), "{flags}");
        }
    }

    #[test]
    fn flags_for_the_linker_to_optimise_are_left_out() {
        let flags = words("-C target-cpu=native -C lto=fat --cfg lto -Clinker_plugin_lto --codegen=lto -Copt-level=3");
        let (rest, dropped) = without_lto(flags);
        assert_eq!(rest, words("-C target-cpu=native --cfg lto -Copt-level=3"));
        assert_eq!(dropped, words("-C lto=fat -Clinker_plugin_lto --codegen=lto"));
    }

    #[test]
    fn settings_of_profiles_are_inherited_and_covered() {
        let profiles = Profiles {
            manifest: json!({ "profile": {
                "release": { "lto": "thin", "panic": "abort" },
                "small": { "inherits": "release", "lto": "off" },
                "smaller": { "inherits": "small", "panic": "unwind" },
                "dev": { "lto": false },
            } }),
            config: json!({ "profile": { "dev": { "panic": "abort" } } }),
        };
        let covered = |profile: Option<&str>, release| {
            profiles.cover(&CargoArgs {
                profile: profile.map(String::from),
                release,
                ..CargoArgs::default()
            })
        };
        assert_eq!(
            covered(None, true),
            ["profile.release.lto=false", "profile.release.panic=\"unwind\""]
        );
        assert_eq!(covered(Some("small"), false), ["profile.small.panic=\"unwind\""]);
        assert_eq!(covered(Some("smaller"), false), [""; 0]);
        assert_eq!(
            covered(None, false),
            ["profile.dev.panic=\"unwind\"", "profile.test.panic=\"unwind\""]
        );
    }
}
