package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	maxTitle = 120 // characters of a title
	counted  = -1  // value of shown: lists of several names are only counted
)

// text formats the sentences about a cause.
type text struct {
	*group
	cause   *result.Cause
	report  *result.Report
	options Options
	shown   int // how many names the title gives of each list; 0 = the usual number
	room    int // for the title
}

// fullTitle returns the title. In a report about an environment it names the packages that fail.
func (t text) fullTitle() string {
	if !t.pinned() {
		return t.title()
	}
	return cmp.Or(t.manyTitle(), t.withPackages())
}

// title returns a sentence without the artifact's name, which precedes it.
func (t text) title() string {
	switch t.kind {
	case tooNew:
		return t.tooNewTitle()
	case wrongLibc:
		return fmt.Sprintf("built for %s; %s uses %s", t.builtFor(), t.target(), t.subject)
	case otherVersions:
		return t.otherVersionsTitle()
	case wrongPackage:
		return t.packageTitle()
	case undeclared:
		return fmt.Sprintf("needs %s of %s, which the wheel does not declare", t.libraries(), t.subject)
	case ofExtras:
		return t.extrasTitle()
	case system:
		if one := t.oneRelease(); one != "" && t.installedOn() {
			return fmt.Sprintf("needs %s, of which %s has none", one, t.target())
		} else if one != "" {
			return fmt.Sprintf("needs %s, which not every %s has", one, t.systems())
		}
		if t.installedOn() {
			return fmt.Sprintf("needs %s of %s, which %s does not have", t.libraries(), t.subject,
				t.target())
		}
		return fmt.Sprintf("needs %s of %s, which not every %s has",
			t.libraries(), t.subject, t.systems())
	case systemLibraries:
		needs := "needs"
		if t.subject != "" {
			needs = t.subject + " needs"
		}
		if t.installedOn() {
			return fmt.Sprintf("%s %s of the system, which %s does not have", needs, t.libraries(),
				t.target())
		}
		return fmt.Sprintf("%s %s of the system, which not every %s has",
			needs, t.libraries(), t.systems())
	case missing:
		which := plural(t.libraryCount(), "which is", "which are")
		switch {
		case t.unknown():
			return fmt.Sprintf("needs %s, %s not bundled; a package that may have %s could not be looked up",
				t.libraries(), which, plural(t.libraryCount(), "it", "them"))
		case t.artifact.wheel():
			return fmt.Sprintf("needs %s, %s neither bundled nor declared", t.libraries(), which)
		}
		return fmt.Sprintf("needs %s, %s neither in the artifact nor on %s",
			t.libraries(), which, t.target())
	case libraryPath:
		return fmt.Sprintf("%s %s %s by %s of the build machine", t.needing(),
			plural(t.cause.Objects, "needs", "need"), t.libraries(),
			plural(t.libraryCount(), "a path", "paths"))
	case interpreter:
		return fmt.Sprintf("%s %s %s, which only some installations of Python have", t.objects(),
			plural(t.cause.Objects, "links", "link"), t.libraries())
	case stringABI:
		return fmt.Sprintf("%s %s with another std::string ABI than %s", t.importedBy(), t.symbols(),
			t.libraries())
	case unreachable:
		return fmt.Sprintf("%s not find %s, which the %s contains",
			plural(t.cause.Objects, clip(base(t.all[0].Object), 40)+" does",
				fmt.Sprintf("%d objects do", t.cause.Objects)), t.libraries(), t.holder())
	case linkPath:
		return fmt.Sprintf("linking against %s fails: the linker does not find %s",
			t.objects(), t.libraries())
	case linkFlag:
		return fmt.Sprintf("%s %s not link %s, which %s %s",
			t.objects(), plural(t.cause.Objects, "does", "do"), t.libraries(),
			plural(t.libraryCount(), "has", "have"), t.symbols())
	case abiChange:
		return t.abiTitle()
	case undefined:
		if t.libraryCount() == 1 && strings.HasPrefix(t.all[0].Rule, "symbol-missing") {
			where := ""
			if t.all[0].Rule == "symbol-missing-in-folder" {
				where = " on the search path"
			}
			return fmt.Sprintf("the %s%s lacks %s, which %s",
				t.libraries(), where, t.symbols(), t.neededBy())
		}
		if t.otherVersion() {
			return fmt.Sprintf("%s has another version than %s of %s, which %s", t.libraries(),
				t.all[0].Version, t.symbols(), t.importedBy())
		}
		if t.hides() {
			return fmt.Sprintf("%s %s not export %s, which %s", t.libraries(),
				plural(t.libraryCount(), "does", "do"), t.symbols(), t.importedBy())
		}
		if t.lacking() {
			return fmt.Sprintf("%s %s %s, which %s", t.libraries(),
				plural(t.libraryCount(), "lacks", "lack"), t.symbols(), t.importedBy())
		}
		if t.all[0].NotExported != "" {
			return fmt.Sprintf("no library exports %s, which %s", t.symbols(), t.importedBy())
		}
		return fmt.Sprintf("no library defines %s, which %s", t.symbols(), t.importedBy())
	}
	return t.ruleTitle()
}

