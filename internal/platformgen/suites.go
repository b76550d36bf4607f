package main

import (
	"slices"
)

// architecture is one that policies name and Debian has.
type architecture struct {
	name   string // as in platform tags
	debian string
	suites []suite
	alpine string // Alpine's name where its releases are read; "" they are not
}

// suite is one release that is read as a column.
type suite struct {
	column   string // "debian11"
	mirror   string // folder on the mirror: "debian", "ubuntu"
	codename string // what apt calls it
	glibc    string
	updates  bool // its updates too: Ubuntu's first libstdc++ of a release is a snapshot of a compiler before its release
}

var (
	bullseye = suite{"debian11", "debian", "bullseye", "2.31", false}
	bookworm = suite{"debian12", "debian", "bookworm", "2.36", false}
	trixie   = suite{"debian13", "debian", "trixie", "2.41", false}
	sid      = suite{"sid", "debian", "sid", "2.43", false} // no platform of its own: it moves

	// riscv64 became an architecture of Debian with trixie; ppc64el and s390x left the mirrors' bullseye when its long-term support began. Of
	// Ubuntu a general mirror has the PC's architectures only; the others are derived.
	architectures = []architecture{
		{"x86_64", "amd64", []suite{
			{"ubuntu18.04", "ubuntu", "bionic", "2.27", true}, bullseye, {"ubuntu20.04", "ubuntu", "focal", "2.31", true}, {"ubuntu22.04", "ubuntu", "jammy", "2.35", true}, bookworm,
			{"ubuntu24.04", "ubuntu", "noble", "2.39", true}, trixie, {"ubuntu26.04", "ubuntu", "resolute", "2.43", true},
		}, "x86_64"},
		{"aarch64", "arm64", []suite{bullseye, bookworm, trixie, sid}, "aarch64"}, {"i686", "i386", []suite{bullseye, bookworm, trixie, sid}, ""}, {"armv7l", "armhf", []suite{bullseye, bookworm, trixie, sid}, ""},
		{"ppc64le", "ppc64el", []suite{bookworm, trixie, sid}, ""}, {"s390x", "s390x", []suite{bookworm, trixie, sid}, ""}, {"riscv64", "riscv64", []suite{trixie, sid}, ""},
	}
)

// basePackages are what a small Debian image with python has; extraPackages are one apt-get away and often missed. A name
// that a suite does not have is left out there (libffi7 is bullseye's, the t64 names trixie's).
var (
	basePackages = []string{
		"libc6", "libstdc++6", "libgcc-s1", "libgcc1", "zlib1g", "libcrypt1", "libtinfo5", "libtinfo6", "libncursesw5", "libncursesw6", "libexpat1", "libffi6", "libffi7", "libffi8",
		"libssl1.1", "libssl3", "libssl3t64", "libbz2-1.0", "liblzma5", "libuuid1", "libsqlite3-0", "libreadline7", "libreadline8", "libreadline8t64",
		"libnsl2", "libtirpc3", "libtirpc3t64", "libdb5.3", "libdb5.3t64", "libzstd1",
	}
	extraPackages = []string{"libgomp1", "libatomic1", "libgfortran4", "libgfortran5", "libquadmath0", "libitm1", "libnuma1"}
)

func isBase(pkg string) bool {
	return slices.Contains(basePackages, pkg) || slices.Contains(alpineBase, pkg)
}
