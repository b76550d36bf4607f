package report

import (
	"io"
	"net/url"
	"strconv"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// FoundOnPage is the number of findings on a page of FindingsPage.
const FoundOnPage = 100

// Found is a page of the findings that match a query.
type Found struct {
	Query    string
	Findings []analyzer.Finding // at most FoundOnPage
	First    int                // number of matches before these
	Matches  int                // on all pages
	All      int                // findings of the report
}

// Turn sets First to that of a page. Pages count from 1; another number is the nearest page.
func (f *Found) Turn(page int) { f.First = (min(max(page, 1), f.pages()) - 1) * FoundOnPage }

func (f *Found) pages() int { return max(1, (f.Matches+FoundOnPage-1)/FoundOnPage) }

// FindingsPage writes a page of findings. It links style.css in the parent directory, and the
// report as ../id.
func FindingsPage(w io.Writer, id string, found *Found) error {
	page, pages := found.First/FoundOnPage+1, found.pages()
	rows := g.Group{}
	for _, f := range found.Findings {
		place := h.Small(code(f.Artifact), g.Text(" "), code(f.Object))
		rows = append(rows, h.Li(finding(f), h.Br(), place))
	}
	result := grouped(found.Matches) + " of " + number(found.All, "finding")
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
					h.Input(h.Type("search"), h.Name("q"), h.Value(mdsafe.Visible(found.Query)),
						h.MaxLength("200"))),
				g.Text(" "), h.Button(h.Type("submit"), g.Text("Search"))),
			h.P(h.Role("status"), g.Text(result)),
			h.Ol(g.Attr("start", strconv.Itoa(found.First+1)), rows),
			turn(found.Query, page, pages),
		)),
	).Render(w)
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
