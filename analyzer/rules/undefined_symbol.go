package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

var undefinedSymbol = &analyzer.Rule{
	ID:       "undefined-symbol",
	Title:    "an imported symbol that no library of the load defines",
	Severity: analyzer.Error,
	Doc: `An object imports a symbol, and no library that its load brings in defines it: neither what DT_NEEDED leads to, nor the process that loads it. With RTLD_NOW, which
Python uses, the load fails: "undefined symbol: dlopen". Weak imports are no finding.

Usually a library is missing on the link line, or stands before the objects on it where the linker drops it (--as-needed). A symbol may also have moved: dlopen is in libc.so.6
from glibc 2.34 on, and in libdl.so.2 before.

It is a warning where an addon of Node.js uses the C++ API of V8, which is another in each release line, where a library outside of the load has the symbol (it works only if that one was loaded globally before), for a plug-in whose host is not known, and in a
package of a distribution (deb, rpm, conda) where no library has it: a program that loads it then does. Of a package that is imported first (--first), the libraries that it opens with RTLD_GLOBAL serve everybody,
the others only those who list them, as far as that is known of the package (torch).

What CPython itself exports is known by release (2.7, 3.6 to 3.14), and which release loads a module by its file name or the wheel's tag. It is a warning where a private symbol (_Py…) is missing that a patch
release may have.

Not seen: symbols of libraries whose exports are not known, of the program that loads the object (Py… of a module that several releases, PyPy, a debug or a free-threaded build load; napi_…, uv_… and OpenSSL of an addon of Node.js;
JVM_… of a library with native methods), of a program in the same artifact, and of objects that miss a whole library.`,
	References: []string{"glibc: elf/dl-lookup.c", "gABI, symbol table"},
	Check:      checkUndefinedSymbol,
}

