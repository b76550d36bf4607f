package report

import (
	"bytes"
	"io"

	"github.com/yuin/goldmark"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// problemPage writes the page of a check without a report. HTML in its text and addresses other
// than http and https are dropped. It links style.css in the same directory.
func problemPage(w io.Writer, v *View) error {
	r := &v.Report
	title := r.Notes[0]
	var text bytes.Buffer
	if err := goldmark.Convert([]byte(v.Problem), &text); err != nil {
		return err
	}
	return PageOf(
		"compat: "+title,
		h.Link(h.Rel("stylesheet"), h.Href("style.css")),
		h.Header(Rows(
			h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" "), graded(string(r.Verdict))),
			h.P(whole(title)),
			about(&v.Header),
		)),
		h.Main(g.Raw(text.String())),
		h.Footer(h.P(g.Text("compat "), whole(r.Tool.Version))),
	).Render(w)
}

// MessagePage writes a page with a title and a sentence, such as the one for an unknown address. It
// links style.css at root, the path of the service.
func MessagePage(w io.Writer, root, title, sentence string) error {
	return PageOf(
		"compat: "+title,
		h.Link(h.Rel("stylesheet"), h.Href(root+"reports/style.css")),
		h.Header(h.H1(h.Span(h.Class("tool"), g.Text("compat")), g.Text(" "+title))),
		h.Main(h.P(g.Text(sentence))),
	).Render(w)
}
