#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: pools whose AGs have as few segments as there may be go on to
# take puts when they are full.
#
# usage: few.sh

set -u
failed=0
kvc-load || exit 1
for ags in 3 2 1; do
	# shellcheck disable=SC2086 # a list
	kvcachectl format -q --force --lease 20s --q 0 --segment-size 4M \
		--ags $ags $KVC_MEMBERS &&
		kvcachectl attach -q $KVC_MEMBERS || exit 1
	segments=$(kvcachectl -o json info | jq ".[0].segments / $ags")
	if out=$(/kvc/tests/vm/fill --count 600 --size 262144 --threads 4 --batch 4 2>&1) &&
		[[ $out == *" failed=0 "* ]]; then
		echo "ok - $ags AGs of $segments segments: filled thrice over, every put finds room"
	else
		echo "# $out"
		kvcachectl info | sed 's/^/# /'
		echo "not ok - $ags AGs of $segments segments: filled thrice over, every put finds room"
		failed=1
	fi
	kvcachectl detach -q 1 || failed=1
	# shellcheck disable=SC2086
	kvcachectl fsck -q $KVC_MEMBERS || {
		echo "not ok - fsck finds nothing"
		failed=1
	}
done
exit "$failed"
