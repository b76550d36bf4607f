package cause

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// libraryPath is the kind of artifacts that need libraries by a path of the build machine.
var libraryPath = &Kind{
	Name:  "library-path",
	Short: func(*Text) string { return "needs a path of the build machine" },
	Title: func(t *Text) string {
		return fmt.Sprintf("%s %s %s by %s of the build machine", t.needing(),
			result.Plural(t.cause.Objects, "needs", "need"), t.Libraries(),
			result.Plural(t.libraryCount(), "a path", "paths"))
	},
	Task: func(*Text) Task {
		return Task{
			Actor: result.Builder,
			Do:    "give the library a SONAME and link again, so that it is found by its name",
		}
	},
}

// interpreter is the kind of modules that need the library of Python, whose symbols the interpreter
// has.
var interpreter = &Kind{
	Name:  "linked-python",
	Short: func(*Text) string { return "links the library of Python" },
	Title: func(t *Text) string {
		return fmt.Sprintf("%s %s %s, which only some installations of Python have", t.Objects(),
			result.Plural(t.cause.Objects, "links", "link"), t.Libraries())
	},
	Task: func(*Text) Task {
		return Task{
			Actor: result.Builder,
			Do:    "link without the library of Python, since the interpreter provides its symbols",
		}
	},
}

// Unreachable is the kind of artifacts whose objects do not find libraries that the artifact has.
var Unreachable = &Kind{
	Name:  "unreachable",
	Short: func(t *Text) string { return "does not find " + one(t.LibraryNames(), "library") },
	Title: func(t *Text) string {
		holder := "artifact"
		if t.artifact.wheel() {
			holder = "wheel"
		}
		return fmt.Sprintf("%s not find %s, which the %s contains",
			result.Plural(t.cause.Objects, clip(base(t.First().Object), 40)+" does",
				fmt.Sprintf("%d files do", t.cause.Objects)), t.Libraries(), holder)
	},
	Task: func(t *Text) Task {
		return Task{Actor: result.Builder, Do: t.reach(), Affected: t.everybody()}
	},
}

// UnreachableDependency is the kind of artifacts whose objects do not find libraries of other
// packages.
var UnreachableDependency = &Kind{
	Name:  "unreachable-dependency",
	Short: func(t *Text) string { return "does not find " + one(t.LibraryNames(), "library") },
	Title: func(t *Text) string {
		return fmt.Sprintf("no search path of %s leads to %s", t.Objects(), t.Libraries())
	},
	Task: func(t *Text) Task {
		return Task{Actor: result.Builder, Do: t.reach(), Affected: t.everybody()}
	},
}

// linkPath is the kind of libraries with needed libraries that the loader finds but a linker does
// not. An edit of the library comes first, because it helps all of its users.
var linkPath = &Kind{
	Name:    "link-path",
	Prefers: fix.KindPatchelf,
	Title: func(t *Text) string {
		return fmt.Sprintf("linking against %s fails: the linker does not find %s", t.Objects(),
			t.Libraries())
	},
	Task: func(t *Text) Task {
		return Task{Actor: result.Builder, Do: "let the linker find " + t.Libraries() +
			"; programs that only load it are not affected"}
	},
}

// everybody says that an error of the loader does not depend on the system or on other packages; ""
// if it does, or is a warning.
func (t *Text) everybody() string {
	on := map[string]bool{}
	for _, f := range t.all {
		if f.End() != "" || f.Severity != result.Error || t.artifact.Kind != facts.KindWheel {
			return ""
		}
		for _, name := range append([]string{f.Target}, f.On...) {
			on[name] = true
		}
	}
	if slices.ContainsFunc(t.report.Targets, func(x result.Target) bool { return !on[x.Name] }) {
		return ""
	}
	return "everybody who loads " + result.Plural(t.cause.Objects, "this file", "one of these files")
}

// reach says how the objects find the bundled libraries.
func (t *Text) reach() string {
	objects := result.Plural(t.cause.Objects, "this file", "these files")
	libraries := result.Plural(t.libraryCount(), "the library", "the libraries")
	switch {
	case ofWindows(t.First()):
		return "put " + result.Plural(t.libraryCount(), "the DLL", "the DLLs") +
			" into the folder of the module, or into one that the package passes to os.add_dll_directory"
	case ofMacOS(t.First()):
		return "give " + objects + " a path to " + libraries + " that starts with @loader_path"
	case len(t.cause.Fixes) == 0: // a RUNPATH was tried
		return "change " + objects + " or " + libraries + " so that the loader finds " +
			result.Plural(t.libraryCount(), "it", "them")
	case renames(t.cause.Fixes[0].Change):
		return "give " + result.Plural(t.libraryCount(), "the file of the library the name",
			"the files of the libraries the names") + " that " + objects + " " +
			result.Plural(t.cause.Objects, "needs", "need")
	}
	kind := "a RUNPATH"
	if t.artifact.Kind != facts.KindWheel {
		kind = "an RPATH" // of conda
	}
	return "give " + objects + " " + kind + " to " + libraries
}

// renames reports whether a change gives a file another name.
func renames(c fix.Change) bool {
	switch c := c.(type) {
	case fix.Rename:
		return true
	case fix.All:
		return slices.ContainsFunc(c, renames)
	}
	return false
}
