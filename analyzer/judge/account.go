package judge

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Account returns what became of the imports of the artifact that Judge checked last, with the
// package set with which the least is certain. found are its findings: an import is missing if one
// of them says so, so the two cannot disagree.
func (s *Session) Account(found []Found) result.Accounting {
	missing, unreached := lost{}, lost{}
	for _, x := range found {
		switch {
		case x.Symbol != "":
			missing[[2]string{x.Object, x.Symbol}] = true
		case x.Unreached:
			unreached[[2]string{x.Object, x.Library}] = true
		}
	}
	var worst *result.Accounting
	for _, set := range s.baseline.packages {
		var a result.Accounting
		switch {
		case set.windows != nil:
			a = set.windows.account(missing)
		case set.macOS != nil:
			a = set.macOS.account(missing)
		case set.android != nil:
			a = set.android.account(missing)
		case set.iOS != nil:
			a = set.iOS.account(missing)
		case set.pyodide != nil:
			a = set.pyodide.account(missing)
		default:
			for _, v := range set.views {
				a.Add(v.account(missing, unreached, len(set.full) > 0))
			}
		}
		if worst == nil || a.Worse(worst) {
			worst = &a
		}
	}
	if worst == nil {
		worst = &result.Accounting{}
	}
	if worst.Why == nil {
		worst.Why = []result.Undecided{}
	}
	return *worst
}

// lost are the imports that findings are about, by object and symbol, or by object and library.
type lost map[[2]string]bool

// account accounts for the imports of an object. cut is set if more are missing than are listed.
func (v *View) account(missing, unreached lost, cut bool) (a result.Accounting) {
	all := v.Bindings()
	a.Imports = all.Len()
	a.Found = a.Imports
	if len(unreached) > 0 {
		for b := range all.All() {
			if b.Outcome != dynlink.Bound || b.Provider == nil {
				continue
			}
			if name := b.Provider.Names()[0]; unreached[[2]string{v.Path, name}] {
				a.Undecide(result.NotReached, name, 1)
				a.Found--
			}
		}
	}
	notFound := v.NotFound()
	for b := range all.Failed() {
		name := b.Import.Name
		switch {
		case missing[[2]string{v.Path, name}]:
			a.Missing++
		case b.Outcome == dynlink.WeakUndefined:
			continue
		case v.Host == facts.HostPython && v.Host.Exports(name) && len(cpython.Releases(name)) > 0:
			continue
		case v.Host.Exports(name):
			a.Undecide(result.OfHost, string(v.Host), 1)
		case b.Outcome == dynlink.Undecided:
			a.Undecide(result.NotRead, v.unread(b), 1)
		case len(notFound) > 0:
			a.Undecide(result.NotFound, notFound[0].Name, 1)
		case cut:
			a.Missing++
		default:
			a.Undecide(result.OfOpener, "", 1)
		}
		a.Found--
	}
	return a
}

// unread returns the name of the first library that may define an undecided import.
func (v *View) unread(b dynlink.Binding) string {
	if may := v.Unread(b); len(may) > 0 {
		return may[0].Names()[0]
	}
	return ""
}

// Unread returns the libraries that may define an undecided import. Their exports are not known.
// The likeliest come first: those that define it in the nearest known releases, and then those
// after which it is named, as cublasGemmEx is after libcublas.so.13.
func (v *View) Unread(b dynlink.Binding) (may []*dynlink.Library) {
	if b.Provider != nil {
		return []*dynlink.Library{b.Provider}
	}
	for _, f := range v.Loading.Found {
		if f.Library.MayDefine(b.Import.Name) {
			may = append(may, f.Library)
		}
	}
	likely := func(l *dynlink.Library) int {
		named, ok := strings.CutPrefix(platform.Stem(l.Names()[0]), "lib")
		switch {
		case l.Defines(b.Import.Name, b.Import.Version):
			return 2
		case ok && strings.HasPrefix(b.Import.Name, named):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(may, func(x, y *dynlink.Library) int { return likely(y) - likely(x) })
	return may
}

// account accounts for the imports of the files for the machine.
func (w *WindowsLoad) account(missing lost) (a result.Accounting) {
	for _, o := range w.Objects {
		if !o.RunsOn(w.Machine) {
			continue
		}
		gone := map[string]bool{} // DLLs that no load found
		loads := slices.Clone(o.Users)
		if o.Load != nil {
			loads = append(loads, o)
		}
		for _, by := range loads {
			for _, m := range by.Load.Missing {
				if m.NeededBy == o.File {
					gone[m.Name] = true
				}
			}
		}
		for _, d := range o.Imports {
			a.Imports += len(d.Symbols)
			for _, x := range d.Symbols {
				switch {
				case missing[[2]string{o.Path, x.String()}]:
					a.Missing++
				case len(loads) == 0:
					a.Undecide(result.NotLoaded, "", 1)
				case gone[d.Name]:
					a.Undecide(result.NotFound, d.Name, 1)
				case !loads[0].environment.Knows(d.Name, x, loads[0].File):
					a.Undecide(result.NotRead, d.Name, 1)
				default:
					a.Found++
				}
			}
		}
	}
	return a
}

// account accounts for the imports of the images for the architecture.
func (m *MacOSLoad) account(missing lost) (a result.Accounting) {
	for _, i := range m.Images() {
		if i.Kind != dynlink.FromArtifact || i.Object == nil {
			continue
		}
		a.Imports += len(i.Object.Imports)
		a.Found += len(i.Object.Imports)
		for _, b := range m.Failed(i) {
			switch {
			case missing[[2]string{i.Name, b.Import.Name}]:
				a.Missing++
			case b.Outcome == dynlink.WeakUndefined:
				continue
			case b.Python:
				a.Undecide(result.OfHost, string(facts.HostPython), 1)
			default:
				a.Undecide(result.NotRead, b.Library, 1)
			}
			a.Found--
		}
	}
	return a
}
