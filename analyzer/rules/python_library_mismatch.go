package rules

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/windows"
)

var pythonLibraryMismatch = &analyzer.Rule{
	ID:       "python-library-mismatch",
	Title:    "A module is linked with another Python than the one of the wheel's tag",
	Severity: analyzer.Error,
	Doc: `On Windows a module is linked with the DLL of one Python: python312.dll of CPython 3.12,
python313t.dll of the free-threaded 3.13, python312_d.dll of a debug build, python3.dll for the
stable ABI. The Python of the wheel's tag has another one, so the import fails: "DLL load failed
while importing x: The specified module could not be found", or, where the other Python is
installed as well, "Module use of python38.dll conflicts with this version of Python".

A module of a wheel with an abi3 tag has to be linked with python3.dll. One that is linked with
python312.dll works on CPython 3.12 only.

On macOS a module needs no library of Python at all. One that is linked with the framework or the
libpython of another release than its tag's fails with "Library not loaded", or loads a second
Python into the process.

On Android a module is linked with libpython3.13.so of its Python, and an app has only that of its
own: the load of another one fails with library "libpython3.12.so" not found. A module for the
stable ABI has to be linked with libpython3.so.

Fix: build the module with the Python of the tag, on macOS without its library
(` + "`-undefined dynamic_lookup`" + `), or tag the wheel for the Python that it was built
with.

Not detected: files that a program other than Python loads.`,
	Explains: []string{"macos-library-not-loaded", "windows-dll-not-found", "windows-other-python"},
	References: []string{
		"CPython: PC/pyconfig.h (the library that a module is linked with), Python/dynload_win.c",
		"PEP 384, PEP 703",
	},
	Windows: checkPythonDLL,
	MacOS:   checkPythonLibraryMacOS,
	Android: checkPythonLibraryAndroid,
}

func checkPythonDLL(p *analyzer.Pass) {
	if p.Facts.Wheel == nil {
		return
	}
	seen := map[string]bool{}
	for _, m := range missingDLLs(p) {
		if m.Library.Kind == windows.Python {
			seen[m.user.Path+m.Library.Name] = true
			reportPythonDLL(p, m.user, m.Name, *m.Library.Python)
		}
	}
	for _, o := range p.Windows.Objects {
		if !o.Extension() || !o.RunsOn(p.Windows.Machine) || ofOnePythonDLL(o.Path) ||
			!forStableABI(p) {
			continue
		}
		for _, d := range o.Imports {
			name := strings.ToLower(d.Name)
			dll, ok := windows.ParsePython(name)
			if ok && !dll.Stable() && !d.Delay && !seen[o.Path+name] {
				reportPythonDLL(p, o, d.Name, dll)
			}
		}
	}
}

// forStableABI reports whether all tags of the wheel are for the stable ABI.
func forStableABI(p *analyzer.Pass) bool {
	for _, t := range p.Facts.Wheel.Tags {
		if !cpython.StableABI(t.ABI) {
			return false
		}
	}
	return true
}

func reportPythonDLL(
	p *analyzer.Pass, o *analyzer.WindowsObject, name string, dll windows.PythonDLL,
) {
	tag := p.Facts.Wheel.Tags[0]
	f := analyzer.Finding{
		Object: o.Path, Library: name, Chain: []string{o.Path, name},
		Message: fmt.Sprintf(
			"%s is linked with %s, %s. The wheel's tag is %s",
			o.Path,
			name,
			describePython(dll),
			tag,
		),
	}
	fixes := []fix.Candidate{relink(fix.Text(buildWith(tag, dll)))}
	if !dll.Debug && !dll.Stable() {
		version := "cp" + strings.ReplaceAll(dll.Release, ".", "")
		abi := version
		if dll.FreeThreaded {
			abi += "t"
		}
		if to := (pkgmeta.Tag{Python: version, ABI: abi}); namesFit(p, to) {
			fixes = append(fixes, fix.Candidate{Fix: retagged(p, to, fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: fix.Tagging("for the Python that built the module: " + version + "-" + abi),
			})})
		}
	}
	p.Report(f, fixes...)
}

// describePython describes the Python that contains a DLL.
func describePython(dll windows.PythonDLL) string {
	switch {
	case dll.Debug:
		return "which only a debug build of CPython " + dll.Release + " has"
	case dll.Stable():
		return "which this Python does not have"
	case dll.FreeThreaded:
		return "which only the free-threaded CPython " + dll.Release + " has"
	}
	if !platform.Older(dll.Release, "3.13") {
		return "which only the default build (with the GIL) of CPython " + dll.Release + " has"
	}
	return "which only CPython " + dll.Release + " has"
}

// buildWith returns advice on how to build for a tag.
func buildWith(tag pkgmeta.Tag, dll windows.PythonDLL) string {
	switch {
	case tag.ABI == "abi3t":
		return "Define Py_TARGET_ABI3T, so that the module is linked with python3t.dll"
	case tag.ABI == "abi3":
		return "Define Py_LIMITED_API, so that the module is linked with python3.dll"
	case dll.Debug:
		return "Build without Py_DEBUG (in release mode, /MD)"
	}
	return "Build the module with the Python of the tag"
}
