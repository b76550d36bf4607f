package rules

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
	"github.com/compat-app/compat/internal/shellword"
)

// linkPlan is the set of flags that fixes a link as far as flags can, and the edit of the object
// that replaces the flags.
type linkPlan struct {
	p    *analyzer.Pass
	view *analyzer.View

	with    fix.LinkWith
	compat  []string // libraries whose symbol only the loader binds
	runPath string   // "" for none, or if an edit of this object does not help
	editing bool     // an edit of this object helps
}

// linkPlans has one plan for each object, which all of its findings share.
type linkPlans map[*analyzer.View][]fix.Candidate

// of returns the fixes for an object. It is nil while a fix is tried, when no other fixes are
// needed.
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

// planLink finds the libraries that define what is undefined, and the folders of the libraries that
// are not found.
func planLink(p *analyzer.Pass, v *analyzer.View) *linkPlan {
	l := &linkPlan{p: p, view: v, editing: true}
	fatal := p.LinkLeft(v, fix.LinkWith{AllowShlibUndefined: true}.Apply(p.Scenario))
	added := 0
	for x := range p.LinkLeft(v, p.Scenario).All() {
		if added == analyzer.MaxFindings {
			break
		}
		l.add(x, !fatal.Has(x.Import.Name, x.Import.Version))
		added++
	}
	slices.Sort(l.with.Libraries)
	return l
}

// add adds the flags for one problem. binds means that only the linker fails, and the program
// starts.
func (l *linkPlan) add(x staticlink.Problem, binds bool) {
	switch q := (linkProblem{Problem: x, view: l.view}); {
	case x.Kind == staticlink.Hidden:
		if gcc := l.p.Platform.Library("libgcc_s.so.1"); gcc != nil &&
			staticlink.FromPlatform(gcc).Links(x.Import.Name, "") {
			l.with.Libraries = withName(l.with.Libraries, gcc.SONAME)
		}
	case x.Kind == staticlink.Undefined && ofMissing(l.p, q):
		if there := l.p.LinkSystem().FileNamed(x.Missing); there != nil {
			dir := path.Dir(there.Path)
			l.with.RPathLink = withName(l.with.RPathLink, dir)
			l.runPath = runPath(l.p, l.view, dir)
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

// candidates returns the flags and the edit. If they do not fix the whole link, their cost lists
// what is left, and they are not offered as verified.
func (l *linkPlan) candidates() []fix.Candidate {
	with := l.with
	for _, s := range l.compat {
		with.Libraries = withName(slices.Clone(with.Libraries), s)
	}
	if len(with.Libraries)+len(with.RPathLink) == 0 && !with.AllowShlibUndefined {
		return nil
	}
	flags := fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindLinkFlag,
			Title:   fix.Text(l.title(with)),
			Command: l.flags(with),
			Cost:    []string{"every user has to do it"},
		},
		Change: with,
	}
	if with.AllowShlibUndefined {
		flags.Fix.Cost = append(flags.Fix.Cost,
			"the linker no longer reports other undefined symbols of shared libraries")
	}
	out := []fix.Candidate{l.partly(flags)}
	if changes := (fix.All{}); l.editing && !with.AllowShlibUndefined {
		var commands []shellword.Line
		title := fix.Titled("Add the DT_NEEDED entries to the library; its users then need no flags")
		if len(l.with.Libraries) > 0 {
			commands = append(commands, addNeeded(l.with.Libraries))
			changes = append(changes, fix.AddNeeded{Object: l.view.Path, Libraries: l.with.Libraries})
		}
		if l.runPath != "" { // patchelf 0.12 loses one of two edits
			commands = append(commands, setRunPath(l.p, l.runPath))
			changes = append(changes, fix.SetRunPath{Object: l.view.Path, RunPath: l.runPath})
			title = fix.Titled("Set a RUNPATH in %s, for the linker and the loader",
				fix.Words{One: "the library", Several: "these libraries"})
		}
		out = append(
			out,
			l.partly(
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindPatchelf,
						Title:   title,
						Command: edit(l.p, l.view.Path, commands...),
					},
					Change: changes,
				},
			),
		)
	}
	return out
}

// partly marks a fix that does not fix the whole link as not verified.
func (l *linkPlan) partly(c fix.Candidate) fix.Candidate {
	left := l.p.LinkLeft(l.view, c.Change.Apply(l.p.Scenario))
	if _, edit := c.Change.(fix.All); edit {
		left = l.p.LinkLeft(l.view, l.with.Apply(l.p.Scenario)) // the same libraries
	}
	if n := left.Len(); n > 0 {
		c.Change = nil
		c.Fix.Cost = append(c.Fix.Cost, "the link still fails for "+analyzer.Count(n, "other symbol"))
	}
	return c
}

func (l *linkPlan) title(with fix.LinkWith) string {
	switch {
	case with.AllowShlibUndefined:
		return "Allow undefined symbols of shared libraries at link time; the loader binds them"
	case len(with.Libraries) == 0:
		return "Users of the library must link with -rpath-link and the folder of the missing one"
	case with.Last:
		return "Users of the library must link with these flags, after the library"
	}
	return "Users of the library must link with these flags"
}

