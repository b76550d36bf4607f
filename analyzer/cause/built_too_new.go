package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/result"
)

// TooNew is the kind of artifacts that were built on a newer system than the target.
var TooNew = &Kind{
	Name:      "built-too-new",
	Title:     (*Text).tooNewTitle,
	Short:     (*Text).tooNewReason,
	Task:      (*Text).tooNewTask,
	Why:       (*Text).tooNewWhy,
	Platforms: (*group).tooNewPlatforms,
	Systems:   (*group).systemsWith,
	// The older symbols of an image are of another build too.
	Rejects: func(g *group, m *merged, _ bool) bool {
		return m.Kind == fix.KindImage && g.private()
	},
	Applicable: func(g *group, list []*merged) []*merged {
		loader := 0 // errors of the loader; those of the linker are due to the same build
		for _, f := range g.all {
			loader += boolRank(!g.rules[f.Rule].Linker && !g.guest(f))
		}
		if loader > 0 { // that it works where it was built is no fix for the platform
			list = slices.DeleteFunc(list, func(m *merged) bool {
				_, moves := m.Change.(fix.Retag)
				return moves && m.Kind == fix.KindEnvironment
			})
		}
		for _, m := range list {
			// A change of the tags writes them into WHEEL too.
			if m.ofLoader && m.clears >= loader &&
				(m.Kind == fix.KindImage || m.Kind == fix.KindSymver || m.tags()) {
				m.clears = len(g.all)
			}
		}
		return list
	},
}

func (t *Text) tooNewTitle() string {
	if t.private() {
		return fmt.Sprintf("%s %s symbols that are internal to glibc and match only one build of it",
			t.Objects(), result.Plural(t.cause.Objects, "uses", "use"))
	}
	needs := t.newest()
	if only := t.onlyWith(); only != "" {
		return fmt.Sprintf("needs %s with %s", cmp.Or(t.neededTag(), needs), only)
	}
	if target := t.declaredLibc(needs); target != nil {
		return fmt.Sprintf("declares __glibc >=%s, but needs %s", target.LibcVersion, needs)
	}
	if tag := t.neededTag(); tag != "" && t.claimed() {
		s := fmt.Sprintf("tagged %s, but needs %s", t.target(), tag)
		if t.onlyExtinct() {
			s += ", which every supported system has"
		}
		return s
	}
	switch f := t.First(); {
	case ofMacOS(f):
		if to := t.macOSTag(); to != "" {
			return fmt.Sprintf("tagged %s, but needs %s", cmp.Or(withoutArch(f.Target), t.target()),
				to)
		}
		if built := t.builtFor(); built != "" {
			return fmt.Sprintf("built for macOS %s, which is newer than %s", built, t.target())
		}
		return fmt.Sprintf("needs macOS %s, which is newer than %s", needs, t.target())
	case ofWindows(f):
		return fmt.Sprintf("needs %s; %s includes older releases", windows.Name(needs), f.Target)
	case ofAndroid(f):
		return fmt.Sprintf("needs API level %s; %s includes older ones", needs, f.Target)
	case len(t.cause.Targets) == 1 && f.Target != "":
		return fmt.Sprintf("needs %s, which %s does not have", needs, t.target())
	}
	if version, ok := strings.CutPrefix(needs, "GLIBC_"); ok && version[0] >= '0' &&
		version[0] <= '9' {
		return "needs glibc " + version + " or later"
	}
	return fmt.Sprintf("needs %s, which older systems do not have", needs)
}

func (t *Text) tooNewReason() string {
	needs := t.newest()
	switch {
	case t.private():
		return "uses internals of glibc"
	case ofMacOS(t.First()):
		return "needs " + cmp.Or(t.macOSTag(), "macOS "+cmp.Or(t.builtFor(), needs))
	case ofWindows(t.First()):
		return "needs " + windows.Name(needs)
	case ofAndroid(t.First()):
		return "needs API level " + needs
	case t.neededTag() != "":
		return "needs " + t.neededTag()
	}
	return "needs " + needs
}

