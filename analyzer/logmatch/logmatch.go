// Package logmatch compares the errors in a log with the artifacts: the analysis finds the same
// error, or that there is none, or cannot determine it.
//
//	report, diagnoses, err := logmatch.Check(ctx, rules.All(), inputs, options, result.Diagnoses)
//
// The diagnoses have their Analysis then. A matcher runs as a rule that reports nothing, so it sees
// every object as it is loaded and linked on every platform. Both log and artifacts are untrusted.
// If the artifacts do not contain what a diagnosis is about, it is undecided.
package logmatch

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Check checks artifacts with rules and compares the diagnoses of a log with them. It returns the
// diagnoses in the given order. Errors are those of the analyzer.
func Check(
	ctx context.Context,
	rules []*analyzer.Rule,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	m := newMatcher(diagnoses, rules)
	report, err := analyzer.New(append(slices.Clone(rules), m.rule())).Check(ctx, inputs, o)
	if err != nil {
		return nil, nil, err
	}
	return report, m.analyses(report), nil
}

// matcher collects the evidence for each diagnosis. It is valid for one Check.
type matcher struct {
	rules     map[string]*analyzer.Rule
	diagnoses []buildlog.Diagnosis
	seen      [][]evidence           // by diagnosis
	bySymbol  map[string][]int       // indexes of diagnoses by symbol as in objects
	demangled map[string][]demangled // by a name in the demangled symbol
	names     map[string][]int       // indexes of diagnoses by base name of the object
}

// demangled is a diagnosis with a demangled symbol.
type demangled struct {
	symbol string // without spaces
	index  int
}

func newMatcher(diagnoses []buildlog.Diagnosis, rules []*analyzer.Rule) *matcher {
	w := &matcher{
		rules:     map[string]*analyzer.Rule{},
		diagnoses: slices.Clone(diagnoses),
		seen:      make([][]evidence, len(diagnoses)),
		bySymbol:  map[string][]int{},
		demangled: map[string][]demangled{},
		names:     map[string][]int{},
	}
	for _, r := range rules {
		w.rules[r.ID] = r
	}
	for i := range w.diagnoses {
		d := &w.diagnoses[i]
		if plain(d.Symbol) {
			w.bySymbol[d.Symbol] = append(w.bySymbol[d.Symbol], i)
		} else if name := innermost(d.Symbol); name != "" {
			w.demangled[name] = append(w.demangled[name], demangled{withoutSpaces(d.Symbol), i})
		}
		if d.Object != "" {
			w.names[path.Base(d.Object)] = append(w.names[path.Base(d.Object)], i)
		}
	}
	return w
}

// rule returns the rule that collects evidence. It reports nothing.
func (w *matcher) rule() *analyzer.Rule {
	return &analyzer.Rule{
		ID:       "log",
		Title:    "Diagnosis of a log",
		Severity: analyzer.Note,
		Check:    w.check,
	}
}

func (w *matcher) check(p *analyzer.Pass) {
	if p.Scenario.Key() != (fix.Scenario{Platform: p.Scenario.Platform}).Key() {
		return // a fix is being verified
	}
	for _, v := range p.Views {
		named := w.named(v)
		refers := w.references(v)
		for i := range w.diagnoses {
			d := &w.diagnoses[i]
			isNamed := slices.Contains(named, i)
			if d.Object != "" && !isNamed && !w.provides(v, d) && !needsMissing(v, d) {
				continue
			}
			if e, ok := w.look(p, v, d, isNamed, refers[i]); ok {
				e.object, e.target = v.Path, p.Platform.Name
				e.exact = strings.HasSuffix("/"+d.Object, "/"+v.Path)
				w.seen[i] = append(w.seen[i], e)
			}
		}
	}
}

// named returns the diagnoses that name an object by file name or SONAME.
func (w *matcher) named(v *analyzer.View) []int {
	out := slices.Clone(w.names[path.Base(v.Path)])
	if v.SONAME != "" && v.SONAME != path.Base(v.Path) {
		out = append(out, w.names[v.SONAME]...)
	}
	return out
}

// provides reports whether a diagnosis names the object as the library that should define a
// symbol.
func (w *matcher) provides(v *analyzer.View, d *buildlog.Diagnosis) bool {
	return d.Symbol != "" && d.Library != "" &&
		(path.Base(d.Library) == path.Base(v.Path) || path.Base(d.Library) == v.SONAME)
}

// needsMissing reports whether the object needs the library that was not found. The loader
// names the program instead of the object that needs it.
func needsMissing(v *analyzer.View, d *buildlog.Diagnosis) bool {
	return notFound(d) && slices.Contains(v.Needed, path.Base(d.Library))
}

// references returns the object's bindings that each diagnosis is about.
func (w *matcher) references(v *analyzer.View) map[int][]dynlink.Binding {
	out := map[int][]dynlink.Binding{}
	add := func(i int, b dynlink.Binding) {
		if d := &w.diagnoses[i]; d.Version == "" || b.Import.Version == "" ||
			b.Import.Version == d.Version {
			out[i] = append(out[i], b)
		}
	}
	for b := range v.Bindings().All() {
		for _, i := range w.bySymbol[b.Import.Name] {
			add(i, b)
		}
		if len(w.demangled) == 0 || !strings.HasPrefix(b.Import.Name, "_") {
			continue
		}
		for name, list := range w.demangled {
			if !strings.Contains(b.Import.Name, name) {
				continue
			}
			full := withoutSpaces(analyzer.Demangle(b.Import.Name))
			for _, d := range list {
				if full != "" && (full == d.symbol || strings.HasPrefix(full, d.symbol+"(")) {
					add(d.index, b)
				}
			}
		}
	}
	return out
}

var identifier = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*`)

// plain reports whether a symbol is not demangled.
func plain(symbol string) bool { return symbol != "" && identifier.FindString(symbol) == symbol }

// innermost returns the last name before the arguments of a demangled symbol, which the mangled
// symbol contains too.
func innermost(symbol string) string {
	if i := strings.IndexByte(symbol, '('); i > 0 {
		symbol = symbol[:i]
	}
	if i := strings.IndexByte(symbol, '<'); i > 0 {
		symbol = symbol[:i]
	}
	names := identifier.FindAllString(symbol, -1)
	if len(names) == 0 || len(names[len(names)-1]) < 3 {
		return ""
	}
	return names[len(names)-1]
}

// withoutSpaces removes the differences between demanglers.
func withoutSpaces(s string) string { return strings.ReplaceAll(s, " ", "") }
