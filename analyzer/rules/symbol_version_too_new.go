package rules

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

var symbolVersionTooNew = &analyzer.Rule{
	ID:       "symbol-version-too-new",
	Title:    "a symbol version that the platform does not have yet",
	Severity: analyzer.Error,
	Doc: `An object imports a symbol under a version node (GLIBC_2.29, GLIBCXX_3.4.21, …) that the platform's own library does not define.
The loader checks the nodes of every library before anything runs, and refuses: "version ` + "`GLIBC_2.29'" + ` not found (required by …)".

It comes from a build on a newer system than the platform tag promises: the linker binds to the newest version that the build machine has.

To mend it, build in the image of the tag, claim a newer tag, or, where the same symbol has an older version, bind to that one with ` + "`.symver`" + `.

A tag older than manylinux2014 (manylinux1, manylinux2010) that only promises too much for systems that nobody supports any more is a warning.

Not seen: symbols that are looked up with dlsym, and versions that only another library of the package's own dependencies asks for.`,
	References: []string{
		"System V gABI, symbol versioning: LSB Core 5.0, chapter 10.7",
		"glibc: elf/dl-version.c",
		"PEP 600",
	},
	Check: checkSymbolVersion,
}

func checkSymbolVersion(p *analyzer.Pass) {
	retag := sync.OnceValue(func() []fix.Candidate { return retagging(p) })
	said := map[node]string{} // a library of thousands of imports has a few nodes
	came := func(n node) string {
		if _, ok := said[n]; !ok {
			said[n] = since(n.Version, platform.First(p.Platform.Arch, n.Library, n.Version)...)
		}
		return said[n]
	}
	for _, v := range p.Views {
		for b := range v.Bindings().Failed() {
			if b.Provider == nil || b.Provider.Kind != dynlink.FromPlatform ||
				b.Outcome != dynlink.NoVersion && b.Outcome != dynlink.NoSymbol {
				continue
			}
			i := b.Import
			f := analyzer.Finding{
				Object:  v.Path,
				Symbol:  i.Name,
				Version: i.Version,
				Library: i.Library,
				Chain:   analyzer.Chain(append(v.Loading.Chain(v.Library), b.Provider)...),
			}
			older := b.Provider.VersionsOf(i.Name)
			f.Message = fmt.Sprintf(
				"%s imports %s from %s, which %s does not have%s",
				v.Path,
				analyzer.Versioned(i.Name, i.Version),
				i.Library,
				p.Platform.Name,
				came(node{i.Library, i.Version}),
			)
			if len(older) > 0 {
				f.Message += fmt.Sprintf(
					"; it has %s",
					analyzer.Versioned(i.Name, older[len(older)-1]),
				)
			}
			f.Message += builtWith(v)
			if !p.Asked && onlyExtinct(p.Platform, i) {
				f.Severity = analyzer.Warning
				f.Message += "; no system that is still supported is that old, but the tag says more than is true"
			}
			p.Report(
				f,
				slices.Concat(retag(), symver(v, i, older), fromHeaders(i), lowering(p, v, i))...)
		}
		for _, n := range bareNodes(v) {
			if l := p.Platform.Library(n.Library); l == nil || !l.Known || l.HasVersion(n.Version) {
				continue
			}
			p.Report(
				analyzer.Finding{
					Object:  v.Path,
					Version: n.Version,
					Library: n.Library,
					Chain:   []string{v.Path, n.Library},
					Message: fmt.Sprintf(
						"%s needs version %s of %s, which %s does not have%s",
						v.Path,
						n.Version,
						n.Library,
						p.Platform.Name,
						came(n),
					),
				},
				slices.Concat(
					retag(),
					packed(n.Version),
					lowering(p, v, elfobj.Import{Version: n.Version, Library: n.Library}),
				)...)
		}
	}
}

// node is a version that is needed of a library.
type node struct{ Library, Version string }

// bareNodes are needed versions that no import carries, such as GLIBC_ABI_DT_RELR.
func bareNodes(v *analyzer.View) []node {
	carried := map[node]bool{}
	for _, i := range v.Imports.All() {
		if i.Library != "" || i.Version != "" {
			carried[node{i.Library, i.Version}] = true
		}
	}
	var out []node
	for _, need := range v.VersionNeeds {
		for _, n := range need.Versions {
			if x := (node{need.Library, n.Name}); !n.Weak && !carried[x] {
				out = append(out, x)
			}
		}
	}
	return out
}

// packed offers the flag that leaves out packed relative relocations, and with them the version that marks them.
func packed(version string) []fix.Candidate {
	if version != relrVersion {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindLinkFlag,
				Title:   "Link without packed relative relocations",
				Command: "-Wl,-z,nopack-relative-relocs",
			},
		},
	}
}

