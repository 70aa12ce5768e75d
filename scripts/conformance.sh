#!/bin/sh
# Holds all example passes in all languages against those in Rust: the same edits, byte for byte. `scripts/test.sh` does it for
# all passes in Rust, C and C++ and for some in the others, whose components take half a minute each to make and to load.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
"$root/scripts/setup.sh" --languages
target=${CARGO_TARGET_DIR:-$root/target}
for language in python javascript typescript; do
    for pass in "$root/guest-examples/$language"/*/; do
        name=$(basename -- "$pass")
        AIRLOCK_GUEST_CACHE=${AIRLOCK_GUEST_CACHE:-$target/guest-toolchain} \
            "$target/debug/airlock" build -q "$pass" -o "$target/components/$language/$name.wasm"
    done
done
cd "$root"
exec cargo test --locked --test it -- languages::
