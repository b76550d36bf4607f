package startup

import (
	"path"
	"slices"
	"strings"
)

// Loads is which shared libraries the Python sources of an artifact may load by themselves, so that
// they are loaded already when a module is imported. It is used on Linux, where every way to load a
// library counts: ctypes, cffi, NumPy, torch and functions that are named like theirs. The zero
// value has read no source.
type Loads struct {
	names   []string // stems of the names that calls contain as text
	unknown bool     // a library with a name that is computed
	global  bool     // a library whose symbols become visible to all others (RTLD_GLOBAL)
	handles bool     // it handles an ImportError
	opaque  bool     // it does not show what is loaded, also not to a Program
}

// ReadLoads reads a Python source, with its path relative to site-packages: see Code.Loads.
func ReadLoads(file, text string) Loads { return NewCode(file, text).Loads() }

// Loads returns what the source may load. Sources of tests load nothing, since importing the
// package does not import them.
func (c *Code) Loads() Loads {
	l := Loads{handles: c.words.handles}
	if !c.words.loads && !c.words.opaque {
		return l
	}
	all := tokens(c.text)
	l.unknown = len(all) >= maxTokens // the rest was not read
	l.global, l.opaque = l.unknown, l.unknown
	for i := range all {
		l.call(all, i)
	}
	return l
}

// Unknown returns the Loads of code that was not read: any library.
func Unknown() Loads { return Loads{unknown: true, global: true, handles: true, opaque: true} }

// Add adds the loads of another source.
func (l *Loads) Add(more Loads) {
	for _, n := range more.names {
		if !slices.Contains(l.names, n) {
			l.names = append(l.names, n)
		}
	}
	l.unknown = l.unknown || more.unknown || len(l.names) > maxNames
	l.global = l.global || more.global
	l.handles = l.handles || more.handles
	l.opaque = l.opaque || more.opaque
	l.names = l.names[:min(len(l.names), maxNames)]
}

// maxNames limits the work of Add; a package that loads more libraries may load any.
const maxNames = 256

// May reports whether a source may load a library, by its SONAME or file name.
func (l Loads) May(library string) bool {
	return l.unknown || slices.Contains(l.names, stem(library))
}

// MayGlobal reports whether a source may load a library, or a module, with RTLD_GLOBAL.
func (l Loads) MayGlobal() bool { return l.global }

// Opaque reports whether a source does not show what it loads: code that is not in a source,
// modules that are loaded from a file, and search paths for a process that is started again.
func (l Loads) Opaque() bool { return l.opaque }

// HandlesImportError reports whether a source may handle the error of importing a module.
func (l Loads) HandlesImportError() bool { return l.handles }

// stem returns a library's name without prefix, version, and the digest that auditwheel adds:
// "help" of "libhelp-0123abcd.so.1".
func stem(library string) string {
	name := strings.TrimPrefix(strings.ToLower(path.Base(library)), "lib")
	if end := strings.IndexAny(name, ".-"); end >= 0 {
		name = name[:end]
	}
	return name
}

// SameStem reports whether two names are those of one library, with or without a version.
func SameStem(a, b string) bool { return stem(a) == stem(b) }

// opaque are names whose use does not show what is loaded: modules that are loaded from a file,
// code that is not in a source, and search paths for a process that is started again.
var opaque = []string{
	"load_dynamic", "ExtensionFileLoader", "spec_from_file_location", "marshal", "__pyarmor__",
	"LD_LIBRARY_PATH", "LD_PRELOAD",
}

// global are names whose use may make the symbols of a library visible to all others.
var global = []string{"RTLD_GLOBAL", "setdlopenflags", "LD_PRELOAD", "marshal", "__pyarmor__"}

// local are the functions that load a library with RTLD_LOCAL unless a mode is passed to them.
var local = []string{
	"CDLL", "PyDLL", "cdll", "pydll", "LoadLibrary", "WinDLL", "windll", "OleDLL", "oledll", "dlopen",
	"add_dll_directory", "load_library",
}

