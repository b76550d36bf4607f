package pinned

import (
	"errors"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// ErrPython is the error for a lock file that does not allow the interpreter that was named.
var ErrPython = errors.New("it requires Python")

// Python returns the interpreter of the environment, and where that is known from: the
// .python-version next to the first file or in the working directory; else that of the image; else
// the one for which pip-compile or uv wrote a file, or the oldest, from 3.7, that requires-python
// of a file or of the pyproject.toml next to one of them allows. Both are "" if no file names a
// version.
func (f *Files) Python() (python, from string) {
	python, from, _ = f.python()
	return python, from
}

// python is Python. assumed is true if the version is that of a pyproject.toml, or not known.
func (f *Files) python() (python, from string, assumed bool) {
	if v, _ := f.PythonVersionFile(); v != "" {
		return v, ".python-version", false
	}
	if f.ImagePython != "" {
		return f.ImagePython, "the image", false
	}
	for _, file := range f.Paths {
		l := f.parse(path.Clean(file)).lock
		if l == nil {
			continue // Pinned returns the error
		}
		if v := oldestPython(l.Python); v != "" {
			return v, "the oldest that " + path.Base(file) + " allows", false
		}
		if l.CompiledFor != "" {
			return l.CompiledFor, path.Base(file) + " was compiled for it", false
		}
	}
	for _, file := range f.Paths {
		data, err := f.Read(path.Join(path.Dir(path.Clean(file)), "pyproject.toml"))
		if v := oldestPython(lockfile.ProjectPython(data)); err == nil && v != "" {
			return v, "the oldest that pyproject.toml allows", true
		}
	}
	return "", "", true
}

// PythonVersionFile returns the interpreter that a .python-version names, and the path of that
// file; "" if there is none.
func (f *Files) PythonVersionFile() (python, file string) {
	var dirs []string
	if len(f.Paths) > 0 {
		dirs = append(dirs, path.Dir(path.Clean(f.Paths[0])))
	}
	for _, dir := range append(dirs, ".") {
		file := path.Join(dir, ".python-version")
		data, err := f.Read(file)
		m := pythonVersion.FindStringSubmatch(strings.TrimSpace(string(data)))
		if err == nil && m != nil {
			return m[1], file
		}
	}
	return "", ""
}

// pythonVersion matches the first interpreter that a .python-version names, if it is a version of
// CPython 3.
var pythonVersion = lazyregexp.New(`^(?:cpython-)?(3\.\d{1,2})(?:\.\d+)?(?:\s|$)`)

// oldestPython returns the oldest interpreter from 3.7 that a Requires-Python allows; "" if it is
// empty or invalid, or allows none.
func oldestPython(requires string) string {
	spec, err := pkgmeta.ParseSpec(requires)
	if err != nil || spec.String() == "" {
		return ""
	}
	for _, v := range packages.Interpreters(requires) {
		if !platform.Older(v, "3.7") {
			return v
		}
	}
	return ""
}
