package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

func objects(r *analyzer.Report) int {
	n := 0
	for _, a := range r.Artifacts {
		n += a.Objects
	}
	return n
}

// platformNames returns the distinct display names of the platforms in a report.
func platformNames(r *analyzer.Report) []string {
	var names []string
	for _, t := range r.Targets {
		if name := platform.Title(t.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// subject returns the name that a finding is about: a symbol, library or version, or else the
// rule.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}

// advice is the action of a cause, given by its index, and its fixes, each on a line of its own.
// edits change the line on which it is shown.
func advice(r *analyzer.Report, i int, edits []causetext.Edit) string {
	c := &r.Causes[i]
	lines := []string{mdsafe.Visible(causetext.Task(r, c, nil))}
	for j, x := range c.Fixes {
		command := ""
		if !x.ShowsCommand() {
			command = strings.Join(causetext.Commands(c, x), "\n")
		}
		lines = append(lines, causetext.Line(r, i, j, edits, command, mdsafe.Visible))
	}
	return strings.Join(lines, "\n")
}

// unversioned returns what the next build of an artifact has in common with it: the name and the
// tags of a wheel with its folder, or else the path.
func unversioned(artifact string) string {
	w, label, err := pkgmeta.ParseVariantName(path.Base(artifact))
	if err != nil {
		return artifact
	}
	return path.Join(path.Dir(artifact), w.Name) + fmt.Sprint(w.Tags) + label
}

// Lines returns the line of a source file that causes a cause, given as an index of Report.Causes,
// and the changes of that line which make fixes; "", 0 and nil if there is none. A nil function
// finds none.
type Lines func(cause int) (file string, line int, edits []causetext.Edit)

// place returns where cause i is shown: on the line of its pin, on its source line, or else on line
// 1 of its artifact.
func (l Lines) place(r *analyzer.Report, i int) (file string, line int, source bool) {
	if c := &r.Causes[i]; c.File != "" {
		return c.File, max(c.Line, 1), true
	}
	if l != nil {
		if file, line, _ = l(i); line > 0 {
			return file, line, true
		}
	}
	return r.Causes[i].Artifact, 1, false
}

// edits returns the changes of the line that causes cause i.
func (l Lines) edits(r *analyzer.Report, i int) (edits []causetext.Edit) {
	if l != nil && r.Causes[i].File == "" {
		_, _, edits = l(i)
	}
	return edits
}