// unknown reports whether the findings depend on packages that could not be looked up.
func (g *group) unknown() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool { return !f.Unknown })
}

// oneRelease returns the project of the system with the releases of which an artifact needs one,
// because it has variants of its objects for them: "FFmpeg 4, 5 or 6". It is "" for others.
func (t text) oneRelease() string {
	of := map[string]string{} // release by object
	variants := map[string]*set[string]{}
	for _, f := range t.all {
		p, _ := platform.ProviderOf(base(f.Library))
		r, ok := strings.CutPrefix(p.Project, t.subject+" ")
		if !ok || strings.Contains(r, " ") {
			continue
		}
		if was := of[f.Object]; was != "" && was != r {
			return ""
		}
		of[f.Object] = r
		name := strings.ReplaceAll(f.Object, r, "")
		if variants[name] == nil {
			variants[name] = &set[string]{}
		}
		variants[name].add(r)
	}
	var all set[string]
	for _, s := range variants {
		if len(s.list) == 1 {
			return ""
		}
		for _, r := range s.list {
			all.add(r)
		}
	}
	if all.list == nil {
		return ""
	}
	slices.SortFunc(all.list, compareNumbers)
	last := len(all.list) - 1
	return t.subject + " " + strings.Join(all.list[:last], ", ") + " or " + all.list[last]
}

// abiTitle returns the first sentence of the finding, with the name of the earlier build.
func (t text) abiTitle() string {
	f := t.all[0]
	title, _, _ := strings.Cut(f.Message, ". ")
	title = strings.TrimPrefix(title, f.Object+": ")
	title = strings.ReplaceAll(title, f.Object, base(f.Object))
	if f.Rule == "exported-symbol-removed" {
		title = fmt.Sprintf("%s no longer exports %s", f.Library, t.symbols())
		if n := strings.Index(f.Message, " symbols, but keeps"); n > 0 {
			count := f.Message[strings.LastIndexByte(f.Message[:n], ' ')+1 : n]
			title = fmt.Sprintf("%s no longer exports %s symbols", f.Library, count)
		}
	} else if !strings.Contains(title, f.Library) {
		title = f.Library + ": " + title
	}
	since := " (since " + strings.Join(f.Against, ", ") + ")"
	return shorten(title, maxTitle-len(since)) + since
}

// private reports whether all symbols are internal ones of glibc.
func (g *group) private() bool {
	return !slices.ContainsFunc(g.all, func(f *result.Finding) bool {
		return f.Version != "GLIBC_PRIVATE"
	})
}

func (t text) tooNewTitle() string {
	if t.private() {
		return fmt.Sprintf("%s %s symbols that are internal to glibc and match only one build of it",
			t.objects(), plural(t.cause.Objects, "uses", "use"))
	}
	needs := t.newest()
	if target := t.declaredLibc(needs); target != nil {
		return fmt.Sprintf("declares __glibc >=%s, but needs %s", target.LibcVersion, needs)
	}
	if tag := t.neededTag(); tag != "" && t.claimed() {
		return fmt.Sprintf("tagged %s, but needs %s", t.target(), tag)
	}
	switch target := t.all[0].Target; {
	case strings.HasPrefix(target, "macos"):
		return fmt.Sprintf("needs macOS %s, which is newer than %s", needs, t.target())
	case strings.HasPrefix(target, "win"):
		return fmt.Sprintf("needs %s; %s includes older releases", windows.Name(needs), target)
	case len(t.cause.Targets) == 1 && target != "":
		return fmt.Sprintf("needs %s, which %s does not have", needs, t.target())
	}
	if version, ok := strings.CutPrefix(needs, "GLIBC_"); ok && version[0] >= '0' &&
		version[0] <= '9' {
		return "needs glibc " + version + " or later"
	}
	return fmt.Sprintf("needs %s, which older systems do not have", needs)
}

