package rules

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
	"github.com/compat-app/compat/internal/shellword"
)

// linkPlan is one set of flags, and one edit of the object, that mends all of a link that flags can
// mend.
type linkPlan struct {
	p    *analyzer.Pass
	view *analyzer.View

	with    fix.LinkWith
	compat  []string // libraries that serve the loader only
	runPath string   // "" for none, or where an edit of this object does not do
	editing bool     // an edit of this object helps
}

// linkPlans holds what mends the link against each object: one plan for all of its findings.
type linkPlans map[*analyzer.View][]fix.Candidate

// of is the plan for an object, nil while a fix is tried: nobody asks then how to mend what is
// left.
func (m linkPlans) of(p *analyzer.Pass, v *analyzer.View) []fix.Candidate {
	if p.Trial {
		return nil
	}
	plan, ok := m[v]
	if !ok {
		plan = planLink(p, v).candidates()
		m[v] = plan
	}
	return slices.Clone(plan)
}

// planLink looks for the owners of everything that is undefined, and for the directories of
// everything that is not found.
func planLink(p *analyzer.Pass, v *analyzer.View) *linkPlan {
	l := &linkPlan{p: p, view: v, editing: true}
	fatal := map[elfobj.Import]bool{}
	for _, x := range p.LinkLeft(v, fix.LinkWith{AllowShlibUndefined: true}.Apply(p.Scenario)) {
		fatal[x.Import] = true
	}
	for _, x := range p.LinkLeft(v, p.Scenario) {
		l.mend(x, !fatal[x.Import])
	}
	slices.Sort(l.with.Libraries)
	return l
}

// mend adds what one problem takes. binds: only the linker minds, and the program would start.
func (l *linkPlan) mend(x staticlink.Problem, binds bool) {
	switch q := (linkProblem{Problem: x, view: l.view}); {
	case x.Kind == staticlink.Hidden:
		if gcc := l.p.Platform.Library("libgcc_s.so.1"); gcc != nil &&
			staticlink.FromPlatform(gcc).Links(x.Import.Name, "") {
			l.with.Libraries = withName(l.with.Libraries, gcc.SONAME)
		}
	case x.Kind == staticlink.Undefined && ofMissing(l.p, q):
		if there := l.p.LinkSystem().Elsewhere(x.Missing); there != nil {
			dir := path.Dir(there.Path)
			l.with.RPathLink = withName(l.with.RPathLink, dir)
			l.runPath = runPath(l.view, dir)
			l.editing = l.editing && x.By == l.p.Linkable(l.view) && len(l.with.RPathLink) == 1 &&
				l.runPath != ""
		}
	case x.Kind == staticlink.Undefined:
		o := ownerOf(l.p, x.Import)
		if binds && (o.soname == "" || o.compat != "") {
			l.with.AllowShlibUndefined = true
			return
		}
		if o.compat != "" {
			l.with.AllowShlibUndefined = true
			l.compat = withName(l.compat, o.soname)
			return
		}
		l.with.Libraries = withName(l.with.Libraries, o.soname)
		l.with.Last = l.with.Last || o.ifunc
	}
}

// candidates are the flags and the edit. Where they don't mend the whole link they say so, and are
// not offered as verified.
func (l *linkPlan) candidates() []fix.Candidate {
	with := l.with
	for _, s := range l.compat {
		with.Libraries = withName(slices.Clone(with.Libraries), s)
	}
	if len(with.Libraries)+len(with.RPathLink) == 0 && !with.AllowShlibUndefined {
		return nil
	}
	flags := fix.Candidate{
		Fix:    fix.Fix{Kind: fix.KindLinkFlag, Title: l.title(with), Command: l.flags(with)},
		Change: with,
	}
	if with.AllowShlibUndefined {
		flags.Fix.Cost = []string{
			"the linker no longer tells of any other undefined symbol of a shared library",
		}
	}
	out := []fix.Candidate{l.partly(flags)}
	if edit := (fix.All{}); l.editing && !with.AllowShlibUndefined {
		var commands []string
		title := "Add the DT_NEEDED entries to the library, so that its users need no flag"
		if len(l.with.Libraries) > 0 {
			commands = append(commands, addNeeded(l.with.Libraries, l.view.Path))
			edit = append(edit, fix.AddNeeded{Object: l.view.Path, Libraries: l.with.Libraries})
		}
		if l.runPath != "" { // patchelf 0.12 forgets one of two edits
			commands = append(
				commands,
				"patchelf --set-rpath "+shellword.Quote(l.runPath)+" "+quoted(l.view.Path),
			)
			edit = append(edit, fix.SetRunPath{Object: l.view.Path, RunPath: l.runPath})
			title = "Let the library say where it finds what it needs, for the linker and the loader"
		}
		out = append(
			out,
			l.partly(
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindPatchelf,
						Title:   title,
						Command: strings.Join(commands, " && "),
					},
					Change: edit,
				},
			),
		)
	}
	return out
}

