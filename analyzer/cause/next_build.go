package cause

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
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
		requires := ""
		for _, a := range r.Artifacts {
			if a.Path == c.Artifact && a.Wheel != nil {
				requires = a.Wheel.RequiresPython
			}
		}
		for j := range c.Fixes {
			c.Fixes[j].NextBuild = nextBuild(c.Fixes[j].Fix, requires)
		}
	}
}

// nextBuild says what the build of a wheel needs so that the next one is right without the fix: a
// sentence, or "" if the title or the cost of the fix says it. requires is Requires-Python of the
// wheel; "" = any.
func nextBuild(x fix.Fix, requires string) string {
	const next = fix.NextBuild
	if x.Bundling != nil && x.Bundling.With != "" {
		return next + "run " + string(x.Bundling.With) + " on its wheel."
	}
	if len(x.Retags) > 0 {
		to := x.Retags[0].To.Platform
		tag := platform.ParseTag(to)
		switch {
		case tag.System == platform.TagMacOS && hasRelease(x.Retags[0].Wheel, tag):
			return next + "set _PYTHON_HOST_PLATFORM=" + fmt.Sprintf("macosx-%d.%d-%s", tag.Version[0],
				tag.Version[1], tag.Arch) + ", so that it gets this tag."
		case tag.System == platform.TagMacOS:
			return next + fmt.Sprintf("set MACOSX_DEPLOYMENT_TARGET=%d.%d.", tag.Version[0], tag.Version[1])
		case tag.System == platform.TagLinux && to != "":
			s := next + "use auditwheel repair --plat " + to
			if python := raised(x.Retags[0].To, requires); python != "" {
				s += ", set the Python tag" + python
			}
			return s + "."
		}
		return next + "set these tags there too" + raised(x.Retags[0].To, requires) + "."
	}
	if x.Kind.Setting() == fix.Requirements && x.Requirement != "" {
		return next + "write it there too."
	}
	return ""
}

// maxRequires limits the length of a Requires-Python that is shown.
const maxRequires = 40

// raised is what a build has to do besides setting a newer Python tag, as the end of a sentence:
// the metadata keep their Requires-Python if only the tags are changed, and then promise more than
// the tags. It is "" if they do not.
func raised(to pkgmeta.Tag, requires string) string {
	minor, ok := strings.CutPrefix(to.Python, "cp3")
	if n, err := strconv.Atoi(minor); !ok || err != nil || requires == "" ||
		!packages.AdmitsPython(requires, fmt.Sprintf("3.%d", n-1)) {
		return ""
	}
	stays := "as it is"
	if len(requires) <= maxRequires {
		stays = requires
	}
	return fmt.Sprintf(", and raise Requires-Python to >=3.%s; in this file it stays %s", minor, stays)
}

// hasRelease reports whether a wheel has a tag for the same release of macOS as another tag, which
// then is for other architectures.
func hasRelease(w *fix.Wheel, to platform.Tag) bool {
	return w != nil && slices.ContainsFunc(w.Tags, func(t pkgmeta.Tag) bool {
		has := platform.ParseTag(t.Platform)
		return has.System == platform.TagMacOS && has.Version == to.Version
	})
}
