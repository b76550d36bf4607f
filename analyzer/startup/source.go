package startup

import (
	"path"
	"slices"
	"strings"
)

// Folders of an installation, as roots of evaluated paths.
const (
	prefixFolder = "/prefix"
	siteFolder   = prefixFolder + "/Lib/site-packages"
)

// source is the state of reading a Python source.
type source struct {
	file   string // absolute, below siteFolder
	tokens []token
	values map[string][]string // by name: all values assigned anywhere in the source
	out    *Effects
	text   string
	work   int // remaining steps
}

// readSource collects the effects of a source. Control flow is ignored: all assignments and calls
// count. Tests are skipped, since importing the package does not import them.
func readSource(out *Effects, file, text string) {
	if InTests(file) {
		return
	}
	const steps = 200_000
	s := &source{
		file: siteFolder + "/" + file, tokens: tokens(text), values: map[string][]string{}, out: out,
		text: text, work: steps,
	}
	for range 2 { // a function may precede an assignment that it uses
		s.assignments()
	}
	s.calls()
}

// assignments evaluates assigned values: "x = …", "x := …" and "for x in …".
func (s *source) assignments() {
	for i := 0; i+2 < len(s.tokens); i++ {
		t := s.tokens[i]
		if t.kind != 'n' || i > 0 && s.tokens[i-1].text == "." {
			continue
		}
		next := s.tokens[i+1]
		if next.kind == 'o' && (next.text == "=" || next.text == ":=") ||
			next.kind == 'n' && next.text == "in" && i > 0 && s.tokens[i-1].text == "for" {
			v, _ := s.expression(i + 2)
			s.assign(t.text, v)
		}
	}
}

// InTests reports whether a source is in a folder of tests. Importing a package executes none, so
// ReadModule and ReadLoads find nothing in them.
func InTests(file string) bool {
	return strings.Contains(file, "/tests/") || strings.Contains(file, "/test/")
}

func (s *source) assign(name string, values []string) {
	const most = 32
	for _, v := range values {
		if have := s.values[name]; len(have) < most && !slices.Contains(have, v) {
			s.values[name] = append(have, v)
		}
	}
}

// loaders are functions that load a DLL by its path: classes of ctypes, the method of its loader
// objects, functions of kernel32, and numpy.ctypeslib.load_library. Libraries that a source loads
// in another way, such as ffi.dlopen of cffi, do not count as loaded.
var loaders = []string{
	"WinDLL", "CDLL", "PyDLL", "OleDLL", "LoadLibrary", "LoadLibraryA", "LoadLibraryW",
	"LoadLibraryEx",
	"LoadLibraryExA", "LoadLibraryExW", "load_library",
}

// calls looks for calls and assignments that affect the search.
func (s *source) calls() {
	for i, t := range s.tokens {
		if t.kind != 'n' || i+1 >= len(s.tokens) {
			continue
		}
		switch {
		case t.text == "add_dll_directory" && s.tokens[i+1].text == "(":
			s.directory(i + 2)
		case t.text == "environ" && s.assignsPath(i+1):
			s.search(i + 1)
		case slices.Contains(loaders, t.text) && s.tokens[i+1].text == "(":
			s.preload(i + 2)
		}
	}
}

// directory handles the argument of add_dll_directory.
func (s *source) directory(at int) {
	v, _ := s.expression(at)
	known := false
	for _, p := range v {
		if f, ok := s.fromSite(p); ok {
			s.out.Directories, known = append(s.out.Directories, f), true
		}
	}
	if !known {
		s.out.unknown = append(s.out.unknown, strings.ToLower(s.text))
	}
}

// preload handles the path of a DLL that is loaded. If it cannot be evaluated, the folders that the
// source names are used, because it probably loads a DLL in one of them.
func (s *source) preload(at int) {
	v, end := s.expression(at)
	if end < len(s.tokens) && len(v) == 0 && s.tokens[at].text == "c_wchar_p" {
		v, _ = s.expression(at + 2)
	}
	for _, p := range v {
		f, ok := s.fromSite(p)
		switch {
		case !ok || !strings.Contains(p, "/"):
		case strings.ContainsAny(path.Base(f), "*?["):
			s.out.Preloaded = append(s.out.Preloaded, path.Dir(f)+"/*")
			s.out.whole = append(s.out.whole, path.Dir(f))
		default:
			s.out.Preloaded = append(s.out.Preloaded, f)
		}
	}
	if len(v) > 0 {
		return
	}
	for _, values := range s.values {
		for _, p := range values {
			f, ok := s.fromSite(p)
			if !ok {
				continue
			}
			if strings.ContainsAny(path.Base(p), "*.") && path.Ext(p) != ".libs" {
				f = path.Dir(f)
			}
			s.out.Preloaded = append(s.out.Preloaded, f+"/*")
		}
	}
	slices.Sort(s.out.Preloaded)
	s.out.Preloaded = slices.Compact(s.out.Preloaded)
}

// assignsPath reports whether `environ` is followed by an assignment to PATH.
func (s *source) assignsPath(i int) bool {
	t := s.tokens[i:]
	return len(t) > 4 && t[0].text == "[" && strings.EqualFold(t[1].text, "PATH") &&
		t[2].text == "]" &&
		(t[3].text == "=" || t[3].text == "+=")
}

// search handles the folders in the rest of an assignment to PATH.
func (s *source) search(at int) {
	for at += 4; at < len(s.tokens) && s.tokens[at].kind != 'l'; {
		v, end := s.operand(at)
		for _, p := range v {
			if f, ok := s.fromSite(p); ok {
				s.out.Path = append(s.out.Path, f)
			}
		}
		at = max(end, at+1)
	}
}

// fromSite makes an absolute folder relative to site-packages; ok is false outside of the
// installation.
func (s *source) fromSite(p string) (string, bool) {
	p = path.Clean(p)
	if p == siteFolder {
		return ".", true
	}
	if rest, ok := strings.CutPrefix(p, siteFolder+"/"); ok {
		return rest, true
	}
	if p == prefixFolder {
		return "../..", true
	}
	if rest, ok := strings.CutPrefix(p, prefixFolder+"/"); ok {
		return "../../" + rest, true
	}
	return "", false
}