func checkUndefinedSymbol(p *analyzer.Pass) {
	for _, v := range p.Views {
		lost := undefined(p, v)
		if len(v.Loading.Missing) > 0 {
			lost = notOfMissing(
				p,
				v,
				lost,
			) // whatever else is undefined may be in the missing library, and that is told already
		}
		var elsewhereInPackage []fix.Candidate // one search for all that the object misses
		if len(lost) > 0 && !v.Alternative {
			elsewhereInPackage = definedBy(p, v, lost)
		}
		for _, b := range lost {
			i := b.Import
			f := analyzer.Finding{
				Object:  v.Path,
				Symbol:  i.Name,
				Version: i.Version,
				Library: i.Library,
				Chain:   analyzer.Chain(v.Loading.Chain(v.Library)...),
			}
			f.Message = fmt.Sprintf(
				"%s imports %s, and nothing that it loads on %s defines it",
				v.Path,
				analyzer.Versioned(i.Name, i.Version),
				p.Platform.Name,
			)
			fixes := slices.Clone(elsewhereInPackage)
			owners := platform.Providers(p.Platform, i.Name)
			if v.Host == analyzer.HostUnknown && ofProgram(p, i.Name) {
				continue
			}
			switch other := elsewhere(p, v, i.Name); {
			case v.Host == analyzer.HostPython && v.Host.Brings(i.Name):
				fixes = append(fixes, notInRelease(&f, pythonOf(p, v))...)
			case v.Host.Changes(i.Name):
				f.Severity = analyzer.Warning
				f.Message += "; Node.js exports the C++ API of V8 and its own, which change with each NODE_MODULE_VERSION, so that it loads in the release line that it was built for" + moduleVersion(
					v,
				)
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindRebuild,
							Title:   "Build for each release line of Node.js, or against Node-API, which does not change",
							Command: "npm rebuild",
						},
					},
				)
			case len(owners) > 0 && (v.Host != analyzer.HostUnknown || !p.Facts.Packaged()):
				owner := owners[0].SONAME
				f.Library = owner
				f.Message += fmt.Sprintf("; there it is in %s, which is not in DT_NEEDED", owner)
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindLinkFlag,
							Title:   "Link " + v.Path + " with the library that has it",
							Command: linkFlags([]string{owner}),
						},
						Change: fix.AddNeeded{Object: v.Path, Libraries: []string{owner}},
					},
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindPatchelf,
							Title:   "Add the DT_NEEDED entry to the finished object",
							Command: "patchelf --add-needed " + owner + " " + quoted(v.Path),
						},
						Change: fix.AddNeeded{Object: v.Path, Libraries: []string{owner}},
					},
				)
			case other != nil && inPlaceOf(v, other) != nil:
				f.ProvidedBy = &other.Path
				taken := inPlaceOf(v, other)
				f.Message += fmt.Sprintf(
					"; %s has it, but %s of %s is loaded already under the name %s, and serves whoever lists that",
					other.Path,
					taken.Path,
					taken.Origin,
					taken.Names()[0],
				)
			case other != nil:
				f.Severity, f.ProvidedBy = analyzer.Warning, &other.Path
				f.Message += fmt.Sprintf(
					"; %s has it, which works only when that was loaded with RTLD_GLOBAL before",
					other.Path,
				)
				fixes = append(fixes, needed(p, v, other))
			case hidden(v, i.Name) != nil:
				l := hidden(v, i.Name)
				f.ProvidedBy = &l.Path
				f.Message += fmt.Sprintf(
					"; %s of %s has it and is loaded before, but only for those who list it: it was not opened with RTLD_GLOBAL",
					l.Path,
					l.Origin,
				)
				soname := l.Names()[0]
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindLinkFlag,
							Title:   "Link " + v.Path + " with the library that has it",
							Command: linkFlags([]string{soname}),
						},
						Change: fix.AddNeeded{Object: v.Path, Libraries: []string{soname}},
					},
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindPatchelf,
							Title:   "Add the DT_NEEDED entry to the finished object",
							Command: "patchelf --add-needed " + soname + " " + quoted(v.Path),
						},
						Change: fix.AddNeeded{Object: v.Path, Libraries: []string{soname}},
					},
				)
			case v.Alternative:
				f.Severity = analyzer.Warning
				f.Message += "; the object is one of several of which one is loaded at run time"
			case p.Platform.Libc == "musl":
				fixes = append(fixes, forMusl(p, i.Name)...)
			case v.Host == analyzer.HostUnknown, p.Facts.Packaged():
				f.Severity = analyzer.Warning
				f.Message += "; the program that loads it would have to"
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:  fix.KindRebuild,
							Title: "Build against the headers and libraries of the program that loads it",
						},
					},
				)
			}
			if twin, of, flag := otherStringABI(v, i.Name); of != nil {
				f.Message += fmt.Sprintf(
					"; %s has %s, the same function with the other ABI of std::string",
					of.Names()[0],
					twin,
				)
				fixes = append(fixes, withStringABI(of, flag)...)
			}
			p.Report(f, fixes...)
		}
	}
}

// moduleVersion says for which NODE_MODULE_VERSION an addon registers itself, "" where its exports
// do not tell (node.h, NODE_MODULE_INITIALIZER_BASE).
func moduleVersion(v *analyzer.View) string {
	for _, e := range v.Exports.All() {
		if n, ok := strings.CutPrefix(e.Name, "node_register_module_v"); ok && n != "" {
			return fmt.Sprintf(" (NODE_MODULE_VERSION %s)", n)
		}
	}
	return ""
}

// inPlaceOf finds a library of another package that the object got under the name of one of the
// artifact.
func inPlaceOf(v *analyzer.View, own *dynlink.Library) *dynlink.Library {
	for _, f := range v.Loading.Found {
		if l := f.Library; l != own && l.Kind == dynlink.FromPackage && own.SONAME != "" &&
			l.SONAME == own.SONAME {
			return l
		}
	}
	return nil
}

// hidden finds a library that is loaded before the object, defines a symbol, and is not in the
// global scope.
func hidden(v *analyzer.View, symbol string) *dynlink.Library {
	i := slices.IndexFunc(
		v.Loading.Hidden,
		func(l *dynlink.Library) bool { return l.Known && l.Defines(symbol, "") },
	)
	if i < 0 {
		return nil
	}
	return v.Loading.Hidden[i]
}

