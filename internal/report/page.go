package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// CSP is the Content-Security-Policy that Page works under: nothing but its own style sheet.
const CSP = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed style.css
var style []byte

// Style is the page's style sheet, to be served as /reports/style.css.
func Style() []byte { return bytes.Clone(style) }

//go:embed page.html
var pageHTML string

// Page writes the report as one HTML page without script: a summary, an anchor for each group of findings, and the lists behind
// them. It links style.css beside itself. Nothing is written when the template fails.
func Page(w io.Writer, r *analyzer.Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{"visible": mdsafe.Visible, "lines": mdsafe.Lines, "plural": plural, "subject": subject, "accepted": func(f analyzer.Finding) string { return subject(&f) }}).Parse(pageHTML)
	if err != nil {
		return err
	}
	fresh, existing := groups(r)
	data := pageData{Report: r, Summary: Summary(r), Fresh: pageGroups(fresh), Existing: pageGroups(existing)}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

type pageData struct {
	*analyzer.Report
	Summary         string
	Fresh, Existing []pageGroup
}

// pageGroup is a group for the template, which sees exported fields only.
type pageGroup struct {
	*analyzer.Finding
	ID                          string
	Symbols, Artifacts, Targets []string
	Ways                        []way
}

type way struct {
	Kind, Title, Command string
	Verified             bool
	Cost                 []string
}

func pageGroups(gs []*group) []pageGroup {
	var out []pageGroup
	for _, g := range gs {
		p := pageGroup{Finding: g.Finding, ID: g.ID, Symbols: g.symbols, Artifacts: g.artifacts, Targets: g.targets}
		for _, x := range g.fixes {
			p.Ways = append(p.Ways, way{Kind: x.Kind, Title: x.Title, Command: x.Command, Verified: x.Verified, Cost: x.Cost})
		}
		out = append(out, p)
	}
	return out
}
