#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# crash.sh PART TIMES SEED: crashes in one boot. PART is what of it: kasan (fewer
# crashes and less room, for the debug kernel) or fast. TIMES multiplies how many
# there are.

set -u
part=$1 times=$2 seed=$3
here=/kvc/tests/vm
failed=0

# Run hundreds of times: with its libraries in memory. The host answers in its own
# time, which is long in virtual time.
cp /kvc/userspace/kvcachectl /tmp/kvcachectl
mkdir -p /tmp/lib
ldd /tmp/kvcachectl | sed -n 's/.* => \(\/[^ ]*\).*/\1/p' | xargs cp -t /tmp/lib
export KVC_CTL=/tmp/kvcachectl LD_LIBRARY_PATH=/tmp/lib
kvc-load || exit 2
for m in loop dm_mod dm_log_writes; do
	modprobe -q $m
done

# nullb NAME MEGABYTES BLOCK CACHE: a device in memory. With blocks above 512 it
# writes over the end of its pages, if memory is not aligned to blocks, too.
nullb() {
	local d=/sys/kernel/config/nullb/$1
	mkdir "$d" && echo "$2" >"$d/size" && echo "$3" >"$d/blocksize" &&
		echo 1 >"$d/memory_backed" && echo 1 >"$d/discard" &&
		echo "$4" >"$d/cache_size" && echo 1 >"$d/power"
}

case $part in
kasan) rings=12 q=5 full=8 power=5 points=8 labels= small=10 ;;
fast) rings=60 q=30 full=50 power=30 points=52 labels=1 small=20 ;;
*) exit 2 ;;
esac

# abandon NAME CRASHES FORMAT [OPTION]... [-- MEMBER...]
abandon() {
	local name=$1 crashes=$(($2 * times)) format=$3
	shift 3
	$here/crash_abandon --name "$name" --crashes "$crashes" --seed "$seed" \
		--attach-writes 32 --format "--force --name crash $format" "$@" ||
		failed=1
	seed=$((seed + 1))
}

# The smallest rings, so that checkpoints and wraps are in the way of crashes.
common="--lease 300ms --segment-size 1M --ring 128K --slots 8"

abandon rings $rings "$common --q 0 --ags 4"
# Writes of a dead host may still land: what was open stays frozen, areas are
# passed over.
abandon q $q "$common --q 300ms --ags 4"
# Full: it evicts, reuses segments, moves objects.
nullb small0 $small 512 0 && nullb small1 $small 512 0 || failed=1
abandon full $full "$common --q 0 --ags 2" --keys 2500 --ms 400 \
	--kept-puts 150 /dev/small0 /dev/small1
# A volatile cache that is lost.
for i in 0 1 2 3; do
	nullb volatile$i 64 512 16 || failed=1
done
abandon power $power "$common --q 0 --ags 4" --power /dev/volatile{0..3}

# shellcheck disable=SC2086
$here/crash_replay --points $((points * times)) --seed "$seed" \
	--format "--name crash $common --q 0 --ags 4" || failed=1
[[ ! $labels ]] || $here/crash_labels --seed "$seed" || failed=1
exit $failed
