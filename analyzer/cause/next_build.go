package cause

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// NextBuilds sets CauseFix.NextBuild of the fixes that builders make. It is called after all steps
// that change fixes.
func NextBuilds(r *result.Report) {
	for i := range r.Causes {
		c := &r.Causes[i]
		if !c.OfBuilder() {
			continue
		}
		for j := range c.Fixes {
			c.Fixes[j].NextBuild = nextBuild(c.Fixes[j].Fix)
		}
	}
}

// nextBuild says what the build of a wheel needs so that the next one is right without the fix: a
// sentence, or "" if the title or the cost of the fix says it.
func nextBuild(x fix.Fix) string {
	const next = fix.NextBuild
	if x.Bundling != nil && x.Bundling.With != "" {
		return next + "run " + string(x.Bundling.With) + " after it."
	}
	if len(x.Retags) > 0 {
		to := x.Retags[0].To.Platform
		tag := platform.ParseTag(to)
		switch {
		case tag.System == platform.TagMacOS && hasRelease(x.Retags[0].Wheel, tag):
			return next + "build it for the architectures of that tag."
		case tag.System == platform.TagMacOS:
			return next + fmt.Sprintf("set MACOSX_DEPLOYMENT_TARGET=%d.%d.", tag.Version[0], tag.Version[1])
		case tag.System == platform.TagLinux && to != "":
			return next + "use auditwheel repair --plat " + to + "."
		}
		return next + "set these tags there too."
	}
	if x.Kind.Setting() == fix.Requirements && x.Requirement != "" {
		return next + "change the sources too."
	}
	return ""
}

// hasRelease reports whether a wheel has a tag for the same release of macOS as another tag, which
// then is for other architectures.
func hasRelease(w *fix.Wheel, to platform.Tag) bool {
	return w != nil && slices.ContainsFunc(w.Tags, func(t pkgmeta.Tag) bool {
		has := platform.ParseTag(t.Platform)
		return has.System == platform.TagMacOS && has.Version == to.Version
	})
}
