package report

import (
	"bytes"
	_ "embed"
	"io"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/mdsafe"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// CSP is the Content-Security-Policy that Page works under: nothing but its own style sheet.
const CSP = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed style.css
var style []byte

// Style is the page's style sheet, to be served as /reports/style.css.
func Style() []byte { return bytes.Clone(style) }

// Page writes the report as one HTML page without script: a summary, an anchor for each group of
// findings, and the lists behind them. It links style.css beside itself.
func Page(w io.Writer, r *analyzer.Report) error {
	fresh, existing := groups(r)
	var b bytes.Buffer
	err := PageOf(
		"compat: "+string(r.Verdict),
		h.Link(h.Rel("stylesheet"), h.Href("style.css")),
		h.Header(Rows(
			h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" "), graded(string(r.Verdict))),
			h.P(whole(Summary(r))),
		)),
		h.Main(Rows(
			section("Targets", listed(h.Ul, r.Targets, target)),
			found(fresh),
			section("Existing, in the base too", articles(existing)...),
			section("Accepted", listed(h.Ul, r.Accepted, accepted)),
			section("Could not be read", listed(h.Ul, r.Unread, unread)),
			section("Not judged", listed(h.Ul, r.Skipped, unread)),
			section("Artifacts", listed(h.Ul, r.Artifacts, artifact)),
			section("Notes", listed(h.Ul, r.Notes, whole)),
		)),
		h.Footer(
			h.P(
				g.Text("compat "),
				whole(r.Tool.Version),
				g.Text(
					". A fix is verified when it was applied, everything was judged again, and the finding was gone and no new one had come.",
				),
			),
		),
	).Render(&b)
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// PageOf is a page of compat's, with its style and what its body holds.
func PageOf(title string, style g.Node, body ...g.Node) g.Node {
	return h.Doctype(g.Group{g.Text("\n"), h.HTML(h.Lang("en"), Rows(
		h.Head(Rows(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("robots"), h.Content("noindex")),
			h.TitleEl(g.Text(title)),
			style,
		)),
		h.Body(Rows(body...)),
	)), g.Text("\n")})
}

// Rows are nodes on lines of their own; nil is none.
func Rows(nodes ...g.Node) g.Node {
	rows := g.Group{g.Text("\n")}
	for _, n := range nodes {
		if n != nil {
			rows = append(rows, n, g.Text("\n"))
		}
	}
	return rows
}

// whole is all of s, visible and on one line. What comes from outside is written with it or with
// code.
func whole(s string) g.Node { return g.Text(mdsafe.Visible(s)) }

func code(s string) g.Node { return h.Code(whole(s)) }

// codes are names one behind the other.
func codes(names []string, between string) g.Node {
	var out g.Group
	for i, s := range names {
		if i > 0 {
			out = append(out, g.Text(between))
		}
		out = append(out, code(s))
	}
	return out
}

// graded is a verdict or a severity, in its colour.
func graded(word string) g.Node { return h.Span(h.Class(word), g.Text(word)) }

// section is nil without content.
func section(title string, content ...g.Node) g.Node {
	if len(content) == 0 || content[0] == nil {
		return nil
	}
	return h.Section(Rows(append([]g.Node{h.H2(g.Text(title))}, content...)...))
}

// listed is nil without items.
func listed[T any](of func(...g.Node) g.Node, items []T, item func(T) g.Node) g.Node {
	if len(items) == 0 {
		return nil
	}
	return of(Rows(g.Map(items, func(x T) g.Node { return h.Li(item(x)) })...))
}

func target(t analyzer.Target) g.Node {
	out := g.Group{code(t.Name), g.Text(" "), graded(string(t.Verdict))}
	if len(t.With) > 0 {
		out = append(out, g.Text(", beside "), codes(t.With, " "))
	}
	return out
}

func accepted(a analyzer.Accepted) g.Node {
	out := g.Group{
		code(subject(&a.Finding)),
		g.Text(" in "),
		code(a.Finding.Object),
		g.Text(", because "),
		whole(a.Because),
	}
	if a.By != "" {
		out = append(out, g.Text(", by "), whole(a.By))
	}
	if a.Until != "" {
		out = append(out, g.Text(", until "), whole(a.Until))
	}
	return out
}

func unread(
	u analyzer.Unread,
) g.Node {
	return g.Group{code(u.Path), g.Text(": "), whole(u.Reason)}
}

func artifact(a analyzer.Artifact) g.Node {
	return g.Group{
		code(a.Path),
		g.Text(": " + a.Kind + ", " + plural(a.Objects, "object")),
		h.Br(),
		h.Small(g.Text("sha256 "), code(a.SHA256)),
	}
}

// found are the findings, behind a list of them; nil without any.
func found(gs []*group) g.Node {
	if len(gs) == 0 {
		return nil
	}
	places := h.Nav(h.Aria("label", "Findings"), Rows(listed(h.Ol, gs, func(x *group) g.Node {
		return h.A(
			h.Href("#"+x.ID),
			graded(string(x.Severity)),
			g.Text(" "),
			code(x.Object),
			g.Text(": "),
			code(subject(x.Finding)),
		)
	})))
	return section("Findings", append(g.Group{places}, articles(gs)...)...)
}

func articles(gs []*group) g.Group { return g.Map(gs, (*group).article) }

func (x *group) article() g.Node {
	rows := []g.Node{
		h.H3(h.A(h.Href("#"+x.ID), graded(string(x.Severity)), g.Text(" "), whole(x.Rule))),
		h.P(whole(x.Message)),
		h.Dl(x.facts()),
	}
	for _, f := range x.fixes {
		rows = append(rows, way(f))
	}
	return h.Article(h.ID(x.ID), h.Class(string(x.Severity)), Rows(rows...))
}

// facts are what is known of a group, by name; what is empty is left out.
func (x *group) facts() g.Node {
	var rows []g.Node
	row := func(name string, there bool, content ...g.Node) {
		if there {
			rows = append(rows, g.Group{h.Dt(g.Text(name)), h.Dd(content...)})
		}
	}
	row("object", true, code(x.Object))
	row(
		plural(len(x.symbols), "symbol"),
		len(x.symbols) > 0,
		h.Class("symbols"),
		codes(x.symbols, " "),
	)
	row("that is", x.Demangled != "", code(x.Demangled))
	row("version", x.Version != "", code(x.Version))
	row("library", x.Library != "", code(x.Library))
	row("target", len(x.targets) > 0, codes(x.targets, " "))
	row("in", true, codes(x.artifacts, " "))
	row("chain", len(x.Chain) > 0, codes(x.Chain, " → "))
	if x.ProvidedBy != nil {
		row("has it", true, code(*x.ProvidedBy))
	}
	return Rows(rows...)
}

func way(f fix.Fix) g.Node {
	mark := "not verified"
	if f.Verified {
		mark = "verified"
	}
	rows := []g.Node{
		h.P(
			h.Strong(g.Text("Fix")),
			g.Text(" "),
			whole(f.Title),
			g.Text(" "),
			h.Span(h.Class("mark"), g.Text(mark)),
		),
	}
	if f.Command != "" {
		rows = append(rows, h.Pre(h.Code(g.Text(mdsafe.Lines(f.Command)))))
	}
	rows = append(
		rows,
		listed(h.Ul, f.Cost, func(c string) g.Node { return g.Group{g.Text("costs: "), whole(c)} }),
	)
	return h.Div(h.Class("fix"), Rows(rows...))
}
