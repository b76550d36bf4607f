package main

import (
	"github.com/compat-app/compat/internal/apt"
)

// architecture is one that policies name and Debian has.
type architecture struct {
	name   string // as in platform tags
	debian string
	suites []suite
	alpine string // Alpine's name where its releases are read; "" for the musl of Debian
}

// suite is one release that is read as a column.
type suite struct {
	column string // "debian11"
	apt    apt.Suite
	glibc  string
}

func debian(column, codename, glibc string) suite {
	return suite{column, apt.Suite{Mirror: "debian", Codename: codename}, glibc}
}

// ubuntu is read with its updates: the first libstdc++ of a release is a snapshot of a compiler
// before its release.
func ubuntu(column, codename, glibc string) suite {
	return suite{column, apt.Suite{Mirror: "ubuntu", Codename: codename, Updates: true}, glibc}
}

var (
	bullseye = debian("debian11", "bullseye", "2.31")
	bookworm = debian("debian12", "bookworm", "2.36")
	trixie   = debian("debian13", "trixie", "2.41")
	sid      = debian("sid", "sid", "2.43") // no platform of its own: it moves

	// riscv64 became an architecture of Debian with trixie, loong64 after it; ppc64el and s390x left
	// the mirrors' bullseye when its long-term support began. Of Ubuntu a general mirror has the PC's
	// architectures only; the others are derived.
	architectures = []architecture{
		{"x86_64", "amd64", []suite{
			ubuntu(
				"ubuntu18.04",
				"bionic",
				"2.27",
			), bullseye, ubuntu("ubuntu20.04", "focal", "2.31"), ubuntu("ubuntu22.04", "jammy", "2.35"),
			bookworm,
			ubuntu("ubuntu24.04", "noble", "2.39"), trixie, ubuntu("ubuntu26.04", "resolute", "2.43"),
		}, "x86_64"},
		{
			"aarch64",
			"arm64",
			[]suite{bullseye, bookworm, trixie, sid},
			"aarch64",
		}, {"i686", "i386", []suite{bullseye, bookworm, trixie, sid}, ""},
		{"armv7l", "armhf", []suite{bullseye, bookworm, trixie, sid}, ""},
		{
			"ppc64le",
			"ppc64el",
			[]suite{bookworm, trixie, sid},
			"",
		}, {"s390x", "s390x", []suite{bookworm, trixie, sid}, ""},
		{"riscv64", "riscv64", []suite{trixie, sid}, ""},
		{"loongarch64", "loong64", []suite{sid}, ""},
	}
)

// extraPackages are often installed, but not part of a small image: most are one apt-get away. A
// name that a suite does not have is left out there (the t64 names are those of trixie).
var extraPackages = []string{
	"libstdc++6", "libtinfo5", "libncursesw5", "libnsl2", "libtirpc3", "libtirpc3t64", "libdb5.3",
	"libdb5.3t64", "libgomp1", "libatomic1", "libgfortran4", "libgfortran5", "libquadmath0", "libitm1",
	"libnuma1",
	// those of the libraries that policies allow
	"libglib2.0-0", "libglib2.0-0t64", "libx11-6", "libxext6", "libxrender1", "libice6", "libsm6",
}
