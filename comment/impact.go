package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Impact is what a build does to other repositories of the installation, and what releases of
// others do to this one. It contains only repositories that every reader of the check may see.
type Impact struct {
	Rows    []ImpactRow
	Notices []ImpactNotice
	FailOn  string // "error", or "never" (also "")
	// Unchecked is why the build could not be checked with the wheels of others, without a period;
	// "" = it was.
	Unchecked string
}

// ImpactRow is a repository that uses a package of the build.
type ImpactRow struct {
	Repository string // OWNER/NAME
	URL        string // "" = unknown
	Package    string // of the build, NAME VERSION
	Wheel      string // NAME VERSION of what uses it; "" = the repository only pins the package
	// Files are the lock files that pin Wheel; nil = the repository builds it.
	Files []string
	// Builder is the repository of the installation that builds what Files pin; "" = unknown.
	Builder  string
	Verdict  impact.Verdict // "" without Wheel
	Reason   string         // a sentence without a period; "" if it works
	Advice   string         // what its maintainers can do, without a period; "" = nothing
	Pins     []ImpactPin
	Accepted *AcceptedMissing // nil = it is not accepted
}

// ImpactPin is a lock file that pins the package.
type ImpactPin struct{ File, Version string }

// ImpactNotice is a release of another repository with which this one no longer works.
type ImpactNotice struct {
	Repository string // OWNER/NAME
	URL        string // of the release; "" = unknown
	Text       string // a sentence without a period
	Pins       []ImpactPin
}

// Breaks returns the names of the repositories that break and are not accepted, each once.
func (i *Impact) Breaks() (names []string) {
	if i == nil {
		return nil
	}
	for _, r := range i.Rows {
		if r.breaks() && !slices.Contains(names, r.Repository) {
			names = append(names, r.Repository)
		}
	}
	return names
}

func (r *ImpactRow) breaks() bool { return r.Verdict == impact.Breaks && r.Accepted == nil }

// Fails reports whether the check fails because a repository breaks.
func (i *Impact) Fails() bool {
	return i != nil && i.FailOn == "error" && len(i.Breaks()) > 0
}

const (
	// maxImpact limits the section in bytes; the findings of the commit come first.
	maxImpact = maxOutput / 4
	// maxImpactPins limits the lock files that are named of a repository.
	maxImpactPins = 3
)

// WithImpact returns a check with the section about other repositories; nil or one without rows
// and notices changes nothing.
func WithImpact(c Check, i *Impact) Check {
	if i == nil || len(i.Rows)+len(i.Notices) == 0 {
		return c
	}
	section := i.section()
	breaks := i.Breaks()
	if i.Fails() {
		r := i.Rows[slices.IndexFunc(i.Rows, func(r ImpactRow) bool { return r.breaks() })]
		title := fmt.Sprintf("%s breaks: %s", r.Repository, r.Reason)
		if n := len(breaks) - 1; n > 0 {
			title = fmt.Sprintf("%d repositories of this installation break: %s", n+1, r.Reason)
		}
		if !blocks(c.Conclusion) {
			c.Title = mdsafe.Cut(mdsafe.Plain(title, MaxTitle), MaxTitle)
		}
		if c.Conclusion != "action_required" {
			c.Conclusion = "failure"
		}
		c.Create, c.Clean = true, false
	} else if len(breaks) > 0 && !blocks(c.Conclusion) {
		c.Title = mdsafe.Cut(c.Title+"; breaks "+
			mdsafe.Plain(analyzer.List(breaks, 2, len(breaks), "repository"), MaxTitle), MaxTitle)
	}
	c.Summary = mdsafe.Join([]string{c.Summary, section}, maxOutput, nil)
	if c.Sticky != "" {
		c.Sticky = mdsafe.Join([]string{c.Sticky, section}, maxBody, nil)
	}
	return c
}

func blocks(conclusion string) bool {
	return conclusion == "failure" || conclusion == "action_required"
}

// section returns the Markdown of the section.
func (i *Impact) section() string {
	var blocks []string
	if len(i.Notices) > 0 {
		blocks = append(blocks, "\n## Releases that this repository does not work with\n\n")
		for _, n := range i.Notices {
			line := "- " + linkedName(n.Repository, n.URL) + ": " + mdsafe.Prose(n.Text) + "."
			if len(n.Pins) > 0 {
				line += " The next update of " + pinList(n.Pins) + " would install it."
			}
			blocks = append(blocks, line+"\n")
		}
	}
	if len(i.Rows) > 0 {
		blocks = append(blocks, "\n## Used in this organization\n\n"+i.lead()+"\n\n")
		for _, r := range i.Rows {
			blocks = append(blocks, r.line())
		}
	}
	return mdsafe.Join(blocks, maxImpact, func(left int) string {
		if left == 0 {
			return ""
		}
		return fmt.Sprintf("- and %d more\n", left)
	})
}

