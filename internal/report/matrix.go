package report

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
)

// Limits of the matrix; the lists of the page have the rest.
const (
	maxMatrixRows    = 50
	maxMatrixColumns = 20
)

// Matrix is the result of each artifact on each platform.
type Matrix struct {
	Platforms []string    `json:"platforms"` // names as in Target.Name
	Rows      []MatrixRow `json:"rows"`
	More      int         `json:"more"` // number of pairs that are left out
}

// MatrixRow is an artifact with a result for each platform: a verdict, or NotJudged where the
// artifact was not checked.
type MatrixRow struct {
	Artifact string             `json:"artifact"`
	Results  []analyzer.Verdict `json:"results"`
	Causes   []string           `json:"causes,omitempty"` // IDs, where it fails or warns; "" elsewhere
}

// matrixOf returns the matrix of a report. It is empty unless there are several pairs.
func matrixOf(r *analyzer.Report) (m Matrix) {
	var names []string
	for _, t := range r.Targets {
		if !slices.Contains(names, t.Name) { // a target with each end of a range occurs twice
			names = append(names, t.Name)
		}
	}
	if len(r.Artifacts)*len(names) < 2 {
		return m
	}
	m.Platforms = names[:min(len(names), maxMatrixColumns)]
	at := occurrences(r)
	for i := range r.Artifacts[:min(len(r.Artifacts), maxMatrixRows)] {
		a := &r.Artifacts[i]
		row := MatrixRow{Artifact: a.Path}
		for _, name := range m.Platforms {
			result, id := resultOn(r, a, name, at)
			row.Results, row.Causes = append(row.Results, result), append(row.Causes, id)
		}
		m.Rows = append(m.Rows, row)
	}
	m.More = len(r.Artifacts)*len(names) - len(m.Rows)*len(m.Platforms)
	return m
}

// open reports whether the matrix is not folded: it is short, and has an artifact that was checked
// on several platforms. Otherwise the results of the artifacts say the same.
func (m *Matrix) open() bool {
	return len(m.Rows) <= openRows && slices.ContainsFunc(m.Rows, func(row MatrixRow) bool {
		checked := 0
		for _, v := range row.Results {
			if v != analyzer.NotJudged {
				checked++
			}
		}
		return checked > 1
	})
}

// matrix returns the matrix as a table; nil if it is empty.
func matrix(m Matrix) g.Node {
	if len(m.Rows) == 0 {
		return nil
	}
	rows := g.Group{}
	for _, row := range m.Rows {
		cells := g.Group{h.Th(g.Attr("scope", "row"), code(base(row.Artifact)))}
		for i, v := range row.Results {
			cause := ""
			if i < len(row.Causes) {
				cause = row.Causes[i]
			}
			sign := cell(v, cause != "")
			if cause != "" {
				sign = h.A(h.Href("#"+cause), sign)
			}
			cells = append(cells, h.Td(sign))
		}
		rows = append(rows, h.Tr(cells), g.Text("\n"))
	}
	head := g.Group{h.Th(g.Attr("scope", "col"), g.Text("artifact"))}
	for _, name := range m.Platforms {
		head = append(head, h.Th(g.Attr("scope", "col"), whole(column(name))))
	}
	out := g.Group{
		h.P(h.Class("mark"), g.Text("✗ fails, and leads to its cause; ! works, with a warning; ✓ works; "+
			"? could not be checked; – was not checked there.")),
		scrolled("Artifacts and platforms", h.Table(h.Class("matrix"), Rows(
			h.THead(h.Tr(head)), h.TBody(rows)))),
	}
	if m.More > 0 {
		more := g.Text("and " + grouped(m.More) + " more pairs, in the JSON report")
		out = append(out, h.P(h.Class("mark"), more))
	}
	return out
}

// column returns the title of a platform, with the architecture if its name has one.
func column(name string) string {
	if _, arch, ok := strings.Cut(name, "/"); ok {
		return platform.Title(name) + " " + arch
	}
	return platform.Title(name)
}

// occurrence is a severity and an artifact that has findings of it on a platform: by its name in
// Target.Name, or by its title.
type occurrence struct {
	severity     analyzer.Severity
	artifact, on string
}

// occurrences returns the ID of the first cause of the findings of a report, by where they occur. A
// cause of errors without platforms, and a warning without one, occur on all of them, which is the
// empty string.
func occurrences(r *analyzer.Report) map[occurrence]string {
	out := map[occurrence]string{}
	for _, c := range r.Causes {
		for _, f := range findingsOf(r, &c) {
			add := func(on string) {
				at := occurrence{f.Severity, f.Artifact, on}
				if _, ok := out[at]; !ok {
					out[at] = c.ID
				}
			}
			for _, on := range slices.Concat(c.Fails, f.On, []string{f.Target}) {
				add(on)
			}
			if len(c.Fails) == 0 && f.Severity == analyzer.Error {
				add("")
			}
		}
	}
	return out
}

// resultOn returns the result of an artifact on a platform, which is one only where the artifact
// was checked, and the ID of the cause where it fails or warns. An artifact that could not be read
// is on none.
func resultOn(
	r *analyzer.Report, a *analyzer.Artifact, on string, at map[occurrence]string,
) (analyzer.Verdict, string) {
	cause := func(s analyzer.Severity) string {
		for _, name := range []string{on, platform.Title(on), ""} {
			if id, ok := at[occurrence{s, a.Path, name}]; ok {
				return id
			}
		}
		return ""
	}
	checked := slices.Contains(a.Targets, on)
	if !checked && a.Targets != nil {
		return analyzer.NotJudged, ""
	}
	if id := cause(analyzer.Error); id != "" {
		return analyzer.Incompatible, id
	}
	if !r.Complete(a.Path) {
		return analyzer.Unchecked, ""
	}
	if checked {
		return analyzer.Compatible, cause(analyzer.Warning)
	}
	return analyzer.NotJudged, ""
}

// cell returns a sign for a result, which has a cause where it fails or warns.
func cell(v analyzer.Verdict, caused bool) g.Node {
	mark := func(class, sign, text string) g.Node {
		return h.Span(h.Class(class), h.Aria("label", text), h.Role("img"), h.Title(text), g.Text(sign))
	}
	switch {
	case v == analyzer.Incompatible:
		return mark("incompatible", "✗", "incompatible")
	case v == analyzer.Unchecked:
		return mark("unchecked", "?", "could not be checked")
	case v == analyzer.Compatible && caused:
		return mark("warning", "!", "compatible, with a warning")
	case v == analyzer.Compatible:
		return mark("compatible", "✓", "compatible")
	}
	return mark("none", "–", "not checked")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
