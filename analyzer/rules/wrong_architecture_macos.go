package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// checkArchitectureMacOS reports Mach-O files without a slice for the architecture of the platform,
// if the wheel's tag has that architecture.
func checkArchitectureMacOS(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel || !onTag(p) {
		return
	}
	needed := map[string]bool{}
	eachMissing(p, func(m dyld.Missing) {
		if m.Lacks != nil {
			for _, o := range p.Facts.MachO {
				needed[o.Path] = needed[o.Path] || path.Base(o.Path) == path.Base(m.Needed.Path)
			}
		}
	})
	modules := slices.ContainsFunc(p.Facts.MachO, (*analyzer.MachObject).Extension)
	for _, o := range p.Facts.MachO {
		archs := machOArchs(o)
		if slices.Contains(archs, p.Platform.Arch) || hasOtherSlice(p, o) {
			continue
		}
		f := builtForOther(o.Path, fmt.Sprintf("built for %s, but the wheel's tag is for %s",
			strings.Join(archs, " and "), p.Platform.Arch))
		f.Severity = analyzer.Warning
		if o.Extension() || needed[o.Path] || !modules {
			f.Severity = analyzer.Error
		}
		p.Report(f,
			fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild,
				Title: fix.Titled("Build for %s as well and join the slices", p.Platform.Arch),
				Command: "lipo -create -output " + quoted(o.Path) + " " +
					quoted(o.Path+"."+archs[0]) + " " + quoted(o.Path+"."+p.Platform.Arch)}},
			fix.Candidate{Fix: retagged(p, pkgmeta.Tag{Platform: tagFor(p, archs)}, fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: fix.Tagging("for " + strings.Join(archs, " and ") + " only"),
				Cost:  []string{notInstalledOn(p.Platform.Arch)},
			})})
	}
}

// machOArchs lists the architectures of a file's slices.
func machOArchs(o *analyzer.MachObject) []string {
	var out []string
	for _, s := range o.Slices {
		out = append(out, s.Arch)
	}
	return out
}

// hasOtherSlice reports whether another file with the same name has a slice for the platform, so
// that the program can select it.
func hasOtherSlice(p *analyzer.Pass, o *analyzer.MachObject) bool {
	return slices.ContainsFunc(p.Facts.MachO, func(x *analyzer.MachObject) bool {
		return x != o && path.Base(x.Path) == path.Base(o.Path) &&
			slices.Contains(machOArchs(x), p.Platform.Arch)
	})
}

// tagFor returns the wheel's platform tag with other architectures. Its version is that of the tag
// of the wheel, not that of the platform: arm64 exists only since macOS 11.
func tagFor(p *analyzer.Pass, archs []string) string {
	arch := archs[0]
	if len(archs) > 1 {
		arch = "universal2"
	}
	version := p.Platform.LibcVersion
	for _, t := range p.Facts.Wheel.Tags {
		tag := platform.ParseTag(t.Platform)
		if tag.System == platform.TagMacOS && arch != "arm64" && platform.Older(tag.Release(), version) {
			version = tag.Release()
		}
	}
	return platform.OfMacOS(version, arch).Name
}
