package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// The pages are built with gomponents instead of html/template. html/template calls methods by
// name, so the linker would keep every method of every type: a third of the binary.

// CSP returns the Content-Security-Policy for the pages: it allows only the style sheet, the search
// form, and the script that copies commands, by its hash.
func CSP() string {
	return "default-src 'none'; style-src 'self'; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// hash allows an inline style or script in a Content-Security-Policy.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

//go:embed style.css
var style []byte

//go:embed copy.js
var script []byte

// Style returns the style sheet of the page, to be served as /reports/style.css.
func Style() []byte { return bytes.Clone(style) }

// File writes the page of a report as one file that needs no other.
func File(w io.Writer, v *View) error {
	policy := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'"
	return page(w, v, "", g.Group{
		h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy)),
		g.Text("\n"),
		h.StyleEl(g.Raw(string(style))),
	})
}

// Page writes a report as an HTML page: a summary, an article for each cause, and lists. It is
// complete without its script, which adds a button to each command that copies it. It links
// style.css in the same directory, and under id the other forms of the report: id.json, id.sarif,
// id.md and id/findings. The size is at most 300 KB: long lists are truncated, with a count of the
// rest.
func Page(w io.Writer, v *View, id string) error {
	return page(w, v, id, h.Link(h.Rel("stylesheet"), h.Href("style.css")))
}

// page writes the page; without an id it links no other.
func page(w io.Writer, v *View, id string, style g.Node) error {
	r := &v.Report
	var fresh, existing []int
	for i := range r.Causes {
		if r.Causes[i].New {
			fresh = append(fresh, i)
		} else {
			existing = append(existing, i)
		}
	}
	title, summary, notes, foot := string(r.Verdict), Summary(r), r.Notes, ". "+causetext.Tried
	var reason g.Node
	if v.Problem != "" && len(notes) > 0 {
		var err error
		if reason, err = prose(v.Problem); err != nil {
			return err
		}
		title, summary, notes, foot, id = notes[0], notes[0], notes[1:], "", ""
	}
	var b bytes.Buffer
	err := PageOf(
		"compat: "+title,
		style,
		h.Header(Rows(
			h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" "), graded(string(r.Verdict))),
			h.P(whole(summary)),
			about(&v.Header),
			downloads(id),
		)),
		h.Main(Rows(
			reason,
			failedBuild(&v.Build, id),
			section("Results", results(v.Rows)),
			section("Plan", plan(r)),
			causes("Causes", v, fresh, id),
			causes("Not new: the base has them too", v, existing, id),
			section("Dependency graph", graph(&v.Graph)),
			section("Checked on", matrix(v.Matrix), listed(h.Ul, r.Targets, target)),
			section("Accepted", listed(h.Ul, r.Accepted, accepted)),
			section("Could not be read", listed(h.Ul, r.Unread, unread)),
			section("Not checked", listed(h.Ul, r.Skipped, unread)),
			section("Artifacts", listed(h.Ul, r.Artifacts, artifact)),
			section("Notes", listed(h.Ul, notes, whole)),
			section("Findings", listedOf(h.Ul, r.Findings, v.Findings, finding), search(v, id)),
		)),
		h.Footer(h.P(g.Text("compat "), whole(r.Tool.Version), g.Text(foot))),
		h.Script(g.Raw(string(script))),
	).Render(&b)
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// PageOf returns an HTML page with a title, a style and a body.
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

// Rows returns the nodes on separate lines, without nil nodes.
func Rows(nodes ...g.Node) g.Node {
	rows := g.Group{g.Text("\n")}
	for _, n := range nodes {
		if n != nil {
			rows = append(rows, n, g.Text("\n"))
		}
	}
	return rows
}

// whole returns untrusted text, visible and on one line. All untrusted text uses it or code.
func whole(s string) g.Node { return g.Text(mdsafe.Visible(s)) }

func code(s string) g.Node { return h.Code(whole(s)) }

// codes returns names as code elements with a separator.
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

// graded returns a verdict or severity with its color class.
func graded(word string) g.Node { return h.Span(h.Class(word), g.Text(word)) }

