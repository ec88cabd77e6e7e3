# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Packages from suites that this machine doesn't use, without touching its
# apt: each suite is a "view", with its own source list and index in the
# cache directory. Mirror addresses, proxy and keys come from the machine's
# own configuration.

# mirror LABEL: the address that the machine's apt uses for it.
mirror() {
	local label=$1 uri
	uri=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' \
		"Identifier: Packages" | sed -n "s/^$label|//p" | head -n 1)
	[[ -n $uri ]] || die "apt has no source of '$label' (tried apt-get update?)"
	echo "$uri"
}

# view_open [--source] NAME LINE...: a view with these source lines ("LABEL
# SUITE"), of packages, or of their sources.
view_open() {
	local type=deb
	[[ $1 != --source ]] || { type=deb-src; shift; }
	local name=$1 dir=$CACHE/apt/$1 line lines=''
	shift
	mkdir -p "$dir/lists/partial"
	for line; do
		lines+="$type $(mirror "${line% *}") ${line##* } main"$'\n'
	done
	printf '%s' "$lines" >"$dir/sources.list"
	view "$name" apt-get -q update >"$dir/update.log" 2>&1 ||
		{ cat "$dir/update.log" >&2; die "cannot read the package lists of $name"; }
}

# view NAME PROGRAM ARGS...: run apt-get or apt-cache in the view.
view() {
	local dir=$CACHE/apt/$1 program=$2
	shift 2
	"$program" -o Dir::Etc::sourcelist="$dir/sources.list" \
		-o Dir::Etc::sourceparts=- -o Dir::State::lists="$dir/lists" \
		-o Dir::State::status=/dev/null \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User=root "$@"
}

# view_closure NAME PATTERN PACKAGE...: the packages and what they depend on,
# as far as names match PATTERN.
view_closure() {
	local name=$1 pattern=$2 p
	local -A seen=()
	local -a todo
	shift 2
	todo=("$@")
	while ((${#todo[@]})); do
		p=${todo[0]}
		todo=("${todo[@]:1}")
		[[ -z ${seen[$p]:-} ]] || continue
		seen[$p]=1
		mapfile -t -O ${#todo[@]} todo < <(
			view "$name" apt-cache depends --important "$p" |
				sed -n 's/^ *|\{0,1\}Depends: //p' | grep -E -- "$pattern" || :)
	done
	printf '%s\n' "${!seen[@]}" | sort
}

# view_unpack NAME DIR PACKAGE...: download and unpack, without installing.
view_unpack() {
	local name=$1 dir=$2 debs deb
	shift 2
	debs=$CACHE/debs/$name
	rm -rf "$debs"
	mkdir -p "$debs" "$dir"
	(cd "$debs" && quietly "$CACHE/apt/$name/download.log" \
		view "$name" apt-get -q download "$@")
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "$debs"
}

# view_version NAME PACKAGE: the version that the view offers.
view_version() {
	view "$1" apt-cache show --no-all-versions "$2" |
		sed -n 's/^Version: //p' | head -n 1
}
