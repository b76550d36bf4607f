package judge

import (
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Rule is a kind of finding with its documentation. ID is also its file name, test folder, page
// in the documentation, and JSON value.
type Rule struct {
	ID       string
	Title    string          // the problem, a sentence of at most 80 characters without a period
	Severity result.Severity // the default; a finding may have a lower one
	// Markdown: what the finding means, why it fails, how to fix it, and what the rule does not
	// detect
	Doc        string
	References []string    // specifications and documentation, as "title: URL or file"
	Check      func(*Pass) // for Linux
	// Windows and MacOS are like Check for platforms with these systems; nil if the rule does not
	// apply.
	Windows, MacOS func(*Pass)
	// Packaging is set if the rule is about building and publishing an artifact, and irrelevant for
	// those who install it.
	Packaging bool
	// Quick is set if it needs no bindings. Such rules run first while a fix is tried.
	Quick bool
}

// check returns the function for a platform, or nil if the rule does not apply.
func (r *Rule) check(p *platform.Platform) func(*Pass) {
	switch p.OS {
	case platform.Windows:
		return r.Windows
	case platform.MacOS:
		return r.MacOS
	}
	return r.Check
}