// section returns a section with a heading; nil if there is no content.
func section(title string, content ...g.Node) g.Node {
	content = slices.DeleteFunc(content, func(n g.Node) bool { return n == nil })
	if len(content) == 0 {
		return nil
	}
	return h.Section(Rows(append([]g.Node{h.H2(g.Text(title))}, content...)...))
}

// listed returns a list, with a count of the items beyond shownOnPage; nil if there are no items.
func listed[T any](of func(...g.Node) g.Node, items []T, item func(T) g.Node) g.Node {
	return listedOf(of, items, len(items), item)
}

// listedOf is listed for the first of all items.
func listedOf[T any](of func(...g.Node) g.Node, items []T, all int, item func(T) g.Node) g.Node {
	if len(items) == 0 {
		return nil
	}
	shown := items[:min(len(items), shownOnPage)]
	rows := g.Map(shown, func(x T) g.Node { return h.Li(item(x)) })
	if n := all - len(shown); n > 0 {
		rows = append(rows, h.Li(g.Text("and "+grouped(n)+" more, in the JSON report")))
	}
	return of(Rows(rows...))
}

// results returns the results of several artifacts as a table; nil for one artifact.
func results(all []causetext.Row) g.Node {
	if len(all) == 0 {
		return nil
	}
	class := map[causetext.Result]string{
		causetext.Fails: "incompatible", causetext.Works: "compatible", causetext.Skipped: "none",
	}
	rows := g.Group{}
	for _, row := range all[:min(len(all), shownOnPage)] {
		names := row.Artifacts[:min(len(row.Artifacts), shownOnPage)]
		rows = append(rows, h.Tr(
			h.Td(h.Span(h.Class(cmp.Or(class[row.Result], "unchecked")), g.Text(string(row.Result)))),
			h.Td(whole(row.Reason)),
			h.Td(codes(names, " "), more(len(row.Artifacts)-len(names))),
		), g.Text("\n"))
	}
	column := func(title string) g.Node { return h.Th(g.Attr("scope", "col"), g.Text(title)) }
	head := h.THead(h.Tr(column("result"), column("reason"), column("files")))
	return g.Group{
		h.P(g.Text(causetext.Tally(all) + ".")),
		scrolled("Results", h.Table(Rows(head, h.TBody(rows)))),
		more(len(all) - shownOnPage),
	}
}

// more counts what a list leaves out; nil if it is complete.
func more(n int) g.Node {
	if n <= 0 {
		return nil
	}
	return g.Text(" and " + grouped(n) + " more, in the JSON report")
}

