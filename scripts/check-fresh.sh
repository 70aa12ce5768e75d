#!/bin/sh
# Shows that the README's two commands work on a bare machine: a fresh Debian root in which only git, curl, Python, a C compiler
# and a stable Rust toolchain (this machine's) were put beforehand. The commands run there as a user without rights.
#
#   sudo scripts/check-fresh.sh [FOLDER]     the root is made in FOLDER (default: a temporary one, removed afterwards)
#
# What is committed is what is tested: the clone is of HEAD. Where packages come from is this machine's business: its apt sources,
# certificates, cargo settings and proxy variables are carried along. Needs root (chroot) and debootstrap.
set -eu

repository=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
suite=bookworm
packages=ca-certificates,git,curl,gcc,libc6-dev,python3,python3-venv

say() { printf 'check-fresh: %s\n' "$*" >&2; }
fail() { printf 'check-fresh: error: %s\n' "$*" >&2; exit 2; }

[ "$(id -u)" = 0 ] || fail "needs root, for chroot: sudo $0"
command -v debootstrap >/dev/null || fail "debootstrap is not there: apt-get install debootstrap"
command -v rustc >/dev/null || fail "a Rust toolchain is not there to be copied"

# ---- the root

own=${1:-}
fresh=${own:-$(mktemp -d "${TMPDIR:-/tmp}/fresh.XXXXXX")}
mkdir -p "$fresh"
unmount() { for at in proc dev; do umount -l "$fresh/$at" 2>/dev/null || true; done; }
clean() {
    unmount
    [ -n "$own" ] || rm -rf --one-file-system "$fresh"
}
trap clean EXIT
trap 'exit 130' INT TERM

targets() { apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian'; }
mirror=$(targets '$(CODENAME) $(REPO_URI)' | sed -n "s/^$suite //p" | head -n 1)
[ -n "$mirror" ] || fail "no mirror of Debian $suite among this machine's apt sources"

if [ ! -e "$fresh/etc/debian_version" ]; then
    say "making a Debian $suite in $fresh"
    debootstrap --variant=minbase --include="$packages" "$suite" "$fresh" "$mirror" >"$fresh.log" 2>&1 ||
        { tail -n 20 "$fresh.log" >&2; fail "debootstrap; all of it is in $fresh.log"; }
    rm -f "$fresh.log"
fi

# ---- what this machine's network needs

copy() { # a file or folder, to the same place
    [ -e "$1" ] || return 0
    mkdir -p "$fresh$(dirname -- "$1")"
    cp -RL "$1" "$fresh$(dirname -- "$1")/"
}

: >"$fresh/etc/apt/sources.list"
for source in $(targets '$(SOURCESENTRY)' | cut -d : -f 1 | sort -u); do copy "$source"; done
for place in /etc/apt/apt.conf /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/apt/keyrings /etc/apt/trusted.gpg.d /usr/share/keyrings \
    /etc/pip.conf /etc/hosts /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
    copy "$place"
done
# Proxies and the like, but not what this machine's packages hook into apt.
for settings in /etc/apt/apt.conf.d/*; do
    grep -q -i -E 'acquire|proxy' "$settings" && copy "$settings"
done

home=/home/builder
chroot "$fresh" id builder >/dev/null 2>&1 || chroot "$fresh" useradd --create-home --home-dir "$home" builder
for settings in config config.toml credentials.toml; do
    [ -e "${CARGO_HOME:-$HOME/.cargo}/$settings" ] || continue
    mkdir -p "$fresh$home/.cargo"
    cp "${CARGO_HOME:-$HOME/.cargo}/$settings" "$fresh$home/.cargo/"
done
# The root's npm has global settings of its own: this machine's become the user's.
if command -v npm >/dev/null; then
    cat "$(npm config get globalconfig)" "$HOME/.npmrc" 2>/dev/null >"$fresh$home/.npmrc" || true
fi

# ---- the toolchain and the clone

say "putting $(rustc -V) in"
rm -rf "$fresh/opt/rust"
cp -R "$(rustc --print sysroot)" "$fresh/opt/rust"
rm -rf "$fresh/opt/rust/share/doc" "$fresh/opt/rust/lib/rustlib/wasm32-unknown-unknown" "$fresh$home/airlock"
git clone -q --no-hardlinks "$repository" "$fresh$home/airlock"
chroot "$fresh" chown -R builder: "$home"

mount -t proc proc "$fresh/proc"
mount --rbind /dev "$fresh/dev"

# ---- the two commands

carried=$(env | grep -i -E '^(https?_proxy|no_proxy|all_proxy|ssl_cert_file|ssl_cert_dir|curl_ca_bundle|git_ssl_cainfo|pip_[a-z_]*|npm_config_[a-z_]*|node_extra_ca_certs|cargo_(http|net|registr)[a-z_]*)=' || true)
# Says in `spent` how many seconds of CPU everything took that this script ran and waited for. (A subshell would count its own.)
count_cpu() {
    times >"$fresh/times"
    spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "m"); sum += t[1] * 60 + t[2] } } END { print int(sum) }' "$fresh/times")
}
inside() {
    started=$(date +%s)
    count_cpu
    spent_before=$spent
    # One variable a line; values with blanks do not occur in these.
    # shellcheck disable=SC2086
    chroot --userspec=builder "$fresh" env -i HOME="$home" PATH=/opt/rust/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 $carried \
        sh -c "cd $home/airlock && $1"
    count_cpu
    say "$1: done after $(($(date +%s) - started)) s, $((spent - spent_before)) s of CPU"
}

say "the first command: scripts/demo.sh"
inside scripts/demo.sh
say "the second command: scripts/test.sh"
inside scripts/test.sh
say "both commands work on a fresh Debian $suite"
