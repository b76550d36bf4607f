package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

// lowering returns ways to build an object for an older system, with the tools that built it.
// Wheels have their own images and tags.
func lowering(p *analyzer.Pass, v *analyzer.View, i elfobj.Import) []fix.Candidate {
	if p.Facts.Kind == analyzer.KindWheel || p.Platform.Libc != "glibc" {
		return nil
	}
	target := strings.TrimSuffix(p.Platform.Arch, "le") + "-linux-gnu." + p.Platform.LibcVersion
	var out []fix.Candidate
	switch {
	case builtByGo(v):
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   fix.Titled("Build without cgo, so that the program does not need libc"),
					Command: "CGO_ENABLED=0 go build",
				},
			},
		)
	case slices.ContainsFunc(v.Comment, func(s string) bool { return strings.HasPrefix(s, "rustc") }):
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fix.Titled("Link against the older glibc"),
					Command: "cargo zigbuild --release --target " + shellword.Quote(
						p.Platform.Arch+"-unknown-linux-gnu."+p.Platform.LibcVersion),
				},
			},
		)
	case i.Library == "libstdc++.so.6":
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindLinkFlag,
					Title: fix.Titled("Link libstdc++ statically, on a system whose glibc is not newer " +
						"than the target's"),
					Command: `LDFLAGS="-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL"`,
				},
			},
		)
	default:
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   fix.Titled("Link against the older glibc"),
					Command: "zig cc -target " + shellword.Quote(target),
				},
			},
		)
	}
	return append(
		out,
		fix.Candidate{
			Fix: fix.Fix{
				Kind:  fix.KindImage,
				Title: fix.Titled("Build on %s or an older system", platform.Title(p.Platform.Name)),
			},
		},
	)
}

// builtByGo reports whether the Go linker made an object. Other linkers write no such sections.
func builtByGo(v *analyzer.View) bool {
	return slices.ContainsFunc(
		v.Sections,
		func(s elfobj.Section) bool { return s.Name == ".go.buildinfo" || s.Name == ".note.go.buildid" },
	)
}

// fromHeaders returns the flags with which glibc's headers do not redirect to a new name. With
// _GNU_SOURCE, or in C23, strtol becomes __isoc23_strtol. C++ compilers always define _GNU_SOURCE,
// because the headers of libstdc++ and libc++ need it.
func fromHeaders(v *analyzer.View, i elfobj.Import) []fix.Candidate {
	if !strings.HasPrefix(i.Name, "__isoc23_") || fromCxx(v) {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind: fix.KindSource,
				Title: fix.Titled("Compile without _GNU_SOURCE, so that the headers use %s",
					strings.TrimPrefix(i.Name, "__isoc23_")),
				Command: "-std=c17 -D_DEFAULT_SOURCE",
				Cost:    []string{"GNU extensions have to be enabled one by one"},
			},
		},
	}
}

// fromCxx reports whether an object has code of C++: it needs the standard library or is the
// library, or it has mangled symbols.
func fromCxx(v *analyzer.View) bool {
	library := func(soname string) bool {
		return strings.HasPrefix(soname, "libstdc++.so") || strings.HasPrefix(soname, "libc++.so")
	}
	mangled := func(name string) bool { return strings.HasPrefix(name, "_Z") }
	return library(v.SONAME) || slices.ContainsFunc(v.Needed, library) || v.Exports.Any(mangled) ||
		v.Imports.Any(mangled)
}

// forMusl returns the tag of a newer musl that has the missing symbol. Otherwise it returns a build
// for musl, where glibc has the symbol.
func forMusl(p *analyzer.Pass, symbol string) []fix.Candidate {
	if p.Platform.Libc != "musl" {
		return nil
	}
	all := platform.All(p.Platform.Arch)
	for _, q := range all {
		if p.Facts.Kind == analyzer.KindWheel && !p.Requested && q.Kind == platform.Policy &&
			q.Libc == "musl" && platform.Older(p.Platform.LibcVersion, q.LibcVersion) &&
			len(platform.Providers(q, symbol)) > 0 {
			return []fix.Candidate{retagTo(p, q)}
		}
	}
	if !slices.ContainsFunc(
		all,
		func(q *platform.Platform) bool {
			return q.Libc == "glibc" && len(platform.Providers(q, symbol)) > 0
		},
	) {
		return nil
	}
	return otherLibc(p)
}
