#!/bin/sh
# Runs tests/repeat.c under valgrind: it loads, runs, edits, judges, lowers and frees, 1,000 times or as often as it is told, and neither loses
# memory nor touches any that is not its own. Workers are programs of their own and are not looked at.
set -eu

count=${1:-1000}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --locked --manifest-path "$root/Cargo.toml" -p airlock -p airlock-capi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$target/debug/airlock" build -q "$root/capi/example/quantize" -o "$work/quantize.wasm"
"${CC:-cc}" -std=c11 -g -Wall -Wextra -I "$root/capi/include" "$root/capi/tests/repeat.c" -o "$work/repeat" -L "$target/debug" -lairlock
LD_LIBRARY_PATH=$target/debug valgrind --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect \
    "$work/repeat" "$target/debug/airlock" "$root/tests/models/quantize_chain/core.fx" "$work/quantize.wasm" "$work/out.pbtxt" "$count"