// flags returns the assignments of LDFLAGS and LDLIBS for a shell. It is "" if a name has a
// character that a shell, make or a build system interprets: make passes the values to another
// shell. It is also "" if the location of the artifact's folders on a user's system is unknown.
func (l *linkPlan) flags(with fix.LinkWith) shellword.Line {
	var first []shellword.Line
	var named []string
	for _, s := range with.Libraries {
		if there := l.p.LinkSystem().FileNamed(s); there != nil && l.p.Platform.Library(s) == nil {
			dir := l.directory(path.Dir(there.Path))
			if dir == "" {
				return ""
			}
			if flag := "-L" + dir; !slices.Contains(first, flag) {
				first = append(first, flag)
			}
		}
		named = append(named, l.p.LinkSystem().Flag(s))
	}
	for _, path := range with.RPathLink {
		dir := l.directory(path)
		if dir == "" {
			return ""
		}
		first = append(first, "-Wl,-rpath-link,"+dir)
	}
	libraries := shellword.Plain(named)
	if named != nil && libraries == "" {
		return ""
	}
	if !with.Last && named != nil {
		first = append(first, "-Wl,--no-as-needed", libraries)
	}
	if with.AllowShlibUndefined {
		first = append(first, "-Wl,--allow-shlib-undefined")
	}
	var out []shellword.Line
	if len(first) > 0 {
		out = append(out, `LDFLAGS="`+shellword.Join(first, " ")+`"`)
	}
	if named != nil && with.Last {
		out = append(out, `LDLIBS="-Wl,--push-state,--no-as-needed `+libraries+` -Wl,--pop-state"`)
	}
	return shellword.Join(out, " ")
}

// sitePackages is a shell expression for the folder of installed wheels.
const sitePackages shellword.Line = "$(python -c 'import sysconfig; " +
	`print(sysconfig.get_path("platlib"))')`

// directory returns a folder for LDFLAGS: for a loose file the folder itself, for a wheel or a
// package of a distribution the folder where it is installed. It is "" for folders of other
// archives, and for names that a shell or make interprets.
func (l *linkPlan) directory(dir string) shellword.Line {
	word := shellword.Plain([]string{dir})
	switch {
	case word == "", strings.Contains(dir, ".data/"):
		return ""
	case l.p.Facts.Kind == analyzer.KindObject:
		return word
	case l.p.Facts.Kind == analyzer.KindWheel:
		return sitePackages + "/" + word
	case l.p.Facts.Conda():
		return "$CONDA_PREFIX/" + word
	case l.p.Facts.Packaged():
		return "/" + word
	}
	return ""
}

// newerSystem returns the oldest release of the same distribution, of Debian for a policy, on which
// the linker binds the reference without a flag.
func newerSystem(p *analyzer.Pass, i elfobj.Import) []fix.Candidate {
	family := "debian"
	if p.Platform.Kind == platform.Distribution {
		family = strings.TrimRight(p.Platform.Name, "0123456789.")
	}
	for _, q := range platform.All(p.Platform.Arch) {
		if q.Kind != platform.Distribution || strings.TrimRight(q.Name, "0123456789.") != family ||
			!platform.Older(p.Platform.LibcVersion, q.LibcVersion) {
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
					Title: fix.Titled(
						"Build and run on a newer system, such as %s (glibc %s)", q.Name, q.LibcVersion,
					),
				},
				Change: fix.Retag{Platform: q.Name + "/" + q.Arch},
			},
		}
	}
	return nil
}

// runPath adds a folder to an object's search path, relative to the object. Absolute folders are
// kept only in packages of a distribution; elsewhere they are of the build machine. It is "" if the
// path cannot be written.
func runPath(p *analyzer.Pass, v *analyzer.View, dir string) string {
	from := path.Dir(dynlink.Installed("/"+dynlink.Site, v.Path))
	rel, err := filepath.Rel(from, dynlink.Installed("/"+dynlink.Site, dir))
	if err != nil || strings.ContainsAny(v.RunPath+v.RPath+rel, "'\n") {
		return ""
	}
	to := "$ORIGIN"
	if rel = filepath.ToSlash(rel); rel != "." {
		to += "/" + rel
	}
	old := v.RunPath
	if old == "" {
		old = v.RPath
	}
	var kept []string
	for _, folder := range strings.Split(old, ":") {
		if folder != "" && folder != to && (p.Facts.Packaged() || strings.HasPrefix(folder, "$")) {
			kept = append(kept, folder)
		}
	}
	return strings.Join(append(kept, to), ":")
}

// withName adds a name to a list, unless it is "" or already in the list.
func withName(list []string, name string) []string {
	if name == "" || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// linkFlags returns the flags that link libraries, by SONAME: "-Wl,--no-as-needed -ldl -lrt".
func linkFlags(sonames []string) shellword.Line {
	var flags shellword.Line = "-Wl,--no-as-needed"
	for _, s := range sonames {
		name, ok := strings.CutPrefix(s, "lib")
		name, _, found := strings.Cut(name, ".so")
		if !ok || !found {
			name = ":" + s // the linker takes it as a file name
		}
		flags += " " + shellword.Quote("-l"+name)
	}
	return flags
}