// lead returns how many repositories use the build, and how many break.
func (i *Impact) lead() string {
	all := map[string]bool{}
	for _, r := range i.Rows {
		all[r.Repository] = true
	}
	text := fmt.Sprintf("%d other %s of this installation %s what this commit builds.", len(all),
		analyzer.Plural(len(all), "repository", "repositories"), analyzer.Plural(len(all), "uses", "use"))
	switch n := len(i.Breaks()); {
	case n > 0 && i.FailOn == "error":
		text += fmt.Sprintf(" **%d %s**, so this check fails (`impact.fail_on` is `error`). To accept "+
			"one: `/compat accept OWNER/NAME because …`.", n, analyzer.Plural(n, "breaks", "break"))
	case n > 0:
		text += fmt.Sprintf(" **%d %s**, which does not fail this check.", n,
			analyzer.Plural(n, "breaks", "break"))
	case i.Unchecked == "":
		text += " None was found to break."
	}
	if i.Unchecked != "" {
		text += " Their wheels were not checked with this build: " + mdsafe.Prose(i.Unchecked) + "."
	}
	return text
}

// line returns the line of a repository.
func (r *ImpactRow) line() string {
	text := "- " + linkedName(r.Repository, r.URL)
	reason := mdsafe.Prose(r.Reason)
	switch {
	case r.Wheel == "" && r.Verdict == "":
		text += " keeps the version that it pins, until that changes"
	case r.Verdict == impact.Breaks && r.Accepted == nil:
		text = "- **" + linkedName(r.Repository, r.URL) + " breaks**: " + r.user() + ": " + reason
	case r.Verdict == impact.Breaks:
		text += " breaks, accepted: " + r.user() + ": " + reason
	case r.Verdict == impact.Excluded:
		text += " excludes it: " + r.user() + ": " + reason
	case r.Verdict == impact.Undecided:
		text += " is undecided: " + r.user() + ": " + reason
	default:
		text += " works: " + r.user()
		if len(r.Files) > 0 {
			text += ","
		}
		text += " with " + mdsafe.Code(r.Package, maxShown)
		if reason != "" {
			text += ": " + reason
		}
	}
	text += "."
	if len(r.Pins) > 0 {
		text += " Pinned: " + pinList(r.Pins) + "."
	}
	if a := r.Accepted; a != nil {
		text += " Because " + mdsafe.Prose(a.Because) + " (" + mdsafe.Plain(a.By, maxShown)
		if a.Until != "" {
			text += ", until " + mdsafe.Plain(a.Until, 20)
		}
		text += ")."
	} else if r.Advice != "" {
		text += " There: " + mdsafe.Prose(r.Advice) + "."
	}
	return text + "\n"
}

// user names what uses the package, and where it is from.
func (r *ImpactRow) user() string {
	text := mdsafe.Code(r.Wheel, maxShown)
	if len(r.Files) == 0 {
		return text
	}
	var files []string
	for _, f := range r.Files[:min(len(r.Files), maxImpactPins)] {
		files = append(files, mdsafe.Code(f, maxShown))
	}
	text += ", pinned in " + strings.Join(files, ", ")
	if n := len(r.Files) - maxImpactPins; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if r.Builder != "" {
		text += " and built by " + mdsafe.Code(r.Builder, maxShown)
	}
	return text
}

// pinList names lock files with the version that each pins.
func pinList(pins []ImpactPin) string {
	var out []string
	for _, p := range pins[:min(len(pins), maxImpactPins)] {
		out = append(out, mdsafe.Code(p.Version, 60)+" in "+mdsafe.Code(p.File, maxShown))
	}
	text := strings.Join(out, ", ")
	if n := len(pins) - maxImpactPins; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// linkedName returns the name of a repository with a link to it, if there is one.
func linkedName(name, url string) string {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") ||
		strings.ContainsAny(url, "()<> \n") {
		return mdsafe.Code(name, maxShown)
	}
	return "[" + mdsafe.Plain(name, maxShown) + "](" + url + ")"
}
