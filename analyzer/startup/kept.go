package startup

import (
	"path"
	"slices"
	"strings"
)

// osErrors are the names that catch OSError, which ctypes raises if it cannot load a library.
// allErrors catch what any function raises.
var (
	allErrors = []string{"Exception", "BaseException"}
	osErrors  = append([]string{"OSError", "IOError", "EnvironmentError"}, allErrors...)
)

// namesAny reports whether an except clause, or a call of suppress, names one of several
// exceptions.
func namesAny(head []token, errors []string) bool {
	return slices.ContainsFunc(head, func(t token) bool {
		return t.kind == 'n' && slices.Contains(errors, t.text)
	})
}

// kept is for which exceptions a source continues in any case.
type kept byte

const (
	keptNever kept = iota
	keptOS         // OSError
	keptAll        // any exception
)

// caught returns what an except clause, or a call of suppress, handles.
func caught(head []token) kept {
	switch {
	case namesAny(head, allErrors):
		return keptAll
	case namesAny(head, osErrors):
		return keptOS
	}
	return keptNever
}

// suppressed returns what the head of a with statement handles: contextlib.suppress(OSError).
func suppressed(head []token) kept {
	if !namesAny(head, []string{"suppress"}) {
		return keptNever
	}
	return caught(head)
}

// except handles an except clause that was read: where it catches in any case that a library is not
// loaded, and does not fail, the steps of the try block are kept.
func (b *branches) except(clause line, steps []step, fails bool) {
	head := clause.tokens
	if fails {
		b.fails = b.fails || catches(head, "ImportError")
		return
	}
	handled := caught(head)
	if len(head) == 2 { // except:
		handled = keptAll
	}
	if b.fails {
		return
	}
	for i := range steps[b.tried:b.end] {
		s := &steps[b.tried+i]
		s.kept = max(s.kept, handled)
	}
}

// exceptions handles what a simple statement may raise because a library was not loaded.
func (r *moduleReader) exceptions(l line, in scope) {
	all := l.tokens
	raises := l.word() == "raise" || ends(all)
	calls := func(all []token) bool { // of a function of this program, or one that loads a library
		top, _, _ := strings.Cut(r.name, "/")
		for i, t := range all[:max(0, len(all)-1)] {
			at, imported := r.names[t.text]
			if t.kind == 'n' && (all[i+1].text == "(" || all[i+1].text == ".") &&
				(loads(t.text) || r.defined[t.text] || imported && strings.HasPrefix(at, top+"/")) {
				return true
			}
		}
		return false
	}
	if raises || in.excepting && calls(all) {
		r.failures++
	}
	if in.never {
		return
	}
	in.into.raises = in.into.raises || raises && !in.excepting && (r.words.loads || r.words.uses)
	if len(all) > 2 && all[0].kind == 'n' && all[1].text == "=" && len(r.opened) < maxSteps {
		if (r.words.mayLoad || r.loaded) && slices.ContainsFunc(all[2:], r.opens) {
			r.opened[strings.Clone(all[0].text)] = true
		} else if !in.excepting {
			delete(r.opened, all[0].text)
		}
	}
	if in.may || in.trying || in.excepting || in.only != (Versions{}) || in.flag != (flag{}) {
		return
	}
	if len(r.opened) == 0 && !r.words.uses && !r.words.torch {
		return
	}
	for i, t := range all {
		begins := i == 0 || all[i-1].kind != 'o' || all[i-1].text != "."
		if begins && t.kind == 'n' && r.opened[t.text] && i+1 < len(all) &&
			(all[i+1].text == "." || all[i+1].text == "[" || all[i+1].text == "(") ||
			l.word() == "assert" && r.opened[t.text] ||
			i > 0 && all[i-1].text == "." && declares(all[:i+1]) {
			in.into.uses = true
		}
	}
}

// opens reports whether a token names a function that loads a library, or one of the source that
// calls such a function.
func (r *moduleReader) opens(t token) bool {
	if t.kind != 'n' {
		return false
	}
	f := r.functions[t.text]
	return f != nil && f.loads || r.words.mayLoad && loads(t.text)
}

// declaring are attributes of a function of a library that ctypes loaded, and functions that need
// an operator which a library of torch defines.
var declaring = []string{"restype", "argtypes", "register_fake", "impl_abstract"}

// declares reports whether a name, with what is before it, needs a function of a library: it is one
// of those, or an operator of torch (torch.ops.NAME).
func declares(all []token) bool {
	at := func(n int) string { return all[max(0, len(all)-n)].text }
	return slices.Contains(declaring, at(1)) || len(all) > 4 && at(3) == "ops" && at(5) == "torch" &&
		!loads(at(1)) && !slices.Contains(ofTorch, at(1))
}

// ofTorch are the namespaces of operators that torch itself has.
var ofTorch = []string{
	"aten", "prim", "prims", "rngprims", "debugprims", "c10d", "_c10d_functional", "c10d_functional",
	"higher_order", "inductor", "quantized", "_quantized", "quantized_decomposed", "profiler",
	"sparse", "mkldnn", "mkl", "mkldnn_prepacked", "onednn", "fsdp", "symm_mem", "static_runtime",
	"xnnpack",
}

// addFiles collects the names of libraries in a line of a source that loads some, with * for what
// is computed.
func (r *moduleReader) addFiles(all []token) {
	const most, longest = 64, 128
	for _, t := range all {
		if t.kind != 's' || len(t.text) > longest || len(r.files) >= most ||
			!strings.Contains(t.text, ".so") && !strings.Contains(t.text, "*") {
			continue
		}
		name := path.Base(t.text)
		for t.any {
			before, rest, ok := strings.Cut(name, "{")
			_, after, closed := strings.Cut(rest, "}")
			if !ok || !closed {
				break
			}
			name = before + "*" + after
		}
		if name != "*" && !strings.Contains(name, " ") && !slices.Contains(r.files, name) {
			r.files = append(r.files, strings.Clone(name))
		}
	}
}

// Keeps reports whether importing the packages of a program works if a library cannot be loaded:
// sources load it, and all that do so during the import handle that in any case. at is its path
// relative to site-packages, and names are others of it. It is false if it is not known that a
// source loads it.
func (x *Index) Keeps(at string, names ...string) bool {
	found, lost := false, false
	for top := range x.program {
		if strings.Contains(top, "/") || lost {
			continue
		}
		w := x.walk("")
		w.again = true
		w.opens = func(m *Module, s step) bool {
			may, named := m.mayOpen(s, at, names)
			root := x.program[top]
			switch {
			case !may:
			case s.kept == keptNever || s.kept == keptOS && !s.plain || root == nil || root.top.raises:
				lost = true
			default:
				found = found || named
			}
			return lost
		}
		w.module(top, step{})
		lost = lost || w.work < 0 || w.uses
	}
	return found && !lost
}

// mayOpen reports whether a step may load a library, and whether the source has its name.
func (m *Module) mayOpen(s step, at string, names []string) (may, named bool) {
	same := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return SameStem(n, name) })
	}
	switch {
	case s.at != "":
		return s.at == at, s.at == at
	case s.name != "":
		return same(s.name), true
	}
	return true, slices.ContainsFunc(m.files, func(name string) bool {
		ok, err := path.Match(name, path.Base(at))
		return ok && err == nil || same(name)
	})
}
