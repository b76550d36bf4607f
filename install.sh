#!/bin/sh
# Installs the program compat of a release; usage has the options.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

usage() {
	cat <<'END'
Installs the program compat of a release. It downloads the archive for this system, compares its
SHA-256 and copies the program into a folder. With cosign, it verifies the signature of checksums.txt.

  install.sh [--version 1.2.3] [--dir DIR] [--sha256 HEX]

--version   the release (default: the newest)
--dir       the folder (default: ~/.local/bin)
--sha256    the digest that the archive must have (default: the one in checksums.txt)

COMPAT_RELEASES is the address of the releases, for a mirror.
END
}

version='' dir=${HOME:-}/.local/bin sha256=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit
		;;
	--version | --dir | --sha256) ;;
	*) fail "unknown option $1; see --help" ;;
	esac
	[ $# -gt 1 ] || fail "$1 needs a value"
	case $1 in
	--version) version=${2#v} ;;
	--dir) dir=$2 ;;
	--sha256) sha256=$2 ;;
	esac
	shift 2
done
# The version becomes part of an address, so that it must not contain "/" or "..".
case $version in
'') ;;
*[!0-9A-Za-z.+-]* | *..* | [!0-9]*) fail "--version $version: give the number of a release, such as 1.2.3 (or, in the Action, source)" ;;
*.*.*) ;;
*) fail "--version $version: a release has three numbers, such as 1.2.3" ;;
esac

program=compat
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows program=compat.exe ;;
*) fail "there is no program for $(uname -s); build it with: go install ./cmd/compat" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no program for $(uname -m); build it with: go install ./cmd/compat" ;;
esac

releases=${COMPAT_RELEASES:-https://github.com/compat-app/compat/releases}
from=$releases/latest/download
[ -z "$version" ] || from=$releases/download/v$version

get() {
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 --proto-redir =https -o "$2" "$1"
	else
		wget -q -O "$2" "$1"
	fi || fail "cannot download $1"
}
digest() {
	if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
get "$from/checksums.txt" "$tmp/checksums.txt"
note='; cosign is not installed, so the signature of checksums.txt was not verified'
if command -v cosign >/dev/null; then
	get "$from/checksums.txt.sig" "$tmp/checksums.txt.sig"
	get "$from/checksums.txt.pem" "$tmp/checksums.txt.pem"
	cosign verify-blob --signature "$tmp/checksums.txt.sig" --certificate "$tmp/checksums.txt.pem" \
		--certificate-oidc-issuer https://token.actions.githubusercontent.com \
		--certificate-identity-regexp \
		'^https://github\.com/compat-app/compat/\.github/workflows/release\.yml@refs/tags/v[0-9.]+$' \
		"$tmp/checksums.txt" >"$tmp/cosign" 2>&1 || {
		cat "$tmp/cosign" >&2
		fail "the signature of $from/checksums.txt is not that of a release; nothing is installed"
	}
	note=', whose signature cosign verified'
fi
line=$(grep -E "^[0-9a-f]{64}  compat_[^ /]+_${os}_${arch}\.tar\.gz$" "$tmp/checksums.txt") ||
	fail "$from/checksums.txt has no archive for $os $arch"
archive=${line#*  }
get "$from/$archive" "$tmp/archive"
have=$(digest "$tmp/archive")
[ "$have" = "${sha256:-${line%% *}}" ] ||
	fail "$archive has the SHA-256 $have instead of ${sha256:-${line%% *}}; it is not installed"
tar -xzf "$tmp/archive" -C "$tmp" "$program"
mkdir -p "$dir"
mv -f "$tmp/$program" "$dir/$program"
chmod 755 "$dir/$program"
echo "installed $("$dir/$program" version) as $dir/$program$note"
