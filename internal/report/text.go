package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// TextOptions say how Text writes. The zero value is for a pipe.
type TextOptions struct {
	// each object by itself, every symbol, chains, existing findings in full and what was skipped
	Verbose bool
	Color   bool // severities in colour, by ANSI escapes
}

// Text writes the report for a terminal: a paragraph for each cause with what, where, why and how
// to mend it, the worst first, then what could not be read, and a summary as the last line.
func Text(w io.Writer, r *analyzer.Report, o TextOptions) error {
	var b bytes.Buffer
	fresh, existing := groups(r)
	if !o.Verbose {
		fresh = causes(fresh)
	}
	for _, g := range fresh {
		textGroup(&b, g, o)
	}
	if len(existing) > 0 {
		fmt.Fprintf(&b, "existing, in the base too: %s\n", plural(findings(existing), "finding"))
		for _, g := range existing {
			if o.Verbose {
				textGroup(&b, g, o)
			} else {
				fmt.Fprintf(&b, "  %s %s: %s\n", o.severity(g.Severity), g.Rule, mdsafe.Visible(g.Message))
			}
		}
		b.WriteByte('\n')
	}
	for _, a := range r.Accepted {
		fmt.Fprintf(
			&b,
			"accepted: %s in %s, because %s%s\n",
			mdsafe.Visible(subject(&a.Finding)),
			mdsafe.Visible(a.Finding.Object),
			mdsafe.Visible(a.Because),
			until(a),
		)
	}
	for i, u := range r.Unread {
		if i == shownUnread && !o.Verbose {
			fmt.Fprintf(&b, "could not read %d more (--verbose names them)\n", len(r.Unread)-i)
			break
		}
		fmt.Fprintf(&b, "could not read %s: %s\n", mdsafe.Visible(u.Path), mdsafe.Visible(u.Reason))
	}
	if o.Verbose {
		for _, u := range r.Skipped {
			fmt.Fprintf(
				&b,
				"not judged: %s: %s\n",
				mdsafe.Visible(u.Path),
				mdsafe.Visible(u.Reason),
			)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", mdsafe.Visible(n))
	}
	verdict, rest, _ := strings.Cut(Summary(r), ":")
	fmt.Fprintf(
		&b,
		"%s:%s\n",
		o.paint(
			verdict,
			map[analyzer.Verdict]string{analyzer.Compatible: green, analyzer.Incompatible: red, analyzer.Unchecked: yellow}[r.Verdict],
		),
		rest,
	)
	_, err := w.Write(b.Bytes())
	return err
}

// Colours of ECMA-48, SGR.
const (
	red, yellow, green, blue, bold = "31;1", "33;1", "32;1", "36", "1"
)

func (o TextOptions) paint(s, colour string) string {
	if !o.Color {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (o TextOptions) severity(s analyzer.Severity) string {
	return o.paint(
		string(s),
		map[analyzer.Severity]string{analyzer.Error: red, analyzer.Warning: yellow, analyzer.Note: blue}[s],
	)
}

const (
	shown       = 12 // symbols that a cause names without --verbose
	shownUnread = 20 // files that could not be read; more mostly have one reason
)

func textGroup(b *bytes.Buffer, g *group, o TextOptions) {
	verbose := o.Verbose
	fmt.Fprintf(
		b,
		"%s %s: %s\n",
		o.severity(g.Severity),
		o.paint(g.Rule, bold),
		mdsafe.Visible(g.Message),
	)
	field := func(name string, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		for i := range values {
			values[i] = mdsafe.Visible(values[i])
		}
		if len(values) > 0 {
			fmt.Fprintf(b, "  %-9s %s\n", name, strings.Join(values, ", "))
		}
	}
	where := list(append([]string{g.Object}, g.others...), 3, verbose)
	if g.Object != g.artifacts[0] || len(g.artifacts) > 1 {
		where += " in " + list(g.artifacts, 3, verbose)
	}
	field("where", where)
	if len(g.symbols) > 0 {
		n := len(g.symbols)
		if !verbose {
			n = min(n, shown)
		}
		field("symbols", g.symbols[:n]...)
		if n < len(g.symbols) {
			fmt.Fprintf(b, "  %-9s and %d more (--verbose names them)\n", "", len(g.symbols)-n)
		}
	}
	if g.Demangled != "" && g.Demangled != g.Symbol {
		field("that is", g.Demangled)
	}
	field("version", g.Version)
	field("library", g.Library)
	field("target", list(g.targets, 4, verbose))
	if g.ProvidedBy != nil {
		field("has it", *g.ProvidedBy)
	}
	if verbose && len(g.Chain) > 1 {
		field("chain", strings.Join(g.Chain, " -> "))
	}
	for _, x := range g.fixes {
		mark := "not verified"
		if x.Verified {
			mark = "verified"
		}
		field("fix", fmt.Sprintf("%s (%s)", x.Title, mark))
		if x.Command != "" && x.Command != x.Title {
			for l := range strings.SplitSeq(mdsafe.Lines(x.Command), "\n") {
				fmt.Fprintf(b, "  %-9s   %s\n", "", l)
			}
		}
		for _, c := range x.Cost {
			field("", "  costs: "+c)
		}
	}
	b.WriteByte('\n')
}

func list(ss []string, n int, all bool) string {
	if all || len(ss) <= n {
		return strings.Join(ss, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ss[:n], ", "), len(ss)-n)
}

func until(a analyzer.Accepted) string {
	s := ""
	if a.By != "" {
		s += ", by " + mdsafe.Visible(a.By)
	}
	if a.Until != "" {
		s += ", until " + mdsafe.Visible(a.Until)
	}
	return s
}

// Summary is the report in a line: "incompatible: 2 errors, 1 warning in 3 objects on
// manylinux_2_17_x86_64".
func Summary(r *analyzer.Report) string {
	var parts []string
	fresh, existing := groups(r)
	parts = append(parts, counts(fresh)...)
	if n := findings(existing); n > 0 {
		parts = append(parts, plural(n, "existing finding"))
	}
	if n := len(r.Accepted); n > 0 {
		parts = append(parts, plural(n, "accepted finding"))
	}
	if n := analyzer.Files(r.Unread); n > 0 {
		parts = append(parts, plural(n, "file")+" not read")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing found")
	}
	s := fmt.Sprintf(
		"%s: %s in %s",
		r.Verdict,
		strings.Join(parts, ", "),
		plural(objects(r), "object"),
	)
	var names []string
	for _, t := range r.Targets {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(names) > 0 {
		s += " on " + mdsafe.Visible(list(names, 3, false))
	}
	return s
}
