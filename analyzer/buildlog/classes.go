package buildlog

import (
	"fmt"
	"slices"
	"strings"
)

// class is what a diagnosis says, as a sentence, and where to look first. The list is closed:
// programs count on it.
type class struct {
	name, says, cause string
}

// Classes of diagnoses. A cause of unknown means that the same words come from an artifact built
// too new and from an environment that is too old or has another copy in the way.
var classes = []class{
	{
		"glibc-too-old",
		"the glibc that was found is older than the one this was built on",
		CauseUnknown,
	},
	{
		"libstdcxx-too-old",
		"the C++ runtime that was found is older than the one this was built with, or an older copy is in the way",
		CauseUnknown,
	},
	{
		"version-missing",
		"the copy of the library that was found is not of the version this was built with",
		CauseEnvironment,
	},
	{
		"dt-relr",
		"this was linked with packed relative relocations, which glibc before 2.36 can't read",
		CauseArtifact,
	},
	{"glibc-mixed", "parts of two builds of glibc are in one process", CauseEnvironment},
	{"undefined-symbol", "no loaded library has the symbol", CauseUnknown},
	{
		"underlinked",
		"the object uses a symbol of a library that it does not list as DT_NEEDED",
		CauseArtifact,
	},
	{
		"framework-abi",
		"this was built against another version (or C++ string ABI) of the framework than the one installed",
		CauseUnknown,
	},
	{
		"gpu-library-skew",
		"the GPU library that was found is of another version than the one this was built with",
		CauseEnvironment,
	},
	{
		"gpu-library-missing",
		"a library of the GPU stack is not installed or not on the search path",
		CauseEnvironment,
	},
	{
		"gpu-vendor-mismatch",
		"this was built for the torch of another GPU vendor than the one installed",
		CauseUnknown,
	},
	{"library-not-found", "the library was not found", CauseUnknown},
	{"link-undefined-symbol", "nothing on the link line has the symbol", CauseBuild},
	{
		"link-dso-missing",
		"a shared library that is only needed indirectly has the symbol; it must be named on the link line",
		CauseBuild,
	},
	{
		"link-needed-not-found",
		"the linker could not find a library that another one needs",
		CauseBuild,
	},
	{"link-not-pic", "the object was not compiled as position independent code", CauseBuild},
	{"wrong-platform", "the file is for another machine or another loader", CauseUnknown},
	{"invalid-elf", "the file is no ELF file, or damaged", CauseUnknown},
	{"segment-alignment", "the file's segments are aligned for another page size", CauseArtifact},
	{
		"static-tls",
		"the space for static thread-local storage is used up when the library is loaded late",
		CauseEnvironment,
	},
	{
		"executable-stack",
		"the object asks for an executable stack, which newer systems refuse",
		CauseArtifact,
	},
	{"hardware-not-supported", "the binary has no code for this processor or GPU", CauseUnknown},
	{"musl-glibc-mix", "this was built for glibc and runs on musl (or the reverse)", CauseUnknown},
	{
		"host-abi",
		"the extension was built for another version of the program that loads it",
		CauseUnknown,
	},
	{"platform-tag", "the platform tag promises something else than the file needs", CauseArtifact},
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

// cause is the class's, unless the text tells more.
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

// shadowed: the library is not where the system keeps it.
func shadowed(path string) bool {
	if !strings.Contains(path, "/") {
		return false
	}
	for _, dir := range []string{"/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/"} {
		if strings.HasPrefix(path, dir) {
			return false
		}
	}
	return true
}

// message is one sentence: what, of whom, and what it means.
func message(d *Diagnosis) string {
	var b strings.Builder
	if d.Object != "" {
		fmt.Fprintf(&b, "%s: ", base(d.Object))
	}
	b.WriteString(classOf(d.Class).says)
	var named []string
	if d.Symbol != "" {
		named = append(named, "symbol "+short(d.Symbol))
	}
	if d.Version != "" {
		named = append(named, "version "+short(d.Version))
	}
	if d.Library != "" {
		named = append(named, "library "+base(d.Library))
	}
	if len(named) > 0 {
		b.WriteString(" (" + strings.Join(named, ", ") + ")")
	}
	return b.String()
}

// short cuts a mangled name of a template to what fits into a sentence.
func short(s string) string {
	if len(s) <= 120 {
		return s
	}
	return strings.ToValidUTF8(s[:117], "") + "…"
}
