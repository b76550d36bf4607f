package main

import (
	"slices"
)

// architecture is one that policies name and Debian has.
type architecture struct {
	name   string // as in platform tags
	debian string
	suites []suite
}

type suite struct {
	column   string // "debian11"
	codename string // what apt calls it
	glibc    string
}

var (
	suites = []suite{{"debian11", "bullseye", "2.31"}, {"debian12", "bookworm", "2.36"}, {"debian13", "trixie", "2.41"}}

	// riscv64 became an architecture of Debian with trixie; ppc64el and s390x left the mirrors' bullseye when its long-term support began.
	architectures = []architecture{
		{"x86_64", "amd64", suites}, {"aarch64", "arm64", suites}, {"i686", "i386", suites}, {"armv7l", "armhf", suites},
		{"ppc64le", "ppc64el", suites[1:]}, {"s390x", "s390x", suites[1:]}, {"riscv64", "riscv64", suites[2:]},
	}
)

// basePackages are what a small Debian image with python has; extraPackages are one apt-get away and often missed. A name
// that a suite does not have is left out there (libffi7 is bullseye's, the t64 names trixie's).
var (
	basePackages = []string{
		"libc6", "libstdc++6", "libgcc-s1", "zlib1g", "libcrypt1", "libtinfo6", "libncursesw6", "libexpat1", "libffi7", "libffi8",
		"libssl1.1", "libssl3", "libssl3t64", "libbz2-1.0", "liblzma5", "libuuid1", "libsqlite3-0", "libreadline8", "libreadline8t64",
		"libnsl2", "libtirpc3", "libtirpc3t64", "libdb5.3", "libdb5.3t64", "libzstd1",
	}
	extraPackages = []string{"libgomp1", "libatomic1", "libgfortran5", "libquadmath0", "libitm1", "libnuma1"}
)

func isBase(pkg string) bool { return slices.Contains(basePackages, pkg) }
