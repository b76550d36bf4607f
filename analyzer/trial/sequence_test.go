package trial

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

const file = "tool-1.0-cp36-abi3-manylinux1_x86_64.whl"

// retagging returns a fix that changes the tags of the wheel.
func retagging(title string, to pkgmeta.Tag) fix.Fix {
	w := &fix.Wheel{
		File: file,
		Tags: []pkgmeta.Tag{{Python: "cp36", ABI: "abi3", Platform: "manylinux1_x86_64"}},
	}
	all := []fix.Retagging{{Wheel: w, To: to}}
	return fix.Fix{
		Kind: fix.KindPlatformTag, Title: fix.Text(title), Retags: all, Command: fix.RetagCommand(all),
	}
}

// newReport returns a report with a cause for each list of fixes. The first one of planned causes is
// planned.
func newReport(planned int, causes ...[]fix.Fix) *result.Report {
	r := &result.Report{}
	for i, fixes := range causes {
		r.Findings = append(r.Findings, result.Finding{Artifact: "dist/" + file})
		c := result.Cause{ID: string(rune('a' + i)), Findings: []int{i}, Artifact: "dist/" + file}
		for _, x := range fixes {
			c.Fixes = append(c.Fixes, result.CauseFix{Fix: x})
		}
		if i < planned {
			r.Plan.Fixes = append(r.Plan.Fixes, result.PlannedFix{Cause: c.ID, Fix: fixes[0]})
		}
		r.Causes = append(r.Causes, c)
	}
	return r
}

// commands returns the commands of all fixes in their order.
func commands(r *result.Report) (out []shellword.Line) {
	for _, c := range r.Causes {
		for _, x := range c.Fixes {
			out = append(out, x.Command)
		}
	}
	return out
}

// The command of the plan is run first. The others have the place to which it writes the wheel, and
// compat fixes a wheel in that folder in its place.
func TestSequenceAfterPlan(t *testing.T) {
	const written = "tool-1.0-cp36-abi3-manylinux_2_28_x86_64.whl"
	const plan shellword.Line = "compat fix --write fixed --only a " + file
	executed := fix.Fix{Kind: fix.KindPatchelf, Title: fix.Text("a"), Command: plan}
	later := fix.Fix{Kind: fix.KindPatchelf, Command: "compat fix --write fixed " + file,
		Bundling: &fix.Bundling{With: fix.Auditwheel, KeepTags: true}}
	keep := fix.Fix{Kind: fix.KindPatchelf, Command: "auditwheel repair --no-update-tags " + file,
		Bundling: &fix.Bundling{With: fix.Auditwheel, KeepTags: true}}
	for name, c := range map[string]struct {
		causes [][]fix.Fix
		want   []shellword.Line
	}{
		"compat bundles": {
			[][]fix.Fix{{executed}, {later}, {executed}},
			[]shellword.Line{plan, "compat fix --in-place fixed/" + written, plan},
		},
		"auditwheel": {
			[][]fix.Fix{{executed}, {keep}, {later}},
			[]shellword.Line{plan, "auditwheel repair --no-update-tags fixed/" + written,
				"compat fix --write fixed wheelhouse/" + written},
		},
		"an alternative of what the plan does is run instead": {
			[][]fix.Fix{{executed, keep}, {later}},
			[]shellword.Line{plan, "auditwheel repair --no-update-tags " + file,
				"compat fix --in-place fixed/" + written},
		},
		"before a cause that is printed first": {
			[][]fix.Fix{{keep}, {executed}, {later}},
			[]shellword.Line{"auditwheel repair --no-update-tags fixed/" + written, plan,
				"compat fix --write fixed wheelhouse/" + written},
		},
	} {
		r := newReport(0, c.causes...)
		r.Plan.Command = plan
		// A requirement: the cause has what is written, and the plan the command that writes it.
		r.Plan.Fixes = []result.PlannedFix{{Cause: "a", Fix: c.causes[0][0]}}
		r.Plan.Fixes[0].Command = plan
		Sequence(r, map[string]string{"dist/" + file: written})
		if got := commands(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, c.want)
		}
		if r.Plan.Fixes[0].Command != plan {
			t.Errorf("%s: the fix of the plan has %s", name, r.Plan.Fixes[0].Command)
		}
		if !slices.Contains(commands(r), r.Plan.Command) {
			t.Errorf("%s: the plan has %s", name, r.Plan.Command)
		}
	}
}

