package rules

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// ofHost returns a function that reports whether the program that loads the object provides a
// symbol. In a package of a distribution, libraries of modules (libboost_python) use the symbols of
// Python without being modules.
func ofHost(p *analyzer.Pass, v *analyzer.View) func(symbol string) bool {
	release := sync.OnceValue(func() string { return pythonOf(p, v) })
	return func(symbol string) bool {
		if v.Host == analyzer.HostNone && p.Facts.Packaged() && len(cpython.Releases(symbol)) > 0 {
			return true
		}
		return v.Host.Exports(symbol) &&
			(release() == "" || slices.Contains(cpython.Releases(symbol), release()))
	}
}

// pythonOf returns the release of CPython that loads an object, "3.11": by the file name of a
// module, for abi3 in an environment by its Python, else by the wheel's tag. It is "" if that is
// not exactly one release whose exports are known: abi3 and several tags, PyPy, debug and
// free-threaded builds, and the narrow builds of Python 2.
func pythonOf(p *analyzer.Pass, v *analyzer.View) string {
	if v.Host != analyzer.HostPython {
		return ""
	}
	var release string
	m, ok := parseModule(v.Path)
	switch {
	case ok && m.stable != (cpython.Suffix{}) && m.flags == "" && p.Pinned &&
		cpython.Known(p.Python):
		return p.Python // a module for several releases, in an environment with one
	case ok:
		if m.cpython == "" || m.flags != "" && m.flags != "m" {
			return ""
		}
		release = dotted(m.cpython)
	case p.Facts.Wheel != nil:
		for _, t := range p.Facts.Wheel.Tags {
			version, ok := strings.CutPrefix(t.Python, "cp")
			abis := []string{"cp" + version, "cp" + version + "m", "cp27mu"}
			if !ok || len(version) < 2 || !slices.Contains(abis, t.ABI) || t.ABI == "cp27m" {
				return ""
			}
			if release != "" && release != dotted(version) {
				return ""
			}
			release = dotted(version)
		}
	}
	if !cpython.Known(release) {
		return ""
	}
	return release
}

// exportedBy says which releases of Python export a symbol; "" if none is known.
func exportedBy(symbol string) string {
	switch had := cpython.Releases(symbol); len(had) {
	case 0:
		return ""
	case 1:
		return ". Python " + had[0] + " exports it"
	default:
		return ". Python " + had[0] + " to " + had[len(had)-1] + " export it"
	}
}

// privateSymbol is said of a symbol that begins with _Py.
const privateSymbol = ". It is private, and another patch release may export it"

// notInRelease completes a finding about a symbol of Python that the release does not export.
func notInRelease(f *analyzer.Finding, release string) []fix.Candidate {
	had := cpython.Releases(f.Symbol)
	switch {
	case len(had) == 0:
		f.Message += fmt.Sprintf(". Neither CPython %s nor another known release exports it", release)
	case len(had) == 1:
		f.Message += fmt.Sprintf(". CPython %s does not export it, CPython %s does", release, had[0])
	default:
		f.Message += fmt.Sprintf(
			". CPython %s does not export it, CPython %s to %s do",
			release,
			had[0],
			had[len(had)-1],
		)
	}
	// Private symbols change with patch releases, and the table has one patch release of each.
	if strings.HasPrefix(f.Symbol, "_") &&
		(len(had) == 0 || platform.Older(release, had[len(had)-1])) {
		f.Severity = analyzer.Warning
		f.Message += ". Another patch release of CPython " + release + " may export it"
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind: fix.KindRebuild,
				Title: fix.Titled("Regenerate the sources (Cython, SWIG) and build with the headers of "+
					"CPython %s", release),
			},
		},
	}
}

// onePythonDLL matches modules that only one version of Python imports on Windows.
var onePythonDLL = lazyregexp.New(`(?i)\.(cp|pypy)[0-9]+t?[^/]*\.pyd$`)

func ofOnePythonDLL(path string) bool { return onePythonDLL.MatchString(path) }
