#!/bin/sh
# Sets up and runs every check: format, lints, documentation, tests; of Airlock, the SDK and the example passes.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# What scripts/setup.sh --languages builds: a whole language, or a pass of one. Where their compilers cannot be had, their tests are skipped, and say so.
required=capi,c,cpp,python/same-shape,python/stream-split,python/torchair-document,javascript/same-shape,javascript/stream-split,typescript/same-shape,typescript/stream-split
if ! "$root/scripts/setup.sh" --languages; then
    printf 'test: no compilers of other languages: passes in them are NOT tested\n' >&2
    "$root/scripts/setup.sh"
    required=
fi
cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}

step() {
    printf '\ntest: %s\n' "$*" >&2
    "$@"
}

step cargo fmt --all --check
step cargo clippy --locked --workspace --all-targets -- -D warnings
RUSTDOCFLAGS='-D warnings' step cargo doc --locked --workspace --no-deps
AIRLOCK_COMPONENTS_REQUIRED=1 AIRLOCK_LANGUAGES_REQUIRED="$required" step cargo test --locked --workspace

cd guest-examples/rust
CARGO_TARGET_DIR=$target/guest-examples
export CARGO_TARGET_DIR
step cargo fmt --all --check
step cargo clippy --locked --all-targets -- -D warnings
step cargo test --locked
printf '\ntest: all passed\n' >&2
