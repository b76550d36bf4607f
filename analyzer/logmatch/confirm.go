// Package logmatch holds what a log says against what the artifacts themselves show: the analysis
// that judges them sees the same failure, or it sees that there is none, or it can't tell.
//
//	witness := confirm.New(result.Diagnoses)
//	report, err := analyzer.New(append(rules.All(), witness.Rule())).Check(ctx, inputs, options)
//	diagnoses := witness.Judge(report) // each with its Analysis
//
// The witness looks on as a rule that reports nothing, so that it sees every object as it is bound
// and linked on every platform judged. A log is an outsider's text, and so are the artifacts:
// neither is believed about the other. What is in neither is undecided, never guessed.
package logmatch

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Witness collects what the objects show of each diagnosis. It serves one Check.
type Witness struct {
	diagnoses []buildlog.Diagnosis
	seen      [][]evidence           // by diagnosis
	bySymbol  map[string][]int       // diagnoses by the symbol as objects spell it
	demangled map[string][]demangled // and by a name within a demangled one
	names     map[string][]int       // by the base name of who asked, or is at fault
}

// demangled is a diagnosis whose symbol was printed demangled.
type demangled struct {
	symbol string // without spaces
	index  int
}

// New makes a witness of what a log said.
func New(diagnoses []buildlog.Diagnosis) *Witness {
	w := &Witness{
		diagnoses: slices.Clone(diagnoses),
		seen:      make([][]evidence, len(diagnoses)),
		bySymbol:  map[string][]int{},
		demangled: map[string][]demangled{},
		names:     map[string][]int{},
	}
	for i := range w.diagnoses {
		d := &w.diagnoses[i]
		if plain(d.Symbol) {
			w.bySymbol[d.Symbol] = append(w.bySymbol[d.Symbol], i)
		} else if name := innermost(d.Symbol); name != "" {
			w.demangled[name] = append(w.demangled[name], demangled{squeeze(d.Symbol), i})
		}
		if d.Object != "" {
			w.names[path.Base(d.Object)] = append(w.names[path.Base(d.Object)], i)
		}
	}
	return w
}

// Rule is the witness among the rules. It reports nothing.
func (w *Witness) Rule() *analyzer.Rule {
	return &analyzer.Rule{
		ID:       "log",
		Title:    "Diagnosis of a log",
		Severity: analyzer.Note,
		Check:    w.check,
	}
}

func (w *Witness) check(p *analyzer.Pass) {
	if p.Scenario.Key() != (fix.Scenario{Platform: p.Scenario.Platform}).Key() {
		return // a fix is being tried
	}
	for _, v := range p.Views {
		named := w.named(v)
		refers := w.references(v)
		for i := range w.diagnoses {
			d := &w.diagnoses[i]
			isNamed := slices.Contains(named, i)
			if d.Object != "" && !isNamed && !w.provides(v, d) && !lists(v, d) {
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

// named are the diagnoses that name an object, by its file or its SONAME.
func (w *Witness) named(v *analyzer.View) []int {
	out := slices.Clone(w.names[path.Base(v.Path)])
	if v.SONAME != "" && v.SONAME != path.Base(v.Path) {
		out = append(out, w.names[v.SONAME]...)
	}
	return out
}

// provides tells whether a diagnosis says of the object that it should have defined something.
func (w *Witness) provides(v *analyzer.View, d *buildlog.Diagnosis) bool {
	return d.Symbol != "" && d.Library != "" &&
		(path.Base(d.Library) == path.Base(v.Path) || path.Base(d.Library) == v.SONAME)
}

// lists tells whether the object needs the library that was not found: the loader names the
// program, and not who needs it.
func lists(v *analyzer.View, d *buildlog.Diagnosis) bool {
	return d.Symbol == "" && d.Version == "" && d.Library != "" &&
		slices.Contains(v.Needed, path.Base(d.Library))
}

// references are the object's bindings that a diagnosis is about, by diagnosis.
func (w *Witness) references(v *analyzer.View) map[int][]dynlink.Binding {
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
			full := squeeze(analyzer.Demangle(b.Import.Name))
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

// plain tells whether a symbol is printed as objects have it.
func plain(symbol string) bool { return symbol != "" && identifier.FindString(symbol) == symbol }

// innermost is the last name before the arguments of a demangled symbol: it stands in the mangled
// one too.
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

// squeeze takes out what demanglers differ in.
func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }
