package startup

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Sources contains the effects of an artifact's Python sources on the search for libraries. The
// zero value has none.
type Sources struct {
	effects []Effects           // of each source
	texts   []string            // of the sources, in lower case
	early   []string            // modules that a .pth file imports: "pywin32_bootstrap"
	imports map[string][]string // by top-level package: what its __init__.py imports
}

// Effects are effects of sources. Paths are relative to site-packages.
type Effects struct {
	Directories []string // passed to os.add_dll_directory
	Preloaded   []string // files that ctypes loads, "folder/*" for all of a folder
	Path        []string // folders added to PATH

	file    string   // path of the source; "" for several sources
	whole   []string // folders whose DLLs are all loaded, by a pattern in the source
	unknown []string // sources, in lower case, that add folders that could not be evaluated
}

// Mentions reports whether the name of a folder occurs in a source that adds folders that could not
// be evaluated.
func (e Effects) Mentions(folder string) bool {
	name := path.Base(folder)
	if name == "." || name == ".." || name == "/" {
		return false
	}
	name = strings.ToLower(name)
	return slices.ContainsFunc(e.unknown, func(text string) bool { return hasWord(text, name) })
}

// hasWord reports whether a text contains a word that is not part of a longer identifier.
func hasWord(text, word string) bool {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], word)
		if n < 0 {
			return false
		}
		at += n
		end := at + len(word)
		if (at == 0 || !identifier(text[at-1])) && (end == len(text) || !identifier(text[end])) {
			return true
		}
	}
}

func identifier(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Of returns the combined effects on a module: of the sources of its top-level package and of
// packages that it imports, of sources outside of packages, and of modules that .pth files import.
// Any package may import a module outside of packages. A nil Sources has no effects.
func (s *Sources) Of(module string) Effects {
	if s == nil {
		return Effects{}
	}
	own := top(module)
	packages := s.importedBy(own)
	var out Effects
	for _, x := range s.effects {
		name := top(x.file)
		base := strings.TrimSuffix(path.Base(x.file), ".py")
		if own == "" || name == "" || slices.Contains(packages, name) || slices.Contains(s.early, base) {
			out.Directories = append(out.Directories, x.Directories...)
			out.Preloaded = append(out.Preloaded, x.Preloaded...)
			out.Path = append(out.Path, x.Path...)
			out.unknown = append(out.unknown, x.unknown...)
		}
	}
	return out
}

// top returns the first folder of a path, "" for a file in no folder.
func top(p string) string {
	first, _, ok := strings.Cut(p, "/")
	if !ok {
		return ""
	}
	return first
}

// importedBy returns a top-level package and those that its __init__.py imports, recursively.
func (s *Sources) importedBy(own string) []string {
	out := []string{own}
	for i := 0; i < len(out); i++ {
		for _, name := range s.imports[out[i]] {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Imports reports whether the __init__.py of a module's top-level package imports another package,
// also indirectly.
func (s *Sources) Imports(module, name string) bool {
	return s != nil && slices.Contains(s.importedBy(top(module)), name)
}

// Imported reports whether the __init__.py of any top-level package imports a package. It is false
// for a nil Sources.
func (s *Sources) Imported(name string) bool {
	if s == nil {
		return false
	}
	for _, names := range s.imports {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// Wanted reports whether a Python source or .pth file may have effects, so that Sources.Add needs
// it. file is relative to site-packages.
func Wanted(file string, source []byte) bool {
	return path.Ext(file) == ".pth" || isPackage(file) || relevant(source)
}

// isPackage reports whether a file is the __init__.py of a top-level package.
func isPackage(file string) bool {
	return path.Base(file) == "__init__.py" && strings.Count(file, "/") == 1
}

// relevant searches for each word only if a part that several words have in common occurs, because
// most sources have none of them.
func relevant(source []byte) bool {
	has := func(word string) bool { return bytes.Contains(source, []byte(word)) }
	return has("DLL") && (has("WinDLL") || has("CDLL") || has("PyDLL") || has("OleDLL")) ||
		has("oad") && (has("LoadLibrary") || has("load_library")) ||
		has("add_dll_directory") ||
		has("environ") && searchPath.Match(source)
}

var (
	pthImport  = lazyregexp.New(`(?m)^\s*import\s+([\w.]+)`)
	searchPath = lazyregexp.New(`environ\s*\[\s*\w*["'](?i:path)["']\s*\]`)
)

// imported returns the first package that an import statement at the start of a line names; "" for
// any other line. It sees every line of a package's __init__.py.
func imported(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte("import"))
	if !ok {
		rest, ok = bytes.CutPrefix(line, []byte("from"))
	}
	name := bytes.TrimLeft(rest, " \t")
	if !ok || len(name) == len(rest) {
		return ""
	}
	end := bytes.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		end = len(name)
	}
	return string(name[:end])
}

// Add reads a Python source or .pth file, with its path relative to site-packages. The order of
// calls does not matter.
func (s *Sources) Add(file string, source []byte) {
	early := path.Ext(file) == ".pth"
	if early {
		for _, m := range pthImport.FindAllStringSubmatch(string(source), -1) {
			parts := strings.Split(m[1], ".")
			s.early = append(s.early, parts[len(parts)-1])
		}
		file = path.Base(file)
	}
	if isPackage(file) {
		for line := range bytes.Lines(source) {
			name := imported(line)
			if name == "" {
				continue
			}
			if s.imports == nil {
				s.imports = map[string][]string{}
			}
			s.imports[top(file)] = append(s.imports[top(file)], name)
		}
	}
	if !early && !relevant(source) {
		return
	}
	x := Effects{file: file}
	readSource(&x, file, string(source))
	s.effects = append(s.effects, x)
	s.texts = append(s.texts, strings.ToLower(string(source)))
}

// Loads reports whether a source loads all DLLs in the folder of a file, by a pattern such as
// "lib/*.dll". It is false for a nil Sources.
func (s *Sources) Loads(file string) bool {
	return s != nil && slices.ContainsFunc(s.effects, func(e Effects) bool {
		return slices.Contains(e.whole, path.Dir(file))
	})
}

// Names reports whether the name of a DLL, with or without its extension, occurs in a source. It is
// false for a nil Sources.
func (s *Sources) Names(dll string) bool {
	if s == nil {
		return false
	}
	stem := strings.TrimSuffix(strings.ToLower(path.Base(dll)), ".dll")
	return slices.ContainsFunc(s.texts, func(text string) bool { return strings.Contains(text, stem) })
}
