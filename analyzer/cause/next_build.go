package cause

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// NextBuilds sets CauseFix.NextBuild and NextCommand of the fixes that builders make. It is called
// after all steps that change fixes.
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
			x := &c.Fixes[j]
			x.NextBuild, x.NextCommand = nextBuild(x.Fix, c.Artifact, requires)
		}
	}
}

// nextBuild says what the build of a wheel needs so that the next one is right without the fix: a
// sentence, or "" if the title or the cost of the fix says it, and the command in it. requires is
// Requires-Python of the wheel; "" = any.
func nextBuild(x fix.Fix, wheel, requires string) (sentence string, command shellword.Line) {
	const next = fix.NextBuild
	if x.Bundling != nil && x.Bundling.With != "" {
		command = x.Bundling.Command(builtWheels(wheel))
		return next + "run " + string(command) + ".", command
	}
	if len(x.Retags) > 0 {
		to := x.Retags[0].To.Platform
		tag := platform.ParseTag(to)
		switch {
		case tag.System == platform.TagMacOS && hasRelease(x.Retags[0].Wheel, tag):
			return next + "set _PYTHON_HOST_PLATFORM=" + fmt.Sprintf("macosx-%d.%d-%s", tag.Version[0],
				tag.Version[1], tag.Arch) + ", so that it gets this tag.", ""
		case tag.System == platform.TagMacOS:
			return next + fmt.Sprintf("set MACOSX_DEPLOYMENT_TARGET=%d.%d.", tag.Version[0],
				tag.Version[1]), ""
		case tag.System == platform.TagLinux && to != "":
			command = "auditwheel repair --plat " + shellword.Quote(to) + " " + builtWheels(wheel)
			// It adds a tag, and removes only linux_ARCH: another manylinux tag stays.
			s := next + "set this tag, or run " + string(command) + " on a linux_" + tag.Arch +
				" wheel and publish the one in wheelhouse"
			if python := raised(x.Retags[0].To, requires); python != "" {
				s += ", set the Python tag" + python
			}
			return s + ".", command
		}
		parts := changed(x.Retags[0].To)
		if parts == "" { // only its WHEEL file is changed
			return next + "let it write the tags of the file name into WHEEL.", ""
		}
		return next + "set the tag " + parts + " too" + raised(x.Retags[0].To, requires) + ".", ""
	}
	if x.Kind.Setting() == fix.Requirements && x.Requirement != "" {
		return next + "write the same requirement into its sources.", ""
	}
	return "", ""
}

// changed joins the parts of a tag that a fix changes.
func changed(to pkgmeta.Tag) string {
	parts := []string{to.Python, to.ABI, to.Platform}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "-")
}

// builtWheels is the argument of a command for the wheels of a package that a build wrote: builds
// write to dist unless an option names another folder.
func builtWheels(wheel string) shellword.Line {
	name, _, _ := strings.Cut(path.Base(wheel), "-")
	return "dist/" + shellword.Quote(name) + "-*.whl"
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
