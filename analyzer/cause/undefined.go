package cause

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// linkFlag is the kind of objects that use a library which they do not link.
var linkFlag = &Kind{
	Name: "not-linked",
	Title: func(t *Text) string {
		return fmt.Sprintf("%s %s not link %s, which %s %s", t.Objects(),
			result.Plural(t.cause.Objects, "does", "do"), t.Libraries(),
			result.Plural(t.libraryCount(), "has", "have"), t.Symbols())
	},
	Task: func(t *Text) Task {
		return Task{Actor: result.Builder, Do: "link " + result.Plural(t.cause.Objects, "it", "them") +
			" with " + t.Libraries()}
	},
	Platforms: (*group).checkedPlatforms,
	Owner:     true,
}

// stringABI is the kind of objects with another std::string than a library, which is the subject.
var stringABI = &Kind{
	Name:  "string-abi",
	Short: func(*Text) string { return "another std::string ABI" },
	Title: func(t *Text) string {
		return fmt.Sprintf("%s %s with another std::string ABI than %s", t.importedBy(), t.Symbols(),
			t.Libraries())
	},
	Task: func(t *Text) Task {
		return Task{
			Actor: result.Builder,
			Do:    "compile with the std::string ABI of " + t.Libraries(),
		}
	},
}

// Undefined is the kind of objects with symbols that no library defines.
var Undefined = &Kind{
	Name:  "undefined",
	Title: (*Text).undefinedTitle,
	Short: func(t *Text) string { return result.Count(t.cause.Symbols, "undefined symbol") },
	Task:  (*Text).undefinedTask,
	Platforms: func(g *group, r *result.Report) (fails, works []string) {
		fails, _ = g.platforms(r, g.lacksSymbol(), false)
		return fails, nil
	},
	Owner: true,
}

func (t *Text) undefinedTitle() string {
	rule, libraries := t.rules[t.First().Rule], t.libraryCount()
	switch {
	case libraries == 1 && rule.Lacks == LacksSymbolOfLoaded:
		return fmt.Sprintf("the %s%s lacks %s, which %s", t.Libraries(), rule.Where, t.Symbols(),
			t.needing()+result.Plural(t.cause.Objects, " needs", " need"))
	case t.otherVersion():
		return fmt.Sprintf("%s has %s only in another version than %s, such as %s", t.Libraries(),
			t.Symbols(), t.importedBy(), t.First().Version)
	case t.hides():
		return fmt.Sprintf("%s %s not export %s, which %s", t.Libraries(),
			result.Plural(libraries, "does", "do"), t.Symbols(), t.importedBy())
	case t.lacking():
		of := ""
		if t.ofSystem() {
			of = " of " + cmp.Or(t.someSystems(), "the system")
		}
		return fmt.Sprintf("%s%s %s %s, which %s", t.Libraries(), of,
			result.Plural(libraries, "lacks", "lack"), t.Symbols(), t.importedBy())
	case t.First().NotExported != "":
		return fmt.Sprintf("no library exports %s, which %s", t.Symbols(), t.importedBy())
	}
	return fmt.Sprintf("no library defines %s, which %s", t.Symbols(), t.importedBy())
}

func (t *Text) undefinedTask() Task {
	it := result.Plural(t.cause.Symbols, "it", "them")
	do := "link the library that defines " + it
	switch from := t.First().NotExported; {
	case t.otherVersion():
		do = "bundle the " + t.Libraries() + " that it was linked with"
	case t.hides():
		do = "export " + it + " from " + t.Libraries()
	case from != "":
		do = "use a " + from + " that exports " + it + ", or link the library that defines " + it
	case t.lacking() && t.ofSystem():
		system := cmp.Or(t.someSystems(), "the oldest system that it has to run on")
		do = "build with the " + t.Libraries() + " of " + system +
			", or bundle the one that it was built with"
	case t.lacking():
		do = "use a " + t.Libraries() + " that has " + it + ", or build without " + it
	}
	return Task{Actor: result.Builder, Do: do}
}

// checkedPlatforms returns the distributions on which the findings occur, and of those on which the
// artifact was checked too the others.
func (g *group) checkedPlatforms(r *result.Report) (fails, works []string) {
	on := map[string]bool{}
	for _, f := range g.all {
		for _, name := range f.On {
			on[name] = true
		}
	}
	lacks := g.lacksNode()
	fails, works = g.platforms(r, func(p *platform.Platform) bool {
		return on[p.Name] || lacks(p)
	}, false)
	if len(on) < 2 || len(fails) == 0 {
		works = nil
	}
	return fails, works
}

// lacksSymbol returns a function that reports whether a library of a platform, which the artifact
// does not contain, lacks one of the symbols without a version.
func (g *group) lacksSymbol() func(*platform.Platform) bool {
	lack := map[string]bool{} // by name
	for _, f := range g.all {
		if f.Symbol == "" || f.Version != "" || f.ProvidedBy != nil || g.artifact.contains(f.Library) {
			continue
		}
		_, without := releases(f)
		for _, name := range without {
			lack[name] = true
		}
	}
	return func(p *platform.Platform) bool { return lack[p.Name] }
}

// releases lists the systems whose library has the symbol of a finding, and those whose library
// does not; nil if they were not read.
func releases(f *result.Finding) (with, without []string) {
	library := owner(f)
	if library == "" { // as of thousands of findings
		return nil, nil
	}
	p, err := platform.Lookup(f.Target, "")
	if err != nil {
		return nil, nil
	}
	l := p.Library(library)
	if l == nil {
		return nil, nil
	}
	return l.Releases(f.Symbol)
}

// lacking reports whether the object links the libraries that should have the symbols.
func (t *Text) lacking() bool {
	return !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		_, linked := t.artifact.linked(f, t.rules[f.Rule])
		return linked != yes
	})
}

// ofSystem reports whether the libraries that lack the symbols are those of the platform: the build
// used others, which are not in the artifact.
func (t *Text) ofSystem() bool {
	return !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		p, err := platform.Lookup(f.Target, "")
		other := f.Package != "" && f.Package != t.artifact.own
		return other || f.ProvidedBy != nil || err != nil || p.Library(owner(f)) == nil ||
			t.artifact.contains(owner(f))
	})
}

// someSystems says of which systems the libraries lack the symbols if those of all newer ones have
// them: "older systems"; else "".
func (t *Text) someSystems() string {
	libc := func(name string) string {
		p, err := platform.Lookup(name, "")
		if err != nil {
			return ""
		}
		return p.LibcVersion
	}
	for _, f := range t.all {
		with, without := releases(f)
		if len(with) == 0 || slices.ContainsFunc(with, func(has string) bool {
			return slices.ContainsFunc(without, func(lacks string) bool {
				return !platform.Older(libc(lacks), libc(has))
			})
		}) {
			return ""
		}
	}
	return "older systems"
}

// hides reports whether the libraries have the symbols, but do not export them.
func (t *Text) hides() bool {
	return !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.NotExported == "" || f.NotExported != f.Library
	})
}

// otherVersion reports whether these libraries have the symbols in another version than the object
// was linked with.
func (t *Text) otherVersion() bool {
	f := t.First()
	return t.lacking() && f.ProvidedBy != nil && f.Version != ""
}
