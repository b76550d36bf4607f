package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// ofExtras is the kind of wheels that need packages which only their extras require.
var ofExtras = &Kind{
	Name:  "extras",
	Title: (*Text).extrasTitle,
	Short: func(*Text) string { return "needs an extra" },
	Whole: (*group).allExtras,
	Parts: (*group).extrasAndOthers,
	Task: func(t *Text) Task {
		with, without := "one of these extras", "an extra"
		others := t.others()
		if len(t.cause.Fixes) == 1 || others != nil {
			with = "the " + extrasNamed(t.extras().names.list)
			without = with
		}
		if others != nil {
			with += ", and install " + Listed(others, 3, 40, "package") + " too"
			without += " and " + result.Plural(len(others), "this", "these")
		}
		return Task{
			Actor:   result.Installer,
			Do:      "install it with " + with,
			Because: "it fails only without " + without,
			Only:    "use without " + without,
		}
	},
	Advice: func(_ *Text, where string) string {
		return "Install " + where + " with the extras that require what it needs."
	},
}

// others returns the packages and projects that have what no extra requires.
func (g *group) others() []string {
	var names set[string]
	for _, f := range g.withoutExtra() {
		if q := dependencyOf(f); q != nil {
			names.add(q.name)
			continue
		}
		names.add(systemProvider(f.Library))
	}
	return names.list
}

// extras are the extras of a wheel with what its objects lack, the first that helps of each
// finding, and what these require.
type extras struct {
	names    set[string]
	requires set[string] // PEP 508
	packages set[string]
}

func (g *group) extras() (e extras) {
	for _, f := range g.all {
		if x := extraOf(f); x != nil {
			e.names.add(x.Extra)
			e.requires.add(x.Requirement)
			if q, err := pkgmeta.ParseRequirement(x.Requirement); err == nil {
				e.packages.add(q.Name)
			}
		}
	}
	slices.Sort(e.names.list)
	return e
}

// withExtra returns the wheel with the extras: NAME[A,B]==VERSION.
func (g *group) withExtra(names []string) string {
	name, version, _ := strings.Cut(g.project, "==")
	return name + "[" + strings.Join(names, ",") + "]==" + version
}

// allExtras returns the fix that installs all extras.
func (g *group) allExtras() *result.CauseFix {
	e := g.extras()
	requirement := g.withExtra(e.names.list)
	return &result.CauseFix{Clears: len(g.all) - len(g.withoutExtra()), Fix: fix.Fix{
		Kind: fix.KindDependency,
		Title: fix.Titled("Install the %s, which %s %s", extrasNamed(e.names.list),
			result.Plural(len(e.names.list), "requires", "require"),
			Listed(e.requires.list, 3, 40, "package")),
		Command:     "pip install " + shellword.Quote(requirement),
		Requirement: requirement,
		Extra:       strings.Join(e.names.list, ","),
		Cost:        []string{"it also installs " + result.Count(len(e.packages.list), "package")},
	}}
}

// extrasAndOthers returns the fix that installs all extras and one for what none of them requires;
// nil if they require everything.
func (g *group) extrasAndOthers() []result.CauseFix {
	n := len(g.withoutExtra())
	if n == 0 {
		return nil
	}
	x := fix.Fix{
		Kind:  fix.KindEnvironment,
		Title: fix.Titled("Install %s", Listed(g.others(), 8, 40, "package")),
		Cost:  []string{},
	}
	return []result.CauseFix{*g.allExtras(), {Fix: x, Clears: n}}
}

// withoutExtra returns the findings about libraries of CUDA that no extra requires.
func (g *group) withoutExtra() []*result.Finding {
	return slices.DeleteFunc(slices.Clone(g.all), func(f *result.Finding) bool {
		return extraOf(f) != nil
	})
}

// extrasNamed is "extra a" or "extras a and b".
func extrasNamed(names []string) string {
	return result.Plural(len(names), "extra ", "extras ") + result.And(names)
}

func (t *Text) extrasTitle() string {
	e := t.extras()
	of := e.packages.list[0]
	if n := len(e.packages.list); n > 1 {
		of = result.Count(n, "package")
	}
	if t.others() != nil {
		return fmt.Sprintf("needs %s of CUDA, some of which only its %s %s", t.Libraries(),
			extrasNamed(e.names.list), result.Plural(len(e.names.list), "requires", "require"))
	}
	who := "an extra of the wheel requires"
	if len(t.cause.Fixes) == 1 {
		who = "its " + extrasNamed(e.names.list) + " " +
			result.Plural(len(e.names.list), "requires", "require")
	}
	return fmt.Sprintf("needs %s of %s, which only %s", t.Libraries(), of, who)
}

// addExtras is the title of the fix for an environment. A requirements file pins what the extras
// require too.
func (t *Text) addExtras(names []string) fix.Title {
	name, p := t.blamed()
	title := fix.Titled("Add the %s to %s", extrasNamed(names), name)
	if p.String() == "" {
		return title
	}
	title = title.Append(" in %s", p.place(t.withExtra(names)))
	if lockfile.Updates(p.File) {
		return title
	}
	var requires set[string]
	for _, f := range t.all {
		for _, x := range f.Fixes {
			if slices.Contains(names, x.Extra) {
				requires.add(x.Requirement)
			}
		}
	}
	return title.Append(", and pin what %s: %s",
		result.Plural(len(names), "it requires", "they require"), result.And(requires.list))
}
