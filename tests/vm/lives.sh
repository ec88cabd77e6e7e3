#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: what members are told of how long data will stay, as scsi_debug
# counts it: its group number is the hint.

set -u
failed=0
stats=/sys/bus/pseudo/drivers/scsi_debug/group_number_stats
modprobe sd_mod && modprobe scsi_debug dev_size_mb=96 delay=0 lbpu=1 lbpws=1 || exit 1
sleep 2
disk=$(ls /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block 2>/dev/null | head -n 1)
if [[ ! $disk || ! -e $stats ]]; then
	echo "not ok - scsi_debug has a disk that counts"
	exit 1
fi

# writes LIFE: so many with this hint, as linux/rw_hint.h numbers them.
writes() {
	local n hint=$1 value sum=0
	while read -r n value; do
		((10#$n != hint)) || sum=$value
	done <"$stats"
	echo "$sum"
}

expect() { # DESCRIPTION CONDITION
	if (($2)); then
		echo "ok - $1"
	else
		echo "not ok - $1 ($2)"
		cat "$stats"
		failed=1
	fi
}

kvc-load || exit 1
kvcachectl format -q --force --name lives --lease 20s --q 0 --segment-size 1M \
	--ags 2 "/dev/$disk" >/dev/null && kvcachectl attach -q "/dev/$disk" >/dev/null ||
	exit 1
short=$(writes 2) medium=$(writes 3) long=$(writes 4)
head -c 300000 /dev/urandom | kvcachectl put one - >/dev/null
sleep 1
expect "what is put is expected to stay for some time" "$(writes 3) > $medium"
expect "its record, not for long" "$(writes 2) > $short"
expect "nothing was found worth keeping yet" "$(writes 4) == $long"
/kvc/tests/vm/full 1 || failed=1
expect "what eviction keeps is expected to stay" "$(writes 4) > $long"
exit "$failed"
