package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// linkProblem is an error of GNU ld when a program is linked against an object.
type linkProblem struct {
	staticlink.Problem
	view     *analyzer.View // the object linked against
	severity analyzer.Severity
	note     string // the end of the message, usually ""
}

// linkProblems returns the problems of the given kinds, of every object that a program may be
// linked against.
func linkProblems(p *analyzer.Pass, kinds ...staticlink.Kind) []linkProblem {
	if p.Platform.Libc != "glibc" {
		return nil
	}
	var out []linkProblem
	for _, v := range p.Views {
		severity, ok := linkTarget(p, v)
		if !ok {
			continue
		}
		most := len(out) + analyzer.MaxFindings
		for x := range p.LinkLeft(v, p.Scenario).All() {
			if len(out) == most {
				break
			}
			if !slices.Contains(kinds, x.Kind) {
				continue
			}
			q := linkProblem{Problem: x, view: v, severity: severity}
			if q.adjustSeverity(p) {
				out = append(out, q)
			}
		}
	}
	return out
}

// linkTarget reports whether programs are linked against an object, and the severity if that fails.
// These are loose shared libraries and the public libraries of an archive, of a wheel only its own,
// if it has headers; extension modules and plug-ins are not. It is a warning for a library that
// Python code of the wheel may load, as with ctypes: its users need no linker. Nobody compiles in a
// root as it is.
func linkTarget(p *analyzer.Pass, v *analyzer.View) (analyzer.Severity, bool) {
	plugin := v.Host != analyzer.HostPython && v.Host.Opens() || v.Extension()
	switch {
	case v.Type == "ET_EXEC" || v.Interp != "" && v.SONAME == "":
		return "", false
	case p.Facts.Root():
		return "", false
	case !p.Link && p.Facts.Packaged() && !p.Facts.Conda() && !readAll(p, v):
		return "", false // the linker reads libraries of packages that were not read
	case p.Link:
		return analyzer.Error, true
	case p.Facts.Kind == analyzer.KindObject && plugin:
		// no program links against it, but a platform was given
		return analyzer.Warning, p.Requested
	case p.Facts.Kind != analyzer.KindObject && (!v.Public() || plugin):
		return "", false
	case p.Facts.Kind == analyzer.KindWheel && grafted(v.SONAME) != "":
		return "", false // a copy for the wheel's own use, with a name that no linker looks for
	case p.Facts.Kind == analyzer.KindWheel && !p.Facts.Headers && !p.Requested:
		return "", false // a library without headers is not published for linking
	case v.Alternative || p.Facts.Kind != analyzer.KindObject && !p.Requested,
		p.Facts.Kind == analyzer.KindWheel && p.Facts.Loads != nil &&
			slices.ContainsFunc(v.Library.Names(), p.Facts.Loads.May),
		p.Facts.Kind == analyzer.KindWheel && !p.Facts.Headers,
		p.Facts.Kind == analyzer.KindWheel && strings.HasPrefix(path.Base(path.Dir(v.Path)), "plugin"):
		return analyzer.Warning, true
	}
	return analyzer.Error, true
}

// readAll reports whether the contents of all libraries that an object needs are known from the
// platform.
func readAll(p *analyzer.Pass, v *analyzer.View) bool {
	return !slices.ContainsFunc(v.Needed, func(n string) bool {
		l := p.Platform.Library(n)
		return l == nil || !l.Known
	})
}

