package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/internal/mdsafe"
)

// notChecked returns the entry of each artifact of which nothing was checked, such as a wheel for
// macOS if only platforms of Linux are named. It is shown even if the others are compatible.
func notChecked(r *analyzer.Report) []analyzer.Unread {
	open := map[string]bool{} // artifacts without checked objects
	for _, a := range r.Artifacts {
		open[a.Path] = a.Objects == 0
	}
	var out []analyzer.Unread
	for _, u := range r.Skipped {
		if open[u.Path] {
			out = append(out, u)
			open[u.Path] = false // it can have several reasons
		}
	}
	return out
}

// fitNotes returns the lines of the first notes, at most room, and counts the others. Only the
// first note is cut, and ends with an ellipsis then.
func fitNotes(notes [][]string, room int) []string {
	lines := slices.Concat(notes...)
	if len(lines) <= room {
		return lines
	}
	var out []string
	for i, n := range notes {
		if fits := room - 1 - len(out); len(n) > fits {
			left := len(notes) - i
			if i == 0 && fits > 0 {
				out = append(out, n[:fits]...)
				out[fits-1] += " …"
				left--
			}
			if left > 0 {
				out = append(out, fmt.Sprintf("and %s (--verbose)", analyzer.Count(left, "more note")))
			}
			break
		}
		out = append(out, n...)
	}
	return out
}

// notes returns the lines of each note: about unreadable and skipped files, accepted findings, and
// the notes of the report.
func (p *textPrinter) notes() [][]string {
	r := p.report
	var out [][]string
	addLines := func(most int, label, text string) {
		lines := wrap(label+": "+text, p.width, "  ")
		if len(lines) > most {
			lines = lines[:most]
			lines[most-1] = strings.TrimSuffix(clip(lines[most-1], p.width-1), "…") + "…"
		}
		out = append(out, lines)
	}
	add := func(label, text string) { addLines(2, label, text) }
	for i := range r.Unread {
		u := &r.Unread[i]
		if p.options.Verbose || u != unreadFirst(r) {
			most := 2
			if i == 0 {
				most = 5 // the reason says what to do
			}
			addLines(most, "could not check", p.file(u.Path)+": "+mdsafe.Visible(u.Reason))
		}
	}
	for _, a := range acceptances(r) {
		addLines(6, "accepted"+until(a[0]), acceptedFindings(a, p.options.Verbose)+
			", because "+mdsafe.Visible(a[0].Because))
	}
	skipped := r.Skipped
	if !p.options.Verbose {
		skipped = notChecked(r)
		if len(skipped) == 0 && len(r.Causes) == 0 && r.Verdict != analyzer.Compatible {
			skipped = r.Skipped
		}
		skipped = skipped[:min(len(skipped), 2)]
	}
	for _, u := range skipped {
		add("not checked", p.file(u.Path)+": "+mdsafe.Visible(u.Reason))
	}
	for _, a := range r.Artifacts {
		if len(a.Assumed) > 0 {
			with := " (--conda-prefix DIR reads them)"
			switch path.Ext(a.Path) {
			case ".deb", ".rpm", ".apk":
				with = " (--root DIR reads a system with them)"
			case ".tgz": // of npm
				with = ""
			}
			add("not checked", p.file(a.Path)+": the symbols of "+mdsafe.Visible(analyzer.List(a.Assumed, 3,
				len(a.Assumed), "library"))+", because the packages that it depends on were not read"+with)
		}
	}
	if n := abiNote(r); n != "" && !p.options.Verbose {
		add("note", n)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Severity != analyzer.Note || !f.Shown || p.options.Verbose {
			continue
		}
		text := mdsafe.Visible(f.Message)
		if len(r.Artifacts) > 1 {
			text = p.file(f.Artifact) + ": " + text
		}
		add("note", text)
	}
	for _, n := range r.OtherNotes() { // the second line has the others
		add("note", mdsafe.Visible(n))
	}
	return out
}

// abiNote counts the notes about changes of libraries' ABIs since the base; "" if there are none.
// Nothing in the artifacts fails because of them, but programs that link these libraries can.
func abiNote(r *analyzer.Report) string {
	var libraries, rules []string
	seen := map[[4]string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		// copies of a library with one SONAME have the same changes
		change := [4]string{f.Rule, f.Library, f.Symbol, f.Version}
		if f.Severity != analyzer.Note || len(f.Against) == 0 || seen[change] {
			continue
		}
		seen[change] = true
		if name := mdsafe.Visible(cmp.Or(f.Library, f.Object)); !slices.Contains(libraries, name) {
			libraries = append(libraries, name)
		}
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return fmt.Sprintf("%s since the base may break programs that link %s: %s (--verbose)",
		analyzer.Count(len(seen), "change"), analyzer.List(libraries, 3, len(libraries), "library"),
		analyzer.List(rules, 3, len(rules), "rule"))
}

// file returns the path of a file in its artifact. If there are several artifacts, it contains the
// artifact's.
func (p *textPrinter) file(name string) string {
	a := artifactOf(p.report, name)
	if len(p.report.Artifacts) == 1 && a != name {
		name = strings.TrimPrefix(name, a+"/")
	}
	return mdsafe.Visible(name)
}

// ignored says which findings the configuration ignores: "2 findings are accepted, the rule
// isa-level is off (1 finding)"; "" if there are none.
func ignored(r *analyzer.Report) string {
	var parts []string
	if n := len(r.Accepted); n > 0 {
		are := " are accepted"
		if n == 1 {
			are = " is accepted"
		}
		parts = append(parts, analyzer.Count(n, "finding")+are)
	}
	for _, x := range r.Off {
		parts = append(parts, fmt.Sprintf("the rule %s is off (%s)", mdsafe.Visible(x.Rule),
			analyzer.Count(x.Findings, "finding")))
	}
	return strings.Join(parts, ", ")
}

// acceptances groups the accepted findings by the entry that accepts them, in their order.
func acceptances(r *analyzer.Report) [][]analyzer.Accepted {
	type entry struct{ because, until, by string }
	index := map[entry]int{}
	var out [][]analyzer.Accepted
	for _, a := range r.Accepted {
		e := entry{a.Because, a.Until, a.By}
		i, ok := index[e]
		if !ok {
			i = len(out)
			index[e] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}

// acceptedFindings names findings that one entry accepts: "pow and 3 more symbols in warp.so".
func acceptedFindings(as []analyzer.Accepted, all bool) string {
	var subjects, objects []string
	add := func(to *[]string, s string) {
		if s = mdsafe.Visible(s); s != "" && !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	for i := range as {
		f := as[i].Finding
		f.Symbol = cause.Short(f.Symbol, f.Demangled)
		add(&subjects, subject(&f))
		add(&objects, f.Object)
	}
	shown := 3
	if all {
		shown = max(len(subjects), len(objects))
	}
	s := analyzer.List(subjects, shown, len(subjects), "finding")
	if len(objects) > 0 {
		s += " in " + analyzer.List(objects, shown, len(objects), "file")
	}
	return s
}

// until returns who accepted a finding and the last day of the acceptance, after a space.
func until(a analyzer.Accepted) string {
	s := ""
	if a.By != "" {
		s += " by " + mdsafe.Visible(a.By)
	}
	if a.Until != "" {
		s += " until " + mdsafe.Visible(a.Until)
	}
	return s
}
