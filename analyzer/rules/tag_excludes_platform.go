package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

var tagExcludesPlatform = &analyzer.Rule{
	ID:       "tag-excludes-platform",
	Title:    "pip does not install the wheel on a requested platform",
	Severity: analyzer.Error,
	Doc: `The wheel is to be checked on a platform, and its files work there, but by its tag pip does
not install it: manylinux_2_34 needs glibc 2.34, and RHEL 8 has glibc 2.28. There, pip installs an
older release, builds the source distribution or fails with "No matching distribution found".

Fix: tag the wheel for the platform, if its files also fit the older tag, or build it in an image
for that platform.

A manylinux wheel is not installed where the C library is musl (Alpine Linux), and a musllinux wheel
not where it is glibc, even if its files would load. Fix: publish a wheel for that C library as
well.

The rule is for the platforms of ` + "`--platform`" + ` and of the settings, for newer versions
of the same system and for the other C library. Where files of the wheel do not work there either,
only that is reported. A wheel whose release has another wheel for the platform is not checked on
it.`,
	References: []string{"PEP 600", "PEP 656", "PyPA: Platform compatibility tags"},
	Packaging:  true,
	Check:      checkTagExcludesPlatform,
	MacOS:      checkTagExcludesMacOS,
}

func checkTagExcludesPlatform(p *analyzer.Pass) {
	if !p.Excluded {
		return
	}
	tagged := platform.OldestTag(p.Facts.PlatformTags(), p.Platform.Arch, p.Platform.Libc)
	if tagged == nil {
		checkTagOfOtherLibc(p)
		return
	}
	if missingVersion(p, p.Platform) != "" {
		return
	}
	var fixes []fix.Candidate
	if lower := policyFor(p); lower != nil {
		fixes = append(fixes, retagTo(p, lower))
	}
	p.Report(analyzer.Finding{
		Message: fmt.Sprintf("pip does not install this wheel on %s, which has %s %s: its tag, %s, is "+
			"for %s %s and later. The platform has every symbol version that its files need",
			platform.Title(p.Platform.Name), p.Platform.Libc, p.Platform.LibcVersion, tagged.Name,
			tagged.Libc, tagged.LibcVersion),
	}, append(fixes, olderImage(p)...)...)
}

// checkTagOfOtherLibc reports a wheel that is tagged for the other C library only. If its files do
// not work with that of the platform, other rules report it.
func checkTagOfOtherLibc(p *analyzer.Pass) {
	libc, library := "glibc", "libc.so.6"
	if p.Platform.Libc == "glibc" {
		libc, library = "musl", platform.MuslLibc(p.Platform.Arch)
	}
	tagged := platform.OldestTag(p.Facts.PlatformTags(), p.Platform.Arch, libc)
	if tagged == nil || slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		for range undefined(p, v) {
			return true
		}
		return slices.ContainsFunc(v.Missing, func(name string) bool {
			return platform.LibcOf(name) == libc
		})
	}) {
		return
	}
	p.Report(analyzer.Finding{
		Library: library,
		Message: fmt.Sprintf("pip does not install this wheel on %s, which uses %s: its tag, %s, is "+
			"for %s", platform.Title(p.Platform.Name), p.Platform.Libc, tagged.Name, libc),
	}, otherLibc(p)...)
}

// policyFor returns the newest tag with which pip installs a wheel on the platform.
func policyFor(p *analyzer.Pass) (newest *platform.Platform) {
	for _, q := range platform.All(p.Platform.Arch) {
		if q.Kind == platform.Policy && q.Libc == p.Platform.Libc &&
			!platform.Older(p.Platform.LibcVersion, q.LibcVersion) &&
			(newest == nil || platform.Older(newest.LibcVersion, q.LibcVersion)) {
			newest = q
		}
	}
	return newest
}

func checkTagExcludesMacOS(p *analyzer.Pass) {
	if !p.Excluded {
		return
	}
	older := true // every file is built for this macOS
	for _, i := range ownImages(p) {
		if slices.ContainsFunc(p.MacOS.Failed(i), func(b dyld.Binding) bool {
			return b.Outcome == dyld.TooNew
		}) {
			return
		}
		older = older && tagPart(i.Object.MinOS) <= tagPart(p.MacOS.OS)
	}
	var tagged machoobj.Version
	for _, tag := range p.Facts.PlatformTags() {
		for _, t := range macos.Targets(tag) {
			if t.Arch == p.Platform.Arch && (tagged == 0 || t.Oldest < tagged) {
				tagged = t.Oldest
			}
		}
	}
	var fixes []fix.Candidate
	if older {
		retag, _ := tagMacOS(p, p.MacOS.OS)
		fixes = append(fixes, retag)
	}
	p.Report(analyzer.Finding{
		Message: fmt.Sprintf("pip does not install this wheel on %s: its tag is for macOS %v and later",
			macOSName(p), tagged),
	}, append(fixes, deploymentTarget(p, "the wheel"))...)
}
