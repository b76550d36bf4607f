package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/mdsafe"
)

// impactAnswer is the first line: how many dependents break with which release.
func impactAnswer(r *impact.Report) string {
	s, n := r.Summary, len(r.Dependents)
	all := analyzer.Count(n, "dependent")
	text := fmt.Sprintf("%d of %s break with %s", s.Breaks, all, name(r.New))
	switch {
	case n == 1 && s.Breaks == 1:
		text = "the dependent breaks with " + name(r.New)
	case n == 0:
		text = "nothing was checked with " + name(r.New) + ", because no dependent was found"
	case s.Breaks == 0:
		text = "no dependent breaks with " + name(r.New)
	}
	if r.Old != nil {
		text += ", compared with " + before(r)
	}
	if s.Excluded > 0 {
		text += fmt.Sprintf("; %d excluded by requirements", s.Excluded)
	}
	if s.Undecided > 0 {
		text += fmt.Sprintf("; %d undecided", s.Undecided)
	}
	switch s.Works {
	case 0:
	case 1:
		text += "; 1 works"
	default:
		text += fmt.Sprintf("; %d work", s.Works)
	}
	return text
}

// before names the old release.
func before(r *impact.Report) string {
	if r.Old.Version == "" {
		return "the old " + r.Old.Name
	}
	return r.Old.Version
}

func name(id impact.ID) string {
	if id.Version == "" {
		return id.Name
	}
	return id.Name + " " + id.Version
}

// impactRemoved says what the new release no longer has; "" if that is nothing.
func impactRemoved(r *impact.Report) string {
	if r.Removed.Symbols == 0 && len(r.Removed.Libraries) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s no longer exports %s of %s", name(r.New),
		analyzer.Count(r.Removed.Symbols, "symbol"), before(r))
	if l := r.Removed.Libraries; len(l) > 0 {
		text += ", and no longer has " + analyzer.List(l, 3, len(l), "library")
	}
	return text
}

// impactLocks says where the dependents are from; nil if they were named.
func impactLocks(r *impact.Report) (lines []string) {
	if r.Locks == nil {
		return nil
	}
	var pins, users, pure, unrelated, unpinned, read int
	for _, f := range r.Locks {
		if f.Unread != "" {
			lines = append(lines, f.Path+" was not read: "+f.Unread)
			continue
		}
		read++
		pins, users, pure = pins+f.Pins, users+len(f.Dependents), pure+f.Pure
		unrelated, unpinned = unrelated+f.Unrelated, unpinned+f.Unpinned
		if len(f.Unknown) > 0 {
			lines = append(lines, fmt.Sprintf("%s: not looked at: %s", f.Path,
				analyzer.List(f.Unknown, shownUnknown, len(f.Unknown), "package")))
		}
	}
	text := fmt.Sprintf("of %s in %s, %d require %s, directly or through others, and may have native "+
		"code; %d require it and have none; %d do not require it", analyzer.Count(pins, "pin"),
		analyzer.Count(read, "file"), users, r.New.Name, pure, unrelated)
	if unpinned > 0 {
		text += fmt.Sprintf("; %s without a version not checked",
			analyzer.Count(unpinned, "requirement"))
	}
	return append([]string{text}, lines...)
}

// shownUnknown is the number of pins that a line about a file names.
const shownUnknown = 5

// pinnedBy says which files pin a dependent; "" if none was read.
func pinnedBy(r *impact.Report, e impact.Entry) string {
	var files []string
	for _, f := range r.Locks {
		if f.Pinned(e.Name, e.Version) != nil {
			files = append(files, f.Path)
		}
	}
	if files == nil {
		return ""
	}
	return "pinned in " + analyzer.List(files, shownUnknown, len(files), "file")
}

// byVerdict returns the dependents with a verdict.
func byVerdict(r *impact.Report, v impact.Verdict) (out []impact.Entry) {
	for _, e := range r.Dependents {
		if e.Verdict == v {
			out = append(out, e)
		}
	}
	return out
}

// whose says what a person who can fix it is.
var whose = map[string]string{
	"release": "in the release", "dependent": "in the dependent", "user": "until then",
}

func writeImpactText(w io.Writer, r *impact.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", impactAnswer(r))
	if text := impactRemoved(r); text != "" {
		fmt.Fprintf(&b, "%s\n", text)
	}
	for _, e := range byVerdict(r, impact.Breaks) {
		fmt.Fprintf(&b, "\nbreaks  %s %s\n        %s\n", e.Name, e.Version, e.Reason)
		if by := pinnedBy(r, e); by != "" {
			fmt.Fprintf(&b, "        %s\n", by)
		}
		for _, x := range e.Fixes {
			fmt.Fprintf(&b, "        %s: %s\n", whose[x.Who], x.What)
		}
	}
	for _, v := range []impact.Verdict{impact.Undecided, impact.Excluded, impact.Works} {
		for i, e := range byVerdict(r, v) {
			if i == 0 {
				fmt.Fprintln(&b)
			}
			fmt.Fprintf(&b, "%-9s %s %s", v, e.Name, e.Version)
			if e.Reason != "" {
				fmt.Fprintf(&b, ": %s", e.Reason)
			}
			fmt.Fprintln(&b)
		}
	}
	for i, n := range slices.Concat(impactLocks(r), r.Notes) {
		if i == 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeImpactMarkdown(w io.Writer, r *impact.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "**%s**\n", mdsafe.Prose(impactAnswer(r)))
	if text := impactRemoved(r); text != "" {
		fmt.Fprintf(&b, "\n%s\n", mdsafe.Prose(text))
	}
	if len(r.Dependents) > 0 {
		fmt.Fprint(&b, "\n| dependent | verdict | reason | fix |\n|---|---|---|---|\n")
	}
	for _, v := range []impact.Verdict{
		impact.Breaks, impact.Undecided, impact.Excluded, impact.Works,
	} {
		for _, e := range byVerdict(r, v) {
			fix := ""
			for _, x := range e.Fixes {
				if x.Who == "dependent" {
					fix = mdsafe.Prose(x.What)
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", mdsafe.Prose(e.Name+" "+e.Version), e.Verdict,
				mdsafe.Prose(sentences(e.Reason, pinnedBy(r, e))), fix)
		}
	}
	for _, n := range slices.Concat(impactLocks(r), r.Notes) {
		fmt.Fprintf(&b, "\n%s\n", mdsafe.Prose(n))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// sentences joins those of two texts that are not empty.
func sentences(a, b string) string {
	return strings.Trim(a+"; "+b, "; ")
}
