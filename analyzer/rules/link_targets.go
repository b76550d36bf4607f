package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
)

// linkProblem is what GNU ld refuses when a program is linked against an object.
type linkProblem struct {
	staticlink.Problem
	view     *analyzer.View // the object linked against
	severity analyzer.Severity
	told     string // how the message ends, "" mostly
}

// linkProblems lists what the link rules judge, of the kinds given: the problems of every object
// that a program may be linked against.
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
		for _, x := range p.LinkLeft(v, p.Scenario) {
			if !slices.Contains(kinds, x.Kind) {
				continue
			}
			q := linkProblem{Problem: x, view: v, severity: severity}
			if q.weigh(p) {
				out = append(out, q)
			}
		}
	}
	return out
}

// linkTarget tells whether a program may be meant to link against an object, and how bad it is when
// it can't (DESIGN, section 2).
func linkTarget(p *analyzer.Pass, v *analyzer.View) (analyzer.Severity, bool) {
	plugin := v.Host == analyzer.HostNode || v.Host == analyzer.HostJava || v.Extension()
	switch {
	case v.Type == "ET_EXEC" || v.Interp != "" && v.SONAME == "":
		return "", false
	case p.Link:
		return analyzer.Error, true
	case p.Facts.Kind == analyzer.KindObject && plugin:
		// nobody links against it, but the platform was asked about
		return analyzer.Warning, p.Asked
	case p.Facts.Kind != analyzer.KindObject && (!v.Public() || plugin):
		return "", false
	case v.Alternative || p.Facts.Kind != analyzer.KindObject && !p.Asked:
		return analyzer.Warning, true
	}
	return analyzer.Error, true
}

// weigh lowers the severity of what does not stop the usual user, and tells whether anything is
// left to say.
func (q *linkProblem) weigh(p *analyzer.Pass) bool {
	unasked := p.Facts.Kind != analyzer.KindObject && !p.Asked && !p.Link
	own := q.By == p.Linkable(q.view)
	lost := q.Kind == staticlink.Undefined && q.Import.Version == "" && q.Missing == "" &&
		ownerOf(p, q.Import).soname == ""
	switch {
	case p.Link:
		return own || p.LinkView(q.By) == nil // with --link the other object tells it itself
	case p.Facts.Kind == analyzer.KindWheel && q.view.Host.Brings(q.Import.Name):
		return false
	case unasked && (lost || q.Missing != "" && p.LinkSystem().Elsewhere(q.Missing) == nil):
		return false // undefined-symbol or library-not-found says it
	case unasked && q.Import.Version != "" && q.Missing == "" && q.Kind == staticlink.Undefined:
		return false // symbol-version-too-new or symbol-missing-in-package says it
	case p.Facts.Kind != analyzer.KindObject && q.severity == analyzer.Error && ofMissing(p, *q) && p.LinkSystem().Elsewhere(q.Missing) == nil:
		// the system of the one who links may have it, as library-not-found says
		q.severity = analyzer.Warning
	}
	switch {
	case own:
		return q.reachedThrough(p, lost, unasked)
	case p.Facts.Kind != analyzer.KindObject:
		if u := p.LinkView(q.By); u != nil {
			_, judged := linkTarget(p, u)
			return !judged
		}
	}
	return true
}

// reachedThrough tells of an object that another given one needs: programs link against that one.
// Loose files given together are a library with its own dependencies, so that the link against the
// library decides. In an artifact both may be public: there only what the platform does not have
// anyway is left to the other one (libcufile_rdma.so.1 needs libcufile.so.0 and lists libdl.so.2,
// and programs still link against libcufile.so.0).
func (q *linkProblem) reachedThrough(p *analyzer.Pass, lost, unasked bool) bool {
	for _, u := range p.LinkUsers(q.view) {
		spared := u.Result.Problem(q.Import) == nil
		if p.Facts.Kind != analyzer.KindObject &&
			(!spared || p.Platform.Library(ownerOf(p, q.Import).soname) != nil) {
			continue
		}
		q.severity = analyzer.Note
		q.told = "; what " + u.Library.Path + " needs is judged with it"
		if spared {
			q.told = "; a program that links against " + u.Library.Path + ", which needs it, is spared"
		}
		return !unasked
	}
	if lost && q.view.SONAME == "" && q.severity == analyzer.Error {
		q.severity = analyzer.Warning
		q.told = "; a plug-in has it from the program that loads it"
	}
	return true
}

// owner is the library that has what is undefined.
type owner struct {
	soname string
	// not "": only at this version and for old programs, so that no linker binds to it
	compat string
	ifunc  bool // it is chosen when the library is relocated
}

// ownerOf looks for a reference without version in the platform's libraries, then in what was
// given.
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
