package cause

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	maxTitle = 120 // characters of a title
	counted  = -1  // value of shown: lists of several names are only counted
)

// Text makes the sentences about a cause.
type Text struct {
	*group
	cause   *result.Cause
	report  *result.Report
	options Options
	shown   int // how many names the title gives of each list; 0 = the usual number
	room    int // for the title
}

// First is the finding that is described.
func (t *Text) First() *result.Finding { return t.all[0] }

// All are the findings of the cause.
func (t *Text) All() []*result.Finding { return t.all }

// Report is the report that the cause is part of.
func (t *Text) Report() *result.Report { return t.report }

// Fixes are those of the cause.
func (t *Text) Fixes() []result.CauseFix { return t.cause.Fixes }

// Severity is that of the cause.
func (t *Text) Severity() result.Severity { return t.cause.Severity }

// Newest is the newest version that the findings name; "" if they name none.
func (t *Text) Newest() string { return t.newest() }

// SymbolCount is the number of symbols of the cause.
func (t *Text) SymbolCount() int { return t.cause.Symbols }

// Wheel is the artifact; nil if it is no wheel.
func (t *Text) Wheel() *result.Wheel { return t.artifact.Wheel }

// fullTitle returns the title. In a report about an environment it names the packages that fail.
func (t *Text) fullTitle() string {
	if !t.pinned() {
		return t.title()
	}
	return cmp.Or(t.manyTitle(), t.withPackages())
}

// title returns a sentence without the artifact's name, which precedes it.
func (t *Text) title() string {
	f := t.headed()
	switch title := cmp.Or(t.rules[f.Rule].Title, strings.ReplaceAll(f.Rule, "-", " ")); {
	case t.kind.Title != nil:
		return t.kind.Title(t)
	case f.Headline != "":
		for _, shorter := range append([]string{f.Headline}, f.Shorter...) {
			if title = shorter; len(title) <= t.room {
				break
			}
		}
		return title
	case f.Object == "":
		return title
	default:
		return t.Objects() + ": " + title
	}
}

// maxReason limits the reason of a cause.
const maxReason = 36

// reason returns what is wrong in about five words.
func (t *Text) reason() string {
	short := strings.ReplaceAll(t.headed().Rule, "-", " ")
	if t.kind.Short != nil {
		short = t.kind.Short(t)
	}
	return shorten(short, maxReason)
}

// one returns a name, or the number of several.
func one(names []string, noun string) string {
	if len(names) == 1 {
		return clip(names[0], 30)
	}
	return result.Count(len(names), noun)
}

// headed returns the first finding of a rule with this kind; the cause may claim others.
func (t *Text) headed() *result.Finding {
	for _, f := range t.all {
		if t.rules[f.Rule].Kind == t.kind {
			return f
		}
	}
	return t.First()
}

// task returns what somebody has to do.
func (t *Text) task() Task {
	if t.kind.Task == nil {
		return otherKind.Task(t)
	}
	return t.kind.Task(t)
}

// firstFix returns the kind of the first fix; "" without a fix.
func (t *Text) firstFix() fix.Kind {
	if len(t.cause.Fixes) == 0 {
		return ""
	}
	return t.cause.Fixes[0].Kind
}

var anyTag = lazyregexp.New(`(?:many|musl)linux(?:_\d+_\d+|\d+)`)

// target returns the platform of the first finding.
func (t *Text) target() string {
	if target := t.all[0].Target; target != "" {
		return platform.Title(target)
	}
	return "the platform"
}

// Libraries returns up to two library names and the number of others.
func (t *Text) Libraries() string { return t.some(t.LibraryNames(), 2, 40, "library") }

// some returns the first names of a list and the number of others, or only their number.
func (t *Text) some(names []string, usual, limit int, noun string) string {
	if t.shown == counted && len(names) > 1 {
		return result.Count(len(names), noun)
	}
	return Listed(names, cmp.Or(max(t.shown, 0), usual), limit, noun)
}

func (t *Text) libraryCount() int { return len(t.LibraryNames()) }

// LibraryNames returns the file names of the libraries that the cause is about.
func (t *Text) LibraryNames() []string {
	var names set[string]
	for _, f := range t.all {
		switch {
		case f.Library != "":
			names.add(base(f.Library))
		case t.kind.Owner && f.ProvidedBy != nil:
			names.add(base(*f.ProvidedBy))
		}
	}
	return names.list
}

// Symbols returns a symbol and the number of others.
func (t *Text) Symbols() string {
	var names set[string]
	for _, f := range t.all {
		if f.Symbol != "" {
			names.add(f.Symbol)
		}
	}
	if len(names.list) > 0 {
		names.list[0] = Short(names.list[0], "")
	}
	return t.some(names.list, 1, 48, "symbol")
}

// Objects returns the first object and the number of others.
func (t *Text) Objects() string {
	if t.all[0].Object == "" {
		return base(t.artifact.Path)
	}
	n := t.cause.Objects
	if t.shown == counted && n > 1 {
		return result.Count(n, "file")
	}
	first := clip(base(t.all[0].Object), 48)
	if n > 1 {
		return fmt.Sprintf("%s and %s", first, result.Count(n-1, "more file"))
	}
	return first
}

// needing returns the object, or the number of objects.
func (t *Text) needing() string {
	return result.Plural(t.cause.Objects, clip(base(t.all[0].Object), 40),
		fmt.Sprintf("%d files", t.cause.Objects))
}

func (t *Text) importedBy() string {
	return result.Plural(t.cause.Objects, clip(base(t.all[0].Object), 40)+" imports",
		fmt.Sprintf("%d files import", t.cause.Objects))
}

// Listed returns the first names of a list, each with at most limit characters, and the number of
// others. noun is what they name.
func Listed(names []string, shown, limit int, noun string) string {
	if len(names) == 0 {
		return "a " + noun
	}
	var out []string
	for _, n := range names[:min(len(names), shown)] {
		out = append(out, clip(n, limit))
	}
	if n := len(names) - len(out); n > 0 {
		return strings.Join(out, ", ") + " and " + result.Count(n, "more "+noun)
	}
	return result.And(out)
}

// shorten limits the length of a title at a word boundary.
func shorten(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	s = string(r[:limit-1])
	if i := strings.LastIndexByte(s, ' '); i > limit/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, ",;: ") + "…"
}
