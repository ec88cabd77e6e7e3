#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: operations on one pool, two pools at once, and both over a
# reload of the module. Six members: the first four are a pool, the others
# another.
#
# usage: ops.sh

set -u
vm=/kvc/tests/vm
failed=0
read -ra m <<<"$KVC_MEMBERS"
one=("${m[@]:0:4}") two=("${m[@]:4}")

# expect TEXT STATUS COMMAND...: one result.
expect() {
	local text=$1 want=$2 status=0
	shift 2
	"$@" >/tmp/out 2>&1 || status=$?
	if ((status == want)); then
		echo "ok - $text"
	else
		echo "# $* ended with $status, not $want"
		sed 's/^/# /' /tmp/out
		echo "not ok - $text"
		failed=1
	fi
}

run() {
	"$vm/$@" || failed=1
}

kvc-load || exit 1
format="kvcachectl format -q --force --lease 20s --q 0"
$format --name one --segment-size 4M --width 4 "${one[@]}" >/dev/null &&
	$format --name two --segment-size 1M "${two[@]}" >/dev/null || exit 1
kvcachectl attach -q "${one[@]}" >/dev/null || exit 1
run ops_basic 1

expect "a second pool is attached as number 7" 0 \
	kvcachectl attach -q --number 7 "${two[@]}"
run ops_pools two 1 7
expect "a pool that is attached is not attached again" 4 \
	kvcachectl attach -q "${two[@]}"
run ops_pools fill 1 one
run ops_pools fill 7 two
expect "detach of the first" 0 kvcachectl detach 1
run ops_pools check 7 two
expect "a number that is taken is refused" 6 \
	kvcachectl attach -q --number 7 "${one[@]}"
expect "the lowest free number is given again" 0 kvcachectl attach -q "${one[@]}"
run ops_pools check 1 one
expect "detach of both" 0 bash -c 'kvcachectl detach 1 && kvcachectl detach 7'
expect "the module is unloaded" 0 rmmod kvcache
kvc-load || exit 1
# The other way round: objects go with the pool, not with its number.
expect "the second is attached first" 0 kvcachectl attach -q "${two[@]}"
expect "the first as number 1000000" 0 \
	kvcachectl attach -q --number 1000000 "${one[@]}"
run ops_pools check 1 two
run ops_pools check 1000000 one
expect "the module is unloaded with pools attached: it leaves them in good order" 0 \
	rmmod kvcache
kvc-load || exit 1
expect "and they are attached at once" 0 bash -c \
	'start=$SECONDS; kvcachectl attach -q "$@" && ((SECONDS - start < 20))' - \
	"${one[@]}"
run ops_pools check 1 one
expect "detach" 0 kvcachectl detach 1
expect "fsck finds nothing" 0 kvcachectl fsck -q "${one[@]}"
expect "fsck finds nothing in the other" 0 kvcachectl fsck -q "${two[@]}"
exit $failed
