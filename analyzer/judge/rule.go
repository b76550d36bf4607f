package judge

import (
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Rule is one kind of finding, as data with documentation. ID is its file name, testdata folder,
// doc page and JSON value.
type Rule struct {
	ID       string
	Title    string          // what is wrong, one sentence of at most 80 characters without a period
	Severity result.Severity // the usual one; a finding may carry a lower one
	// Markdown: what it means, why it fails, what to do, and what the rule misses
	Doc        string
	References []string    // specifications and documentation, as "title: address or file"
	Check      func(*Pass) // on a platform with Linux
	// Windows and MacOS check an artifact on a platform with these systems; nil: the rule does not
	// apply there.
	Windows, MacOS func(*Pass)
	// Packaging: it is about how an artifact is built and published, and is of no interest to those
	// who install it.
	Packaging bool
	// Quick: it needs no bindings, so it runs before other rules while a fix is tried.
	Quick bool
}

// check is the function for a platform; nil where the rule does not apply.
func (r *Rule) check(p *platform.Platform) func(*Pass) {
	switch p.OS {
	case platform.Windows:
		return r.Windows
	case platform.MacOS:
		return r.MacOS
	}
	return r.Check
}
