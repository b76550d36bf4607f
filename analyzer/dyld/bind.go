package dyld

import (
	"iter"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// TooNew is an outcome in addition to those of dynlink: a system library exports the symbol, but
// not in the oldest macOS that must be supported.
const TooNew dynlink.Outcome = "too new"

// Binding is an import and the result of its lookup.
type Binding struct {
	Import  machoobj.Import
	Outcome dynlink.Outcome
	Library string           // path in the import's load command; "" in the flat namespace
	Found   *Image           // Bound: the image with the symbol; NoSymbol: the image without it
	Since   machoobj.Version // for TooNew, the first macOS with the symbol
	Python  bool             // it is looked up in Python itself
}

// Bind looks up every import of an image in those loads of LoadAll that contain the image. Lazy
// imports are bound too, because Python loads modules with RTLD_NOW.
func (e *Environment) Bind(i *Image) iter.Seq[Binding] {
	return func(yield func(Binding) bool) {
		loads := e.users[i]
		if len(loads) == 0 {
			loads = []*Loading{e.Load(i)}
		}
		b := &binder{env: e, image: i, loads: loads, libraries: make([]library, len(i.Object.Needed))}
		for _, imp := range i.Object.Imports {
			if !yield(b.bind(imp)) {
				return
			}
		}
	}
}

type binder struct {
	env   *Environment
	image *Image
	loads []*Loading

	libraries []library // by index in Object.Needed, set at the first use
}

// library is a library that the image needs.
type library struct {
	known  bool
	python bool
	images []*Image // different images that loads found for it
}

// library returns the n-th needed library. An image can be in a hundred loads, which nearly always
// find the same libraries.
func (b *binder) library(n int) *library {
	l := &b.libraries[n]
	if l.known {
		return l
	}
	l.known = true
	_, l.python = PythonLibrary(b.image.Object.Needed[n].Path)
	for _, load := range b.loads {
		if d := load.Dependent(b.image, n); d != nil && !slices.Contains(l.images, d) {
			l.images = append(l.images, d)
		}
	}
	return l
}

func (b *binder) bind(i machoobj.Import) Binding {
	out := Binding{Import: i, Outcome: dynlink.Bound}
	switch {
	case i.Ordinal == machoobj.Self || i.Coalesced:
	case i.Ordinal == machoobj.Flat || !b.image.Object.TwoLevel:
		b.flat(&out)
	case i.Ordinal == machoobj.AnyDef:
		b.any(&out)
	case i.Ordinal == machoobj.Main:
		if b.loads[0].main == nil {
			b.python(&out, dynlink.Undecided)
		} else {
			b.in(&out, b.loads[0].main)
		}
	default:
		b.twoLevel(&out, i.Ordinal-1)
	}
	if i.Weak && out.Outcome != dynlink.Bound {
		out.Outcome, out.Since = dynlink.WeakUndefined, 0
	}
	return out
}

// twoLevel looks a symbol up in the library that the import names (two-level namespace).
func (b *binder) twoLevel(out *Binding, n int) {
	needed := &b.image.Object.Needed[n]
	out.Library = needed.Path
	l := b.library(n)
	if l.python {
		b.python(out, dynlink.NoSymbol)
		return
	}
	for _, d := range l.images {
		b.in(out, d)
		if out.Outcome != dynlink.Bound {
			return
		}
	}
	switch {
	case out.Found != nil:
	case needed.Weak:
		out.Outcome = dynlink.WeakUndefined
	default:
		out.Outcome = dynlink.Undecided // the library is missing, which is reported separately
	}
}

// in looks a symbol up in an image and in the libraries that it re-exports.
func (b *binder) in(out *Binding, i *Image) {
	a := b.lookup(i, out.Import.Name, map[*Image]bool{})
	out.Outcome, out.Found, out.Since = a.outcome, i, a.since
	if a.found != nil {
		out.Found = a.found
	}
}

// answer is the result of looking a symbol up in one image.
type answer struct {
	outcome dynlink.Outcome
	found   *Image
	since   machoobj.Version
}

func (b *binder) lookup(i *Image, name string, seen map[*Image]bool) answer {
	if seen[i] {
		return answer{outcome: dynlink.NoSymbol}
	}
	seen[i] = true
	if i.Object == nil {
		return b.system(i, name)
	}
	if e, ok := i.Object.Export(name); ok {
		if e.Ordinal == 0 {
			return answer{outcome: dynlink.Bound, found: i}
		}
		d := b.dependent(i, e.Ordinal-1)
		if d == nil {
			return answer{outcome: dynlink.Undecided, found: i}
		}
		return b.lookup(d, e.As, seen)
	}
	best := answer{outcome: dynlink.NoSymbol, found: i}
	for n, needed := range i.Object.Needed {
		if !needed.Reexport {
			continue
		}
		a := answer{outcome: dynlink.Undecided}
		if d := b.dependent(i, n); d != nil {
			a = b.lookup(d, name, seen)
		}
		switch a.outcome {
		case dynlink.Bound:
			return a
		case dynlink.Undecided, TooNew:
			best = a
		}
	}
	return best
}

// dependent returns the image that a load found for the n-th needed library of an image, or nil.
func (b *binder) dependent(i *Image, n int) *Image {
	for _, l := range b.loads {
		if d := l.Dependent(i, n); d != nil {
			return d
		}
	}
	return nil
}

// system looks a symbol up in a library of macOS.
func (b *binder) system(i *Image, name string) answer {
	a := macos.Symbol(i.Path, name, b.env.Arch)
	switch {
	case a.After(b.env.OS):
		return answer{outcome: TooNew, found: i, since: a.Since}
	case a.Known:
		return answer{outcome: dynlink.Bound, found: i}
	case macos.SystemListed(i.Path, b.env.Arch) && name != stubBinder:
		return answer{outcome: dynlink.NoSymbol, found: i}
	}
	return answer{outcome: dynlink.Undecided, found: i}
}

// stubBinder is a symbol of dyld to which linkers bind lazy symbols; the tables do not list it.
const stubBinder = "dyld_stub_binder"

// flat looks a symbol up in all images, in Python and in the libraries that every process loads.
func (b *binder) flat(out *Binding) {
	name := out.Import.Name
	unknown := false
	for _, l := range b.loads {
		for _, f := range l.Found {
			if f.Image.Object != nil {
				if _, ok := f.Image.Object.Export(name); ok {
					out.Found = f.Image
					return
				}
				continue
			}
			unknown = unknown || mayHave(f.Image, name, b.env.Arch)
		}
		for _, i := range l.preloaded { // visible if they were loaded with RTLD_GLOBAL
			if i.Object == nil {
				unknown = unknown || mayHave(i, name, b.env.Arch)
			} else if _, ok := i.Object.Export(name); ok {
				out.Found = i
				return
			}
		}
		unknown = unknown || len(l.Missing) > 0
	}
	switch {
	case strings.HasPrefix(name, "_Py"), strings.HasPrefix(name, "__Py"):
		b.python(out, dynlink.NoSymbol)
		return
	case strings.HasPrefix(name, "_GraalPy"), strings.HasPrefix(name, "__GraalPy"):
		out.Python, out.Outcome = true, dynlink.Undecided
		return
	}
	if a := macos.Anywhere(name, b.env.Arch); a.Known {
		if a.After(b.env.OS) {
			out.Outcome, out.Since = TooNew, a.Since
			out.Library = systemLibrary(name)
		}
		return
	}
	if name == stubBinder {
		return
	}
	out.Outcome = dynlink.NoSymbol
	if unknown {
		out.Outcome = dynlink.Undecided
	}
}

// any looks up a weak definition in all images, including the importing one.
func (b *binder) any(out *Binding) {
	if _, ok := b.image.Object.Export(out.Import.Name); ok {
		out.Found = b.image
		return
	}
	b.flat(out)
	if out.Outcome == dynlink.NoSymbol {
		out.Outcome = dynlink.Undecided // the image's own definition need not be exported
	}
}

// systemLibrary returns the path of the system library with a flat symbol.
func systemLibrary(name string) string {
	if macos.InCPlusPlus(name).Known {
		return "/usr/lib/libc++.1.dylib"
	}
	return "/usr/lib/libSystem.B.dylib"
}

// mayHave reports whether a system library whose exports are not known may have a symbol. The C++
// library has only C++ symbols.
func mayHave(i *Image, name, arch string) bool {
	if macos.SystemListed(i.Path, arch) {
		return false
	}
	cplusplus := strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___cxa") ||
		strings.HasPrefix(name, "___gxx")
	if strings.HasPrefix(i.Path, "/usr/lib/libc++") ||
		strings.HasPrefix(i.Path, "/usr/lib/libstdc++") {
		return cplusplus
	}
	return !cplusplus || !strings.HasPrefix(i.Path, "/usr/lib/")
}

// python looks a symbol up in the interpreter that loads the image; other is the outcome for a
// symbol without a Python prefix.
func (b *binder) python(out *Binding, other dynlink.Outcome) {
	out.Python = true
	name := strings.TrimPrefix(out.Import.Name, "_")
	if !strings.HasPrefix(name, "Py") && !strings.HasPrefix(name, "_Py") {
		out.Outcome = other
		return
	}
	releases := cpython.Releases(name)
	switch {
	case b.env.Python == "" || !cpython.Known(b.env.Python):
		if len(releases) == 0 {
			out.Outcome = dynlink.Undecided
		}
	case !slices.Contains(releases, b.env.Python):
		out.Outcome = dynlink.NoSymbol
	}
}
