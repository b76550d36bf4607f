package comment

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// The paragraphs of the check run and the summary comment. Each is a complete Markdown block.

// Limits of lists in the overview, in bytes; the rest is counted.
const (
	targetBytes  = 3 << 10
	listBytes    = 5 << 10
	acceptedMore = 8 << 10
)

// shownTargets limits the platforms and the packages in a line about what was checked.
const shownTargets = 4

// section returns a list with a heading; "" if it is empty.
func section(heading string, lines []string, limit int) string {
	if len(lines) == 0 {
		return ""
	}
	return heading + mdsafe.Join(
		lines,
		limit,
		func(left int) string { return fmt.Sprintf("- and %d more\n", left) },
	)
}

// targets lists the checked platforms, one line per verdict and package set, because a library
// outside a wheel has twenty platforms.
func targets(r *analyzer.Report) string {
	var lines []string
	for _, x := range causetext.CheckedOn(r) {
		lines = append(lines, "- "+x.Markdown(shownTargets)+"\n")
	}
	return section("\n### Checked on\n\n", lines, targetBytes)
}

// assetList lists the files of a release with errors, so that its users see where it works; ""
// for other subjects, and if all files have errors or none.
func assetList(in Input, v view) string {
	if !in.Release {
		return ""
	}
	errors := map[string]int{} // number of causes by the path of the artifact
	for i := range in.Report.Causes {
		var paths []string
		for _, n := range v.cause(i).Findings {
			if f := &in.Report.Findings[n]; f.Severity == analyzer.Error {
				paths = append(paths, f.Artifact)
			}
		}
		for _, p := range distinct(paths) {
			errors[p]++
		}
	}
	var lines []string
	for _, a := range in.Report.Artifacts {
		if n := errors[a.Path]; n > 0 {
			name := mdsafe.Code(path.Base(a.Path), 200)
			lines = append(lines, "- "+name+": "+analyzer.Count(n, "error")+"\n")
		}
	}
	others := len(in.Report.Artifacts) - len(lines)
	if len(lines) == 0 || others == 0 {
		return ""
	}
	lines = append(lines, "- "+analyzer.Count(others, "other file")+": no errors\n")
	return section("\n### Assets\n\n", lines, listBytes)
}

// existingList lists the causes that the base has.
func existingList(in Input, v view, limit int) string {
	if len(v.existing) == 0 {
		return ""
	}
	var lines []string
	for _, i := range v.existing {
		c := v.cause(i)
		line := fmt.Sprintf("- **%s** %s", c.Severity,
			mdsafe.Prose(c.Title, causetext.Names(v.report, c)...))
		if names := v.names([]int{i}); names != "" {
			line += " (" + names + ")"
		}
		lines = append(lines, line+"\n")
	}
	return fmt.Sprintf("\n### Already on %s\n\n", mdsafe.Code(base(in), 60)) +
		mdsafe.Join(lines, limit, func(left int) string { return leftOut(in, left) })
}

// acceptedList lists accepted findings: accepted `SYMBOL` because TEXT (NAME, date).
func acceptedList(as []analyzer.Accepted) string {
	var lines []string
	for _, a := range as {
		f := &a.Finding
		by := a.By
		if by == "" {
			by = ConfigPath
		}
		l := fmt.Sprintf(
			"- accepted %s because %s (%s",
			mdsafe.Code(subject(f), 120),
			mdsafe.Code(a.Because, 300),
			mdsafe.Code(strings.TrimPrefix(by, "@"), 80),
		)
		if a.Until != "" {
			l += ", until " + mdsafe.Code(a.Until, 40)
		}
		lines = append(lines, l+"), in "+mdsafe.Code(f.Object, 200)+"\n")
	}
	return section("\n### Accepted\n\n", lines, acceptedMore)
}

// subject returns the name that a finding is about: a symbol, library or version, or else the
// rule.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}

func unreadList(us []analyzer.Unread) string {
	return section("\n### Could not be checked\n\n", pathLines(us), listBytes)
}

func skippedList(us []analyzer.Unread) string {
	return section("\n### Not checked\n\n", pathLines(us), listBytes)
}

func pathLines(us []analyzer.Unread) []string {
	var lines []string
	for _, u := range us {
		lines = append(
			lines,
			fmt.Sprintf(
				"- %s: %s\n",
				mdsafe.Code(u.Path, 200),
				mdsafe.Prose(mdsafe.Cut(u.Reason, 400), u.Path),
			),
		)
	}
	return lines
}

func noteList(notes []string) string {
	var lines []string
	for _, n := range notes {
		lines = append(lines, "- "+mdsafe.Prose(mdsafe.Cut(n, 600))+"\n")
	}
	return section("\n### Notes\n\n", lines, listBytes)
}

// leftOut returns the number of causes that are not shown.
func leftOut(in Input, left int) string {
	if left <= 0 {
		return ""
	}
	return fmt.Sprintf("\nand %s%s.\n", analyzer.Count(left, "more cause"), where(in))
}

// unchecked reports whether something could not be checked.
func unchecked(in Input, v view) bool {
	return len(v.unread) > 0 || len(in.Missing) > 0 || in.Report.Verdict == analyzer.Unchecked
}

// foot returns the version that made the report.
func foot(r *analyzer.Report) string {
	if r.Tool.Version == "" {
		return ""
	}
	return "\ncompat " + mdsafe.Prose(r.Tool.Version) + "\n"
}
