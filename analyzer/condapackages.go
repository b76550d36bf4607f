package analyzer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

// CondaPackage is an installed conda package.
type CondaPackage struct {
	Name, Version string
	Build         string // "" if pip has replaced the package by another version
	// Depends are dependencies of the index, and its constraints on packages that need not be
	// installed.
	Depends []string
	ID      string // NAME-VERSION-BUILD
	File    string // its file in conda-meta, relative to the root of the system
}

// addUnmetConda adds a finding for each dependency of a conda package that an installed package, or
// the C library of the system, does not satisfy. Dependencies on packages that are not installed
// are left out, as are those on other virtual packages.
func (e *Environment) addUnmetConda(out *checked, o Options) error {
	r := out.report
	installed := map[string]CondaPackage{}
	for _, c := range e.CondaPackages {
		installed[strings.ToLower(c.Name)] = c
	}
	if len(installed) > 0 {
		libc, err := e.glibc(o)
		if err != nil {
			return err
		}
		if libc != nil {
			installed["__glibc"] = CondaPackage{Name: "__glibc", Version: libc.LibcVersion}
		}
	}
	for _, by := range e.CondaPackages {
		for _, text := range by.Depends {
			q, err := pkgmeta.ParseCondaSpec(text)
			has, ok := installed[q.Name]
			if err == nil && !ok {
				continue
			}
			admitted := false
			if err == nil {
				admitted, err = q.Admits(has.Version, has.Build)
			}
			if err != nil {
				r.AddUnread(Unread{Path: by.File, Reason: "a dependency could not be read: " + err.Error()})
				continue
			}
			known := func(f Finding) bool { // by the metadata of its distribution
				return f.Rule == RuleUnmet && f.Object == pkgmeta.Normalize(by.Name) &&
					f.Package == pkgmeta.Normalize(has.Name)
			}
			if !admitted && !slices.ContainsFunc(r.Findings, known) {
				f := unmetConda(by, has, text)
				f.Artifact = artifactOf(r, by)
				r.Findings = append(r.Findings, onFirst(r, f))
			}
		}
	}
	return nil
}

// unmetConda returns the finding for a dependency that an installed package does not satisfy.
func unmetConda(by, has CondaPackage, dependency string) Finding {
	f := Finding{
		Rule: RuleUnmet, Severity: Warning, New: true, Object: by.Name, Version: dependency,
		Package: has.Name, Fixes: []fix.Fix{},
	}
	id := has.Version
	if _, build, _ := strings.Cut(dependency, " "); strings.Contains(build, " ") && has.Build != "" {
		id += " " + has.Build
	}
	if has.Name == "__glibc" {
		f.Headline = fmt.Sprintf("%s %s requires %s, but the system has glibc %s", by.Name, by.Version,
			dependency, id)
		f.Message = f.Headline + ". conda does not install it there"
		return f
	}
	f.Headline = fmt.Sprintf("%s %s requires %s, but %s is installed", by.Name, by.Version, dependency,
		id)
	f.Message = f.Headline + ". conda does not install the two together"
	f.Fixes = append(f.Fixes, fix.Fix{
		Kind: fix.KindEnvironment, Title: fix.Titled("Install a version that %s allows", by.Name),
		Command: "conda install " + shellword.Quote(dependency), Cost: []string{},
	})
	return f
}

// artifactOf returns the path of the artifact with the files of a conda package: those of a Python
// distribution are listed as a wheel.
func artifactOf(r *Report, c CondaPackage) string {
	for _, is := range []func(Artifact) bool{
		func(a Artifact) bool { return a.Path == c.ID },
		func(a Artifact) bool {
			return a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == pkgmeta.Normalize(c.Name)
		},
	} {
		if i := slices.IndexFunc(r.Artifacts, is); i >= 0 {
			return r.Artifacts[i].Path
		}
	}
	return c.ID
}

// glibc returns the oldest of the environment's systems that use glibc, or nil.
func (e *Environment) glibc(o Options) (oldest *platform.Platform, _ error) {
	var on []*platform.Platform
	arch := cmp.Or(e.On.Arch, "x86_64")
	if o.Root != nil {
		p, err := o.Root(arch)
		if err != nil {
			return nil, err
		}
		on = append(on, p)
	}
	for _, name := range o.Platforms {
		p, err := platform.Lookup(name, arch)
		if err != nil {
			return nil, err
		}
		on = append(on, p)
	}
	for _, p := range on {
		if p != nil && p.Libc == "glibc" && p.LibcVersion != "" &&
			(oldest == nil || platform.Older(p.LibcVersion, oldest.LibcVersion)) {
			oldest = p
		}
	}
	return oldest, nil
}
