#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the machine: give each namespace a second name, by a controller of another
# host, and run the tests of who holds a pool.
#
# usage: holder.sh [TEST...]

# shellcheck source=/dev/null
. /kvc-guest/functions
kvc-load || exit
modprobe -a loop 2>/dev/null

# The namespaces of the second controller are those that came last.
before=$(ls -m /sys/block),
HOSTID=00000000-0000-4000-9000-000000000099
# shellcheck disable=SC2034 # connect() uses it
HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:$HOSTID
connect || { echo "not ok - a second controller"; exit 1; }
others=()
for n in 1 2 3 4; do
	for _ in {1..100}; do
		for s in /sys/block/nvme*; do
			[[ $before != *"${s##*/},"* ]] || continue
			[[ $(<"$s/nsid") != "$n" ]] || others[n - 1]=/dev/${s##*/}
		done
		[[ ! ${others[n - 1]:-} ]] || break
		sleep 0.1
	done
done
echo "# members: $KVC_MEMBERS; others: ${others[*]}"
exec /kvc/tests/vm/holder "${others[@]}" "$@"
