package cause

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

const (
	maxFixes    = 4  // per cause; the first are the best
	maxCommands = 12 // lines of a command for several findings
	maxCosts    = 4
)

// merged is a fix and the findings that it removes.
type merged struct {
	fix.Fix
	clears   int
	last     *result.Finding // the finding that was counted last: each finding counts once
	commands set[command]
	costs    set[string]
	retags   []retag // one for each artifact
	// libraries and objects that occur in the titles
	libraries, objects set[string]
	open               bool // merged from different requirements, and not tried as a whole
	changes            fix.Merger
	ofLoader           bool // it is a fix for an error of the loader
}

// command is a command of a fix, for an artifact.
type command struct {
	artifact string
	line     shellword.Line
}

// retag is the change of the tags of an artifact.
type retag struct {
	artifact string
	fix.Retagging
	change fix.Change
}

// fixes merges the fixes of a cause's findings: of platform tags the newest is used, version
// ranges of a package are intersected, and commands that differ only in the file become one
// command for all files. together is set if no fix removes all findings.
func fixes(g *group) (out []result.CauseFix, together bool) {
	byKey := map[string]*merged{}
	var list []*merged
	for _, f := range g.all {
		if g.states(f) {
			continue
		}
		for _, x := range f.Fixes {
			if tried := requirementsOf(x); tried != nil {
				x.Requirement = tried[0]
			}
			object, library := named(x, f)
			title := template(x.Title, object, library)
			k := mergeKey(x, title)
			m := byKey[k]
			if m == nil {
				m = &merged{Fix: x}
				m.Title = title
				byKey[k] = m
				list = append(list, m)
			} else {
				m.merge(x)
			}
			if len(x.Retags) == 1 {
				m.retag(f.Artifact, x)
			}
			m.changes.Add(x.Change)
			m.ofLoader = m.ofLoader || !g.rules[f.Rule].Linker
			if m.last != f {
				m.last = f
				m.clears++
				m.libraries.add(library)
				m.objects.add(object)
			}
			if x.Command != "" {
				m.commands.add(command{f.Artifact, x.Command})
			}
			for _, c := range x.Cost {
				if x.Kind != fix.KindPlatformTag || slices.Contains(m.Cost, c) {
					m.costs.add(c)
				}
			}
		}
	}
	for _, f := range g.all {
		for _, m := range list {
			m.clears += boolRank(g.states(f) && satisfies(m.Fix, f))
		}
	}
	if g.kind == TooNew { // the linker error is due to a build on an older system
		loader := 0
		for _, f := range g.all {
			loader += boolRank(!g.rules[f.Rule].Linker)
		}
		if loader > 0 { // that it works where it was built is no fix for the platform
			list = slices.DeleteFunc(list, func(m *merged) bool {
				_, moves := m.Change.(fix.Retag)
				return moves && m.Kind == fix.KindEnvironment
			})
		}
		for _, m := range list {
			if m.ofLoader && (m.Kind == fix.KindImage || m.Kind == fix.KindSymver) && m.clears >= loader {
				m.clears = len(g.all)
			}
		}
	}
	if g.kind == wrongLibc { // other libraries of the system do not help
		others := slices.DeleteFunc(slices.Clone(list), func(m *merged) bool {
			return m.Kind == fix.KindEnvironment
		})
		if len(others) > 0 {
			list = others
		}
		for _, m := range list {
			m.clears = len(g.all)
		}
	}
	slices.SortStableFunc(list, func(a, b *merged) int {
		return cmp.Or(
			b.clears-a.clears,
			boolRank(a.Last)-boolRank(b.Last),
			boolRank(b.Verified)-boolRank(a.Verified),
			boolRank(a.Conflicts())-boolRank(b.Conflicts()),
			g.effort(a.Kind)-g.effort(b.Kind),
		)
	})
	out = []result.CauseFix{}
	for _, m := range list {
		if len(out) == maxFixes || len(out) > 0 && out[0].Clears == len(g.all) &&
			m.clears < len(g.all) {
			break
		}
		if m.unusable() || m.Kind == fix.KindPatchelf && g.fromSystem() ||
			m.Kind == fix.KindImage && g.kind == TooNew && g.private() {
			continue
		}
		// Another pin than the required one, and one that pip refuses, are worse than the first fix.
		if len(out) > 0 && out[0].Verified && out[0].Clears == len(g.all) &&
			m.Kind == fix.KindPin && (g.kind == otherVersions || m.Conflicts()) {
			continue
		}
		x := m.Fix
		x.Title = strings.ReplaceAll(x.Title, libraryMark, Listed(m.libraries.list, 3, 40, "library"))
		x.Title = strings.ReplaceAll(x.Title, objectMark, Listed(m.objects.list, 2, 80, "object"))
		switch {
		case m.retags != nil:
			x.Retags, x.Title = m.retagging(x.Title)
			x.Command = fix.RetagCommand(x.Retags)
		case m.commands.list != nil && x.Requirement == "":
			x.Command = m.command()
		}
		x.Cost = append([]string{}, m.costs.list[:min(len(m.costs.list), maxCosts)]...)
		x.Verified = x.Verified && !m.open
		x.Change = m.change()
		out = append(out, result.CauseFix{Fix: x, Clears: m.clears})
	}
	x := installation(g)
	if g.kind == ofExtras && (len(out) == 0 || out[0].Clears < len(g.all)) {
		x = g.allExtras()
	}
	if x != nil && (len(out) == 0 || out[0].Clears < x.Clears) {
		if x.Clears == len(g.all) {
			out = nil // the others are parts of it
		}
		out = slices.Insert(out, 0, *x)
	}
	return out, len(out) > 1 && out[0].Clears < len(g.all)
}

