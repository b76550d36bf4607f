package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
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
	Cause:      cause.Rule{Kind: excludedByTag, Loader: cause.PipRefuses},
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
	if anyMissing(p, p.Platform) {
		return
	}
	var fixes []fix.Candidate
	if lower := policyFor(p); lower != nil {
		fixes = append(fixes, retagTo(p, lower))
	}
	not := fmt.Sprintf("pip does not install this wheel on %s, which has %s %s: ",
		platform.Title(p.Platform.Name), p.Platform.Libc, p.Platform.LibcVersion)
	reason := "its tag is " + tagged.Name
	p.Report(analyzer.Finding{
		Headline: not + reason, Reason: reason,
		Message: fmt.Sprintf("%sits tag, %s, is for %s %s and later. The platform has every symbol "+
			"version that its files need", not, tagged.Name, tagged.Libc, tagged.LibcVersion),
	}, append(fixes, olderImage(p, "")...)...)
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
	not := fmt.Sprintf("pip does not install this wheel on %s, which uses %s: ",
		platform.Title(p.Platform.Name), p.Platform.Libc)
	reason := "its tag is " + tagged.Name
	p.Report(analyzer.Finding{
		Library: library, Headline: not + reason, Reason: reason,
		Message: fmt.Sprintf("%sits tag, %s, is for %s", not, tagged.Name, libc),
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
		for _, t := range platform.ParseTag(tag).MacOS() {
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
	reason := fmt.Sprintf("its tag is for macOS %v and later", tagged)
	message := fmt.Sprintf("pip does not install this wheel on %s: %s", macOSName(p), reason)
	p.Report(analyzer.Finding{
		Headline: message, Reason: reason, Message: message,
	}, append(fixes, deploymentTarget(p, "the wheel"))...)
}

// excludedByTag is the kind of causes of wheels that pip does not install on a platform.
var excludedByTag = &cause.Kind{
	Title: func(t *cause.Text) string {
		var on []string
		for _, f := range t.All() {
			if name := platform.Title(f.Target); !slices.Contains(on, name) {
				on = append(on, name)
			}
		}
		f := t.First()
		if len(on) == 1 {
			return f.Headline
		}
		return "pip does not install this wheel on " + analyzer.List(on, 3, len(on), "platform") +
			": " + f.Reason
	},
	Task: func(t *cause.Text) cause.Task {
		task := cause.Task{
			Actor:     result.Builder,
			Do:        "build on an older system",
			Because:   t.Unclaimed(),
			Only:      t.OnUnclaimed(),
			Unclaimed: true,
		}
		switch fixes := t.Fixes(); {
		case len(fixes) > 0 && fixes[0].Kind == fix.KindPlatformTag:
			task.Do = "correct the tag"
		case t.First().Library != "":
			task.Do = "publish another wheel, for the other C library"
		}
		return task
	},
}
