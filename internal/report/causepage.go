package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// causes returns an article for each cause; nil if there are none. Of many, all but the first are
// folded.
func causes(title string, v *View, indexes []int, steps *causetext.Steps, id string) g.Node {
	r := &v.Report
	if len(indexes) == 0 {
		return nil
	}
	content := g.Group{}
	for i, n := range indexes[:min(len(indexes), shownOnPage)] {
		c := &r.Causes[n]
		tag, text := string(c.Severity), c.Title
		if len(r.Causes) > 1 { // one tag: the severity is that of the cause
			tag = fmt.Sprintf("cause %d · %s", n+1, c.Severity)
		}
		if headed(r, c) {
			text = causetext.Task(r, c, nil)
			if c.Severity == analyzer.Error && text != "" { // the verdict in the header says it
				tag = ""
			}
		}
		body := causeBody(r, n, &v.Why[n], steps, id)
		fold := i >= openCauses || len(indexes) > manyCauses && i > 0
		content = append(content, article(c, tag, text, fold, body...), g.Text("\n"))
	}
	return section(title, content, more(len(indexes)-shownOnPage))
}

// headed reports whether the header of the page has the title of a cause.
func headed(r *analyzer.Report, c *analyzer.Cause) bool { return len(r.Causes) == 1 && c.New }

// article returns a cause: its title after a tag with the color of its severity, if there is one,
// and its body. The title of a folded one opens it, and so does a link to it: the id is in the
// folded part.
func article(c *analyzer.Cause, tag, text string, fold bool, body ...g.Node) g.Node {
	title := g.Group{whole(text)}
	if tag != "" {
		title = g.Group{h.Span(h.Class(string(c.Severity)), g.Text(tag)), g.Text(" "), whole(text)}
	}
	anchor := h.A(h.ID(c.ID), h.Class("anchor"), h.Href("#"+c.ID),
		h.Aria("label", "Link to this cause"), g.Text("#"))
	var open g.Node
	if !fold {
		open = g.Attr("open")
	}
	return h.Article(h.Class(string(c.Severity)), h.Details(open, Rows(
		append([]g.Node{h.Summary(h.H3(title)), anchor}, body...)...)))
}

// causeBody returns what is said about a cause: what users see, who has to act, the way to what is
// missing, and where it fails; then the fixes, and folded what explains and proves it.
func causeBody(
	r *analyzer.Report, i int, y *Why, steps *causetext.Steps, id string,
) []g.Node {
	c := &r.Causes[i]
	var rows []g.Node
	if label, message := causetext.Seen(r, i); message != "" {
		rows = append(rows, h.P(h.Class("seen"), g.Text(label+": "),
			code(mdsafe.Cut(mdsafe.Visible(message), maxMessage))))
	}
	if !headed(r, c) { // otherwise it is the title
		rows = append(rows, h.P(whole(causetext.Task(r, c, nil))))
	}
	if y.In != "" {
		rows = append(rows, h.P(whole(upper(y.In)+".")))
	}
	rows = append(rows, way(y), systems(c))
	rows = append(rows, fixes(r, i, steps)...)
	return append(rows, details(r, i, y, id), reproduction(c.Reproduce))
}

// details returns what explains and proves a cause, folded; nil if there is nothing.
func details(r *analyzer.Report, i int, y *Why, id string) g.Node {
	c := &r.Causes[i]
	var rows []g.Node
	if why := causetext.Why(c); why != "" && c.Severity != analyzer.Warning {
		rows = append(rows, h.P(whole(why+".")))
	}
	if y.Message != "" {
		rows = append(rows, h.P(g.Text("For example: "),
			whole(mdsafe.Cut(y.Message, maxMessage))))
	}
	if table := evidence(c, fmt.Sprintf("Evidence of cause %d", i+1)); table != nil {
		rows = append(rows, table)
	}
	for _, x := range causetext.Also(r, c) {
		rows = append(rows, h.P(g.Text("Also part of this "+string(c.Severity)+": "), whole(x.Text),
			g.Text(" ("), ruleLinks([]string{x.Rule}, id), g.Text(").")))
	}
	title := "Details"
	if len(c.Findings) > 0 {
		title += ": " + number(len(c.Findings), "finding") + " in " + number(c.Objects, "file")
		rows = append(rows, h.P(h.Class("mark"), g.Text("Rule "),
			ruleLinks([]string{causetext.MainRule(r, c)}, id)))
	}
	if len(rows) == 0 {
		return nil
	}
	return h.Details(Rows(append([]g.Node{h.Summary(g.Text(title))}, rows...)...))
}

