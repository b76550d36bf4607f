package rules

import (
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// recordedPath says what the loader does with a path in DT_NEEDED.
func recordedPath(needed string) string {
	if strings.HasPrefix(needed, "/") {
		return "The loader opens only this path, which exists only on the build machine"
	}
	return "The loader opens only this path, relative to the folder in which the program was started"
}

// byName returns the fixes for a DT_NEEDED entry with a path: the library needs a SONAME, or the
// entry is replaced by a name. If the artifact has the library, it must be found by that name.
func byName(p *analyzer.Pass, v *analyzer.View, needed string) []fix.Candidate {
	name := path.Base(needed)
	link := fix.Candidate{Fix: fix.Fix{
		Kind:    fix.KindLinkFlag,
		Title:   fix.Titled("Link %s with a SONAME, and then %s again", name, path.Base(v.Path)),
		Command: "-Wl,-soname," + shellword.Quote(name),
	}}
	programs := []shellword.Line{"patchelf --replace-needed " + shellword.Quote(needed) + " " +
		shellword.Quote(name)}
	changes := fix.All{
		fix.DropNeeded{Object: v.Path, Library: needed},
		fix.AddNeeded{Object: v.Path, Libraries: []string{name}},
	}
	title := "Replace the path by the name of the library in the finished file"
	for _, u := range p.Views {
		if path.Base(u.Path) != name || leadsTo(v.Library, path.Dir(u.Path)) {
			continue
		}
		if to := runPath(p, v, path.Dir(u.Path)); to != "" {
			programs = append(programs, setRunPath(p, to))
			changes = append(changes, fix.SetRunPath{Object: v.Path, RunPath: to})
			title += ", and set a RUNPATH that leads to it"
			break
		}
	}
	return []fix.Candidate{link, {
		Fix: fix.Fix{
			Kind:    fix.KindPatchelf,
			Title:   fix.Text(title),
			Command: edit(p, v.Path, programs...),
		},
		Change: changes,
	}}
}
