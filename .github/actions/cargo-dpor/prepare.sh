#!/usr/bin/env bash
# Chooses the toolchain, and says where things are and what the cache depends on.
set -euo pipefail

if [ -n "$TOOLCHAIN" ]; then
    rustup toolchain install --profile minimal "$TOOLCHAIN"
    echo "RUSTUP_TOOLCHAIN=$TOOLCHAIN" >>"$GITHUB_ENV"
    export RUSTUP_TOOLCHAIN=$TOOLCHAIN
fi
# Where rust-toolchain.toml names one that is not there, this installs it.
rustc=$(rustc --version --verbose)

# An action comes without its history, so its commit is not known: its files are.
sources=$(cd "$ACTION/../../.." && find Cargo.toml Cargo.lock cargo-dpor explorer scheduler shim-std -type f -print0 | sort -z | xargs -0 sha256sum)
key=$(printf '%s\n%s\n' "$rustc" "$sources" | sha256sum | cut -c -32)

mkdir -p "$RUNNER_TEMP/$ARTIFACT"
{
    echo "key=$key"
    echo "installed=$RUNNER_TEMP/cargo-dpor-$key"
    echo "report=$RUNNER_TEMP/$ARTIFACT/pages"
    echo "junit=$RUNNER_TEMP/$ARTIFACT/dpor.xml"
} >>"$GITHUB_OUTPUT"
