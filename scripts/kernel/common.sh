# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts of the lab share: where things are, and how they are named.
#
# Everything slow to make is kept in the cache directory, in a directory
# named after a hash of what it was made from, so that a change of the recipe
# makes a new one and an old work tree still finds its own.

set -euo pipefail
export LC_ALL=C

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${KVCACHE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kvcache}
BUILD=${KVCACHE_BUILD:-$REPO/build}

# Kernels that the project is built for; "debug" is our own.
KERNELS=(6.1 6.12 7)

# The release whose toolchain the newest kernel's kbuild programs need.
NEXT_RELEASE=trixie

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

say() {
	echo "${0##*/}: $*" >&2
}

# hash_of FILE...: a short hash of the files' content.
hash_of() {
	cat -- "$@" | sha256sum | cut -c1-12
}

# quietly LOG COMMAND...: run, show the end of the log if it fails.
quietly() {
	local log=$1
	shift
	mkdir -p "$(dirname "$log")"
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 40 "$log" >&2
		die "failed: $* (log: $log)"
	fi
}

# with_lock NAME COMMAND...: one at a time, over all work trees of this user.
with_lock() {
	local name=$1
	shift
	mkdir -p "$CACHE/lock"
	(
		flock 9
		"$@" 9>&-
	) 9>"$CACHE/lock/$name"
}

# The directory of kernel WHICH: holds build/, vmlinuz or vmlinux, modules/
# and release (what uname -r says).
kernel_dir() {
	case $1 in
	debug) echo "$CACHE/kernel/debug-$(debug_key)" ;;
	6.1 | 6.12 | 7) echo "$CACHE/kernel/$1" ;;
	*) die "no such kernel: $1 (have: ${KERNELS[*]} debug)" ;;
	esac
}

# The debug kernel is made from its configuration, its recipe, and the source
# that setup unpacked.
debug_key() {
	local src=$CACHE/src/debug
	[[ -e $src/.version ]] || die "no kernel source: run scripts/setup"
	hash_of "$REPO/scripts/kernel/debug.config" "$REPO/scripts/kernel/build" \
		"$src/.version"
}
