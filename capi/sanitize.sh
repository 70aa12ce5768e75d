#!/bin/sh
# Runs tests/misuse.c and rounds of tests/repeat.c under the sanitizers of addresses, leaks and undefined behaviour: the program is compiled with them, and
# the library takes its memory from the same allocator. Workers are programs of their own and are not looked at.
set -eu

count=${1:-100}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --locked --manifest-path "$root/Cargo.toml" -p airlock -p airlock-capi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$target/debug/airlock" build -q "$root/capi/example/quantize" -o "$work/quantize.wasm"
for program in misuse repeat; do
    "${CC:-cc}" -std=c11 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -I "$root/capi/include" \
        "$root/capi/tests/$program.c" -o "$work/$program" -L "$target/debug" -lairlock -lpthread
done
model=$root/tests/models/quantize_chain/core.fx
export LD_LIBRARY_PATH="$target/debug" ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
"$work/misuse" "$target/debug/airlock" "$model" "$target/components/broken.wasm"
"$work/repeat" "$target/debug/airlock" "$model" "$work/quantize.wasm" "$work/out.pbtxt" "$count"
