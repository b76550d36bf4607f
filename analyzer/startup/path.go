package startup

import (
	"path"
	"slices"
	"strings"
)

// windowsOnly are names of functions that load libraries, or add folders to the search for them,
// which Python has on Windows only.
var windowsOnly = []string{
	"WinDLL", "windll", "OleDLL", "oledll", "add_dll_directory", "LoadLibraryEx", "LoadLibraryExW",
	"LoadLibraryW", "LoadLibraryA", "FreeLibrary",
}

// byPath are functions whose first argument is the path of a library.
var byPath = []string{"CDLL", "PyDLL", "LoadLibrary", "dlopen", "load_op_library"}

// pathWords are names in expressions that path evaluates. Others, such as __file__ of another
// module, have values that are not known.
var pathWords = []string{
	"os", "path", "pathlib", "join", "dirname", "abspath", "realpath", "normpath", "fspath", "str",
	"Path", "PurePath", "resolve", "absolute", "as_posix", "joinpath", "parent", "parents", "__file__",
	"tf", "compat", "v1", "resource_loader", "get_path_to_datafile",
}

// notKnown are the values of a path that is not known: two, as of a name with several assignments.
var notKnown = []string{"", "."}

// assign handles "name = …".
func (r *moduleReader) assign(name string, all []token, plain bool) {
	if !r.words.mayLoad { // only a call that loads a library needs paths
		return
	}
	if r.skips && len(r.paths) == 0 && !slices.ContainsFunc(all, func(t token) bool {
		return t.text == "__file__" || t.text == "find_library"
	}) {
		return
	}
	if len(r.paths) > maxSteps {
		return
	}
	values := r.path(all)
	switch {
	case r.searches(all):
		r.found[strings.Clone(name)] = true
	case values == nil || !plain:
		values = notKnown
		fallthrough
	default:
		delete(r.found, name)
		have, before := r.paths[name]
		if !before {
			name = strings.Clone(name)
		}
		for _, v := range values {
			if !slices.Contains(have, v) {
				have = append(have, v)
			}
		}
		r.paths[name] = slices.Clip(have)
	}
}

// searches reports whether an expression is the result of ctypes.util.find_library, which does not
// search the folders of packages.
func (r *moduleReader) searches(all []token) bool {
	if len(all) == 0 || all[0].kind != 'n' {
		return false
	}
	if r.found[all[0].text] && (len(all) == 1 || all[1].text == ")" || all[1].text == ",") {
		return true
	}
	at := 0
	for at+2 < len(all) && all[at].kind == 'n' && all[at+1].text == "." {
		at += 2
	}
	return all[at].text == "find_library" && at+1 < len(all) && all[at+1].text == "("
}

// path evaluates an expression to absolute paths below siteFolder; nil if a part of it is not
// known. The value of a name is known if all of its assignments are the same, or if it is the
// variable of a loop over texts.
func (r *moduleReader) path(all []token) []string {
	const longest = 100 // tokens
	if len(all) == 0 || len(all) > longest {
		return nil
	}
	s := source{tokens: all, work: 1000}
	set := func(name string) bool { // whether the value is known
		v := r.known(name)
		if s.values == nil {
			s.values = map[string][]string{}
		}
		s.values[name] = v
		return v != nil
	}
	for i, t := range all {
		switch {
		case t.kind == 's' && t.any:
			for _, field := range strings.Split(t.text, "{")[1:] {
				name, _, _ := strings.Cut(field, "}")
				if !set(name) {
					return nil
				}
			}
		case t.kind != 'n' || slices.Contains(pathWords, t.text) && (i == 0 || t.text != "__file__" ||
			all[i-1].text != "."):
		case i > 0 && all[i-1].text == ".":
			return nil
		default:
			if !set(t.text) {
				return nil
			}
		}
	}
	s.file = siteFolder + "/" + r.file
	values, end := s.expression(0)
	if end < len(all) {
		return nil
	}
	return values
}

// known returns the values of a name; nil if they are not known.
func (r *moduleReader) known(name string) []string {
	if v := r.values[name]; len(v) > 0 {
		return v
	}
	if v := r.paths[name]; len(v) == 1 {
		return v
	}
	return nil
}

// loadsPaths handles a call whose first argument is the path of a library, or each of several. It
// returns false if that is not known.
func (r *moduleReader) loadsPaths(all []token, global bool, in scope) bool {
	if len(all) == 0 { // the source ends with the name
		return false
	}
	end, depth := 1, 0
	for ; end < len(all)-1 && (depth > 0 || all[end].text != "," || all[end].kind == 's'); end++ {
		if all[end].opens() {
			depth++
		}
		if all[end].closes() {
			depth--
		}
	}
	values := r.path(all[1:max(1, end)])
	for _, v := range values {
		if !strings.HasPrefix(v, siteFolder+"/") {
			return false
		}
	}
	for _, v := range values {
		at := strings.TrimPrefix(path.Clean(v), siteFolder+"/")
		r.step(step{do: loadsLibrary, name: path.Base(at), at: at, global: global, plain: true}, in)
	}
	return len(values) > 0
}
