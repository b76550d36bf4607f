package facts

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Kinds of artifacts.
const (
	KindWheel   = unpack.KindWheel
	KindArchive = unpack.KindArchive // any other archive
	KindObject  = unpack.KindObject  // a loose file
)

// Artifact is what was read from one wheel, archive or loose file.
type Artifact struct {
	Path   string // as given; a member of an archive as "outer.zip/inner.whl"
	SHA256 string // of its bytes, hex
	Kind   string // KindWheel, KindArchive or KindObject
	Format string // unpack.FormatDeb and the others; "" for an object
	// Depends is what a deb, rpm or conda package declares that it needs: names of packages, and
	// capabilities in an rpm.
	Depends  []string
	Wheel    *pkgmeta.WheelName // nil for what is not named like a wheel
	Metadata *pkgmeta.Metadata  // nil where there is none or it could not be read
	Objects  []*Object          // ELF files, sorted by path
	MachO    []*MachObject      // Mach-O files, sorted by path
	PE       []*PEObject        // PE files, sorted by path
	UnreadPE []string           // paths of PE files that could not be read
	// UnreadMachO are paths of Mach-O files of which no slice could be read.
	UnreadMachO []string
	// Startup is what Python sources do about the search for libraries; nil where none was read.
	Startup *startup.Sources
	// Policy is auditwheel's verdict; nil for what is no wheel or not named like one.
	Policy *wheelpolicy.Policy
	ABI3   *abi3.Result // abi3audit's verdict; nil for a wheel without an abi3 tag
	Inside *Inside      // what a wheel declares about its members; nil for other artifacts
	// Headers: it contains headers of C or C++, so programs may be compiled against it.
	Headers bool

	audit *audit // while it is read
	conda bool   // it has an index of a conda package
}

// Binaries is the number of files that are checked, of all formats.
func (a *Artifact) Binaries() int { return len(a.Objects) + len(a.MachO) + len(a.PE) }

// Tagged reports whether a wheel's tags name an architecture.
func (a *Artifact) Tagged(arch string) bool {
	return a.Wheel != nil &&
		slices.ContainsFunc(
			a.Wheel.Tags,
			func(t pkgmeta.Tag) bool { return strings.HasSuffix(t.Platform, "_"+arch) },
		)
}

// ForOtherLibc reports whether an object was built for the other libc, and the artifact also has
// objects for this one: the installer or the program picks one of them.
func (a *Artifact) ForOtherLibc(o *Object, libc string) bool {
	other := func(x *Object) bool { return x.Musl() != (libc == "musl") && x.namesLibc() }
	return other(o) &&
		slices.ContainsFunc(a.Objects, func(x *Object) bool { return x.namesLibc() && !other(x) })
}

// Libcs lists the libc families that the objects of one architecture were linked with: "glibc",
// "musl" or both; glibc where no object names one.
func (a *Artifact) Libcs(arch string) []string {
	var glibc, musl bool
	for _, o := range a.Objects {
		if o.Arch() == arch {
			musl = musl || o.Musl()
			glibc = glibc || o.namesLibc() && !o.Musl()
		}
	}
	switch {
	case musl && glibc:
		return []string{"glibc", "musl"}
	case musl:
		return []string{"musl"}
	}
	return []string{"glibc"}
}
