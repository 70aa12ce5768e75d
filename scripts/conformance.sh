#!/bin/sh
# Holds all example passes in all languages against those in Rust, on all models: the same edits, byte for byte. `scripts/test.sh` does it for
# all passes in Rust, C and C++ and for some in the others, whose components take half a minute each to make and to load.
# Writes what they cost to docs/languages/figures.md.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
AIRLOCK_EVERY_PASS=1 "$root/scripts/setup.sh" --languages
target=${CARGO_TARGET_DIR:-$root/target}
export AIRLOCK_GUEST_CACHE="${AIRLOCK_GUEST_CACHE:-$target/guest-toolchain}"
"$root/scripts/figures.py" "$target/debug/airlock" "$target/components" >"$target/figures.md"
cd "$root"
AIRLOCK_LANGUAGES_MODELS=all AIRLOCK_LANGUAGES_REQUIRED=c,cpp,python,javascript,typescript cargo test --locked --test it -- languages::
mv "$target/figures.md" docs/languages/figures.md