// fromSystem reports whether a cause is about libraries of the system or of another project.
func (g *group) fromSystem() bool { return g.kind == system || g.kind == systemLibraries }

// installation returns the fix that installs libraries of the system or of another project: one
// command for all packages. It returns nil if no provider is known. If the name of a package
// depends on the release of the system, it names the projects.
func installation(g *group) *result.CauseFix {
	if !g.fromSystem() && g.kind != missing {
		return nil
	}
	var projects, debian, pypi set[string]
	clears, unnamed := 0, false
	for _, f := range g.all {
		p, ok := platform.ProviderOf(f.Library)
		if !ok || p.Kind == platform.BundleProvider && !f.OtherPackage || g.artifact.has(p) {
			continue
		}
		system, python := p.Packages(platform.Debian), p.Packages(platform.PyPI)
		// a package that the artifact declares already is not offered by the finding
		python = slices.DeleteFunc(slices.Clone(python), func(name string) bool {
			return !slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool {
				return x.Kind == fix.KindDependency && x.Requirement == name
			})
		})
		if len(system)+len(python) == 0 && len(p.Packages(platform.PyPI)) > 0 {
			continue
		}
		clears++
		projects.add(p.Project)
		for _, name := range system {
			debian.add(name)
		}
		for _, name := range python {
			pypi.add(name)
		}
		unnamed = unnamed || len(system) == 0
	}
	x := result.CauseFix{Clears: clears}
	x.Kind, x.Cost = fix.KindEnvironment, []string{}
	switch {
	case clears == 0:
		return nil
	case len(debian.list) > 0 && !unnamed:
		x.Title = "Install what contains these libraries (Debian and Ubuntu)"
		x.Command = "apt-get install " + shellword.Quoted(debian.list)
	case len(pypi.list) > 0:
		x.Kind = fix.KindDependency
		x.Title = "Declare the dependency " + strings.Join(pypi.list, " and ")
	default:
		// "ROCm 5" is more specific than "ROCm"
		names := slices.DeleteFunc(slices.Clone(projects.list), func(name string) bool {
			return slices.ContainsFunc(projects.list, func(other string) bool {
				return name != other && release.ReplaceAllString(other, "") == name
			})
		})
		x.Title = "Install " + Listed(names, 3, 40, "project")
	}
	return &x
}

// mergeKey is equal for fixes that make the same change. title is the template of theirs.
func mergeKey(x fix.Fix, title string) string {
	switch {
	case len(x.Retags) == 1 && versionOf(x.Retags[0].To) != nil:
		return x.Kind + " " + versionOf(x.Retags[0].To)[1]
	case x.Requirement != "":
		if q, err := pkgmeta.ParseRequirement(x.Requirement); err == nil {
			return x.Kind + " " + q.Name
		}
	case x.Kind == fix.KindSymver:
		return x.Kind
	case install.MatchString(string(x.Command)):
		return x.Kind + " " + install.FindString(string(x.Command))
	}
	return x.Kind + "\x00" + title
}