// Commands can be run one after the other: each has the name that the wheel has then.
func TestSequence(t *testing.T) {
	platform := retagging("Tag the wheel manylinux_2_28_x86_64",
		pkgmeta.Tag{Platform: "manylinux_2_28_x86_64"})
	python := retagging("Tag the wheel cp38-abi3", pkgmeta.Tag{Python: "cp38"})
	whl := retagging("Write the tags of the file name into WHEEL", pkgmeta.Tag{})
	whl.Kind, whl.Command = fix.KindRebuild, "sed"
	bundle := fix.Fix{Kind: fix.KindPatchelf, Command: "auditwheel repair " + file,
		Bundling: &fix.Bundling{With: fix.Auditwheel}}
	keep := fix.Fix{Kind: fix.KindPatchelf,
		Command:  "auditwheel repair --no-update-tags " + file,
		Bundling: &fix.Bundling{With: fix.Auditwheel, KeepTags: true}}
	edit := fix.Fix{Kind: fix.KindPatchelf, Command: "python -m wheel unpack " + file +
		" && patchelf --set-rpath x tool-1.0/a.so && python -m wheel pack tool-1.0 && " +
		"mv sorted.whl " + file + " && rm -r tool-1.0"}
	const renamed = "tool-1.0-cp36-abi3-manylinux_2_28_x86_64.whl"
	for name, c := range map[string]struct {
		planned int
		causes  [][]fix.Fix
		want    []shellword.Line
	}{
		"a new tag": {
			2, [][]fix.Fix{{platform, edit}, {bundle}},
			[]shellword.Line{platform.Command, edit.Command, "auditwheel repair " + renamed},
		},
		"two planned tags are one command": {
			2, [][]fix.Fix{{platform}, {python}},
			[]shellword.Line{
				"wheel tags --remove --python-tag cp38 --platform-tag manylinux_2_28_x86_64 " + file,
				"wheel tags --remove --python-tag cp38 --platform-tag manylinux_2_28_x86_64 " + file,
			},
		},
		"a tag that is not planned": {
			1, [][]fix.Fix{{platform}, {python}, {bundle}},
			[]shellword.Line{
				platform.Command, "wheel tags --remove --python-tag cp38 " + renamed,
				"auditwheel repair tool-1.0-cp38-abi3-manylinux_2_28_x86_64.whl",
			},
		},
		"the tags in WHEEL": {
			1, [][]fix.Fix{{platform}, {whl}, {edit}},
			[]shellword.Line{
				platform.Command, platform.Command, "python -m wheel unpack " + renamed +
					" && patchelf --set-rpath x tool-1.0/a.so && python -m wheel pack tool-1.0" +
					" && rm -r tool-1.0",
			},
		},
		"after auditwheel": {
			1, [][]fix.Fix{{bundle}, {bundle}, {edit}, {platform}},
			[]shellword.Line{
				bundle.Command, bundle.Command, "python -m wheel unpack wheelhouse/tool-1.0-*.whl" +
					" && patchelf --set-rpath x tool-1.0/a.so && " +
					"python -m wheel pack -d wheelhouse tool-1.0 && rm -r tool-1.0",
				"wheel tags --remove --platform-tag manylinux_2_28_x86_64 wheelhouse/tool-1.0-*.whl",
			},
		},
		"after auditwheel that keeps the name": {
			1, [][]fix.Fix{{keep}, {edit}, {platform}},
			[]shellword.Line{
				keep.Command, "python -m wheel unpack wheelhouse/" + file +
					" && patchelf --set-rpath x tool-1.0/a.so && " +
					"python -m wheel pack -d wheelhouse tool-1.0 && " +
					"mv wheelhouse/sorted.whl wheelhouse/" + file + " && rm -r tool-1.0",
				"wheel tags --remove --platform-tag manylinux_2_28_x86_64 wheelhouse/" + file,
			},
		},
	} {
		r := newReport(c.planned, c.causes...)
		shareTags(r)
		Sequence(r, nil)
		if got := commands(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, c.want)
		}
		for _, x := range r.Plan.Fixes {
			i := slices.IndexFunc(r.Causes, func(c result.Cause) bool { return c.ID == x.Cause })
			if x.Command != r.Causes[i].Fixes[0].Command {
				t.Errorf("%s: the plan has %s", name, x.Command)
			}
		}
	}
}
