package rules

import (
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// relink returns the fix that builds the files differently.
func relink(title fix.Title) fix.Candidate {
	return fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild, Title: title}}
}

// bundling returns the fixes that add a DLL to the wheel. They cannot be tried: what the DLL
// exports and needs is not known.
func bundling(p *analyzer.Pass, m missingDLL) []fix.Candidate {
	if p.Facts.Kind != analyzer.KindWheel {
		return []fix.Candidate{{
			Fix: fix.Fix{
				Kind: fix.KindEnvironment,
				Title: fix.Titled("Install %s in the folder of %s",
					fix.Library(m.Name), path.Base(m.root.Path)),
			},
		}}
	}
	with := &fix.Bundling{With: fix.Delvewheel}
	out := []fix.Candidate{{
		Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Bundle %s into the wheel; delvewheel searches PATH, and with "+
				"--add-path other folders", fix.Library(m.Name)),
			Command:  with.Command(quoted(p.Facts.Path)),
			Bundling: with,
		},
	}}
	if mingw(m.Name) {
		out = append(out, fix.Candidate{Fix: fix.Fix{
			Kind:    fix.KindRebuild,
			Title:   fix.Titled("Link the runtime of GCC statically"),
			Command: "-static-libgcc -static-libstdc++ -Wl,-Bstatic,-lpthread",
		}})
	}
	return out
}

// mingw reports whether a DLL is part of the runtime of GCC for Windows, by the names that GCC and
// mingw-w64 give it. Other libraries of GCC (libgomp, libatomic) are not listed: they get no advice
// to link statically.
func mingw(name string) bool {
	for _, prefix := range []string{"libgcc_s_", "libstdc++-", "libwinpthread-", "libgfortran-",
		"libquadmath-"} {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return true
		}
	}
	return false
}

// declaring returns the fix that declares a package with the DLL.
func declaring(p *analyzer.Pass, name string) []fix.Candidate {
	if p.Facts.Kind != analyzer.KindWheel {
		return nil
	}
	return []fix.Candidate{{
		Fix: fix.Fix{
			Kind:        fix.KindDependency,
			Title:       fix.Titled("Declare %s, which has the library", fix.Requirement(name)),
			Command:     shellword.Requirement(name),
			Requirement: name,
		},
		Change: fix.Pin{Requirement: name, Direct: true},
	}}
}

// addFolder returns the fix that adds a folder of the wheel to the search path.
func addFolder(p *analyzer.Pass, root, folder string) []fix.Candidate {
	top, _, ok := strings.Cut(root, "/")
	if !ok {
		return nil
	}
	var call shellword.Line = "os.add_dll_directory(os.path.join(os.path.dirname(__file__)"
	parts := strings.Split(relative(top, folder), "/")
	for range parts {
		call += `, "%s"`
	}
	return []fix.Candidate{{
		Fix: fix.Fix{
			Kind:    fix.KindSource,
			Title:   fix.Titled("Add the folder to the search path in %s/__init__.py", top),
			Command: shellword.Bare(call+"))", parts...),
		},
		Change: fix.AddDLLFolder{Folder: folder},
	}}
}

// relative returns a folder of site-packages relative to another.
func relative(from, to string) string {
	if from == to {
		return "."
	}
	if rest, ok := strings.CutPrefix(to, from+"/"); ok {
		return rest
	}
	return "../" + to
}
