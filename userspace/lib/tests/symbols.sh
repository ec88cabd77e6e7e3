#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The library exports what its header declares and its map lists, nothing else,
# and each function has a man page.
#
# Usage: symbols.sh LIBRARY.so SOURCE-DIRECTORY
set -u
library=$1
source=$2
failed=0

fail()
{
	echo "not ok - $*"
	failed=1
}

declared=$(sed -e '/^static inline/,/^}/d' "$source/kvcache.h" |
	grep -oE '\bkvc_[a-z_]+\(' | grep -vE '^kvc_(prep|set)' |
	tr -d '(' | sort -u)
# Comments name functions, too: only what is declared at the start of a line.
declared=$(for name in $declared; do
	grep -qE "^[a-z].*\b$name\(" "$source/kvcache.h" && echo "$name"
done)
listed=$(grep -oE 'kvc_[a-z_]+' "$source/libkvcache.map" | sort -u)
exported=$(nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' |
	sed 's/@.*//' | sort -u)

[ "$declared" = "$listed" ] ||
	fail "header and symbol map differ: $(diff <(echo "$declared") <(echo "$listed"))"
[ "$listed" = "$exported" ] ||
	fail "symbol map and library differ: $(diff <(echo "$listed") <(echo "$exported"))"
for name in $declared; do
	[ -e "$source/man/$name.3" ] || fail "no man page for $name"
done
[ $failed -eq 0 ] && echo "ok - every function is declared, exported and documented"
exit $failed