// undefined are the imports that nothing of the object's load defines.
func undefined(p *analyzer.Pass, v *analyzer.View) []dynlink.Binding {
	var out []dynlink.Binding
	ofHost := ofHost(p, v)
	for b := range v.Bindings().Failed() {
		own := b.Provider != nil && b.Provider.Kind == dynlink.FromArtifact
		if (b.Outcome == dynlink.NoSymbol && (b.Provider == nil || own) || b.Outcome == dynlink.NoVersion && own) &&
			!ofHost(b.Import.Name) {
			out = append(out, b)
		}
	}
	return out
}

// minSimilar is how much of a mangled name has to agree with those of a library before it is held
// to be that library's: _ZN8Shiboken and a little more.
const minSimilar = 16

// notOfMissing keeps what a missing library can't have: C++ names that begin like those of a
// library that is there, where only system libraries of C are missing.
func notOfMissing(p *analyzer.Pass, v *analyzer.View, lost []dynlink.Binding) []dynlink.Binding {
	for _, m := range v.Loading.Missing {
		if _, known := platform.Known(m.Name); !known && !ofInterpreter(p, m.Name) {
			return nil
		}
	}
	return slices.DeleteFunc(lost, func(b dynlink.Binding) bool {
		return !strings.HasPrefix(b.Import.Name, "_Z") ||
			!slices.ContainsFunc(v.Loading.Found, func(f dynlink.Found) bool {
				return f.Library.Kind == dynlink.FromPackage && f.Library.Known &&
					f.Library.Similar(b.Import.Name) >= minSimilar
			})
	})
}

// ofProgram tells whether a program of the artifact exports a symbol to its plug-ins.
func ofProgram(p *analyzer.Pass, symbol string) bool {
	for _, u := range p.Views {
		if u.Interp != "" && u.SONAME == "" && u.Library.Defines(symbol, "") {
			return true
		}
	}
	return false
}

// elsewhere finds another object of the artifact that defines a symbol.
func elsewhere(p *analyzer.Pass, v *analyzer.View, symbol string) *dynlink.Library {
	for _, u := range p.Views {
		if u != v && u.Library.Defines(symbol, "") {
			return u.Library
		}
	}
	return nil
}

// needed offers to list a library of the artifact, with a path to it where the wheel has none yet.
func needed(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) fix.Candidate {
	soname := l.Names()[0]
	c := fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindPatchelf,
			Title:   "Add the DT_NEEDED entry",
			Command: "patchelf --add-needed " + soname + " " + quoted(v.Path),
		},
		Change: fix.AddNeeded{Object: v.Path, Libraries: []string{soname}},
	}
	if to := runPath(v, path.Dir(l.Path)); p.Facts.Kind == analyzer.KindWheel && to != "" &&
		!leadsTo(
			v.Library,
			ownPaths(v.Library),
			path.Dir(l.Path),
		) { // patchelf 0.12 forgets one of two edits
		c.Fix.Title = "Add the DT_NEEDED entry, and a path to the library"
		c.Fix.Command += " && patchelf --set-rpath " + shellword.Quote(to) + " " + quoted(v.Path)
		c.Change = fix.All{c.Change, fix.SetRunPath{Object: v.Path, RunPath: to}}
	}
	return c
}

// ownPaths are the directories that the loader searches for what a library needs by itself:
// DT_RUNPATH, or DT_RPATH without it.
func ownPaths(l *dynlink.Library) string {
	if l.RunPath != "" {
		return l.RunPath
	}
	return l.RPath
}

// leadsTo tells whether one of the paths of a library is a directory of the artifact.
func leadsTo(l *dynlink.Library, paths, dir string) bool {
	for _, p := range strings.Split(paths, ":") {
		rest, ok := strings.CutPrefix(strings.Replace(p, "${ORIGIN}", "$ORIGIN", 1), "$ORIGIN")
		if ok && path.Join(path.Dir(l.Path), rest) == path.Clean(dir) {
			return true
		}
	}
	return false
}