// named returns the object and the library that the title of a fix may name: those of the finding,
// and for a fix that links a library, this one. object is "" for fixes of other kinds.
func named(x fix.Fix, f *result.Finding) (object, library string) {
	if x.Kind != fix.KindLinkFlag && x.Kind != fix.KindPatchelf {
		return "", f.Library
	}
	if x.Change != nil {
		links := x.Change.Apply(fix.Scenario{}).Needed[f.Object]
		if len(links) == 1 {
			return f.Object, links[0]
		}
	}
	return f.Object, f.Library
}

// template replaces the object and the library in the title of a fix, so that titles that differ
// only in these are equal.
func template(title, object, library string) string {
	if object != "" {
		title = strings.Replace(title, "Link "+object+" with", "Link "+objectMark+" with", 1)
		title = strings.Replace(title, "In "+object+",", "In "+objectMark+",", 1)
	}
	if library == "" {
		return title
	}
	return strings.ReplaceAll(title, library, libraryMark)
}

// marks in templates
const libraryMark, objectMark = "\x01", "\x02"

// install matches a command that installs system packages. The packages follow.
var install = lazyregexp.New(
	`^(?:brew install|(?:sudo )?(?:apt-get install|apt install|(?:dnf|yum) install|apk add)(?: -y)?)`,
)

// merge adds another fix with the same key.
func (m *merged) merge(x fix.Fix) {
	m.Verified = m.Verified && x.Verified
	switch {
	case len(m.Retags) == 1 && len(x.Retags) == 1 && newerTag(m.Retags[0].To, x.Retags[0].To):
		m.Title, m.Cost, m.Retags, m.costs = x.Title, x.Cost, x.Retags, set[string]{}
	case x.Requirement != "" && x.Requirement != m.Requirement:
		both, ok := Intersect(m.Requirement, x.Requirement)
		if !ok {
			m.open, m.Requirement = true, none
			return
		}
		if both != m.Requirement {
			m.open = m.open || both != x.Requirement
			m.Title = strings.ReplaceAll(m.Title, m.Requirement, both)
			m.Command = m.Command.WithRequirement(m.Requirement, both)
			m.Requirement = both
		}
	case install.MatchString(string(x.Command)) && m.Title != x.Title:
		m.Title = "Install the packages that contain these libraries"
	case m.Kind == fix.KindSymver && m.Title != x.Title:
		m.Title = "Bind these symbols to their older versions, in a header that every source file " +
			"includes"
	}
}

// change returns the change of the merged fix, or nil if it cannot be simulated.
func (m *merged) change() fix.Change {
	pin, ok := m.Change.(fix.Pin)
	switch {
	case len(m.retags) == 1:
		return m.retags[0].change
	case m.retags != nil:
		changes := fix.PerArtifact{}
		for _, r := range m.retags {
			if r.change == nil {
				return nil
			}
			changes[r.artifact] = r.change
		}
		return changes
	case ok && m.Requirement != "":
		return fix.Pin{Requirement: m.Requirement, Direct: pin.Direct}
	}
	return m.changes.Change()
}

// retag records the change of an artifact's tags. Of two, the one with the newer tag is kept.
func (m *merged) retag(artifact string, x fix.Fix) {
	r := retag{artifact, x.Retags[0], x.Change}
	i := slices.IndexFunc(m.retags, func(y retag) bool { return y.artifact == artifact })
	switch {
	case i < 0:
		m.retags = append(m.retags, r)
	case newerTag(m.retags[i].To, r.To):
		m.retags[i] = r
	}
}

// retagging returns the changes of tags, and the title for them.
func (m *merged) retagging(title string) (all []fix.Retagging, _ string) {
	same := true
	for _, r := range m.retags {
		all = append(all, r.Retagging)
		same = same && r.To == m.retags[0].To
	}
	switch {
	case !same:
		title = "Give each wheel the tag that its libraries need"
	case len(all) > 1:
		title = strings.Replace(title, "Tag the wheel ", "Tag the wheels ", 1)
	}
	return all, title
}

