package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
)

var requirementNotMet = &analyzer.Rule{
	ID:       analyzer.RuleUnmet,
	Title:    "A requirement of a package in the environment is not met",
	Severity: analyzer.Warning,
	Doc: `A package of an environment requires other versions of a package than the one that is
pinned or installed: nvidia-cusparse-cu12 12.3.1.170 requires nvidia-nvjitlink-cu12==12.4.127, and
12.1.105 is pinned. pip refuses to install the two together, and "pip check" reports it for packages
that are installed. Tools that override requirements (uv's override-dependencies, pip's --no-deps)
install them.

Of an installed environment it is also a package with native code that another one requires and that
is not installed, as "pip check" reports: torchvision 0.21.0 requires torch==2.6.0, which is not
installed. Markers are evaluated for the Python of the environment. The requirements of an extra
count if another package requires the extra.

In a conda environment it is also a dependency or constraint of a conda package (in conda-meta) that
an installed one does not satisfy, by version or build: numpy 2.1 is installed and pkg 1.0 requires
numpy >=1.22,<2. conda does not install the two together, but "conda install --no-deps", and pip in
the environment, do. __glibc is compared with the system.

Fix: pin a version that satisfies the requirements of all packages. The closest one that has a wheel
is named, if there is one. If packages fail with the pinned version, the next releases of them that
work with it are offered too, up to eight packages together. Install the package that is missing.

Severity: a warning, because the packages may work together. If the load fails, that is an error of
another rule. It is an error if an object needs a library of the package that is missing.

Not detected: requirements of packages whose metadata is not read, which are those without native
code and those that the built-in package history knows, and requirements of extras. Packages that
are missing: those of which the built-in package history does not know that they have native code,
those of which another build is installed (onnxruntime-gpu for onnxruntime), all in conda
environments and in virtual environments with the packages of the system, and all in lock and
requirements files. Of conda packages: dependencies on virtual packages other than __glibc. A
dependency in a form that compat does not know is listed as one that could not be read.`,
	Environment: checkRequirements,
	Cause: cause.Rule{
		Subject: ofPackage, Kind: &cause.Kind{
			Title: func(t *cause.Text) string {
				title := t.First().Headline
				if n := len(t.All()) - 1; n > 0 {
					title += " (and " + analyzer.Count(n, "more requirement") + ")"
				}
				return title
			},
			States:        true,
			NamesPackages: true,
		},
		Warns: "the packages may work together nevertheless",
	},
	References: []string{
		"Core metadata specifications: Requires-Dist",
		"PEP 508: Dependency specification for Python Software Packages",
		"conda: Package match specifications",
	},
}

// ofPackage joins the findings about one package, of which another version has to be chosen.
func ofPackage(f *analyzer.Finding) (subject string, shared bool) { return f.Package, true }

func checkRequirements(p *analyzer.EnvironmentPass) {
	checkPinned(p)
	checkNotInstalled(p)
	checkCondaDependencies(p)
}

// checkPinned reports each requirement of a package that the pins do not satisfy. One that another
// environment does not satisfy either is reported once.
func checkPinned(p *analyzer.EnvironmentPass) {
	for _, u := range p.Unmet {
		pin := p.Pins[u.Package]
		is := "is installed"
		if at := pin.String(); at != "" {
			is = "is pinned (" + at + ")"
		}
		f := analyzer.Finding{
			Artifact:   cmp.Or(p.Artifact(u.By.Name), u.By.String()),
			RequiredBy: u.By.Name, Requirement: u.Requirement, Package: u.Package,
			Headline: fmt.Sprintf("%s %s requires %s, but %s %s", u.By.Name, u.By.Version,
				u.Requirement, pin.Version, is),
		}
		f.Message = f.Headline + ". pip refuses to install the two together"
		if slices.ContainsFunc(p.Reported(), func(x analyzer.Finding) bool {
			return x.RequiredBy == f.RequiredBy && x.Requirement == f.Requirement
		}) {
			continue
		}
		var fixes []fix.Fix
		if u.Version != "" {
			to := u.Package + "==" + u.Version
			fixes = append(fixes, fix.Fix{
				Kind: fix.KindPin, Title: fix.Titled("Pin %s", fix.Requirement(to)), Requirement: to,
				Cost: []string{}, Change: fix.Pin{Requirement: to},
			})
		}
		p.Report(f, fixes...)
	}
}
