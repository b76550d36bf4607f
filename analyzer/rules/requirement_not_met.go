package rules

import "github.com/compat-app/compat/analyzer"

// requirementNotMet has no check: its findings come from analyzer.CheckEnvironment.
var requirementNotMet = &analyzer.Rule{
	ID:       analyzer.RuleUnmet,
	Title:    "A pinned version does not satisfy a requirement of another package",
	Severity: analyzer.Warning,
	Doc: `A package of an environment requires other versions of a package than the one that is
pinned or installed: nvidia-cusparse-cu12 12.3.1.170 requires nvidia-nvjitlink-cu12==12.4.127, and
12.1.105 is pinned. pip refuses to install the two together, and "pip check" reports it for packages
that are installed. Tools that override requirements (uv's override-dependencies, pip's --no-deps)
install them.

In a conda environment it is also a dependency or constraint of a conda package (in conda-meta) that
an installed one does not satisfy, by version or build: numpy 2.1 is installed and pkg 1.0 requires
numpy >=1.22,<2. conda does not install the two together, but "conda install --no-deps", and pip in
the environment, do. __glibc is compared with the system.

Fix: pin a version that satisfies the requirements of all packages. The closest one that has a wheel
is named, if there is one.

Severity: a warning, because the packages may work together. If the load fails, that is an error of
another rule.

Not detected: requirements of packages whose metadata is not read, which are those without native
code and those that the built-in package history knows, and requirements of extras; of conda
packages dependencies on packages that are not installed, and on virtual packages other than
__glibc. A dependency in a form that compat does not know is listed as one that could not be read.`,
	References: []string{
		"Core metadata specifications: Requires-Dist",
		"PEP 508: Dependency specification for Python Software Packages",
		"conda: Package match specifications",
	},
}