// reproduction returns how to see a cause fail, folded; nil if no message shows it.
func reproduction(p *result.Reproduction) g.Node {
	if p == nil {
		return nil
	}
	rows := []g.Node{h.Summary(g.Text("Reproduce it"))}
	for _, x := range causetext.Recipes(p) {
		rows = append(rows, h.P(whole(upper(x.Where)+":")), copied(string(x.Command)))
	}
	rows = append(rows,
		h.P(g.Text("It prints: "), code(mdsafe.Cut(mdsafe.Lines(p.Message), maxMessage))))
	return h.Details(Rows(rows...))
}

// systems returns where a cause fails and works; nil if that does not depend on the system.
func systems(c *analyzer.Cause) g.Node {
	if len(c.Fails) == 0 {
		return nil
	}
	line := func(class, sign, text string, names []string) g.Node {
		return h.Li(h.Span(h.Class(class), h.Aria("hidden", "true"), g.Text(sign)),
			g.Text(" "+text+" "), whole(strings.Join(names, ", ")))
	}
	rows := []g.Node{line("incompatible", "✗", "Fails on", c.Fails)}
	if len(c.Works) > 0 {
		rows = append(rows, line("compatible", "✓", "Works on", c.Works))
	}
	return h.Ul(h.Class("systems"), Rows(rows...))
}

// way returns the way of an example as boxes with arrows; nil if it has only one box.
func way(y *Why) g.Node {
	steps := steps(y)
	if len(steps) < 2 {
		return nil
	}
	var boxes g.Group
	for i, s := range steps {
		var arrow g.Node
		if i > 0 {
			arrow = h.Span(h.Class("arrow"), h.Aria("hidden", "true"), g.Text("→"))
		}
		box := "box"
		if s.fails {
			box = "box fails"
		}
		boxes = append(boxes, h.Li(arrow,
			h.Span(h.Class(box), code(s.name), h.Small(g.Text(s.what)))), g.Text("\n"))
	}
	return h.Ol(h.Class("way"), h.Aria("label", "What fails"), boxes)
}

// step is a box of a way.
type step struct {
	name, what string
	fails      bool
}

// steps returns the files of a way, and the symbol that the last one lacks.
func steps(y *Why) []step {
	var out []step
	for i, name := range y.Chain {
		s := step{name: name, what: "which needs"}
		switch last := i == len(y.Chain)-1; {
		case i == 0 && y.Symbol != "" && last:
			s.what = "loads no library with"
		case i == 0:
			s.what = "needs"
		case last && y.Lacks:
			s.what = "which lacks"
		case last && y.Symbol == "":
			s.what, s.fails = "✗ here it fails", true
		}
		out = append(out, s)
	}
	if y.Symbol == "" {
		return out
	}
	name := y.Symbol
	// some libraries name the version of their symbols like themselves
	if y.Version != "" && (len(y.Chain) == 0 || path.Base(y.Chain[len(y.Chain)-1]) != y.Version) {
		name += "@" + y.Version
	}
	return append(out, step{name, "✗ not there", true})
}