// command returns one command for all findings. A wheel that is extracted, edited and packed has a
// line of its own, because the folder has the same name for all wheels of a project. For wheels in
// several folders, commands with their names enter the folder.
func (m *merged) command() shellword.Line {
	var all []shellword.Line
	var artifacts, folders set[string]
	lines := map[string][]shellword.Line{}
	packs, named := false, false
	for _, c := range m.commands.list {
		if !slices.Contains(all, c.line) {
			all = append(all, c.line)
		}
		artifacts.add(c.artifact)
		folders.add(path.Dir(c.artifact))
		lines[c.artifact] = append(lines[c.artifact], c.line)
		packs = packs || strings.Contains(string(c.line), string(fix.PackWheel))
		named = named || namesFile(c)
	}
	apart := named && len(folders.list) > 1
	if !packs && !apart {
		return join(all)
	}
	var out set[shellword.Line]
	for _, a := range artifacts.list {
		line := join(lines[a])
		if apart && namesFile(command{a, line}) {
			dir, _ := fix.Place(a)
			for _, one := range shellword.Lines(line) {
				out.add(fix.Enter(dir, one))
			}
			continue
		}
		out.add(line)
	}
	return shellword.Join(out.list, "\n")
}

// namesFile reports whether a command contains the file name of its artifact.
func namesFile(c command) bool {
	file := shellword.Quote(shellword.File(path.Base(c.artifact)))
	return strings.Contains(string(c.line), string(file))
}

// none marks requirements that contradict each other.
const none = "!"

func (m *merged) unusable() bool {
	return m.Requirement == none || m.Kind == fix.KindSymver && len(m.commands.list) > maxCommands
}

// join merges the commands of several findings. Common first and last steps, such as unpacking the
// wheel, are done once. patchelf commands that differ only in the file, and installations of
// packages, become one command; others are separate lines.
func join(commands []shellword.Line) shellword.Line {
	if len(commands) == 1 {
		return commands[0]
	}
	if flags := mergeFlags(commands); flags != "" {
		return flags
	}
	steps := make([][]shellword.Line, len(commands))
	for i, c := range commands {
		steps[i] = shellword.Steps(c)
	}
	first, last := steps[0], slices.Clone(steps[0])
	slices.Reverse(last)
	head, tail := len(first), len(first)
	for _, s := range steps[1:] {
		reversed := slices.Clone(s)
		slices.Reverse(reversed)
		head = min(head, common(first, s))
		tail = min(tail, common(last, reversed))
	}
	var middle []shellword.Line
	for _, s := range steps {
		if head+tail < len(s) {
			middle = append(middle, s[head:len(s)-tail]...)
		}
	}
	lines := mergeFiles(middle)
	if head+tail == 0 {
		return shellword.Join(lines[:min(len(lines), maxCommands)], "\n")
	}
	return shellword.Join(slices.Concat(first[:head], lines, first[len(first)-tail:]), " && ")
}

// mergeFlags joins settings of LDFLAGS, of which only the last one would count. It is "" if there
// are other commands.
func mergeFlags(commands []shellword.Line) shellword.Line {
	const before, after shellword.Line = `LDFLAGS="`, `"`
	var flags set[shellword.Line]
	for _, c := range commands {
		s := string(c)
		if !strings.HasPrefix(s, string(before)) || !strings.HasSuffix(s, string(after)) ||
			strings.Contains(s, "\n") || strings.Contains(s, "LDLIBS=") {
			return ""
		}
		flags.add(c[len(before) : len(c)-len(after)])
	}
	return before + shellword.Join(flags.list, " ") + after
}

// common is the number of elements that two lists begin with.
func common(a, b []shellword.Line) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// mergeFiles joins patchelf commands that differ in the file alone, and installations of packages.
func mergeFiles(commands []shellword.Line) []shellword.Line {
	var prefixes set[shellword.Line]
	files := map[shellword.Line][]shellword.Line{}
	for _, c := range commands {
		i := len(c)
		switch prefix := install.FindString(string(c)); {
		case prefix != "":
			i = len(prefix)
		case strings.HasPrefix(string(c), "patchelf "):
			words := shellword.Words(c)
			i = len(c) - len(words[len(words)-1]) - 1
		}
		prefixes.add(c[:i])
		for _, word := range shellword.Words(c[i:]) {
			if !slices.Contains(files[c[:i]], word) {
				files[c[:i]] = append(files[c[:i]], word)
			}
		}
	}
	var lines []shellword.Line
	for _, p := range prefixes.list {
		lines = append(lines, shellword.Join(append([]shellword.Line{p}, files[p]...), " "))
	}
	return lines
}

