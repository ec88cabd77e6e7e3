#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: runs a program against a pool of its own, then detaches and
# checks what is left on media.
#
# usage: pool.sh [-f] "FORMAT OPTIONS" PROGRAM [ARGUMENT...]
#
# A program with a slash in its name is in the work tree, and finds the Python
# modules there.
#
# @MEMBERS among the arguments stands for the members' paths. With -f the pool is
# only formatted, and the program attaches and detaches. With "-" for the format
# options it formats, too.

set -u
attach=1
[[ $1 != -f ]] || { attach=; shift; }
options=$1 program=$2
shift 2
args=()
for arg; do
	if [[ $arg == @MEMBERS ]]; then
		# shellcheck disable=SC2206 # a list of devices
		args+=($KVC_MEMBERS)
	else
		args+=("$arg")
	fi
done

[[ -e /dev/kvcache ]] || kvc-load || exit 1
echo 8 >/proc/sys/vm/nr_hugepages
if [[ $options != - ]]; then
	# shellcheck disable=SC2086 # lists
	kvcachectl format -q --force $options $KVC_MEMBERS >/dev/null &&
		{ [[ ! $attach ]] || kvcachectl attach -q $KVC_MEMBERS >/dev/null; } ||
		exit 1
else
	attach=
fi
status=0
u=/repo/userspace
export PYTHONPATH=$u/python:$u/sglang:$u/lmcache PYTHONDONTWRITEBYTECODE=1
if [[ $program == */* ]]; then
	program=/repo/$program
else
	program=/kvc/tests/vm/$program
fi
"$program" "${args[@]}" || status=$?
program=${program##*/}
[[ ! $attach ]] || kvcachectl detach 1 >/dev/null || status=1
# shellcheck disable=SC2086
if kvcachectl fsck -q $KVC_MEMBERS >/tmp/fsck 2>&1; then
	echo "ok - $program: fsck finds nothing afterwards"
else
	cat /tmp/fsck
	echo "not ok - $program: fsck finds nothing afterwards"
	status=1
fi
exit "$status"