func (t *Text) tooNewTask() Task {
	task := Task{Actor: result.Builder, Do: "build on an older system"}
	claimed := t.claimed() && !ofAndroid(t.First())
	if !claimed && len(t.cause.Targets) == 1 && t.First().Target != "" {
		task.Only = t.target()
	}
	switch first := t.firstFix(); {
	case t.private():
		task.Do = "avoid the internal symbols of glibc"
	case t.declaredLibc(t.newest()) != nil:
		task.Do = "declare the glibc that it needs or build on an older system"
	case first == fix.KindDependency:
		task.Do = "declare the package that provides the library"
	case claimed, first == fix.KindPlatformTag:
		task.Do = "correct the tag or build on an older system"
	case first == fix.KindSymver:
		task.Do = "use older versions of the symbols below or build on an older system"
	case t.refused():
		task.Do = "build on an older system"
		task.Because, task.Only, task.Unclaimed = t.Unclaimed(), t.OnUnclaimed(), true
	case ofMacOS(t.First()):
		task.Do = "build it for an older macOS (MACOSX_DEPLOYMENT_TARGET) or claim only newer ones"
	case ofAndroid(t.First()):
		task.Do = "build it for an older API level or claim only newer ones"
	case ofWindows(t.First()):
		task.Do = "look " + result.Plural(t.cause.Symbols, "it", "them") +
			" up at run time (GetProcAddress), so that it also works on older releases"
	}
	return task
}

// onlyExtinct reports whether the artifact fails only on systems that are no longer supported, so
// that the cause is a warning.
func (t *Text) onlyExtinct() bool {
	target, err := platform.Lookup(t.First().Target, "")
	return err == nil && target.Extinct() && t.cause.Severity != result.Error &&
		!t.promised() && !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.OnlyWith != "" || f.Version == "GLIBC_PRIVATE"
	})
}

// tooNewWhy says that the tag claims systems on which a wheel for Linux fails. Of a warning it says
// who is affected.
func (t *Text) tooNewWhy() string {
	fails := t.cause.Fails
	if t.cause.Severity == result.Warning {
		switch only := t.onlyWith(); {
		case only != "":
			return "the file is loaded only with " + only
		case t.private():
			return "it loads, but may misread the data of another build of glibc"
		case t.onlyExtinct():
			return "only systems that are no longer supported are older"
		case t.promised():
			return "it works on the platforms that you named"
		}
		return ""
	}
	if len(fails) == 0 || !isReference(fails[0]) || !t.claimed() {
		return ""
	}
	return "by its tag, pip also installs it where it fails"
}

// costOfTag names the systems that a fix excludes which tags the wheel for newer ones; "" for other
// fixes.
func (t *Text) costOfTag(x fix.Fix) string {
	if t.kind != TooNew || x.Kind != fix.KindPlatformTag || len(x.Retags) == 0 {
		return ""
	}
	tag := x.Retags[0].To.Platform
	for _, r := range x.Retags {
		if r.To.Platform != tag { // what is excluded differs
			return ""
		}
	}
	to, err := platform.Lookup(anyTag.FindString(tag), platform.Architecture(tag))
	if err != nil {
		return ""
	}
	fails, works := t.includes(t.cause.Fails, to), t.includes(t.cause.Works, to)
	switch {
	case works == nil && fails == nil:
		return ""
	case works == nil:
		return "that excludes " + result.And(fails) + ", where it fails now"
	case fails == nil:
		return "that excludes " + result.And(works) + ", where it works"
	}
	return "that excludes " + result.And(fails) + ", where it fails now, and " + result.And(works) +
		", where it works"
}

// costOfImage is the cost of a build in an older image, with the systems that it does not exclude.
func (t *Text) costOfImage() string {
	if t.kind != TooNew || !t.claimed() {
		return fix.KindImage.Cost()
	}
	keeps := t.includes(t.cause.Fails, nil)
	if keeps == nil {
		return fix.KindImage.Cost()
	}
	return fix.KindImage.Cost() + "; choose it to keep " + Listed(keeps, 3, 80, "system")
}

