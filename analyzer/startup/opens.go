package startup

import "strings"

// Opens returns what happens before the import of a package loads a library with a function such as
// ctypes.CDLL. at is the path of the library relative to site-packages. ok is false if it is not
// known that an import loads it, or if the sources may handle that this fails, then before is what
// happens until then. A function counts where the import calls it, unless a decorator may handle
// that. Modules that a program imports itself do not count: it may load the libraries that are
// needed with another one first.
func (x *Index) Opens(at string) (before Run, ok bool) {
	tried := map[string]bool{}
	for _, source := range x.openers[at] {
		top := source
		for i, c := range source {
			if c == '/' && x.Has(source[:i]) {
				top = source[:i]
				break
			}
		}
		// a module of a package without a source, which may have others (PEP 420)
		alone := top == source && strings.Contains(source, "/")
		if alone || tried[top] {
			continue
		}
		tried[top] = true
		w := x.walk("")
		w.opens = func(_ *Module, s step) bool {
			if s.at != at || s.may {
				return false
			}
			w.Reached, w.Certain, w.Handled, w.guarded = true, true, s.handled, s.guarded
			return true
		}
		w.module(top, step{})
		if w.Reached && !w.guarded {
			return w.Run, true
		}
		if w.Reached && !before.Reached {
			before = w.Run
		}
	}
	return before, false
}
