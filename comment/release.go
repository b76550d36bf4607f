package comment

import (
	"fmt"
	"strconv"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Release is information about a failing release in addition to its findings.
type Release struct {
	Tag       string
	Draft     bool
	Immutable bool   // the assets cannot be replaced (docs: immutable releases)
	Findings  int    // number of errors and warnings in the assets
	Old       int    // number of them that the previous release has too
	Before    string // tag of the previous release; "" = none
}

// Text returns paragraphs for the PR author; "" for a release without findings.
func (r Release) Text() string {
	if r.Findings == 0 {
		return ""
	}
	out := ""
	switch {
	case r.Draft:
		out = "This release is a draft, so its assets can still be replaced.\n"
	case r.Immutable && next(r.Tag) != "":
		out = fmt.Sprintf(
			"This release is immutable: its assets can't be replaced. "+
				"Create a draft release for a new version, such as %s. compat checks the draft, so that it "+
				"can be fixed before it is published.\n",
			mdsafe.Code(next(r.Tag), 100),
		)
	case r.Immutable:
		out = "This release is immutable: its assets can't be replaced. Create a draft release " +
			"for a new version. compat checks the draft, so that it can be fixed before it is published.\n"
	}
	if r.Before != "" {
		if out != "" {
			out += "\n"
		}
		out += fmt.Sprintf(
			"Of %s, %d %s in %s already.\n",
			analyzer.Count(r.Findings, "finding"),
			r.Old,
			map[bool]string{true: "was", false: "were"}[r.Old == 1],
			mdsafe.Code(r.Before, 100),
		)
	}
	return out
}

var lastNumber = lazyregexp.New(`^(.*?)([0-9]{1,9})$`)

// next returns the tag after one that ends with a number; "" for others.
func next(tag string) string {
	m := lastNumber.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return ""
	}
	return m[1] + strconv.Itoa(n+1)
}