// onlyExtinct tells whether a platform is older than every living one and the import is there on the oldest of those: manylinux1 and
// manylinux2010 wheels are installed everywhere and fail nowhere.
func onlyExtinct(p *platform.Platform, i elfobj.Import) bool {
	if !analyzer.Extinct(p) {
		return false
	}
	living, err := platform.Lookup("manylinux_2_17", p.Arch)
	return err == nil && anywhere(living, i)
}

// since says when a version came and which systems have it, where they are given; "" where it is not known.
func since(version string, systems ...string) string {
	s := platform.Describe(version)
	if s == "" {
		return ""
	}
	if len(systems) > 0 {
		s += "; " + strings.Join(systems, ", ") + " and newer have it"
	}
	return " (" + s + ")"
}

// builtWith names the compiler that .comment tells of: the build image is the usual cause.
func builtWith(v *analyzer.View) string {
	if len(v.Comment) == 0 {
		return ""
	}
	return "; it was built with " + strings.TrimPrefix(v.Comment[len(v.Comment)-1], "GCC: ")
}

// retagging offers the oldest policy that has everything, and the image of the claimed one.
func retagging(p *analyzer.Pass) []fix.Candidate {
	if p.Facts.Kind != analyzer.KindWheel || p.Platform.Kind != platform.Policy {
		return nil
	}
	var out []fix.Candidate
	for _, q := range platform.All(p.Platform.Arch) {
		if q.Kind != "policy" || q.Libc != p.Platform.Libc || !allVersions(p, q) {
			continue
		}
		out = append(out, fix.Candidate{
			Fix: fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: "Tag the wheel " + q.Name,
				Command: "wheel tags --remove --platform-tag " + q.Name + " " + quoted(
					p.Facts.Path,
				),
				Cost: []string{
					fmt.Sprintf(
						"pip no longer installs it on systems with glibc older than %s",
						q.LibcVersion,
					),
				},
			},
			Change: fix.Retag{Platform: q.Name + "/" + q.Arch},
		})
		break
	}
	if image := imageFor(p.Platform); image != "" {
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindImage,
					Title:   "Build in the " + image + " image, whose toolchain has no newer versions",
					Command: "quay.io/pypa/" + image + "_" + p.Platform.Arch,
				},
			},
		)
	}
	return out
}

// images are the build images of the manylinux project by the glibc they have, newest first (pypa/manylinux README).
var images = []struct{ libc, name string }{
	{"2.39", "manylinux_2_39"},
	{"2.34", "manylinux_2_34"},
	{"2.28", "manylinux_2_28"},
	{"2.17", "manylinux2014"},
}

// imageFor names the newest image that is no newer than the platform, "" when there is none.
func imageFor(p *platform.Platform) string {
	if p.Libc != "glibc" {
		return ""
	}
	for _, i := range images {
		if !analyzer.OlderRelease(p.LibcVersion, i.libc) {
			return i.name
		}
	}
	return ""
}

// allVersions tells whether a platform has every versioned import that this one's libraries are asked for.
func allVersions(p *analyzer.Pass, q *platform.Platform) bool {
	for _, v := range p.Views {
		for b := range v.Bindings().To(dynlink.FromPlatform) {
			i := b.Import
			if i.Version == "" {
				continue
			}
			if l := q.Library(i.Library); l == nil ||
				l.Known && !l.Has(i.Name, i.Version) && !anywhere(q, i) {
				return false
			}
		}
		for _, n := range bareNodes(v) {
			if l := q.Library(n.Library); l != nil && l.Known && !l.HasVersion(n.Version) {
				return false
			}
		}
	}
	return true
}

// anywhere looks a symbol up in every library of a platform: since glibc 2.30 the loader does not care which one brings it.
func anywhere(q *platform.Platform, i elfobj.Import) bool {
	for _, l := range q.Libraries() {
		if l.Known && l.Has(i.Name, i.Version) {
			return true
		}
	}
	return false
}

// symver offers the newest version of the symbol that the platform has.
func symver(v *analyzer.View, i elfobj.Import, older []string) []fix.Candidate {
	if len(older) == 0 || older[len(older)-1] == "" || strings.HasPrefix(i.Name, "_Z") {
		return nil
	}
	to := older[len(older)-1]
	return []fix.Candidate{{
		Fix: fix.Fix{
			Kind: fix.KindSymver,
			Title: fmt.Sprintf(
				"Bind %s to its older version %s in one header that every source includes",
				i.Name,
				to,
			),
			Command: fmt.Sprintf(
				`__asm__(".symver %s,%s@%s");`,
				i.Name,
				i.Name,
				to,
			),
			Cost: []string{"the older version's behaviour"},
		},
		Change: fix.BindOlder{
			Reference: fix.Reference{Object: v.Path, Symbol: i.Name, Version: i.Version},
			Version:   to,
		},
	}}
}

// quoted is a file name as a shell argument; only its last part, which is what the user has at hand.
func quoted(p string) string { return shellword.Quote(p[strings.LastIndex(p, "/")+1:]) }
