package buildlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// class is the sentence for a kind of error, and its cause. Programs depend on the names.
type class struct {
	name, text, cause string
}

// classes lists all classes. CauseUnknown means that the same text is printed if the artifact
// was built on a system that is too new, and if the environment is too old or finds another
// copy first.
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
		"the library that was found is not the version that was used at build time",
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
		"the GPU library that was found is not the version that was used at build time",
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
		"the static TLS block has no space left when the library is loaded",
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
	{"link-multiple-definition", "the symbol is defined more than once", CauseBuild},
	{"link-version-script", "a version script names a symbol or version that does not " +
		"exist", CauseBuild},
	{"link-wrong-target", "the file is for another architecture or system than the " +
		"output", CauseBuild},
	{
		"copy-relocation",
		"the program's own copy of a library's variable or function does not match the library",
		CauseUnknown,
	},
	{"load-refused", "the system does not allow the file to be loaded", CauseEnvironment},
	{"not-a-library", "the file is a program, which cannot be loaded as a library", CauseArtifact},
	{
		"platform-package-missing",
		"the package with the binary for this platform is not installed",
		CauseEnvironment,
	},
}

// Classes returns the values of Diagnosis.Class.
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

// causeOf returns the cause of the class, unless the text is more specific.
func causeOf(d *Diagnosis) string {
	switch {
	case d.Rule == "pip-wheel-not-supported", d.Rule == noDistribution, d.Rule == "uv-no-wheel",
		d.Rule == "python-extension-missing", d.Rule == "torch-operator-missing":
		return CauseEnvironment
	case strings.HasPrefix(d.Rule, "ld-"),
		strings.HasPrefix(d.Rule, "ld64-"),
		strings.HasPrefix(d.Rule, "make-"),
		strings.HasPrefix(d.Rule, "meson-"),
		strings.HasPrefix(d.Rule, "nvcc-"):
		return CauseBuild
	case d.Class == "libstdcxx-too-old" && shadowed(d.Library):
		// a copy in a conda environment or LD_LIBRARY_PATH precedes the system's
		return CauseEnvironment
	case d.Class == "library-not-found" && ownCopy(d.Library):
		return CauseArtifact // only auditwheel creates names with such a hash
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

// moduleTexts are the messages of rules about modules that use another package's C API.
var moduleTexts = map[string]string{
	"numpy-abi": "the extension was built against another NumPy than the one that is installed, " +
		"such as NumPy 1 where NumPy 2 is",
	"numpy-api": "the extension was built against a newer NumPy than the one that is installed",
	cythonAPI: "the extension was built against another release of a package whose types or C " +
		"functions it uses than the one that is installed",
	libxml2Mismatch: "the wheels of lxml and xmlsec bundle different releases of libxml2, and pass " +
		"its data to each other",
}

// message returns a sentence with the object, the error, and the names.
func message(d *Diagnosis) string {
	var b strings.Builder
	if d.Object != "" {
		fmt.Fprintf(&b, "%s: ", base(d.Object))
	}
	if (strings.HasPrefix(d.Rule, "numpy-a") || d.Rule == cythonAPI) && d.named != "" {
		b.WriteString(d.named + ": ")
	}
	b.WriteString(cmp.Or(systemTexts[d.Rule], moduleTexts[d.Rule], classOf(d.Class).text))
	var named []string
	switch {
	case d.Rule == cythonAPI:
		named = append(named, shorten(d.Symbol)) // a type or a function
	case d.Symbol != "":
		named = append(named, "symbol "+shorten(d.Symbol))
	}
	if d.Version != "" {
		named = append(named, "version "+shorten(d.Version))
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

// shorten shortens a long name in a sentence.
func shorten(s string) string {
	if len(s) <= 120 {
		return s
	}
	return strings.ToValidUTF8(s[:117], "") + "…"
}
