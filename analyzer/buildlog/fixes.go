package buildlog

import (
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

// newFix returns a fix without costs.
func newFix(kind fix.Kind, title string, command shellword.Line) fix.Fix {
	return fix.Fix{Kind: kind, Title: fix.Text(title), Command: command, Cost: []string{}}
}

// fixes returns at most three fixes for a diagnosis, the most likely first. owners are the -l
// names of all libraries that the object does not link.
func fixes(d *Diagnosis, owners []string) []fix.Fix {
	if d.Rule == jvmMethod {
		return methodFixes(d)
	}
	for _, of := range []func(*Diagnosis) []fix.Fix{settingFixes, systemFixes, pythonFixes} {
		if f := of(d); f != nil {
			return f
		}
	}
	switch d.Class {
	case "link-undefined-symbol", "link-dso-missing", "link-needed-not-found", "underlinked":
		return linkFixes(d, owners)
	case "undefined-symbol":
		if owner(d.Symbol) != "" {
			return linkFixes(d, owners)
		}
	}
	if of := fixesOf[d.Class]; of != nil {
		return of(d)
	}
	return libraryFixes(d)
}

// fixesOf returns the fixes for a diagnosis of a class; other classes are about a library.
var fixesOf = map[string]func(*Diagnosis) []fix.Fix{
	"glibc-too-old":          glibcFixes,
	"libstdcxx-too-old":      cxxFixes,
	"version-missing":        versionFixes,
	"dt-relr":                relrFixes,
	"glibc-mixed":            mixedGlibcFixes,
	"undefined-symbol":       symbolFixes,
	"framework-abi":          frameworkFixes,
	"hardware-not-supported": hardwareFixes,
	"musl-glibc-mix":         libcFixes,
	"host-abi":               hostFixes,
	"platform-tag":           tagFixes,
	"wrong-platform":         platformFixes,
	"invalid-elf":            fileFixes,
	"segment-alignment":      alignmentFixes,
	"static-tls":             tlsFixes,
	"executable-stack":       stackFixes,
	"link-not-pic":           picFixes,

	"link-multiple-definition": definitionFixes,
	"link-version-script":      scriptFixes,
	"link-wrong-target":        targetFixes,
	"copy-relocation":          copyFixes,
	"load-refused":             refusedFixes,
	"not-a-library":            programFixes,
	"platform-package-missing": packageFixes,
}

// buildIn returns the command that starts a shell in a build image of the manylinux project, such
// as "manylinux_2_28". arch is "" for that of the machine.
func buildIn(image, arch string) shellword.Line {
	name := shellword.Quote(image + "_" + arch)
	if arch == "" {
		name = shellword.Quote(image) + `_$(uname -m)`
	}
	return `docker run --rm -it -v "$PWD:/src" -w /src quay.io/pypa/` + name
}

// imageOfTag returns the fix for a wheel that needs more than its tag, or the one that it should
// get, promises. tag is "" if the text does not name it.
func imageOfTag(tag string) fix.Fix {
	const other = "Build in the image of the platform that the tag names"
	p, err := platform.Lookup(tag, "")
	if err != nil {
		return newFix(fix.KindImage, other, "")
	}
	image := platform.BuildImage(p)
	if image == "" {
		return newFix(fix.KindImage, "Build on an older system, or choose a newer tag: the oldest image "+
			"that is maintained is manylinux2014", buildIn("manylinux2014", p.Arch))
	}
	return newFix(fix.KindImage, "Build in the "+image+" image", buildIn(image, p.Arch))
}

// frameworkName returns the Python package whose ABI a diagnosis is about, or "the framework".
func frameworkName(d *Diagnosis) string {
	for _, x := range []struct{ part, name string }{
		{"5torch", "torch"}, {"3c10", "torch"}, {"2at", "torch"}, {"torch::", "torch"},
		{"c10::", "torch"}, {"at::", "torch"}, {"10tensorflow", "tensorflow"},
		{"tensorflow::", "tensorflow"}, {"5arrow", "pyarrow"}, {"arrow::", "pyarrow"},
	} {
		if strings.Contains(d.Symbol, x.part) {
			return x.name
		}
	}
	return "the framework"
}

func preload(d *Diagnosis) shellword.Line {
	if strings.HasPrefix(d.Object, "/") {
		if c := shellword.Bare("LD_PRELOAD=%s", d.Object); c != "" {
			return c
		}
	}
	return "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
}

// defining returns the fix for a symbol whose definition is not part of the build.
func defining(d *Diagnosis) fix.Fix {
	var command shellword.Line
	if strings.HasPrefix(d.Symbol, "_Z") { // a name of C++ says which class it belongs to
		command = shellword.Bare("c++filt %s", d.Symbol)
	}
	return newFix(
		fix.KindSource,
		"Add the source or library that defines "+shorten(d.Symbol)+" to the build; a library that "+
			"is linked already has to export it (visibility, version script)",
		command,
	)
}
