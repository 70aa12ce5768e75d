#!/bin/sh
# Sets up and runs every check: format, lints, documentation, tests; of Airlock, the SDK and the example passes.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cd "$root"

step() {
    printf '\ntest: %s\n' "$*" >&2
    "$@"
}

# What only reads sources. In a target folder of its own, as cargo lets one command at a time into a folder: it runs while set-up
# waits for downloads and for compilers that use one processor.
lints() (
    CARGO_TARGET_DIR=$target/lints
    export CARGO_TARGET_DIR
    step cargo fmt --all --check &&
        step cargo clippy --locked --workspace --all-targets -- -D warnings &&
        RUSTDOCFLAGS='-D warnings' step cargo doc --locked --workspace --no-deps &&
        cd guest-examples/rust &&
        step cargo fmt --all --check &&
        step cargo clippy --locked --all-targets -- -D warnings
)

# Tests of what judges, lowers and runs models take a fifth of the time where Airlock is optimised a little, with all checks of the
# profile `dev` on; unit tests take half a minute, less than optimising them would. Examples in documentation stand on the same build.
integration() {
    step env CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo test --locked --workspace "$@"
}
units() {
    step cargo test --locked --workspace --lib "$@"
}

# What scripts/setup.sh --languages builds: a whole language, or a pass of one. Where their compilers cannot be had, their tests are skipped, and say so.
required=capi,c,cpp,python/same-shape,python/stream-split,python/torchair-document,javascript/stream-split,typescript/same-shape

mkdir -p "$target"
lints >"$target/lints.log" 2>&1 &
linting=$!
preparing=
trap 'for job in $linting $preparing; do pkill -P $job 2>/dev/null || :; done' EXIT
trap 'exit 130' INT TERM

# Before set-up, which builds passes with the `airlock` that this makes: tests switch on other features of what it stands on, and
# without them all of it would be compiled a second time.
integration --bins --test '*' --no-run
AIRLOCK_BUILT=$target/debug/airlock
export AIRLOCK_BUILT

# Set-up waits for downloads, too, and for compilers that use one processor.
"$root/scripts/setup.sh" --languages >"$target/setup.log" 2>&1 &
preparing=$!
units --no-run
prepared=0
wait $preparing || prepared=$?
cat "$target/setup.log" >&2
if [ $prepared -ne 0 ]; then
    printf 'test: no compilers of other languages: passes in them are NOT tested\n' >&2
    "$root/scripts/setup.sh"
    required=
fi

unset AIRLOCK_BUILT

linted=0
wait $linting || linted=$?
cat "$target/lints.log" >&2
[ $linted -eq 0 ] || { printf '\ntest: format, lints or documentation failed, see above\n' >&2; exit $linted; }

AIRLOCK_COMPONENTS_REQUIRED=1
AIRLOCK_LANGUAGES_REQUIRED=$required
export AIRLOCK_COMPONENTS_REQUIRED AIRLOCK_LANGUAGES_REQUIRED
units
integration --doc
integration --bins --test '*'

cd guest-examples/rust
CARGO_TARGET_DIR=$target/guest-examples
export CARGO_TARGET_DIR
step cargo test --locked
printf '\ntest: all passed\n' >&2
