package cause

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
)

func TestNextBuild(t *testing.T) {
	retag := func(to pkgmeta.Tag) fix.Fix {
		return fix.Fix{Kind: fix.KindPlatformTag, Retags: []fix.Retagging{{To: to}}}
	}
	slice := retag(pkgmeta.Tag{Platform: "macosx_11_0_x86_64"})
	slice.Retags[0].Wheel = &fix.Wheel{Tags: []pkgmeta.Tag{{Platform: "macosx_11_0_universal2"}}}
	for want, x := range map[string]fix.Fix{
		"For the next build, set _PYTHON_HOST_PLATFORM=macosx-11.0-x86_64, so that it gets this " +
			"tag.": slice,
		"For the next build, run auditwheel repair --exclude libz.so.1 dist/w-*.whl.": {
			Kind:     fix.KindPatchelf,
			Bundling: &fix.Bundling{With: fix.Auditwheel, Exclude: []string{"libz.so.1"}},
		},
		"For the next build, run delocate-wheel -v dist/w-*.whl.": {
			Kind: fix.KindPatchelf, Bundling: &fix.Bundling{With: fix.Delocate},
		},
		"For the next build, run delvewheel repair dist/w-*.whl.": {
			Kind: fix.KindPatchelf, Bundling: &fix.Bundling{With: fix.Delvewheel},
		},
		"For the next build, set MACOSX_DEPLOYMENT_TARGET=10.9.": retag(
			pkgmeta.Tag{Platform: "macosx_10_9_universal2"}),
		"For the next build, set this tag, or run auditwheel repair --plat manylinux_2_24_x86_64 " +
			"dist/w-*.whl on a linux_x86_64 wheel and publish the one in wheelhouse.": retag(
			pkgmeta.Tag{Platform: "manylinux_2_24_x86_64"}),
		"For the next build, set the tag cp310 too.": retag(pkgmeta.Tag{Python: "cp310"}),
		"For the next build, write the same requirement into its sources.": {
			Kind: fix.KindPin, Requirement: "numpy<2",
		},
		"": {Kind: fix.KindPatchelf}, // its cost says it
	} {
		got, command := nextBuild(x, "a/w-1-py3-none-any.whl", "")
		if got != want || strings.Contains(want, "dist/") != (command != "") ||
			!strings.Contains(got, string(command)) {
			t.Errorf("%s: got %q with %q, want %q", x.Kind, got, command, want)
		}
	}
}

// A fix that raises the Python of the tags leaves Requires-Python as it is.
func TestNextBuildRequiresPython(t *testing.T) {
	x := fix.Fix{Kind: fix.KindPlatformTag, Retags: []fix.Retagging{
		{To: pkgmeta.Tag{Python: "cp311"}},
	}}
	for requires, want := range map[string]string{
		">=3.8": "For the next build, set the tag cp311 too, and raise Requires-Python to >=3.11; " +
			"in this file it stays >=3.8.",
		">=3.11": "For the next build, set the tag cp311 too.",
		"":       "For the next build, set the tag cp311 too.",
	} {
		if got, _ := nextBuild(x, "w-1-py3-none-any.whl", requires); got != want {
			t.Errorf("%s: got %q, want %q", requires, got, want)
		}
	}
	x.Retags[0].To.Platform = "manylinux_2_34_x86_64"
	const want = "For the next build, set this tag, or run auditwheel repair --plat " +
		"manylinux_2_34_x86_64 dist/w-*.whl on a linux_x86_64 wheel and publish the one in wheelhouse, " +
		"set the Python tag, and raise Requires-Python to >=3.11; in this file it stays >=3.8."
	if got, _ := nextBuild(x, "w-1-py3-none-any.whl", ">=3.8"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Only who builds a wheel has a next build.
func TestNextBuilds(t *testing.T) {
	of := func(actor result.Actor, artifact string) result.Cause {
		return result.Cause{Actor: actor, Artifact: artifact, Fixes: []result.CauseFix{
			{Fix: fix.Fix{Kind: fix.KindPin, Requirement: "numpy<2"}},
		}}
	}
	r := &result.Report{Causes: []result.Cause{
		of(result.Builder, "w-1-py3-none-any.whl"), of(result.Installer, "w-1-py3-none-any.whl"),
		of(result.Builder, "lib.so"),
	}}
	NextBuilds(r)
	for i, want := range []string{
		"For the next build, write the same requirement into its sources.", "", "",
	} {
		if got := r.Causes[i].Fixes[0].NextBuild; got != want {
			t.Errorf("cause %d: got %q, want %q", i+1, got, want)
		}
	}
}
