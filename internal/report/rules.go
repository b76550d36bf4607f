package report

import (
	"io"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/compat-app/compat/internal/mdsafe"
)

// RulePage writes the documentation of a rule. It links the style sheet as
// ../reports/style.css, and the list of all rules as "./".
func RulePage(w io.Writer, r *Rule) error {
	text, err := prose(r.Help)
	if err != nil {
		return err
	}
	var example g.Node
	if r.Example != "" {
		if example, err = prose(r.Example); err != nil {
			return err
		}
	}
	return rulePage(w, r.ID, "rule "+r.ID,
		h.P(graded(string(r.Severity)), g.Text(" "+r.Title+".")),
		h.Section(text),
		example,
		section("References", listed(h.Ul, r.References, whole)),
		h.P(h.A(h.Href("./"), g.Text("All rules"))),
	)
}

// RulesPage writes the list of all rules, with links to their pages in the same directory.
func RulesPage(w io.Writer, rules []Rule) error {
	rows := g.Group{}
	for _, r := range rules {
		rows = append(rows, h.Tr(
			h.Th(g.Attr("scope", "row"), h.A(h.Href(r.ID), code(r.ID))),
			h.Td(graded(string(r.Severity))), h.Td(g.Text(r.Title))), g.Text("\n"))
	}
	column := func(name string) g.Node { return h.Th(g.Attr("scope", "col"), g.Text(name)) }
	return rulePage(w, "rules", "rules", scrolled("Rules", h.Table(Rows(
		h.THead(h.Tr(column("rule"), column("severity"), column("what is wrong"))),
		h.TBody(rows)))))
}

func rulePage(w io.Writer, title, heading string, content ...g.Node) error {
	return PageOf(
		"compat: "+title,
		h.Link(h.Rel("stylesheet"), h.Href("../reports/style.css")),
		h.Header(h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" "+mdsafe.Visible(heading)))),
		h.Main(Rows(content...)),
	).Render(w)
}
