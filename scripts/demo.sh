#!/bin/sh
# The main job, from a fresh clone: a sandboxed pass edits a real exported model, is judged, and is lowered to the NPU graph.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
"$root/scripts/setup.sh" --demo
cd "$root"
target=${CARGO_TARGET_DIR:-target}
airlock=$target/demo/airlock
model=tests/models/torchair_doc_model/core.pt2
out=target/demo-output
mkdir -p "$out"

show() {
    printf '\n$ airlock %s\n' "$*"
    "$airlock" "$@"
}

show run "$model" --pass "$target/components/stream-split.wasm" -o "$out/edited.fx" --lower "$out/ge.pbtxt"
# A diff that finds differences says so by its exit code.
show diff "$model" "$out/edited.fx" || [ $? = 1 ]

printf '\nThe edited model is %s, the NPU graph %s.\n' "$out/edited.fx" "$out/ge.pbtxt"
echo 'These nodes of the NPU graph run on the side stream:'
awk '$1 == "name:" { node = $2 } /stream_1/ { print "  " node }' "$out/ge.pbtxt"
echo 'and these wait for others by control edges:'
awk '$1 == "name:" { node = $2 } $1 == "input:" && $2 ~ /\^/ { print "  " node, "waits for", $2 }' "$out/ge.pbtxt"