// tagVersion matches a tag of which only the version of the platform or of Python is set: the kind,
// and the numbers.
var tagVersion = lazyregexp.New(`^(?:-{2}(manylinux|musllinux|macosx)_(\d+)_(\d+)_\w+|(cp3)(\d+)-{2})$`)

// versionOf returns the submatches of tagVersion: the whole tag, the kind and its numbers. It is
// nil for other tags.
func versionOf(to pkgmeta.Tag) []string {
	found := tagVersion.FindStringSubmatch(to.String())
	return slices.DeleteFunc(found, func(s string) bool { return s == "" })
}

// newerTag reports whether the second tag is of the same kind as the first and has a newer version.
func newerTag(old, other pkgmeta.Tag) bool {
	a, b := versionOf(old), versionOf(other)
	return a != nil && b != nil && a[1] == b[1] &&
		slices.CompareFunc(b[2:], a[2:], compareNumbers) > 0
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// effort orders kinds of fixes by the effort for the author, lowest first. If a linker does not
// find a dependency of a library, an edit of the library comes first, because it helps all of its
// users. If other versions were specified than the artifact requires, the required ones come first.
func (g *group) effort(kind string) int {
	if g.kind == linkPath && kind == fix.KindPatchelf ||
		g.kind == otherVersions && kind == fix.KindEnvironment {
		return -1
	}
	return slices.Index([]string{
		fix.KindPlatformTag, fix.KindDependency, fix.KindPin, fix.KindLinkFlag,
		fix.KindPatchelf, fix.KindEnvironment, fix.KindImage, fix.KindSymver, fix.KindRebuild,
		fix.KindSource,
	}, kind)
}

// Intersect returns the requirement that satisfies two requirements of one package:
// torch>=2.5,<2.6 for torch>=2.5 and torch<2.6. ok is false if they contradict each other or
// cannot be parsed.
func Intersect(a, b string) (both string, ok bool) {
	p, err := pkgmeta.ParseRequirement(a)
	if err != nil {
		return "", false
	}
	q, err := pkgmeta.ParseRequirement(b)
	if err != nil || p.Name != q.Name {
		return "", false
	}
	var clauses set[string]
	var low, high bound
	for part := range strings.SplitSeq(p.Spec+","+q.Spec, ",") {
		part = strings.ReplaceAll(strings.TrimSpace(part), " ", "")
		switch {
		case part == "":
		case strings.HasPrefix(part, ">"):
			low.tighten(part, 1)
		case strings.HasPrefix(part, "<"):
			high.tighten(part, -1)
		default:
			clauses.add(part)
		}
	}
	parts := append(append(low.clauses(), high.clauses()...), clauses.list...)
	spec, err := pkgmeta.ParseSpec(strings.Join(parts, ","))
	if err != nil {
		return "", false
	}
	if v, pinned := spec.Pin(); pinned {
		return p.Name + "==" + v.String(), spec.Admits(v)
	}
	if low.text != "" && high.text != "" {
		c := low.version.Compare(high.version)
		if c > 0 || c == 0 && (low.strict || high.strict) {
			return "", false
		}
	}
	return p.Name + strings.Join(parts, ","), true
}

// bound is the tightest lower or upper bound so far.
type bound struct {
	text    string
	version pkgmeta.Version
	strict  bool
}

// tighten replaces b if a bound is tighter: higher for direction 1, lower for -1.
func (b *bound) tighten(clause string, direction int) {
	v, err := pkgmeta.ParseVersion(strings.TrimLeft(clause, "<>="))
	if err != nil {
		return
	}
	strict := !strings.Contains(clause[:2], "=")
	c := direction * v.Compare(b.version)
	if b.text == "" || c > 0 || c == 0 && strict {
		b.text, b.version, b.strict = clause, v, strict
	}
}

func (b *bound) clauses() []string {
	if b.text == "" {
		return nil
	}
	return []string{b.text}
}

func itoa(n int) string { return fmt.Sprint(n) }
