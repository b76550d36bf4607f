package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	mdtext "github.com/yuin/goldmark/text"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// prose returns CommonMark as HTML, with headings of level 2 and below, and code that can be
// scrolled with the keyboard. HTML in it and addresses other than http and https are dropped.
// Tables are not supported: goldmark's extensions would delay the start of every command.
func prose(markdown string) (g.Node, error) {
	source := []byte(markdown)
	md := goldmark.New()
	root := md.Parser().Parse(mdtext.NewReader(source))
	top := 6
	headings := func(do func(*ast.Heading)) {
		for n := root.FirstChild(); n != nil; n = n.NextSibling() {
			if heading, ok := n.(*ast.Heading); ok {
				do(heading)
			}
		}
	}
	headings(func(x *ast.Heading) { top = min(top, x.Level) })
	headings(func(x *ast.Heading) { x.Level = min(x.Level-top+2, 6) })
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, root); err != nil {
		return nil, err
	}
	// A "<" of the text is escaped, so this is an element.
	return g.Raw(strings.ReplaceAll(b.String(), "<pre>", `<pre tabindex="0">`)), nil
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
