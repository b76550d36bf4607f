package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/result"
)

// supportRemoved has no check: its findings come from analyzer.AddLostSupport.
var supportRemoved = &analyzer.Rule{
	ID:       analyzer.RuleSupportRemoved,
	Title:    "The base has a wheel for a platform or Python, and the new build has none",
	Severity: analyzer.Note,
	Doc: `The base (--base, the last release or the base branch) has a wheel of the project for a
system, an architecture or a Python for which the new build has none, or for older versions of a
system: the wheel was tagged manylinux2014 and is now tagged manylinux_2_28, or macosx_11_0 and now
macosx_14_0. Where no wheel fits, pip builds from the source archive, or installs an older release.
The tags in the file names are compared, per project, together with Requires-Python: a wheel tagged
py3 or cp38-abi3 that requires Python >=3.10 is none for 3.8 and 3.9.

Fix: publish the missing wheel, or a wheel with the older tag. If the end of support is intended,
nothing has to be changed.

Severity: a note, which does not fail the check. To make it fail, set support-removed to error in
rules of the configuration. The object of the finding is the name of the project.

Not detected: a changed Requires-Python if one of the compared wheels has none, or one that cannot
be read; the assets of a release of which only the names are compared.`,
	Cause: cause.Rule{Kind: &cause.Kind{
		Title: func(t *cause.Text) string {
			f := t.First()
			if n := len(t.All()); n > 1 {
				return fmt.Sprintf("%s has no wheel for %d platforms that had one", f.Object, n)
			}
			return f.Object + " has no wheel for " + f.Version
		},
		Task: func(*cause.Text) cause.Task {
			return cause.Task{
				Actor: result.Builder,
				Do:    "publish wheels for them, or accept the finding if support has ended",
			}
		},
		NotShipped: true,
	}},
	References: []string{
		"PEP 425: Compatibility Tags for Built Distributions",
		"PEP 600: manylinux platform tags",
		"Core metadata specifications: Requires-Python",
	},
}