// claimed reports whether a tag of the wheel promises that it works on the target. The user may
// have specified an older one, where pip does not install the wheel (refused).
func (t text) claimed() bool {
	target, oldest := t.oldestTag()
	return oldest != nil && !platform.Older(target.LibcVersion, oldest.LibcVersion)
}

// declaredLibc returns the platform of the glibc that a conda package declares, if the version that
// it needs is one of a newer glibc; nil for others.
func (t text) declaredLibc(needs string) *platform.Platform {
	if len(t.cause.Fixes) == 0 || t.cause.Fixes[0].Kind != fix.KindDependency ||
		!strings.HasPrefix(needs, "GLIBC_") {
		return nil
	}
	target, err := platform.Lookup(t.all[0].Target, "")
	if err != nil {
		return nil
	}
	return target
}

func (t text) refused() bool {
	target, oldest := t.oldestTag()
	return oldest != nil && platform.Older(target.LibcVersion, oldest.LibcVersion)
}

// oldestTag returns the target and the oldest of the wheel's tags with its C library. oldest is nil
// if the target is no policy, or the wheel has no such tag.
func (t text) oldestTag() (target, oldest *platform.Platform) {
	target, err := platform.Lookup(t.all[0].Target, "")
	if err != nil || target.Kind != platform.Policy || !t.artifact.wheel() {
		return nil, nil
	}
	var tags []string
	for _, tag := range t.artifact.Wheel.Tags { // python-abi-platform
		tags = append(tags, tag[strings.LastIndexByte(tag, '-')+1:])
	}
	return target, platform.OldestTag(tags, target.Arch, target.Libc)
}

// neededTag returns the oldest tag with all required versions, or "".
func (t text) neededTag() string {
	for _, x := range t.cause.Fixes {
		if x.Kind == fix.KindPlatformTag {
			if tag := anyTag.FindString(x.Title + " " + string(x.Command)); tag != "" {
				return platform.Title(strings.TrimSuffix(tag, "_"+platform.Architecture(t.all[0].Target)))
			}
		}
	}
	var versions set[string]
	for _, f := range t.all {
		if f.Version != "" {
			versions.add(f.Version)
		}
	}
	arch := platform.Architecture(t.all[0].Target)
	for _, p := range platform.WithVersions(arch, versions.list...) {
		if p.Kind == platform.Policy {
			return platform.Title(p.Name)
		}
	}
	return ""
}

var anyTag = lazyregexp.New(`(?:many|musl)linux(?:_\d+_\d+|\d+)`)

