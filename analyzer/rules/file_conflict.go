package rules

import (
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

var fileConflict = &analyzer.Rule{
	ID:       "file-conflict",
	Title:    "Two packages of an environment install the same files",
	Severity: analyzer.Warning,
	Doc: `Two packages of an environment have a module or a library with the same path and other
content: opencv-python and opencv-python-headless, onnxruntime and onnxruntime-gpu, cupy-cuda11x
and cupy-cuda12x. Most are builds of one project for different systems or GPUs. pip installs both
without a warning, and the package that is installed last overwrites the files of the other one.
pip does not guarantee an order, and uv installs in parallel, so the result can differ between two
installations. If one of them is removed, the files of both are gone: "No module named cv2".

Fix: keep one of them. If other packages require only one of them, that one is named. If packages
require both, remove one and install the other one afterwards, as a whole: most packages only
import the module, so "pip check" reports the removed one, and the packages work. In an installed
environment, install the one that is kept again, because pip removes its files with those of the
other one.

Severity: a warning, because the packages may work with the files of either.

Not detected: files that are no modules or libraries (Python sources), objects of wheels that have
no build ID and differ only in their machine code, modules of packages whose wheel is not read
because the built-in package history knows it (of these the libraries are compared by their path),
installed packages without hashes in RECORD, and conda environments. Files with the same content are
not reported.`,
	Environment: checkConflicts,
	Cause: cause.Rule{
		Subject: ofPackage, Kind: &cause.Kind{
			Advice: func(t *cause.Text, where string) string {
				if !hasOtherCauses(t) {
					return firstFix(t, where)
				}
				return firstFix(t, where) +
					" Do this first: the other causes of what you remove are then gone."
			},
			NamesPackages: true,
			First:         true,
		},
		Warns: "both packages may work with either file",
	},
	References: []string{
		"PyPA: Recording installed projects, the RECORD file",
		"opencv-python: README, Installation and Usage",
	},
}

// hasOtherCauses reports whether packages of which one is to be removed have findings of other
// rules.
func hasOtherCauses(t *cause.Text) bool {
	of := map[string]bool{}
	for _, f := range t.All() {
		of[f.Artifact] = true
	}
	return slices.ContainsFunc(t.Report().Findings, func(f analyzer.Finding) bool {
		return f.Rule != t.First().Rule && f.Severity.Rank() >= analyzer.Warning.Rank() && of[f.Artifact]
	})
}

// checkConflicts reports each package that installs the same objects as others.
func checkConflicts(p *analyzer.EnvironmentPass) {
	for _, c := range conflicts(p) {
		var ids []packages.ID
		var paths []string
		for _, a := range c.members {
			ids, paths = append(ids, idOf(a)), append(paths, a.Path)
		}
		reportConflict(p, ids, paths, c.files, effect(p, c))
	}
	for _, c := range unreadConflicts(p) {
		paths := []string{c.ids[0].String(), c.ids[1].String()}
		for _, a := range p.Artifacts {
			if a.Wheel != nil && idOf(a) == c.ids[0] {
				paths[0] = a.Path
			}
		}
		reportConflict(p, c.ids[:], paths, c.files, overwritten)
	}
}

// reportConflict adds a finding for each package that installs some files: paths are those of its
// artifact, or NAME==VERSION.
func reportConflict(
	p *analyzer.EnvironmentPass, ids []packages.ID, paths, files []string, effect string,
) {
	keep, because := required(p, ids)
	x := fix.Fix{Kind: fix.KindEnvironment, Cost: []string{}}
	x.Title, x.Command = keeping(p, ids, keep)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id.Name + " " + id.Version
	}
	what, example := "both install ", ""
	switch {
	case len(files) > 1:
		what, example = fmt.Sprintf("install %d of the same files", len(files)), ", such as "
	case len(ids) > 2:
		what = "install "
	}
	what = analyzer.And(names) + " " + what
	headline, shorter := what+example+files[0], []string{what + example + path.Base(files[0])}
	if example != "" {
		shorter = append(shorter, what)
	}
	message := headline + ". " + effect
	for _, text := range because {
		message += ". " + text
	}
	for _, artifact := range paths {
		p.Report(analyzer.Finding{
			Artifact: artifact, Object: files[0], Package: ids[0].Name, Headline: headline,
			Shorter: shorter, Message: message,
		}, x)
	}
}

const overwritten = "The package that is installed last overwrites the files of the others"

// effect is what happens to the files of a conflict, without a period.
func effect(p *analyzer.EnvironmentPass, c *conflict) string {
	if p.Changed == nil {
		return overwritten
	}
	var whole []string // packages that have all of their files
	for _, a := range c.members {
		if !slices.ContainsFunc(a.Objects, func(o *analyzer.Object) bool {
			return slices.Contains(c.files, installedPath(o)) &&
				p.Changed(a.Path, o.Path)
		}) {
			whole = append(whole, pkgmeta.Normalize(a.Wheel.Name))
		}
	}
	if len(whole) == 1 {
		return "The installed files are those of " + whole[0]
	}
	return "Some of the installed files are those of one package, and some those of another"
}
