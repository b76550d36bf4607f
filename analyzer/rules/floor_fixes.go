package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

// lowering offers ways to build an object that is in no wheel for an older system, in the terms of
// what it was built with.
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
					Title:   "Build without cgo, so that nothing of libc is needed",
					Command: "CGO_ENABLED=0 go build",
				},
			},
		)
	case slices.ContainsFunc(v.Comment, func(s string) bool { return strings.HasPrefix(s, "rustc") }):
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   "Link against the older glibc",
					Command: "cargo zigbuild --release --target " + p.Platform.Arch + "-unknown-linux-gnu." + p.Platform.LibcVersion,
				},
			},
		)
	case i.Library == "libstdc++.so.6":
		out = append(
			out,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindLinkFlag,
					Title:   "Link libstdc++ in, on a system whose glibc is no newer than the target's",
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
					Title:   "Link against the older glibc",
					Command: "zig cc -target " + target,
				},
			},
		)
	}
	return append(
		out,
		fix.Candidate{
			Fix: fix.Fix{
				Kind:  fix.KindImage,
				Title: "Build on " + p.Platform.Name + " or an older system",
			},
		},
	)
}

// builtByGo tells whether the Go linker made an object: the others leave no such sections.
func builtByGo(v *analyzer.View) bool {
	return slices.ContainsFunc(
		v.Sections,
		func(s elfobj.Section) bool { return s.Name == ".go.buildinfo" || s.Name == ".note.go.buildid" },
	)
}

// fromHeaders offers what keeps glibc's headers from redirecting to a new name: with _GNU_SOURCE,
// or in C23, strtol becomes __isoc23_strtol.
func fromHeaders(i elfobj.Import) []fix.Candidate {
	if !strings.HasPrefix(i.Name, "__isoc23_") {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind: fix.KindSource,
				Title: "Compile without _GNU_SOURCE, so that the headers name " + strings.TrimPrefix(
					i.Name,
					"__isoc23_",
				),
				Command: "-std=c17 -D_DEFAULT_SOURCE",
				Cost:    []string{"GNU extensions have to be asked for one by one"},
			},
		},
	}
}

// forMusl offers a build for musl, where what is missing is glibc's.
func forMusl(p *analyzer.Pass, symbol string) []fix.Candidate {
	if p.Platform.Libc != "musl" {
		return nil
	}
	all := platform.All(p.Platform.Arch)
	if !slices.ContainsFunc(
		all,
		func(q *platform.Platform) bool { return q.Libc == "glibc" && len(platform.Providers(q, symbol)) > 0 },
	) {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindRebuild,
				Title:   "Build for musl: " + symbol + " is glibc's",
				Command: "quay.io/pypa/musllinux_1_2_" + p.Platform.Arch,
			},
		},
		{
			Fix: fix.Fix{
				Kind:  fix.KindImage,
				Title: "Run on a system with glibc, such as Debian's slim image",
			},
		},
	}
}
