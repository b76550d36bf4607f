package cause

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// wrongLibc is the kind of artifacts that are built for glibc and used on musl, or the reverse. The
// subject is the C library of the target.
var wrongLibc = &Kind{
	Name:  "wrong-libc",
	Short: func(t *Text) string { return "not built for " + t.subject },
	Title: func(t *Text) string {
		built := "musl"
		if t.subject == built {
			built = "glibc"
		}
		return fmt.Sprintf("built for %s; %s uses %s", built, t.target(), t.subject)
	},
	Task: func(t *Text) Task {
		task := Task{Actor: result.Builder, Do: "publish a build for " + t.subject}
		switch {
		case t.artifact.wheel() && !t.claimed():
			task.Do = "publish another wheel, for " + t.subject
			task.Because, task.Only, task.Unclaimed = t.Unclaimed(), t.OnUnclaimed(), true
		case t.firstFix() == fix.KindPlatformTag:
			task.Do = "correct the tag or publish a build for " + t.subject
		}
		return task
	},
	Covers: true, // a build for the other one needs other libraries
	// other libraries do not help, neither installed nor copied
	Applicable: func(g *group, list []*merged) []*merged {
		others := slices.DeleteFunc(slices.Clone(list), func(m *merged) bool {
			return m.Kind == fix.KindEnvironment || m.Bundling != nil
		})
		if len(others) > 0 {
			list = others
		}
		for _, m := range list {
			m.clears = len(g.all)
		}
		return list
	},
}