// fixes returns the fixes of cause i. Alternatives to the first are folded.
func fixes(r *analyzer.Report, i int, steps *causetext.Steps) (rows []g.Node) {
	c := &r.Causes[i]
	for j, x := range c.Fixes {
		title := g.Group{h.Strong(g.Text(steps.Of(i, j).Label)), g.Text(" ")}
		step, class := steps.Of(i, j), "fix"
		if x.Verified {
			class += " tried"
		}
		state := h.Span(h.Class("state"), g.Text(step.By+step.State+clears(c, x)))
		if n := causetext.ShownBefore(r, i, x); n > 0 {
			title = append(title, g.Text("that of "),
				h.A(h.Href("#"+r.Causes[n-1].ID), g.Text(fmt.Sprintf("cause %d", n))), g.Text(" "), state)
			rows = append(rows, h.Div(h.Class(class), h.P(title)))
			continue
		}
		title = append(title, whole(x.Title.String()), g.Text(" "), state)
		var body []g.Node
		if len(step.Commands) > 0 {
			if step.Before != "" {
				body = append(body, h.P(g.Text(step.Before+":")))
			}
			body = append(body, copied(strings.Join(step.Commands, "\n")))
		}
		if step.Remark != "" { // nothing comes between the title and the command
			body = append(body, h.P(withCode(step.Remark, step.Whole)))
		}
		body = append(body, costList(x.Cost)...)
		if j > 0 && !c.Together && len(body) > 0 {
			body = append([]g.Node{h.Summary(title)}, body...)
			rows = append(rows, h.Details(h.Class(class), Rows(body...)))
			continue
		}
		rows = append(rows, h.Div(h.Class(class), Rows(append([]g.Node{h.P(title)}, body...)...)))
	}
	if len(c.Fixes) == 0 {
		rows = append(rows, h.Div(h.Class("fix"), h.P(g.Text(causetext.NoFix))))
	}
	return rows
}

// clears says how many of the findings a fix removes that was tried; "" if it removes all.
func clears(c *analyzer.Cause, x analyzer.CauseFix) string {
	n := len(c.Findings)
	if !x.Verified || x.Clears >= n {
		return ""
	}
	return fmt.Sprintf("; clears %s of %s", grouped(x.Clears), number(n, "finding"))
}

// costList returns the costs of a fix; those that follow the first are folded if they are many.
func costList(all []string) []g.Node {
	if len(all) == 0 {
		return nil
	}
	shown, rest := all, []string(nil)
	if len(all) > openCosts {
		shown, rest = all[:1], all[1:]
	}
	rows := []g.Node{h.P(h.Strong(g.Text("Costs:")), g.Text(" "), whole(strings.Join(shown, "; ")))}
	if rest != nil {
		rows = append(rows, folded(listed(h.Ul, rest, whole), true,
			"and "+analyzer.Count(len(rest), "more cost")))
	}
	return rows
}

// evidence returns the evidence of a cause as a table, with a row for each version and library, and
// without columns in which there is nothing; nil without any. name is that of the table.
func evidence(c *analyzer.Cause, name string) g.Node {
	if len(c.Evidence) == 0 {
		return nil
	}
	shown := c.Evidence[:min(len(c.Evidence), shownEvidence)]
	var head g.Group
	rows := make([]g.Group, len(shown))
	column := func(title string, cell func(analyzer.Evidence) (names []string, more int)) {
		if !slices.ContainsFunc(shown, func(e analyzer.Evidence) bool {
			names, _ := cell(e)
			return len(names) > 0
		}) {
			return
		}
		head = append(head, th(title))
		for i, e := range shown {
			names, more := cell(e)
			rows[i] = append(rows[i], h.Td(codes(names, " "), plus(more)))
		}
	}
	column("needs", func(e analyzer.Evidence) ([]string, int) {
		return causetext.NonEmpty(e.Version, e.Library), 0
	})
	column("symbols", func(e analyzer.Evidence) ([]string, int) { return e.Symbols, e.MoreSymbols })
	column("in", func(e analyzer.Evidence) ([]string, int) { return e.Objects, e.MoreObjects })
	var body []g.Node
	for _, cells := range rows {
		body = append(body, h.Tr(cells))
	}
	if n := len(c.Evidence) - shownEvidence; n > 0 {
		body = append(body, h.Tr(h.Td(h.ColSpan(fmt.Sprint(len(head))),
			g.Text("and "+analyzer.Count(n, "more row")))))
	}
	return scrolled(name, h.Table(h.Class("stacked"), Rows(
		h.THead(h.Tr(head)),
		h.TBody(Rows(body...)),
	)))
}