// includes returns those of some systems on which pip installs the wheel by its present tags, and
// which are older than a platform; nil = all of them. It is nil if the tags do not say it.
func (t *Text) includes(systems []string, older *platform.Platform) (out []string) {
	_, oldest := t.oldestTag()
	if oldest == nil {
		return nil
	}
	for _, d := range reference {
		if !slices.Contains(systems, d.title) {
			continue
		}
		p, err := platform.Lookup(d.name, oldest.Arch)
		if err == nil && p.Libc == oldest.Libc && !platform.Older(p.LibcVersion, oldest.LibcVersion) &&
			(older == nil || platform.Older(p.LibcVersion, older.LibcVersion)) {
			out = append(out, d.title)
		}
	}
	return out
}

// macOSTag returns the tag that the first fix which changes tags gives a wheel for macOS:
// "macosx_13_0"; "" if there is none. It covers the symbols, what files were built for, and that
// tags since macOS 11 have no minor version, so the texts need no other number.
func (t *Text) macOSTag() string {
	for _, x := range t.cause.Fixes {
		for _, r := range x.Retags {
			if to := withoutArch(r.To.Platform); to != "" {
				return to
			}
		}
	}
	return ""
}

// coversGuests reports whether the title has the tag for macOS, which is also the answer to what
// other rules found about the macOS that files are for.
func (t *Text) coversGuests() bool {
	return t.kind == TooNew && t.macOSTag() != "" && !slices.ContainsFunc(t.all,
		func(f *result.Finding) bool { return t.guest(f) && (!ofMacOS(f) || f.Version == "") })
}

// withoutArch returns a tag for macOS without its architecture: "macosx_13_0"; "" for others.
func withoutArch(platformTag string) string {
	tag := platform.ParseTag(platformTag)
	if tag.System != platform.TagMacOS {
		return ""
	}
	return fmt.Sprintf("%s_%d_%d", tag.Family, tag.Version[0], tag.Version[1])
}

// tooNewPlatforms looks the symbol versions up in all distributions. macOS has only its own, and
// the title names the release of Windows. If a tag for macOS has to be newer than the symbols, that
// of the title is enough.
func (g *group) tooNewPlatforms(r *result.Report) (fails, works []string) {
	if g.private() || ofWindows(g.all[0]) {
		return nil, nil // of glibc's internals, another build of the same release may fail
	}
	version := g.newest() // the first release that has the symbol
	switch {
	case ofMacOS(g.all[0]) && version != "":
		if major := numbers(version)[0]; g.builtFor() != "" || major > 10 && minorOf(version) > 0 {
			return nil, nil
		}
		return []string{"macOS before " + version}, []string{"macOS " + version + " and later"}
	case ofAndroid(g.all[0]) && version != "":
		return []string{"Android before API level " + version}, []string{"API level " + version +
			" and later"}
	case ofMacOS(g.all[0]), ofAndroid(g.all[0]):
		return nil, nil
	}
	fails, works = g.platforms(r, g.lacksNode(), true)
	switch {
	case len(fails) > 0:
		return fails, works
	case g.artifact.wheel() && len(works) > 0 && g.all[0].Target != "":
		return []string{g.leastSystems(reference[0].name)}, works // only systems that are not listed
	}
	return nil, nil
}

// systemsWith returns on how many systems with the C library of the target a symbol version exists.
func (g *group) systemsWith(version string) (n int) {
	arch, libc := platform.Architecture(g.all[0].Target), ""
	if target, err := platform.Lookup(g.all[0].Target, arch); err == nil {
		libc = target.Libc
	}
	for _, p := range platform.WithVersions(arch, version) {
		n += boolRank(p.Libc == libc)
	}
	return n
}

// onlyWith returns the hardware that the findings are about, if that is all of them; see
// result.Finding.
func (g *group) onlyWith() string {
	only := g.all[0].OnlyWith
	if slices.ContainsFunc(g.all, func(f *result.Finding) bool { return f.OnlyWith != only }) {
		return ""
	}
	return only
}

