#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: rubbish_chaos with members that hang. The members stand on dm
# devices, which are suspended when the test says so, and resumed.
#
# usage: stuck.sh TEST SECONDS

set -u
n=0 dms=()
# Two will do, and hang sooner than more.
read -ra members <<<"$KVC_MEMBERS"
for m in "${members[@]:0:2}"; do
	dmsetup --noudevrules --noudevsync create "kvc$n" \
		--table "0 $(blockdev --getsz "$m") linear $m 0" || exit 1
	# Without udev nothing stands in /dev/mapper.
	dms+=("/dev/$(dmsetup info -c --noheadings -o blkdevname "kvc$n")")
	n=$((n + 1))
done
[[ -e /dev/kvcache ]] || kvc-load || exit 1
kvcachectl format -q --force --name stuck --lease 60s --q 0 --segment-size 1M \
	--ags 2 "${dms[@]}" >/dev/null || exit 1

# At once, since a member that hangs alone for long is suspect.
each() {
	local i pids=()
	for ((i = 0; i < n; i++)); do
		dmsetup --noudevrules --noudevsync "$@" "kvc$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
}
trap 'each remove' EXIT

status=0
coproc CHAOS { /kvc/tests/vm/rubbish_chaos "$1" "$2" "${dms[@]}"; }
pid=$CHAOS_PID
# Of our own: bash takes its away when the program ends.
exec 3<&"${CHAOS[0]}" 4>&"${CHAOS[1]}"
while read -r line <&3; do
	echo "$line"
	case $line in
	"# stop")
		dmsetup --noudevrules --noudevsync suspend --noflush --nolockfs kvc0
		echo stopped >&4 ;;
	"# stop all")
		each suspend --noflush --nolockfs
		echo stopped >&4 ;;
	"# go on")
		each resume
		echo resumed >&4 ;;
	esac
done
wait "$pid" || status=$?
if kvcachectl fsck -q "${dms[@]}" >/tmp/fsck 2>&1; then
	echo "ok - $1: fsck finds nothing afterwards"
else
	cat /tmp/fsck
	echo "not ok - $1: fsck finds nothing afterwards"
	status=1
fi
exit "$status"