// newest returns the newest required symbol version, preferably of glibc.
func (t text) newest() string {
	best := ""
	for _, f := range t.all {
		if f.Version == "" {
			continue
		}
		if best == "" || older(best, f.Version) {
			best = f.Version
		}
	}
	return best
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

// builtFor returns the other libc.
func (t text) builtFor() string {
	if t.subject == "musl" {
		return "glibc"
	}
	return "musl"
}

// otherVersionsTitle returns a title with the required versions and the specified ones.
func (t text) otherVersionsTitle() string {
	var wanted set[string]
	for _, f := range t.all {
		for _, q := range asRequired(f) {
			wanted.add(q)
		}
	}
	title := "requires " + wanted.list[0]
	if q, err := pkgmeta.ParseRequirement(wanted.list[0]); err == nil {
		if versions := t.versions(q.Name); len(versions) == 1 {
			title += fmt.Sprintf(", and fails with %s %s", q.Name, versions[0])
			if t.shown != 0 {
				title = fmt.Sprintf("requires %s, not %s", wanted.list[0], versions[0])
			}
		}
	}
	if n := len(wanted.list) - 1; n > 0 {
		title += fmt.Sprintf(" (and %s of other versions)", result.Count(n, "more package"))
	}
	return title
}

func (t text) packageTitle() string {
	f := t.all[0]
	name, many := t.release()
	if f.Rule == "numpy-abi-mismatch" {
		switch {
		case f.Range != nil:
			return "works only with NumPy 1; fails with " + name
		case name == "numpy":
			name = "NumPy 2"
		}
		return "built against NumPy 1, fails with " + name
	}
	one, several := "lacks", "lack"
	what := t.symbols()
	if f.Symbol == "" {
		one, several = "does not contain", "do not contain"
		what = t.libraries()
	}
	if q := t.onlyVersions(); q != "" {
		return fmt.Sprintf("needs %s; other versions %s %s", q, several, what)
	}
	title := fmt.Sprintf("fails with %s, which %s %s", name, plural(boolRank(many)+1, one, several),
		what)
	if name == t.subject { // its version is not known
		title = fmt.Sprintf("%s %s %s", name, one, what)
	}
	if full := title + ", needed by " + t.needing(); len(full) <= t.room {
		return full
	}
	return title
}

// onlyVersions returns the requirement with a lower and an upper bound that removes the
// findings at both ends of a range, or "" if they occur at one end only.
func (t text) onlyVersions() string {
	ends := map[packages.End]bool{}
	for _, f := range t.all {
		if f.Range != nil {
			ends[f.Range.Fails] = true
		}
	}
	if len(ends) < 2 || len(t.cause.Fixes) == 0 || !t.cause.Fixes[0].Verified {
		return ""
	}
	return t.cause.Fixes[0].Requirement
}

// release returns the package with the version that was checked, or with the versions that
// fail. many is set if there are several.
func (t text) release() (name string, many bool) {
	for _, f := range t.all {
		if r := f.Range; r != nil && r.Package == t.subject {
			if r.Fails == "highest" {
				return r.Package + " " + r.First + " and later", true
			}
			return r.Package + " " + r.Before + " and earlier", true
		}
	}
	if versions := t.versions(t.subject); len(versions) == 1 {
		return t.subject + " " + versions[0], false
	}
	return t.subject, false
}

// versions returns the versions of a package with which the artifacts were checked.
func (t text) versions(pkg string) []string {
	var versions set[string]
	for _, target := range t.report.Targets {
		for _, with := range target.With {
			if name, version, ok := strings.Cut(with, "=="); ok && name == pkg {
				versions.add(version)
			}
		}
	}
	for _, a := range t.report.Artifacts { // it was given too
		if w := a.Wheel; w != nil && pkgmeta.Normalize(w.Name) == pkg && a.Path != t.artifact.Path {
			versions.add(w.Version)
		}
	}
	return versions.list
}

func (t text) ruleTitle() string {
	f := t.all[0]
	switch f.Rule {
	case "abi3-violation":
		return fmt.Sprintf("uses %s, which %s not in the stable ABI of %s",
			t.symbols(), plural(t.cause.Symbols, "is", "are"), t.abi3())
	case "gpu-stack-mismatch":
		return t.gpuTitle()
	case "cuda-major-mixed":
		title, _, _ := strings.Cut(f.Message, ". ")
		return strings.TrimPrefix(title, f.Object+" ")
	case unmetRule:
		return t.unmet()
	case conflictRule:
		title, _, _ := strings.Cut(f.Message, ". ")
		if len(title) > t.room {
			title = strings.ReplaceAll(title, f.Object, base(f.Object))
		}
		if len(title) > t.room {
			title, _, _ = strings.Cut(title, ", such as ")
		}
		return title
	case "metadata-mismatch", "wrong-architecture":
		title, _, _ := strings.Cut(f.Message, ". ") // it has both values
		if built, ok := strings.CutPrefix(title, f.Object+" is "); ok {
			title = t.objects() + ": " + built
		}
		return title
	case "broken-installation":
		return t.broken()
	case "no-wheel":
		if len(t.all) > 1 {
			return t.withoutWheels()
		}
		title, _, _ := strings.Cut(f.Message, "; ")
		return title
	case "hash-mismatch":
		title, _, _ := strings.Cut(f.Message, "; ")
		return title
	case excludedRule:
		return t.excluded()
	case "support-removed":
		if len(t.all) > 1 {
			return fmt.Sprintf("%s has no wheel for %d platforms that had one", f.Object, len(t.all))
		}
		return f.Object + " has no wheel for " + f.Version
	}
	title := ""
	if t.options.RuleTitle != nil {
		title = t.options.RuleTitle(f.Rule)
	}
	if title == "" {
		title = strings.ReplaceAll(f.Rule, "-", " ")
	}
	if f.Object == "" {
		return title
	}
	return t.objects() + ": " + title
}

// excludedRule reports that pip does not install a wheel on a platform that the user named.
const excludedRule = "tag-excludes-platform"

// excluded returns the first sentence of the finding with both systems; for several platforms with
// their names.
func (t text) excluded() string {
	title, _, _ := strings.Cut(t.all[0].Message, ". ")
	if head, tag, ok := strings.Cut(title, ": its tag, "); ok { // what follows has only what it is for
		tag, _, _ = strings.Cut(tag, ",")
		title = head + ": its tag is " + tag
	}
	var on set[string]
	for _, f := range t.all {
		on.add(platform.Title(f.Target))
	}
	if start, tag, ok := strings.Cut(title, ": "); ok && len(on.list) > 1 {
		start, _, _ = strings.Cut(start, " on ")
		title = start + " on " + result.List(on.list, 3, len(on.list), "platform") + ": " + tag
	}
	return title
}

// gpuTitle returns a title with the GPU stack of the artifact, and the package for another one.
func (t text) gpuTitle() string {
	built := "ROCm"
	for _, name := range t.libraryNames() {
		for _, word := range []string{"cuda", "libcu", "libnv", "nccl"} {
			if strings.Contains(name, word) {
				built = "CUDA"
			}
		}
	}
	for _, target := range t.report.Targets {
		for _, with := range target.With {
			name, version, _ := strings.Cut(with, "==")
			for _, b := range [][2]string{{"+cu", "CUDA"}, {"+rocm", "ROCm"}, {"+cpu", "CPU"}} {
				if b[1] != built && strings.Contains(version, b[0]) {
					return fmt.Sprintf("built for %s, but %s %s is a %s build", built, name, version, b[1])
				}
			}
		}
	}
	return fmt.Sprintf("built for %s, but the installed packages are not", built)
}

// abi3 returns the stable ABI version in the wheel's tag.
func (t text) abi3() string {
	if t.artifact.wheel() {
		oldest := ""
		for _, tag := range t.artifact.Wheel.Tags {
			python, rest, _ := strings.Cut(tag, "-")
			version, ok := strings.CutPrefix(python, "cp3")
			if ok && strings.HasPrefix(rest, "abi3-") &&
				(oldest == "" || compareNumbers(version, oldest) < 0) {
				oldest = version
			}
		}
		if oldest != "" {
			return "Python 3." + oldest
		}
	}
	return "the tagged Python"
}

// target returns the platform of the first finding.
func (t text) target() string {
	if target := t.all[0].Target; target != "" {
		return platform.Title(target)
	}
	return "the platform"
}

// systems returns what the systems of the platform are called.
func (t text) systems() string {
	if t.all[0].Target == "" {
		return "system"
	}
	return t.target() + " system"
}

// libraries returns up to two library names and the number of others.
func (t text) libraries() string { return t.some(t.libraryNames(), 2, 40, "library") }

// some returns the first names of a list and the number of others, or only their number.
func (t text) some(names []string, usual, limit int, noun string) string {
	if t.shown == counted && len(names) > 1 {
		return result.Count(len(names), noun)
	}
	return listed(names, cmp.Or(max(t.shown, 0), usual), limit, noun)
}

func (t text) libraryCount() int { return len(t.libraryNames()) }

func (t text) libraryNames() []string {
	var names set[string]
	for _, f := range t.all {
		switch {
		case f.Library != "":
			names.add(base(f.Library))
		case (t.kind == linkFlag || t.kind == undefined) && f.ProvidedBy != nil:
			names.add(base(*f.ProvidedBy))
		}
	}
	return names.list
}

// lacking reports whether the object links the libraries that should have the symbols.
func (t text) lacking() bool {
	return !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		_, linked := t.artifact.linked(f)
		return linked != yes
	})
}

