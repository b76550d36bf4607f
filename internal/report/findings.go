package report

import (
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// foundOnPage is the number of findings on a page of FindingsPage.
const foundOnPage = 100

// FindingsPage writes one page of the findings that contain all words of a query in rule, artifact,
// object, symbol, version, library or message, in any case. Pages count from 1; another number
// is the nearest page. It links style.css in the parent directory, and the report as ../id.
func FindingsPage(w io.Writer, r *analyzer.Report, id, query string, page int) error {
	words := strings.Fields(strings.ToLower(query))
	var found []int
	for i := range r.Findings {
		if contains(&r.Findings[i], words) {
			found = append(found, i)
		}
	}
	pages := max(1, (len(found)+foundOnPage-1)/foundOnPage)
	page = min(max(page, 1), pages)
	first := (page - 1) * foundOnPage
	rows := g.Group{}
	for _, i := range found[first:min(first+foundOnPage, len(found))] {
		f := &r.Findings[i]
		place := h.Small(code(f.Artifact), g.Text(" "), code(f.Object))
		rows = append(rows, h.Li(finding(*f), h.Br(), place))
	}
	result := grouped(len(found)) + " of " + number(len(r.Findings), "finding")
	if pages > 1 {
		result += ", page " + grouped(page) + " of " + grouped(pages)
	}
	return PageOf(
		"compat: findings",
		h.Link(h.Rel("stylesheet"), h.Href("../style.css")),
		h.Header(Rows(
			h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" findings")),
			h.P(h.A(h.Href("../"+id), g.Text("Back to the report"))),
		)),
		h.Main(Rows(
			h.Form(h.Role("search"), h.Method("get"), h.Action("findings"),
				h.Label(g.Text("Rule, file, symbol or library "),
					h.Input(h.Type("search"), h.Name("q"), h.Value(mdsafe.Visible(query)), h.MaxLength("200"))),
				g.Text(" "), h.Button(h.Type("submit"), g.Text("Search"))),
			h.P(h.Role("status"), g.Text(result)),
			h.Ol(g.Attr("start", strconv.Itoa(first+1)), rows),
			turn(query, page, pages),
		)),
	).Render(w)
}

// contains reports whether a finding contains all words, which are in lower case.
func contains(f *analyzer.Finding, words []string) bool {
	if len(words) == 0 {
		return true
	}
	all := strings.ToLower(strings.Join([]string{f.Rule, string(f.Severity), f.Artifact, f.Object,
		f.Symbol, f.Demangled, f.Version, f.Library, f.Message}, "\n"))
	for _, w := range words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// turn links the previous and the next page; nil if there is only one.
func turn(query string, page, pages int) g.Node {
	if pages == 1 {
		return nil
	}
	link := func(to int, text string) g.Node {
		if to < 1 || to > pages {
			return nil
		}
		q := url.Values{"page": {strconv.Itoa(to)}}
		if query != "" {
			q.Set("q", query)
		}
		return h.A(h.Href("findings?"+q.Encode()), g.Text(text))
	}
	return h.Nav(h.Aria("label", "Pages"), link(page-1, "Previous page"), g.Text(" "),
		link(page+1, "Next page"))
}
