package winload

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Startup is what the Python sources of an artifact do about the search for DLLs before a module is
// imported. It is read without running anything, so it may name folders that the code adds under
// some conditions only. The zero value is that of an artifact without such sources.
type Startup struct {
	sources []effects
	texts   []string // of the sources, in lower case
	early   []string // modules that a .pth file imports: "pywin32_bootstrap"
}

// effects is what one source does. Folders are from site-packages.
type effects struct {
	file string // from site-packages

	directories []string // given to os.add_dll_directory
	preloaded   []string // files that ctypes loads, and "folder/*" where it loads all of one
	path        []string // put on PATH
	unknown     []string // its text, where it adds folders that could not be worked out
}

// mentions reports whether a source that adds folders which could not be worked out has the name of
// a folder in its text.
func (e effects) mentions(folder string) bool {
	name := path.Base(folder)
	if name == "." || name == ".." || name == "/" {
		return false
	}
	word := regexp.MustCompile(`(?i)(^|[^\w])` + regexp.QuoteMeta(name) + `($|[^\w])`)
	return slices.ContainsFunc(e.unknown, word.MatchString)
}

// of joins what counts for a module: the sources of its own top-level package, those outside of
// any, and what .pth files import. A module outside of any may be imported by every package.
func (s *Startup) of(module string) effects {
	own := top(module)
	var out effects
	for _, x := range s.sources {
		name := top(x.file)
		base := strings.TrimSuffix(path.Base(x.file), ".py")
		if own == "" || name == "" || name == own || slices.Contains(s.early, base) {
			out.directories = append(out.directories, x.directories...)
			out.preloaded = append(out.preloaded, x.preloaded...)
			out.path = append(out.path, x.path...)
			out.unknown = append(out.unknown, x.unknown...)
		}
	}
	return out
}

// top is the first folder of a path, "" of a file in no folder.
func top(p string) string {
	first, _, ok := strings.Cut(p, "/")
	if !ok {
		return ""
	}
	return first
}

// Relevant reports whether a Python source or .pth file could do anything that ReadStartup looks
// for.
func Relevant(source []byte) bool {
	for _, word := range words {
		if strings.Contains(string(source), word) {
			return true
		}
	}
	return false
}

var words = []string{
	"add_dll_directory", "LoadLibrary", "WinDLL", "CDLL", "PyDLL", "OleDLL", "environ", "load_library",
}

var pthImport = regexp.MustCompile(`(?m)^\s*import\s+([\w.]+)`)

// Add reads one Python source or .pth file, whose path is from site-packages. The order of calls
// does not matter for what is found.
func (s *Startup) Add(file string, source []byte) {
	if path.Ext(file) == ".pth" {
		for _, m := range pthImport.FindAllSubmatch(source, -1) {
			parts := strings.Split(string(m[1]), ".")
			s.early = append(s.early, parts[len(parts)-1])
		}
		file = path.Base(file)
	}
	x := effects{file: file}
	readSource(&x, file, string(source))
	s.sources = append(s.sources, x)
	s.texts = append(s.texts, strings.ToLower(string(source)))
}

// Names reports whether a source has the name of a DLL in its text, with or without its ending. A nil
// Startup has no sources.
func (s *Startup) Names(dll string) bool {
	if s == nil {
		return false
	}
	stem := strings.TrimSuffix(strings.ToLower(path.Base(dll)), ".dll")
	return slices.ContainsFunc(s.texts, func(text string) bool { return strings.Contains(text, stem) })
}
