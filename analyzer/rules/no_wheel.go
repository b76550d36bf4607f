package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/result"
)

var noWheel = &analyzer.Rule{
	ID:       "no-wheel",
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
	Environment: checkWheels,
	Cause: cause.Rule{
		Kind: noWheelCause, Subject: notFor,
		Warns: "pip builds the package from source where a compiler is installed",
	},
	References: []string{
		"PEP 425: Compatibility Tags for Built Distributions",
		"PEP 600: manylinux platform tags",
		"PEP 656: musllinux platform tags",
	},
}

// checkWheels reports pins without a wheel.
func checkWheels(p *analyzer.EnvironmentPass) {
	reportPins(p, slices.DeleteFunc(slices.Clone(p.NoWheel), func(w analyzer.NoWheel) bool {
		return w.Hash
	}))
}

// notFor joins the packages without a wheel for the same property of an environment: all of them
// need the same decision.
func notFor(f *analyzer.Finding) (subject string, shared bool) {
	if f.NoWheelFor == "" {
		return "", false
	}
	return f.NoWheelFor + " " + string(f.Severity), true
}

// noWheelCause is the kind of causes of pins without a wheel.
var noWheelCause = &cause.Kind{
	Title: func(t *cause.Text) string {
		f := t.First()
		if len(t.All()) == 1 {
			return f.Headline
		}
		var ids []string
		for _, f := range t.All() {
			if !slices.Contains(ids, f.Artifact) {
				ids = append(ids, f.Artifact)
			}
		}
		return fmt.Sprintf("%d packages have no wheel for %s: %s", len(ids),
			cmp.Or(f.NoWheelFor, "the environment"), cause.Listed(ids, 3, 40, "package"))
	},
	Task: func(*cause.Text) cause.Task {
		return cause.Task{
			Actor: result.Installer,
			Do:    "choose a version with a wheel, or another Python or platform",
		}
	},
	Advice: func(t *cause.Text, where string) string {
		if len(t.All()) > 1 {
			return "Choose versions with a wheel, or another Python or platform."
		}
		return "Choose a version of " + where + " with a wheel, or another Python or platform."
	},
	NotShipped: true,
}