// private reports whether all symbols are internal ones of glibc.
func (g *group) private() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		return f.Version != "GLIBC_PRIVATE"
	})
}

// claimed reports whether a tag of the wheel promises that it works on the target. The user may
// have specified an older one, where pip does not install the wheel (refused).
func (t *Text) claimed() bool {
	target, oldest := t.oldestTag()
	return oldest != nil && !platform.Older(target.LibcVersion, oldest.LibcVersion)
}

func (t *Text) refused() bool {
	target, oldest := t.oldestTag()
	return oldest != nil && platform.Older(target.LibcVersion, oldest.LibcVersion)
}

// declaredLibc returns the platform of the glibc that a conda package declares, if the version that
// it needs is one of a newer glibc; nil for others.
func (t *Text) declaredLibc(needs string) *platform.Platform {
	if t.firstFix() != fix.KindDependency || !strings.HasPrefix(needs, "GLIBC_") {
		return nil
	}
	target, err := platform.Lookup(t.First().Target, "")
	if err != nil {
		return nil
	}
	return target
}

// oldestTag returns the target and the oldest of the wheel's tags with its C library. oldest is nil
// if the target is no policy, or the wheel has no such tag.
func (t *Text) oldestTag() (target, oldest *platform.Platform) {
	target, err := platform.Lookup(t.First().Target, "")
	if err != nil || target.Kind != platform.Policy || !t.artifact.wheel() {
		return nil, nil
	}
	var tags []string
	for _, tag := range t.artifact.Wheel.Tags {
		tags = append(tags, pkgmeta.SplitTag(tag).Platform)
	}
	return target, platform.OldestTag(tags, target.Arch, target.Libc)
}

// neededTag returns the oldest tag with all required versions, or "".
func (t *Text) neededTag() string {
	for _, x := range t.cause.Fixes {
		if x.Kind == fix.KindPlatformTag {
			for _, r := range x.Retags {
				if tag := anyTag.FindString(r.To.Platform); tag != "" {
					return platform.Title(tag)
				}
			}
		}
	}
	var versions set[string]
	for _, f := range t.all {
		if f.Version != "" {
			versions.add(f.Version)
		}
	}
	arch := platform.Architecture(t.First().Target)
	for _, p := range platform.WithVersions(arch, versions.list...) {
		if p.Kind == platform.Policy {
			return platform.Title(p.Name)
		}
	}
	return ""
}

// newest returns the newest required symbol version, preferably of glibc.
func (g *group) newest() string {
	best := ""
	for _, f := range g.all {
		if f.Version != "" && !g.guest(f) && (best == "" || older(best, f.Version)) {
			best = f.Version
		}
	}
	return best
}

// builtFor returns the macOS that files of the wheel are built for, if that is newer than the one
// that has the symbols; "" if none is. A tag for an older one would be a false promise too.
func (g *group) builtFor() (built string) {
	for _, f := range g.all {
		if g.guest(f) && ofMacOS(f) && older(cmp.Or(built, g.newest()), f.Version) {
			built = f.Version
		}
	}
	return built
}

// older reports whether a symbol version is less relevant than another one: it is not of glibc,
// or has a lower number.
func older(node, other string) bool {
	a, b := strings.HasPrefix(node, "GLIBC_"), strings.HasPrefix(other, "GLIBC_")
	if a != b {
		return b
	}
	return slices.Compare(numbers(node), numbers(other)) < 0
}

// minorOf returns the second number of a version; 0 if it has none.
func minorOf(version string) int {
	if n := numbers(version); len(n) > 1 {
		return n[1]
	}
	return 0
}

func numbers(node string) (out []int) {
	for _, part := range strings.FieldsFunc(node, func(c rune) bool { return c < '0' || c > '9' }) {
		n := 0
		for _, d := range part[:min(len(part), 6)] {
			n = n*10 + int(d-'0')
		}
		out = append(out, n)
	}
	return out
}