// partly takes the promise from a fix that leaves something of the link broken.
func (l *linkPlan) partly(c fix.Candidate) fix.Candidate {
	left := l.p.LinkLeft(l.view, c.Change.Apply(l.p.Scenario))
	if _, edit := c.Change.(fix.All); edit {
		left = l.p.LinkLeft(
			l.view,
			l.with.Apply(l.p.Scenario),
		) // the same libraries, by another way
	}
	if n := len(left); n > 0 {
		c.Change = nil
		c.Fix.Cost = append(
			c.Fix.Cost,
			"the link still fails, for "+analyzer.Count(n, "other symbol"),
		)
	}
	return c
}

func (l *linkPlan) title(with fix.LinkWith) string {
	switch {
	case with.AllowShlibUndefined:
		return "Let the linker pass undefined symbols of shared libraries; the loader still binds them"
	case len(with.Libraries) == 0 && l.p.Facts.Kind == analyzer.KindObject:
		return "Name the directory of the needed library to the linker, which does not look along -L for it"
	case len(with.Libraries) == 0:
		return "Name the directory of the needed library to the linker, which does not look along -L for it (DIR is where the artifact is unpacked or installed)"
	case with.Last:
		return "Link programs that use it with these flags; the library has to come first, since its provider chooses an implementation when it is loaded (IFUNC)"
	}
	return "Link programs that use it with these flags; --no-as-needed keeps the linker from dropping them"
}

// flags writes the assignments that a shell and a Makefile take.
func (l *linkPlan) flags(with fix.LinkWith) string {
	var first []string
	named := ""
	for _, s := range with.Libraries {
		if there := l.p.LinkSystem().Elsewhere(s); there != nil && l.p.Platform.Library(s) == nil {
			first = withName(first, "-L"+l.directory(path.Dir(there.Path)))
		}
		named += " " + escaped(l.p.LinkSystem().Flag(s))
	}
	for _, dir := range with.RPathLink {
		first = append(first, "-Wl,-rpath-link,"+l.directory(dir))
	}
	if named != "" && !with.Last {
		first = append(first, "-Wl,--no-as-needed"+named)
	}
	if with.AllowShlibUndefined {
		first = append(first, "-Wl,--allow-shlib-undefined")
	}
	var out []string
	if len(first) > 0 {
		out = append(out, `LDFLAGS="`+strings.Join(first, " ")+`"`)
	}
	if named != "" && with.Last {
		out = append(out, `LDLIBS="-Wl,--push-state,--no-as-needed`+named+` -Wl,--pop-state"`)
	}
	return strings.Join(out, " ")
}

// directory is a directory as the user has it: of an artifact's below DIR.
func (l *linkPlan) directory(dir string) string {
	if l.p.Facts.Kind != analyzer.KindObject {
		dir = "DIR/" + dir
	}
	return escaped(dir)
}

// newerSystem offers the oldest release of the same distribution, Debian for a policy, on which a
// linker binds the reference without a flag.
func newerSystem(p *analyzer.Pass, i elfobj.Import) []fix.Candidate {
	family := "debian"
	if p.Platform.Kind == platform.Distribution {
		family = strings.TrimRight(p.Platform.Name, "0123456789.")
	}
	for _, q := range platform.All(p.Platform.Arch) {
		if q.Kind != platform.Distribution || strings.TrimRight(q.Name, "0123456789.") != family ||
			!analyzer.OlderRelease(p.Platform.LibcVersion, q.LibcVersion) {
			continue
		}
		name := i.Library
		if i.Version == "" {
			name = "libc.so.6"
		}
		if l := q.Library(name); l == nil || !staticlink.FromPlatform(l).Links(i.Name, i.Version) {
			continue
		}
		return []fix.Candidate{
			{
				Fix: fix.Fix{
					Kind: fix.KindEnvironment,
					Title: fmt.Sprintf(
						"Link on a system as new as %s (glibc %s), and run there",
						q.Name,
						q.LibcVersion,
					),
				},
				Change: fix.Retag{Platform: q.Name + "/" + q.Arch},
			},
		}
	}
	return nil
}

// runPath adds a directory to an object's own path, as seen from the object; "" where it can't be
// written.
func runPath(v *analyzer.View, dir string) string {
	rel, err := filepath.Rel(path.Dir(v.Path), dir)
	if err != nil || strings.ContainsAny(v.RunPath+v.RPath+rel, "'\n") {
		return ""
	}
	to := "$ORIGIN"
	if rel = filepath.ToSlash(rel); rel != "." {
		to += "/" + rel
	}
	for _, old := range []string{v.RunPath, v.RPath} {
		if old != "" {
			return old + ":" + to
		}
	}
	return to
}

// escaped keeps a name from ending the string or starting a command: what a shell would read in
// double quotes gets a backslash.
func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", "\n", " ").Replace(s)
}

// withName adds a name that is not on a list yet; "" is none.
func withName(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// linkFlags writes the flags for libraries of a platform, by SONAME: "-Wl,--no-as-needed -ldl
// -lrt".
func linkFlags(sonames []string) string {
	flags := "-Wl,--no-as-needed"
	for _, s := range sonames {
		name, _, _ := strings.Cut(strings.TrimPrefix(s, "lib"), ".so")
		flags += " -l" + name
	}
	return flags
}

// addNeeded writes the command that adds DT_NEEDED entries.
func addNeeded(sonames []string, object string) string {
	cmd := "patchelf"
	for _, s := range sonames {
		cmd += " --add-needed " + quoted(s)
	}
	return cmd + " " + quoted(object)
}
