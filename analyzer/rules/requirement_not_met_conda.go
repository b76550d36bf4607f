package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// checkCondaDependencies reports each dependency of a conda package that an installed package, or
// the C library of the system, does not satisfy. Dependencies on packages that are not installed
// are left out, as are those on other virtual packages.
func checkCondaDependencies(p *analyzer.EnvironmentPass) {
	installed := map[string]analyzer.CondaPackage{}
	for _, c := range p.Conda {
		installed[strings.ToLower(c.Name)] = c
	}
	if len(installed) > 0 && p.Libc != nil {
		installed["__glibc"] = analyzer.CondaPackage{Name: "__glibc", Version: p.Libc.LibcVersion}
	}
	for _, by := range p.Conda {
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
				p.CouldNotRead(by.File, "a dependency could not be read: "+err.Error())
				continue
			}
			known := func(f analyzer.Finding) bool { // by the metadata of its distribution
				return f.RequiredBy == pkgmeta.Normalize(by.Name) &&
					f.Package == pkgmeta.Normalize(has.Name)
			}
			if !admitted && !slices.ContainsFunc(p.Reported(), known) {
				reportConda(p, by, has, text)
			}
		}
	}
}

// reportConda reports a dependency that an installed package does not satisfy.
func reportConda(p *analyzer.EnvironmentPass, by, has analyzer.CondaPackage, dependency string) {
	f := analyzer.Finding{
		Artifact: condaArtifact(p, by), RequiredBy: by.Name, Requirement: dependency, Package: has.Name,
	}
	id := has.Version
	if _, build, _ := strings.Cut(dependency, " "); strings.Contains(build, " ") && has.Build != "" {
		id += " " + has.Build
	}
	if has.Name == "__glibc" {
		f.Headline = fmt.Sprintf("%s %s requires %s, but the system has glibc %s", by.Name, by.Version,
			dependency, id)
		f.Message = f.Headline + ". conda does not install it there"
		p.Report(f)
		return
	}
	f.Headline = fmt.Sprintf("%s %s requires %s, but %s is installed", by.Name, by.Version, dependency,
		id)
	f.Message = f.Headline + ". conda does not install the two together"
	p.Report(f, fix.Fix{
		Kind: fix.KindEnvironment, Title: fix.Titled("Install a version that %s allows", by.Name),
		Command: "conda install " + shellword.Quote(dependency), Cost: []string{},
	})
}

// condaArtifact returns the path of the artifact with the files of a conda package: those of a
// Python distribution are listed as a wheel.
func condaArtifact(p *analyzer.EnvironmentPass, c analyzer.CondaPackage) string {
	if slices.ContainsFunc(p.AllArtifacts(), func(a analyzer.Artifact) bool {
		return a.Path == c.ID
	}) {
		return c.ID
	}
	return cmp.Or(p.Artifact(c.Name), c.ID)
}
