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
	Causes   []string           `json:"causes,omitempty"` // IDs, where it fails; "" elsewhere
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
	failed := failures(r)
	for i := range r.Artifacts[:min(len(r.Artifacts), maxMatrixRows)] {
		a := &r.Artifacts[i]
		row := MatrixRow{Artifact: a.Path}
		for _, name := range m.Platforms {
			result, id := resultOn(r, a, name, failed)
			row.Results, row.Causes = append(row.Results, result), append(row.Causes, id)
		}
		m.Rows = append(m.Rows, row)
	}
	m.More = len(r.Artifacts)*len(names) - len(m.Rows)*len(m.Platforms)
	return m
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
			sign := cell(v)
			if i < len(row.Causes) && row.Causes[i] != "" {
				sign = h.A(h.Href("#"+row.Causes[i]), sign)
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
		h.P(h.Class("mark"), g.Text("✗ fails, and leads to its cause; ✓ works; ? could not be "+
			"checked; – was not checked there.")),
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

// failure is an artifact that fails on a platform: by its name in Target.Name, or by its title.
type failure struct{ artifact, on string }

// failures returns the ID of the first cause of the errors of a report, by where they occur. A
// cause without platforms occurs on all of them, which is the empty string.
func failures(r *analyzer.Report) map[failure]string {
	out := map[failure]string{}
	for _, c := range r.Causes {
		add := func(artifact, on string) {
			if _, ok := out[failure{artifact, on}]; !ok {
				out[failure{artifact, on}] = c.ID
			}
		}
		for _, f := range findingsOf(r, &c) {
			if f.Severity != analyzer.Error {
				continue
			}
			for _, on := range slices.Concat(c.Fails, f.On, []string{f.Target}) {
				add(f.Artifact, on)
			}
			if len(c.Fails) == 0 {
				add(f.Artifact, "")
			}
		}
	}
	return out
}

// resultOn returns the result of an artifact on a platform, which is one only where the artifact
// was checked, and the ID of the cause where it fails. An artifact that could not be read is on
// none.
func resultOn(
	r *analyzer.Report, a *analyzer.Artifact, on string, failed map[failure]string,
) (analyzer.Verdict, string) {
	checked := slices.Contains(a.Targets, on)
	if !checked && a.Targets != nil {
		return analyzer.NotJudged, ""
	}
	for _, name := range []string{on, platform.Title(on), ""} {
		if id, ok := failed[failure{a.Path, name}]; ok {
			return analyzer.Incompatible, id
		}
	}
	if !r.Complete(a.Path) {
		return analyzer.Unchecked, ""
	}
	if checked {
		return analyzer.Compatible, ""
	}
	return analyzer.NotJudged, ""
}

// cell returns a sign for a result.
func cell(v analyzer.Verdict) g.Node {
	mark := func(class, sign, text string) g.Node {
		return h.Span(h.Class(class), h.Aria("label", text), h.Role("img"), h.Title(text), g.Text(sign))
	}
	switch v {
	case analyzer.Incompatible:
		return mark("incompatible", "✗", "incompatible")
	case analyzer.Unchecked:
		return mark("unchecked", "?", "could not be checked")
	case analyzer.Compatible:
		return mark("compatible", "✓", "compatible")
	}
	return mark("none", "–", "not checked")
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