// notModes are parameters of CDLL that do not change the mode.
var notModes = []string{"handle", "use_errno", "use_last_error", "winmode"}

// loads reports whether a function may load a library, by its name.
func loads(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "dll") || strings.Contains(name, "dlopen") ||
		strings.Contains(name, "preload") ||
		strings.Contains(name, "load") &&
			(strings.Contains(name, "library") || strings.Contains(name, "libraries") ||
				strings.HasSuffix(name, "lib") || strings.HasSuffix(name, "libs") ||
				strings.Contains(name, "dynamic") || strings.Contains(name, "shared"))
}

// call handles a token that names a function which loads libraries. A name is known only if the
// argument is a literal; everything else may be any library.
func (l *Loads) call(all []token, i int) {
	at := func(n int) token {
		if i+n < 0 || i+n >= len(all) {
			return token{kind: 'l'}
		}
		return all[i+n]
	}
	operator := func(n int, text string) bool { return at(n).kind == 'o' && at(n).text == text }
	if t := at(0); (t.kind == 's' || t.kind == 'n') && slices.Contains(global, t.text) {
		l.global = true
	}
	switch t := at(0); {
	case (t.kind == 's' || t.kind == 'n') && slices.Contains(opaque, t.text):
		l.unknown, l.opaque = true, true
		return
	case t.kind != 'n' || !loads(t.text) || at(-1).kind == 'n' && at(-1).text == "def":
		return
	case imports(all, i):
		return
	case operator(1, ".") && loads(at(2).text): // cdll.LoadLibrary
		return
	}
	l.global = l.global || !slices.Contains(local, at(0).text) ||
		!operator(1, ".") && !operator(1, "[") && at(0).text != "load_library" && mode(all[i+1:])
	end := func(n int) bool { return operator(n, ")") || operator(n, ",") }
	switch {
	case operator(1, "(") && at(2).kind == 's' && !at(2).any && end(3):
		l.Add(Loads{names: []string{stem(at(2).text)}})
	case operator(1, "(") && at(2).kind == 'n' && at(2).text == "None" && end(3):
	case operator(1, "(") && at(2).kind == 'n' && at(2).text == "find_library" &&
		operator(3, "(") && at(4).kind == 's' && !at(4).any && operator(5, ")") && end(6):
		l.Add(Loads{names: []string{stem(at(4).text)}})
	default:
		l.unknown = true
	}
}

// mode reports whether a function gets a mode with which it loads a library. call is what follows
// the function's name. If that is not a call, the function may be called elsewhere with a mode.
func mode(call []token) bool {
	depth := 0
	for i, t := range call {
		if t.opens() {
			depth++
		}
		if t.closes() {
			depth--
		}
		if depth == 0 {
			return i == 0
		}
		if depth == 1 && t.kind == 'o' && strings.HasPrefix(t.text, "*") {
			return true // arguments from elsewhere
		}
		if depth == 1 && t.kind == 'o' && t.text == "," && i+1 < len(call) {
			next := call[i+1]
			if next.text != ")" && !slices.Contains(notModes, next.text) {
				return true
			}
		}
	}
	return true
}

// imports reports whether a token is a name that an import statement imports under that name. The
// source that defines the function is read itself, or belongs to another package, and a call of it
// is another token.
func imports(all []token, i int) bool {
	const longest = 256 // tokens of a statement
	if i+1 < len(all) && all[i+1].kind == 'n' && all[i+1].text == "as" {
		return false
	}
	for at := i - 1; at >= max(0, i-longest); at-- {
		switch t := all[at]; {
		case t.kind == 'n' && t.text == "import":
			return true
		case t.kind == 'n', t.kind == 'o' && (t.text == "," || t.text == "(" || t.text == "."):
		default:
			return false
		}
	}
	return false
}
