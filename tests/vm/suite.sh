# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the suites that run programs in the VM share.

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${KVCACHE_BUILD:-$top/build}
failed=0
mkdir -p "$build"
cd "$top" || exit 1

# Build what the guest needs; KERNEL... as for scripts/kernel/build-module.
suite_build() {
	if ! { scripts/kernel/build-module "$@" &&
		make -C userspace O="$build/userspace" &&
		make -C tests/vm BUILD="$build"; } \
		>"$build/suite-build-$$.log" 2>&1; then
		cat "$build/suite-build-$$.log"
		echo "not ok - module and tests build"
		exit 1
	fi
	rm -f "$build/suite-build-$$.log"
}

# Do the Python packages in userspace/ install, and is MODULE then there?
# MODULE PACKAGE...
suite_packages() {
	local module=$1 tmp
	shift
	tmp=$(mktemp -d "$build/packages.XXXXXX")
	# pip leaves things beside what it builds.
	if (cd userspace && cp -r "$@" "$tmp/" && cd "$tmp" &&
		/usr/bin/python3 -m pip install --quiet --no-index --no-deps \
			--no-build-isolation --target "$tmp/out" "${@/#/./}" &&
		PYTHONPATH=$tmp/out /usr/bin/python3 -c "import $module") \
		>"$tmp/log" 2>&1; then
		echo "ok - the package of $module installs"
	else
		cat "$tmp/log"
		echo "not ok - the package of $module installs"
		failed=1
	fi
	rm -rf "$tmp"
}

# Run a machine: LAB OPTIONS... -- COMMAND... Results are what it prints.
# suite_virtual does so in virtual time, in which a wait costs nothing and no
# deadline depends on what else this machine has to do. The long form of the tests
# has time, and wants processors that really run at once. Members that are files
# answer in real time: not with those. Two processors take turns, smp=1 before the
# call has one: Soft-RoCE is three times as fast then.
suite_virtual() {
	if [[ ${KVC_SOAK:-} ]]; then
		suite_run "$@"
	else
		suite_run --icount --smp "${smp:-2}" "$@"
	fi
}

suite_run() {
	local status=0
	scripts/lab run "$@" || status=$?
	# What went wrong has been told, unless kernel or machine are to blame.
	((status <= 1)) || echo "not ok - the machine ran through (status $status)"
	((status == 0)) || failed=1
}