// hides reports whether the libraries have the symbols, but do not export them.
func (t text) hides() bool {
	return !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.NotExported == "" || f.NotExported != f.Library
	})
}

// otherVersion reports whether these libraries have the symbols in another version than the object
// was linked with.
func (t text) otherVersion() bool {
	f := t.all[0]
	return t.lacking() && f.ProvidedBy != nil && f.Version != ""
}

// symbols returns a symbol and the number of others.
func (t text) symbols() string {
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

// objects returns the first object and the number of others.
func (t text) objects() string {
	if t.all[0].Object == "" {
		return base(t.artifact.Path)
	}
	n := t.cause.Objects
	if t.shown == counted && n > 1 {
		return result.Count(n, "object")
	}
	first := clip(base(t.all[0].Object), 48)
	if n > 1 {
		return fmt.Sprintf("%s and %s", first, result.Count(n-1, "more object"))
	}
	return first
}

func (t text) neededBy() string {
	return t.needing() + plural(t.cause.Objects, " needs", " need")
}

// needing returns the object, or the number of objects.
func (t text) needing() string {
	return plural(t.cause.Objects, clip(base(t.all[0].Object), 40),
		fmt.Sprintf("%d objects", t.cause.Objects))
}

func (t text) importedBy() string {
	return plural(t.cause.Objects, clip(base(t.all[0].Object), 40)+" imports",
		fmt.Sprintf("%d objects import", t.cause.Objects))
}

func (t text) holder() string {
	if t.artifact.wheel() {
		return "wheel"
	}
	return "artifact"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// listed returns the first names of a list and the number of others. noun is what they name.
func listed(names []string, shown, limit int, noun string) string {
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
