package rules

import "github.com/compat-app/compat/analyzer"

// noWheel has no check: its findings come from analyzer.Environment.NoWheel.
var noWheel = &analyzer.Rule{
	ID:       analyzer.RuleNoWheel,
	Title:    "A pinned version has no wheel for the platform",
	Severity: analyzer.Error,
	Doc: `A lock file or a requirements file pins a version of which no wheel can be installed in the
environment: the wheels are for other systems, need a newer glibc, are for glibc where the system
has musl (Alpine), or require another Python. pip then ends with "No matching distribution found",
or builds the version from source. The message names what the closest wheels lack: the Python, the
glibc, the architecture or the system.

Fix: pin the closest version that has such a wheel and that the other packages allow, use an image
for which there is one, or another Python. If no package of the environment has a wheel, nothing
was checked, and the exit code is 2.

Severity: a warning where the version has a source archive, which pip builds if the system has the
compilers and libraries for it. What it builds is not checked.

Not detected: wheels on an index that compat was not given.`,
	References: []string{
		"PEP 425: Compatibility Tags for Built Distributions",
		"PEP 600: manylinux platform tags",
		"PEP 656: musllinux platform tags",
	},
}