func target(t analyzer.Target) g.Node {
	out := g.Group{code(t.Name), g.Text(" "), graded(string(t.Verdict))}
	if len(t.With) > 0 {
		with := causetext.Installed(t.With)
		out = append(out, g.Text(", with "), codes(with[:min(len(with), shownOnPage)], " "))
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

func unread(u analyzer.Unread) g.Node {
	return g.Group{code(u.Path), g.Text(": "), whole(u.Reason)}
}

func artifact(a analyzer.Artifact) g.Node {
	return g.Group{
		code(a.Path),
		g.Text(": " + a.Kind + ", " + analyzer.Count(a.Objects, "object")),
		h.Br(),
		h.Small(g.Text("sha256 "), code(a.SHA256)),
	}
}

// finding returns one line of the list of all findings.
func finding(f analyzer.Finding) g.Node {
	return g.Group{graded(string(f.Severity)), g.Text(" "), code(f.Rule), g.Text(": "),
		whole(mdsafe.Cut(f.Message, 600))}
}

// causes returns an article for each cause, after a list of links to them; nil if there are none.
func causes(title string, v *View, indexes []int, id string) g.Node {
	r := &v.Report
	if len(indexes) == 0 {
		return nil
	}
	content := g.Group{}
	if len(indexes) > 1 {
		content = append(content, h.Nav(h.Aria("label", title), Rows(listed(h.Ol, indexes,
			func(i int) g.Node {
				c := &r.Causes[i]
				return h.A(h.Href("#"+c.ID), graded(string(c.Severity)), g.Text(" "), whole(c.Title))
			}))))
	}
	for _, i := range indexes[:min(len(indexes), shownOnPage)] {
		content = append(content, article(&r.Causes[i], why(v.Why[i]), id))
	}
	return section(title, content...)
}

// article returns a cause. reason is a paragraph below its evidence; nil = none.
func article(c *analyzer.Cause, reason g.Node, id string) g.Node {
	rows := []g.Node{
		h.H3(h.A(h.Href("#"+c.ID), graded(string(c.Severity)), g.Text(" "), whole(c.Title))),
		h.P(whole(c.Action)),
		evidence(c),
		reason,
	}
	if len(c.Fails) > 0 {
		s := "Fails on " + strings.Join(c.Fails, ", ") + "."
		if len(c.Works) > 0 {
			s += " Works on " + strings.Join(c.Works, ", ") + "."
		}
		rows = append(rows, h.P(g.Text(s)))
	}
	for i, x := range c.Fixes {
		rows = append(rows, fixOf(c, i, x))
	}
	if len(c.Fixes) == 0 {
		rows = append(rows, h.P(g.Text("No ready-made fix.")))
	}
	if len(c.Findings) > 0 {
		rows = append(rows, h.P(h.Class("mark"), ruleLinks(c.Rules, id), g.Text(", "+
			number(len(c.Findings), "finding")+" in "+number(c.Objects, "object"))))
	}
	return h.Article(h.ID(c.ID), h.Class(string(c.Severity)), Rows(rows...))
}

// ruleLinks returns the names of rules, with links to their pages unless there is no id.
func ruleLinks(rules []string, id string) g.Node {
	if id == "" {
		return codes(rules, ", ")
	}
	var out g.Group
	for i, s := range rules {
		if i > 0 {
			out = append(out, g.Text(", "))
		}
		out = append(out, h.A(h.Href("../rules/"+url.PathEscape(s)), code(s)))
	}
	return out
}

// about returns a list of what a report is about; nil if nothing is known.
func about(x *Header) g.Node {
	rows := g.Group{}
	add := func(name, text, link string) {
		if text == "" {
			return
		}
		rows = append(rows, h.Dt(g.Text(name)), h.Dd(linked(whole(text), link)), g.Text("\n"))
	}
	add("Repository", x.Repository, x.RepositoryURL)
	add("Checked", x.Subject, x.SubjectURL)
	add("Commit", x.Commit[:min(len(x.Commit), 12)], x.CommitURL)
	add("Compared with", x.Base, "")
	if !x.At.IsZero() {
		at := x.At.UTC().Format("2006-01-02 15:04 UTC")
		if x.Took > 0 {
			at += ", in " + x.Took.Round(time.Millisecond).String()
		}
		add("Date", at, "")
	}
	if len(rows) == 0 {
		return nil
	}
	return h.Dl(h.Class("about"), rows)
}

// evidence returns the evidence of a cause as a table.
func evidence(c *analyzer.Cause) g.Node {
	if len(c.Evidence) == 0 {
		return nil
	}
	const shown = 20
	var rows []g.Node
	for _, e := range c.Evidence[:min(len(c.Evidence), shown)] {
		rows = append(rows, h.Tr(
			h.Td(codes(causetext.NonEmpty(e.Version, e.Library), " ")),
			h.Td(codes(e.Symbols, " "), plus(e.MoreSymbols)),
			h.Td(codes(e.Objects, " "), plus(e.MoreObjects)),
		))
	}
	if n := len(c.Evidence) - shown; n > 0 {
		rows = append(rows, h.Tr(h.Td(h.ColSpan("3"), g.Text("and "+analyzer.Count(n, "more row")))))
	}
	column := func(name string) g.Node { return h.Th(g.Attr("scope", "col"), g.Text(name)) }
	return scrolled("Evidence: "+c.Title, h.Table(Rows(
		h.THead(h.Tr(column("needs"), column("symbols"), column("in"))),
		h.TBody(Rows(rows...)),
	)))
}

// scrolled returns a wide element in a region that can be scrolled with the keyboard.
func scrolled(name string, wide g.Node) g.Node {
	return h.Div(h.Class("wide"), h.Role("region"), h.TabIndex("0"),
		h.Aria("label", mdsafe.Visible(name)), wide)
}

// copied returns text to be copied: one click selects all of it, and copy.js adds a button.
func copied(text string) g.Node {
	shown := mdsafe.Cut(mdsafe.Lines(text), 4000)
	return h.Pre(h.Class("copy"), h.TabIndex("0"), h.Code(g.Text(shown)))
}

// why returns a Why as a sentence; nil for the zero value.
func why(y Why) g.Node {
	if len(y.Chain) == 0 {
		return nil
	}
	out := g.Group{g.Text("Why: "), codes(y.Chain, " → ")}
	if y.Symbol != "" {
		out = append(out, g.Text(" does not have "), code(y.Symbol))
		// some libraries name the version of their symbols like themselves
		if last := y.Chain[len(y.Chain)-1]; y.Version != "" && path.Base(last) != y.Version {
			out = append(out, g.Text(" of version "), code(y.Version))
		}
	}
	return h.P(out)
}

// plan returns the fixes that together remove all errors, each with its command unless an earlier
// one has the same; nil if there are none.
func plan(r *analyzer.Report) g.Node {
	if len(r.Plan.Fixes) == 0 {
		return nil
	}
	out := g.Group{}
	if len(r.Plan.Fixes) > 1 {
		state := "These fixes were not tried together."
		if r.Plan.Verified {
			state = "These fixes were tried together: no error is left."
		}
		out = append(out, h.P(g.Text(state)))
	}
	shown := map[string]bool{"": true}
	return append(out, listed(h.Ol, r.Plan.Fixes, func(x result.PlannedFix) g.Node {
		row := g.Group{h.A(h.Href("#"+x.Cause), whole(x.Title.String()))}
		i := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool { return c.ID == x.Cause })
		if i < 0 {
			return row
		}
		lines := causetext.Commands(&r.Causes[i], analyzer.CauseFix{Fix: x.Fix})
		command := strings.Join(lines, "\n")
		if shown[command] {
			return row
		}
		shown[command] = true
		return append(row, copied(command))
	}))
}

// downloads links the other forms of a report; nil without an id.
func downloads(id string) g.Node {
	if id == "" {
		return nil
	}
	return h.Nav(h.Class("mark"), h.Aria("label", "Other forms of this report"),
		h.A(h.Href(id+".json"), g.Text("JSON")), g.Text(" · "),
		h.A(h.Href(id+".sarif"), g.Text("SARIF")), g.Text(" · "),
		h.A(h.Href(id+".md"), g.Text("Markdown")), g.Text(" · "),
		h.A(h.Href(id+"/findings"), g.Text("search all findings")))
}

// search links the list of all findings; nil if the page has all of them or there is no id.
func search(v *View, id string) g.Node {
	if id == "" || v.Findings <= shownOnPage {
		return nil
	}
	return h.P(h.A(h.Href(id+"/findings"), g.Text("Search all "+grouped(v.Findings)+" findings")))
}

func plus(n int) g.Node {
	if n == 0 {
		return nil
	}
	return g.Text(" +" + grouped(n))
}

func fixOf(c *analyzer.Cause, i int, x analyzer.CauseFix) g.Node {
	label := "Fix"
	switch {
	case i > 0 && c.Together:
		label = "And"
	case i > 0:
		label = "Or"
	}
	rows := []g.Node{
		h.P(
			h.Strong(g.Text(label)),
			g.Text(" "),
			whole(x.Title.String()),
			g.Text(" "),
			h.Span(h.Class("mark"), g.Text(causetext.FixState(c, x))),
		),
	}
	if x.Command != "" {
		rows = append(rows, copied(strings.Join(causetext.Commands(c, x), "\n")))
	}
	rows = append(rows, listed(h.Ul, x.Cost, func(s string) g.Node {
		return g.Group{g.Text("costs: "), whole(s)}
	}))
	return h.Div(h.Class("fix"), Rows(rows...))
}
