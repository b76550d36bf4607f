#!/usr/bin/env bash
# Builds the files of a release twice, in two clones of a commit with time zones and umasks of their
# own, once with the Go cache of the user and once with an empty one, and compares their SHA-256. It
# prints a table and fails if a file differs.
#
#   twice.sh [PLATFORM...]      such as linux/amd64; without one, all platforms of the Makefile
set -euo pipefail
top=$(git rev-parse --show-toplevel)
commit=$(git rev-parse HEAD)
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
args=() targets=(wheels packages image)
[ $# = 0 ] || args=("PLATFORMS=$*")
[[ $# = 0 || $* = *linux/* ]] || targets=(wheels) # the others are for Linux

build() { # build NAME UMASK TZ
	git clone -q --no-checkout "$top" "$dir/$1"
	(
		umask "$2"
		export TZ=$3 GOFLAGS=
		[ "$1" = one ] || export GOCACHE=$dir/cache
		cd "$dir/$1"
		git checkout -q "$commit"
		make -s "${targets[@]}" "${args[@]}" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
		cd build
		find . -type f ! -name 'compat.bash' ! -name 'compat.zsh' ! -name 'compat.fish' ! -name '*.gz' \
			! -path './image/blobs/*' | LC_ALL=C sort | xargs sha256sum
	) >"$dir/$1.sums"
	rm -rf "$dir/$1"
}
build one 022 UTC
build another 077 Asia/Kolkata

failed=0
while read -r sum name; do
	if grep -qxF "$sum  $name" "$dir/another.sums"; then word=same; else word=DIFFERENT failed=1; fi
	printf '%-9s %s  %s\n' "$word" "$sum" "${name#./}"
done <"$dir/one.sums"
[ "$(wc -l <"$dir/one.sums")" = "$(wc -l <"$dir/another.sums")" ] || failed=1
exit $failed
