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
if [ $# = 0 ]; then # the archives are always for all platforms
	GOBIN=$dir CGO_ENABLED=0 GOFLAGS= go install "$(sed -n 's/^GORELEASER .*go run //p' "$top/Makefile")"
	targets+=(archives) args+=("GORELEASER=$dir/goreleaser")
fi

build() { # build NAME UMASK TZ
	git clone -q --no-checkout "$top" "$dir/$1"
	(
		umask "$2"
		export TZ=$3 GOFLAGS=
		[ "$1" = one ] || export GOCACHE=$dir/cache
		cd "$dir/$1"
		git checkout -q "$commit"
		make -s "${targets[@]}" "${args[@]}" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
		mkdir -p dist
		find build dist -type f ! -name compat.bash ! -name compat.zsh ! -name compat.fish \
			! -name compat.1.gz ! -path 'build/image/blobs/*' ! -name artifacts.json \
			! -name metadata.json | LC_ALL=C sort | xargs sha256sum
	) >"$dir/$1.sums"
	rm -rf "$dir/$1"
}
build one 022 UTC
build another 077 Asia/Kolkata

failed=0
while read -r sum name; do
	if grep -qxF "$sum  $name" "$dir/another.sums"; then word=same; else word=DIFFERENT failed=1; fi
	printf '%-9s %s  %s\n' "$word" "$sum" "$name"
done <"$dir/one.sums"
[ "$(wc -l <"$dir/one.sums")" = "$(wc -l <"$dir/another.sums")" ] || failed=1
exit $failed
