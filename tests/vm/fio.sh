#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the guest, with a pool attached: fio on its objects.
#
# usage: fio.sh

set -u
export ENGINE=/kvc/userspace/fio-kvcache.so SIZE=1M
jobs=/repo/userspace/fio/jobs
failed=0
cd /tmp || exit 1

ok() { echo "ok - fio: $1"; }
not_ok() {
	sed 's/^/# /' /tmp/fio.out
	echo "not ok - fio: $1"
	failed=1
}

# run TEXT FIO ARGUMENT...
run() {
	local text=$1
	shift
	if fio "$@" >/tmp/fio.out 2>&1; then
		ok "$text"
	else
		not_ok "$text"
	fi
}

# refused TEXT WORDS FIO ARGUMENT...: fio fails, and says so in these words.
refused() {
	local text=$1 words=$2
	shift 2
	if fio "$@" >/tmp/fio.out 2>&1 || ! grep -q -- "$words" /tmp/fio.out; then
		not_ok "$text"
	else
		ok "$text"
	fi
}

# One job, named "job". Soft-RoCE is slow where everything is emulated.
one=(--name=job "--ioengine=external:$ENGINE" --size=1M --kvc_deadline=60000)
verify=("${one[@]}" --rw=randwrite --verify=crc32c --verify_fatal=1 --numjobs=4
	--group_reporting)

run "crc32c, 4 jobs, blocks of any size, io_uring" "${verify[@]}" --iodepth=8 \
	--bsrange=512-100000 --bs_unaligned=1 --kvc_prefix=a/
run "the same from threads, registered memory" "${verify[@]}" --iodepth=8 \
	--bsrange=512-100000 --bs_unaligned=1 --kvc_prefix=b/ --thread --kvc_registered=1
run "the same by ioctl" "${verify[@]}" --kvc_sync=1 --bsrange=4k-256k --kvc_prefix=c/
run "objects of one size, in batches of up to 16" "${verify[@]}" --iodepth=4 \
	--bsrange=16k-256k --blockalign=16k --kvc_object_size=16k --kvc_key_size=64 \
	--kvc_prefix=d/
run "each block is put twice" "${verify[@]}" --iodepth=8 --bs=64k --io_size=2M \
	--kvc_prefix=e/
run "trims, which then are zeroes" "${one[@]}" --rw=randtrimwrite --bs=64k \
	--verify=crc32c --verify_fatal=1 --kvc_miss_zero=1 --trim_verify_zero=1 \
	--kvc_prefix=f/
for job in "$jobs"/*.fio; do
	run "job file ${job##*/}" "$job"
done

# Keys are what the manual page says, and what is wrong is found.
run "one object" "${one[@]}" --filename=x --rw=write --bs=64k --size=64k \
	--verify=crc32c --do_verify=0 --kvc_prefix=k/
key=k/x@0000000000000000
if kvcachectl get "$key" /tmp/x && [[ $(stat -c %s /tmp/x) == 65536 ]]; then
	ok "it is under its key"
else
	not_ok "it is under its key"
fi
again=("${one[@]}" --filename=x --rw=write --verify_only --bs=64k --size=64k
	--verify=crc32c --verify_fatal=1 --kvc_prefix=k/)
run "it verifies later" "${again[@]}"
kvcachectl rm "$key" >/dev/null
refused "a miss is an error, and says what it is" "kvcache: no such object" "${again[@]}"
head -c 65536 /dev/urandom | kvcachectl put "$key" - >/dev/null
refused "other bytes do not verify" "verify: bad" "${again[@]}"

refused "an unknown pool" "pool 77: no such pool" "${one[@]}" --rw=read --bs=4k --kvc_pool=77
refused "an unknown device" "/dev/nix: No such file" "${one[@]}" --rw=read --bs=4k \
	--kvc_device=/dev/nix
refused "blocks larger than objects can be" "choose a smaller bs" "${one[@]}" \
	--rw=write --bs=4M --size=8M
refused "a part of an object is not written" "not whole objects of 65536" "${one[@]}" --rw=write \
	--bs=4k --kvc_object_size=64k
refused "a key that is too long" "make more than 512 bytes" "${one[@]}" --rw=read --bs=4k \
	--kvc_prefix="$(printf 'p%.0s' {1..500})"
exit "$failed"