// adjustSeverity lowers the severity of problems that do not affect most users. It returns false if
// nothing is to be reported.
func (q *linkProblem) adjustSeverity(p *analyzer.Pass) bool {
	noPlatform := p.Facts.Kind != analyzer.KindObject && !p.Requested && !p.Link
	own := q.By == p.Linkable(q.view)
	lost := q.Kind == staticlink.Undefined && q.Import.Version == "" && q.Missing == "" &&
		ownerOf(p, q.Import).soname == ""
	switch {
	case p.Link:
		return own || p.LinkView(q.By) == nil // with --link it is reported for the other object
	case p.Facts.Kind == analyzer.KindWheel && q.view.Host.Exports(q.Import.Name):
		return false
	case p.Facts.Kind == analyzer.KindWheel && grafted(q.Missing) != "":
		return false // a copy for the wheel's own use, which its modules load
	case noPlatform && (lost || q.Missing != "" && p.LinkSystem().FileNamed(q.Missing) == nil):
		return false // undefined-symbol or library-not-found reports it
	case noPlatform && q.Import.Version != "" && q.Missing == "" && q.Kind == staticlink.Undefined:
		return false // symbol-version-too-new or symbol-missing-in-package reports it
	case p.Facts.Kind != analyzer.KindObject && q.severity == analyzer.Error && ofMissing(p, *q) &&
		p.LinkSystem().FileNamed(q.Missing) == nil:
		// the system on which it is linked may have it
		q.severity = analyzer.Warning
	}
	switch {
	case own:
		return q.reachedThrough(p, lost, noPlatform)
	case p.Facts.Kind != analyzer.KindObject:
		if u := p.LinkView(q.By); u != nil {
			_, checked := linkTarget(p, u)
			return !checked
		}
	}
	return true
}

// reachedThrough handles an object that another given object needs, since programs link against
// that one. Loose files given together are a library with its dependencies, so only the link
// against the library counts. In an archive both may be public, and only symbols that the platform
// lacks are assigned to the other object (libcufile_rdma.so.1 needs libcufile.so.0 and lists
// libdl.so.2, and programs still link against libcufile.so.0).
func (q *linkProblem) reachedThrough(p *analyzer.Pass, lost, noPlatform bool) bool {
	for _, u := range p.LinkUsers(q.view) {
		spared := !u.Result.Problems.Has(q.Import.Name, q.Import.Version)
		if p.Facts.Kind != analyzer.KindObject &&
			(!spared || p.Platform.Library(ownerOf(p, q.Import).soname) != nil) {
			continue
		}
		q.severity = analyzer.Note
		q.note = ". " + q.view.Path + " is a dependency of " + u.Library.Path
		if spared {
			q.note = ". Linking against " + u.Library.Path + ", which needs " + q.view.Path + ", works"
		}
		return !noPlatform
	}
	if lost && q.view.SONAME == "" && q.severity == analyzer.Error {
		q.severity = analyzer.Warning
		q.note = ". For a plug-in, the program that loads the plug-in provides the symbol"
	}
	return true
}

// owner is the library that defines an undefined symbol.
type owner struct {
	soname string
	// if not "", the library has the symbol only with this version for existing programs, and no
	// linker binds to it
	compat string
	ifunc  bool // the implementation is selected when the library is relocated
}

// ownerOf finds the library for a reference without a version: first in the platform, then in the
// given files.
func ownerOf(p *analyzer.Pass, i elfobj.Import) owner {
	if i.Version != "" {
		return owner{}
	}
	var old owner
	for _, l := range platform.Providers(p.Platform, i.Name) {
		if _, ok := l.Default(i.Name); ok {
			return owner{
				soname: l.SONAME,
				ifunc: slices.ContainsFunc(
					l.Symbol(i.Name),
					func(s platform.Symbol) bool { return s.Kind == "ifunc" },
				),
			}
		}
		if old.soname == "" && staticlink.FromPlatform(l).Binds(i.Name, "") {
			old = owner{soname: l.SONAME, compat: l.SymbolVersions(i.Name)[0]}
		}
	}
	if l := p.LinkDefiner(i.Name); l != nil && l.Links(i.Name, "") {
		return owner{soname: l.Name()}
	} else if l != nil && old.soname == "" {
		return owner{soname: l.Name(), compat: l.Versions(i.Name)[0]}
	}
	return old
}

// ofMissing reports whether a reference is undefined because a needed library was not found, and
// not because a library of the platform is missing from DT_NEEDED.
func ofMissing(p *analyzer.Pass, q linkProblem) bool {
	if q.Missing == "" {
		return false
	}
	if there := p.LinkSystem().FileNamed(q.Missing); there != nil {
		return there.Links(q.Import.Name, q.Import.Version)
	}
	return q.Import.Version != "" || ownerOf(p, q.Import).soname == ""
}
