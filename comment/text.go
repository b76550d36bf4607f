package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/mdsafe"
)

// The paragraphs that the check run and the summary comment are made of. Each is a whole Markdown
// block.

// names are the outside strings that a finding's sentences hold.
func names(f *analyzer.Finding) []string {
	ns := []string{
		f.Object,
		f.Symbol,
		f.Demangled,
		f.Version,
		f.Library,
		f.Artifact,
		f.Target,
		f.Package,
	}
	ns = append(ns, f.Chain...)
	if f.ProvidedBy != nil {
		ns = append(ns, *f.ProvidedBy)
	}
	return distinct(ns)
}

// oneLine is the message, with the other symbols of the group behind it.
func oneLine(g *group, most int) string {
	s := mdsafe.Prose(g.Message, names(g.Finding)...)
	if others := g.symbols; len(others) > 1 {
		if !strings.HasSuffix(g.Message, ".") {
			s += "."
		}
		s += " Also: " + mdsafe.Codes(others[1:], most, maxShown) + "."
	}
	return s + " (" + mdsafe.Code(g.Rule, maxShown) + ")"
}

// maxShown bounds one name in a list, in characters.
const maxShown = 300

// block is the whole story of a group. A fix that an earlier block has told (said) is only named.
func block(in Input, g *group, symbols int, said map[string]bool) string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"\n#### %s: %s in %s\n\n%s\n\n",
		g.Severity,
		mdsafe.Code(g.Rule, maxShown),
		mdsafe.Code(g.where(), maxShown),
		mdsafe.Prose(g.Message, names(g.Finding)...),
	)
	if n := len(g.symbols); n > 0 {
		fmt.Fprintf(&b, "- %s: %s\n", count(n, "symbol"), symbolList(in, g, symbols))
	}
	if g.Library != "" || g.Version != "" {
		fmt.Fprintf(
			&b,
			"- of: %s\n",
			mdsafe.Codes(distinct([]string{g.Version, g.Library}), 0, maxShown),
		)
	}
	if len(g.targets) > 0 {
		fmt.Fprintf(&b, "- on: %s\n", mdsafe.Codes(g.targets, 10, maxShown))
	}
	if len(g.artifacts) > 0 {
		fmt.Fprintf(&b, "- in: %s\n", mdsafe.Codes(g.artifacts, 10, maxShown))
	}
	if len(g.Chain) > 1 {
		fmt.Fprintf(&b, "- needed by: %s\n", chain(g.Chain))
	}
	if g.ProvidedBy != nil && *g.ProvidedBy != "" {
		fmt.Fprintf(&b, "- provided by: %s\n", mdsafe.Code(*g.ProvidedBy, maxShown))
	}
	for _, x := range g.fixes[:min(len(g.fixes), maxFixes)] {
		key := x.Kind + "\x00" + x.Title + "\x00" + x.Command
		b.WriteString(fixBlock(g.Finding, x, said[key]))
		said[key] = true
	}
	return b.String()
}

// maxFixes is how many ways out are shown of one group; the first are the best.
const maxFixes = 5

func (g *group) where() string {
	if g.Object == "" {
		return g.Artifact
	}
	return g.Object
}

// symbolList names the symbols up to a number of bytes and counts the rest.
func symbolList(in Input, g *group, limit int) string {
	var b strings.Builder
	for i, s := range g.symbols {
		c := mdsafe.Code(s, maxShown)
		if i == 0 && g.Demangled != "" && g.Demangled != s {
			c += " (" + mdsafe.Code(g.Demangled, maxShown) + ")"
		}
		if i > 0 && b.Len()+len(c) > limit {
			fmt.Fprintf(&b, " and %d more%s", len(g.symbols)-i, where(in))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c)
	}
	return b.String()
}

func chain(objects []string) string {
	var cs []string
	for i, o := range objects {
		if i == 8 {
			cs = append(cs, "…")
			break
		}
		cs = append(cs, mdsafe.Code(o, maxShown))
	}
	return strings.Join(cs, " → ")
}

func fixBlock(f *analyzer.Finding, x fix.Fix, told bool) string {
	var b strings.Builder
	mark := "not verified"
	if x.Verified {
		mark = "verified"
	}
	known := append(names(f), x.Requirement)
	if told {
		return fmt.Sprintf(
			"\n**Fix** (%s, as above): %s\n",
			mdsafe.Code(x.Kind, 40),
			mdsafe.Prose(x.Title, known...),
		)
	}
	fmt.Fprintf(
		&b,
		"\n**Fix** (%s, %s): %s\n",
		mdsafe.Code(x.Kind, 40),
		mark,
		mdsafe.Prose(x.Title, known...),
	)
	if x.Command != "" {
		b.WriteString("\n" + mdsafe.Fence("", mdsafe.Cut(x.Command, 2000)))
	} else if x.Requirement != "" {
		b.WriteString("\n" + mdsafe.Fence("", mdsafe.Cut(x.Requirement, 500)))
	}
	if len(x.Cost) > 0 {
		b.WriteString("\nWhat it costs:\n\n")
		for i, c := range x.Cost {
			if i == 8 {
				fmt.Fprintf(&b, "- and %d more\n", len(x.Cost)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", mdsafe.Prose(c, known...))
		}
	}
	return b.String()
}

// Bytes that a list of the overview may take; what does not fit is counted.
const (
	targetBytes  = 3 << 10
	listBytes    = 5 << 10
	acceptedMore = 8 << 10
)

// section is a list under a heading, "" when it is empty.
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

// targets lists what was judged against, the targets of one verdict and one set of packages in one
// line: a loose library has twenty.
func targets(r *analyzer.Report) string {
	type kind struct {
		verdict analyzer.Verdict
		with    string
	}
	names, packages := map[kind][]string{}, map[kind][]string{}
	var order []kind
	for _, t := range r.Targets {
		k := kind{t.Verdict, strings.Join(t.With, "\x00")}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k], packages[k] = append(names[k], t.Name), t.With
	}
	var lines []string
	for _, k := range order {
		l := "- " + mdsafe.Codes(names[k], 8, maxShown) + ": " + string(k.verdict)
		if with := packages[k]; len(with) > 0 {
			l += ", beside " + mdsafe.Codes(with, 8, 100)
		}
		lines = append(lines, l+"\n")
	}
	return section("\n", lines, targetBytes)
}

// existingList are the findings that the base has.
func existingList(in Input, s sorted, limit int) string {
	groups := grouped(s.existing)
	if len(groups) == 0 {
		return ""
	}
	var lines []string
	for _, g := range groups {
		lines = append(lines, fmt.Sprintf("- %s %s\n", g.Severity, oneLine(g, 10)))
	}
	return fmt.Sprintf("\n### Existing: already on %s\n\n", mdsafe.Code(base(in), 60)) +
		mdsafe.Join(lines, limit, func(left int) string { return leftOut(in, groups, left) })
}

// acceptedList says what the maintainers took on themselves: accepted `SYMBOL` because TEXT (NAME,
// date).
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

// subject is the one word that a finding is about.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}

func unreadList(us []analyzer.Unread) string {
	return section("\n### Could not be read\n\n", pathLines(us), listBytes)
}

func skippedList(us []analyzer.Unread) string {
	return section("\n### Not judged\n\n", pathLines(us), listBytes)
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
