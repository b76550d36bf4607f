package buildlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// class is the sentence of a diagnosis, and where to fix it. The list is closed: programs rely on
// it.
type class struct {
	name, text, cause string
}

// Classes of diagnoses. An unknown cause means that the same text is printed for an artifact that
// was built too new, and for an environment that is too old or finds another copy first.
var classes = []class{
	{
		"glibc-too-old",
		"glibc is older than the one that it was built on",
		CauseUnknown,
	},
	{
		"libstdcxx-too-old",
		"libstdc++ is too old",
		CauseUnknown,
	},
	{
		"version-missing",
		"the library that was found has another version than at build time",
		CauseEnvironment,
	},
	{
		"dt-relr",
		"it has packed relative relocations, which glibc before 2.36 does not support",
		CauseArtifact,
	},
	{"glibc-mixed", "two builds of glibc are mixed in one process", CauseEnvironment},
	{"undefined-symbol", "no loaded library has the symbol", CauseUnknown},
	{
		"underlinked",
		"it uses a symbol of a library that it does not list in DT_NEEDED",
		CauseArtifact,
	},
	{
		"framework-abi",
		"it was built against another version (or C++ string ABI) of the framework",
		CauseUnknown,
	},
	{
		"gpu-library-skew",
		"the GPU library that was found has another version than at build time",
		CauseEnvironment,
	},
	{
		"gpu-library-missing",
		"a library of the GPU stack is not installed or not on the search path",
		CauseEnvironment,
	},
	{
		"gpu-vendor-mismatch",
		"it was built for a torch with another GPU stack",
		CauseUnknown,
	},
	{"library-not-found", "the library was not found", CauseUnknown},
	{"link-undefined-symbol", "no library on the link line has the symbol", CauseBuild},
	{
		"link-dso-missing",
		"only an indirect dependency has the symbol; link with that library",
		CauseBuild,
	},
	{
		"link-needed-not-found",
		"the linker does not find a library that another one needs",
		CauseBuild,
	},
	{"link-not-pic", "the object was not compiled with -fPIC", CauseBuild},
	{"wrong-platform", "the file is for another architecture or another loader", CauseUnknown},
	{"invalid-elf", "the file is not an ELF file, or is damaged", CauseUnknown},
	{"segment-alignment", "the segments are aligned for another page size", CauseArtifact},
	{
		"static-tls",
		"no static TLS is left when the library is loaded",
		CauseEnvironment,
	},
	{
		"executable-stack",
		"it requires an executable stack, which newer systems do not allow",
		CauseArtifact,
	},
	{"hardware-not-supported", "the binary has no code for this processor or GPU", CauseUnknown},
	{"musl-glibc-mix", "it was built for another C library (glibc or musl)", CauseUnknown},
	{
		"host-abi",
		"the extension was built for another version of the program that loads it",
		CauseUnknown,
	},
	{"platform-tag", "the platform tag does not match what the file needs", CauseArtifact},
}

// Classes are the names that Diagnosis.Class can have.
func Classes() []string {
	out := make([]string, len(classes))
	for i, c := range classes {
		out[i] = c.name
	}
	return out
}

func classOf(name string) class {
	return classes[slices.IndexFunc(classes, func(c class) bool { return c.name == name })]
}

// cause is the cause of the class, unless the text of the log is more precise.
func cause(d *Diagnosis) string {
	switch {
	case d.Rule == "pip-wheel-not-supported":
		return CauseEnvironment
	case strings.HasPrefix(d.Rule, "ld-"),
		strings.HasPrefix(d.Rule, "make-"),
		strings.HasPrefix(d.Rule, "meson-"),
		strings.HasPrefix(d.Rule, "nvcc-"):
		return CauseBuild
	case d.Class == "libstdcxx-too-old" && shadowed(d.Library):
		// conda's copy, or one of LD_LIBRARY_PATH, is found before the system's
		return CauseEnvironment
	case d.Class == "library-not-found" && ownCopy(d.Library):
		return CauseArtifact // a name with auditwheel's hash is nobody else's
	}
	return classOf(d.Class).cause
}

// shadowed reports whether a library is outside the folders of the system.
func shadowed(path string) bool {
	if !strings.Contains(path, "/") {
		return false
	}
	for _, dir := range []string{"/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/",
		"/usr/lib32/"} {
		if strings.HasPrefix(path, dir) {
			return false
		}
	}
	return true
}

// message is one sentence: the object, what is wrong, and the names involved.
func message(d *Diagnosis) string {
	var b strings.Builder
	if d.Object != "" {
		fmt.Fprintf(&b, "%s: ", base(d.Object))
	}
	b.WriteString(classOf(d.Class).text)
	var named []string
	if d.Symbol != "" {
		named = append(named, "symbol "+short(d.Symbol))
	}
	if d.Version != "" {
		named = append(named, "version "+short(d.Version))
	}
	if release := platform.GCCRelease(d.Version); release != "" {
		named = append(named, "GCC "+release)
	}
	if d.Library != "" {
		named = append(named, "library "+base(d.Library))
	}
	if len(named) > 0 {
		b.WriteString(" (" + strings.Join(named, ", ") + ")")
	}
	return b.String()
}

// short shortens a long name for a sentence.
func short(s string) string {
	if len(s) <= 120 {
		return s
	}
	return strings.ToValidUTF8(s[:117], "") + "…"
}
