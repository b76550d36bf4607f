package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// checkNotInstalled reports each requirement on a package with native code that is not installed.
// It is an error if an object needs a library of that package, which nothing else has.
func checkNotInstalled(p *analyzer.EnvironmentPass) {
	if !p.Complete {
		return
	}
	installed := map[string]bool{} // also other builds of a package
	for _, id := range p.With {
		if q, err := pkgmeta.ParseRequirement(id); err == nil {
			installed[q.Name], installed[anyBuild(q.Name)] = true, true
		}
	}
	for _, u := range p.Unread { // its version is not known, but it is there
		name, _, _ := strings.Cut(path.Base(u.Path), "-")
		installed[pkgmeta.Normalize(name)] = true
	}
	libraries := map[string]bool{}
	arch := p.On.Arch
	for _, a := range p.Artifacts {
		for _, x := range a.Objects {
			arch = cmp.Or(arch, x.Arch())
			libraries[x.SONAME], libraries[path.Base(x.Path)] = true, true
		}
	}
	on := p.On
	on.Arch = arch
	for _, m := range absentPackages(requiringOf(p), installed, on.Markers()) {
		q := m.requirement
		what := fmt.Sprintf("%s %s requires %s%s, which is not installed", m.by.Name, m.by.Version,
			q.Name, q.Spec)
		f := analyzer.Finding{
			Artifact: m.by.file, RequiredBy: m.by.Name, Requirement: q.Name + q.Spec, Package: q.Name,
			Headline: what, Message: what,
		}
		if object, library := m.by.needs(q.Name, libraries); library != "" {
			f.Severity = analyzer.Error
			f.Message += fmt.Sprintf(". %s needs its %s", object, library)
		}
		p.Report(f, fix.Fix{
			Kind: fix.KindDependency, Title: fix.Titled("Install %s", fix.Requirement(q.Name+q.Spec)),
			Requirement: q.Name + q.Spec, Cost: []string{},
		})
	}
}

// absentPackage is a requirement of an installed package on one that is not installed.
type absentPackage struct {
	by          *requiring
	requirement pkgmeta.Requirement
}

// absentPackages returns the requirements on packages with native code that are not installed, one
// for each package that requires and that is required. Those of extras count if another package
// requires the extra. A requirement whose marker cannot be evaluated does not.
func absentPackages(
	all []*requiring,
	installed map[string]bool,
	env pkgmeta.MarkerEnv,
) (out []absentPackage) {
	by := map[string]*requiring{}
	for _, x := range all {
		by[x.Name] = x
	}
	applying := func(x *requiring) (list []pkgmeta.Requirement) {
		for _, q := range x.requires {
			if ok, err := q.Applies(env, x.extras...); err == nil && ok {
				list = append(list, q)
			}
		}
		return list
	}
	for more := true; more; { // an extra may require another one
		more = false
		for _, x := range all {
			for _, q := range applying(x) {
				for _, extra := range q.Extras {
					if to := by[q.Name]; to != nil && !slices.Contains(to.extras, extra) {
						to.extras, more = append(to.extras, extra), true
					}
				}
			}
		}
	}
	for _, x := range all {
		seen := map[string]bool{}
		for _, q := range applying(x) {
			if seen[q.Name] || installed[q.Name] || installed[anyBuild(q.Name)] ||
				!packages.History().Compiled(q.Name) {
				continue
			}
			seen[q.Name] = true
			out = append(out, absentPackage{x, q})
		}
	}
	return out
}

// needs returns an object of the package and a library that it needs, which is part of another
// package and of none that is installed; "" if there is none.
func (x *requiring) needs(name string, installed map[string]bool) (object, library string) {
	for _, o := range x.objects {
		for _, n := range o.Needed {
			if installed[n] {
				continue
			}
			if ok, _ := packages.History().Provides(name, func(file string) bool { return file == n }); ok {
				return o.Path, n
			}
		}
	}
	return "", ""
}

// build matches the part of a package's name that distinguishes builds with the same modules:
// onnxruntime-gpu, opencv-contrib-python-headless, tensorflow-cpu, cupy-cuda12x.
var build = lazyregexp.New(
	`-(?:cpu|gpu|headless|contrib|nightly|directml|openvino|rocm[\d-]*|cu\d+|cuda\d+x)\b`)

// anyBuild returns the name that all builds of a package have in common.
func anyBuild(name string) string {
	if strings.HasPrefix(name, "nvidia-") { // for each CUDA another library
		return name
	}
	return build.ReplaceAllString(name, "")
}
