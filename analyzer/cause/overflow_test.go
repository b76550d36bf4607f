package cause_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// Of more than three causes, those that the same person removes in the same way are one. Each
// finding stays in exactly one cause, and a fix of each is left.
func TestSimilarCausesAreOne(t *testing.T) {
	relocations := result.Finding{Rule: "text-relocations", Object: "w/a.so", Severity: result.Warning,
		Fixes: []fix.Fix{{Kind: fix.KindRebuild, Title: fix.Titled("Compile with -fPIC")}}}
	unreachable := result.Finding{Rule: "dependency-library-not-reachable", Object: "w/a.so",
		Library: "libx.so.1", Severity: result.Warning,
		Fixes: []fix.Fix{{Kind: fix.KindPatchelf, Title: fix.Titled("Set a RUNPATH")}}}
	tag := tooNew("w/a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64")
	unbundled := needs("w/a.so", "libnobody.so.1")
	unbundled.Severity = result.Error
	for _, c := range []struct {
		name     string
		findings []result.Finding
		want     []string // "severity id: title" of the causes
		fixes    int      // of the cause that has parts
	}{
		{"what a system needs", []result.Finding{
			tag, relocations, needs("w/a.so", "libcuda.so.1"), needs("w/a.so", "libgomp.so.1"),
		}, []string{
			"error built-too-new: tagged manylinux2014, but needs manylinux_2_31",
			"warning system-libraries: needs libcuda.so.1 and libgomp.so.1 of the system, which not every " +
				"manylinux2014 system has",
			"warning text-relocations: a.so: A shared library has relocations in its code",
		}, 1},
		{"what is changed in the next build", []result.Finding{
			tag, relocations, unreachable, needs("w/a.so", "libOpenCL.so.1"),
		}, []string{
			"error built-too-new: tagged manylinux2014, but needs manylinux_2_31",
			"warning system-the-opencl-loader: needs libOpenCL.so.1 of the OpenCL loader, which not " +
				"every manylinux2014 system has",
			"warning text-relocations: a.so: A shared library has relocations in its code; does not " +
				"find libx.so.1",
		}, 2},
		{"libraries that are not found", []result.Finding{
			tag, unbundled, unreachable, needs("w/a.so", "libOpenCL.so.1"),
		}, []string{
			"error built-too-new: tagged manylinux2014, but needs manylinux_2_31",
			"error missing-libnobody: needs libnobody.so.1, which is neither bundled nor declared; does " +
				"not find libx.so.1",
			"warning system-the-opencl-loader: needs libOpenCL.so.1 of the OpenCL loader, which not " +
				"every manylinux2014 system has",
		}, 1},
		{"three stay", []result.Finding{tag, relocations, unreachable}, []string{
			"error built-too-new: tagged manylinux2014, but needs manylinux_2_31",
			"warning text-relocations: a.so: A shared library has relocations in its code",
			"warning unreachable-dependency: no search path of a.so leads to libx.so.1",
		}, 1},
	} {
		r := report(c.findings...)
		got := titles(r)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		var all []int
		for _, x := range r.Causes {
			all = append(all, x.Findings...)
			if len(x.Rules) > 1 && len(x.Fixes) != c.fixes {
				t.Errorf("%s: %s has the fixes %+v, want %d", c.name, x.ID, x.Fixes, c.fixes)
			}
			if x.Together != (len(x.Fixes) > 1) {
				t.Errorf("%s: %s: together %v", c.name, x.ID, x.Together)
			}
		}
		if slices.Sort(all); !slices.Equal(all, []int{0, 1, 2, 3}[:len(c.findings)]) {
			t.Errorf("%s: findings %v in causes", c.name, all)
		}
	}
}

// The change of the Pythons of a wheel is part of that of its platform.
func TestPythonsAndPlatformAreOneChange(t *testing.T) {
	tag := tooNew("w/a.so", "pow", "libm.so.6", "GLIBC_2.29", "manylinux_2_31_x86_64")
	python := result.Finding{Rule: "extension-suffix", Object: "w/a.so", Fixes: []fix.Fix{{
		Kind: fix.KindPlatformTag, Title: fix.Tagging("cp310-cp310"),
		Retags: []fix.Retagging{{Wheel: tag.Fixes[0].Retags[0].Wheel}},
	}}}
	python.Fixes[0].Retags[0].To.Python, python.Fixes[0].Retags[0].To.ABI = "cp310", "cp310"
	r := report(tag, python)
	if len(r.Causes) != 1 || r.Causes[0].ID != "built-too-new" {
		t.Fatalf("causes %q", titles(r))
	}
	x := r.Causes[0].Fixes[0]
	const want = "Tag the wheel manylinux_2_31_x86_64, and cp310-cp310"
	const command = "wheel tags --remove --python-tag cp310 --abi-tag cp310 --platform-tag " +
		"manylinux_2_31_x86_64 widget-1.0-py3-none-manylinux2014_x86_64.whl"
	if x.Title.String() != want || x.Command != command || x.Clears != 2 {
		t.Errorf("fix %q, command %q, clears %d", x.Title, x.Command, x.Clears)
	}
}

// A library that is copied into a wheel for another C library does not help.
func TestWrongLibcIsNotBundled(t *testing.T) {
	build := fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build a wheel for musl too")}
	loader, other := needs("w/a.so", "ld-linux-x86-64.so.2"), needs("w/a.so", "libgomp.so.1")
	loader.Target, other.Target = "alpine3.20", "alpine3.20"
	loader.Fixes = []fix.Fix{build}
	other.Fixes = []fix.Fix{{Kind: fix.KindPatchelf, Title: fix.Titled("Bundle libgomp.so.1"),
		Bundling: &fix.Bundling{With: fix.Auditwheel}}}
	for _, c := range report(loader, other).Causes {
		if len(c.Findings) != 2 || len(c.Fixes) != 1 || !c.Fixes[0].Title.Equal(build.Title) {
			t.Errorf("%s: findings %v, fixes %+v", c.ID, c.Findings, c.Fixes)
		}
	}
}
