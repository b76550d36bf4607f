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
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

const maxTitle = 120 // characters of a title

// text formats the sentences about a cause.
type text struct {
	*group
	cause   *result.Cause
	report  *result.Report
	options Options
	shown   int // how many libraries are named; 0 = 2
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
		why := "the wheel does not declare"
		if t.extra() {
			why = "only an extra of the wheel requires"
		}
		return fmt.Sprintf("needs %s of %s, which %s", t.libraries(), t.subject, why)
	case system:
		return fmt.Sprintf("needs %s of %s, which not every %s has",
			t.libraries(), t.subject, t.systems())
	case systemLibraries:
		needs := "needs"
		if t.subject != "" {
			needs = t.subject + " needs"
		}
		return fmt.Sprintf("%s %s of the system, which not every %s has",
			needs, t.libraries(), t.systems())
	case missing:
		which := plural(t.libraryCount(), "which is", "which are")
		if strings.HasPrefix(t.subject, "libpython") {
			return fmt.Sprintf("linked against %s, which most interpreters do not have", t.libraries())
		}
		if t.artifact.wheel() {
			return fmt.Sprintf("needs %s, %s neither bundled nor declared", t.libraries(), which)
		}
		return fmt.Sprintf("needs %s, %s neither in the artifact nor on %s",
			t.libraries(), which, t.target())
	case unreachable:
		return fmt.Sprintf("%s not find %s, which the %s contains",
			plural(t.cause.Objects, clip(base(t.all[0].Object), 40)+" does",
				fmt.Sprintf("%d objects do", t.cause.Objects)), t.libraries(), t.holder())
	case linkPath:
		return fmt.Sprintf("linking against %s fails: the linker does not find %s",
			t.objects(), t.libraries())
	case linkFlag:
		return fmt.Sprintf("%s does not link %s, which has %s",
			t.objects(), t.libraries(), t.symbols())
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
		return fmt.Sprintf("no library defines %s, which %s", t.symbols(), t.importedBy())
	}
	return t.ruleTitle()
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
	if tag := t.neededTag(); tag != "" && t.claimed() {
		return fmt.Sprintf("tagged %s, but needs %s", t.target(), tag)
	}
	if len(t.cause.Targets) == 1 && t.all[0].Target != "" {
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
			title = fmt.Sprintf("requires %s, and fails with %s %s", wanted.list[0], q.Name, versions[0])
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
	one, several := "it lacks", "they lack"
	what := t.symbols()
	if f.Symbol == "" {
		one, several = "it does not contain", "they do not contain"
		what = t.libraries()
	}
	if q := t.onlyVersions(); q != "" {
		return fmt.Sprintf("needs %s; other versions %s %s", q, strings.TrimPrefix(several, "they "),
			what)
	}
	title := fmt.Sprintf("fails with %s: %s %s", name, plural(boolRank(many)+1, one, several), what)
	if name == t.subject { // its version is not known
		title = name + strings.TrimPrefix(one, "it") + " " + what
	}
	if full := title + ", which " + t.neededBy(); len(full) <= maxTitle {
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
	case "metadata-mismatch", "wrong-architecture":
		title, _, _ := strings.Cut(f.Message, ". ") // it has both values
		if built, ok := strings.CutPrefix(title, f.Object+" is "); ok {
			title = t.objects() + ": " + built
		}
		return title
	case "no-wheel":
		return fmt.Sprintf("%s has no wheel for %s", t.artifact.project, t.target())
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
	other, local := "CUDA", "+cu"
	if built == "CUDA" {
		other, local = "ROCm", "+rocm"
	}
	for _, target := range t.report.Targets {
		for _, with := range target.With {
			if name, version, _ := strings.Cut(with, "=="); strings.Contains(version, local) {
				return fmt.Sprintf("built for %s, but %s %s is a %s build", built, name, version, other)
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
func (t text) libraries() string { return listed(t.libraryNames(), cmp.Or(t.shown, 2), 40) }

func (t text) libraryCount() int { return len(t.libraryNames()) }

func (t text) libraryNames() []string {
	var names set[string]
	for _, f := range t.all {
		if f.Library != "" {
			names.add(base(f.Library))
		}
	}
	return names.list
}

// symbols returns a symbol and the number of others.
func (t text) symbols() string {
	var names set[string]
	for _, f := range t.all {
		if f.Symbol != "" {
			names.add(f.Symbol)
		}
	}
	if len(names.list) == 0 {
		return "a symbol"
	}
	first := clip(Short(names.list[0], ""), 48)
	if n := len(names.list) - 1; n > 0 {
		return fmt.Sprintf("%s and %s", first, result.Count(n, "more symbol"))
	}
	return first
}

// objects returns the first object and the number of others.
func (t text) objects() string {
	if t.all[0].Object == "" {
		return base(t.artifact.Path)
	}
	first := clip(base(t.all[0].Object), 48)
	if n := t.cause.Objects - 1; n > 0 {
		return fmt.Sprintf("%s and %s", first, result.Count(n, "more object"))
	}
	return first
}

func (t text) neededBy() string {
	return plural(t.cause.Objects, clip(base(t.all[0].Object), 40)+" needs",
		fmt.Sprintf("%d objects need", t.cause.Objects))
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

// action returns who has to act, a sentence about it, and whether the artifact may be shipped.
func (t text) action() (actor result.Actor, action, ship string) {
	x := t.task()
	sentence := map[result.Actor]string{
		result.Builder:   "the builder of " + t.what(),
		result.Installer: "whoever installs " + t.what(),
		result.Upstream:  "the author of " + t.subject,
	}[x.actor] + " should " + x.do + "."
	if t.cause.Severity == result.Error {
		sentence = strings.Replace(sentence, " should ", " has to ", 1)
	}
	return x.actor, strings.ToUpper(sentence[:1]) + sentence[1:], t.ship(x.but)
}

// ship says whether the artifact may be shipped. but says when it does not work although nothing is
// wrong with the artifact.
func (t text) ship(but string) string {
	what := "file"
	if t.artifact.wheel() {
		what = "wheel"
	}
	switch fails := t.cause.Severity == result.Error; {
	case t.all[0].Rule == "no-wheel":
		return ""
	case but == "" && fails:
		where := ""
		if t.kind == tooNew && !t.claimed() && len(t.cause.Targets) == 1 && t.all[0].Target != "" {
			where = " for " + t.target()
		}
		return "Do not ship this " + what + where + "."
	case but == "":
		return "This " + what + " may be shipped, but should be improved."
	case fails:
		return "This " + what + " may be shipped, but " + but + "."
	}
	return "This " + what + " may be shipped; " + but + "."
}

// task is what somebody has to do about a cause.
type task struct {
	actor result.Actor
	do    string
	but   string // see text.ship; "" if something is wrong with the artifact
}

// dependencies says where the builder of a wheel writes a requirement.
const dependencies = " (dependencies in pyproject.toml, or install_requires in setup.py)"

// complete returns a fix with the place where the builder of a wheel writes a requirement, and with
// what the fix costs. If the builder has to limit the versions of a package, the command that
// changes installed packages is the second fix: it helps one user.
func (t text) complete(x result.CauseFix) []result.CauseFix {
	byBuilder := t.cause.Actor == result.Builder && t.artifact.wheel()
	q, err := pkgmeta.ParseRequirement(x.Requirement)
	cost := ""
	switch {
	case byBuilder && err == nil && x.Kind == fix.KindPin:
		x.Title = strings.Replace(x.Title, x.Requirement,
			x.Requirement+" in the metadata of "+t.what()+dependencies, 1)
		if !strings.Contains(x.Requirement, "==") {
			x.Title = strings.Replace(x.Title, "Pin ", "Require ", 1)
		}
		cost = "pip no longer installs it with other versions of " + q.Name
	case byBuilder && err == nil && x.Kind == fix.KindDependency:
		x.Title += dependencies
		cost = "all users have to download it"
	case byBuilder && err == nil && x.Kind == fix.KindEnvironment && t.kind == wrongPackage:
		limit := x
		limit.Kind, limit.Command = fix.KindPin, shellword.Requirement(x.Requirement)
		limit.Title = "Require " + x.Requirement + " in the metadata of " + t.what() + dependencies
		limit.Cost = append([]string{"pip no longer installs it with other versions of " + q.Name},
			x.Cost...)
		x.Title = "Until such a wheel is published, users can install versions that work"
		x.Cost = append(x.Cost, "every user has to do it")
		return []result.CauseFix{limit, x}
	case byBuilder && x.Kind == fix.KindEnvironment && (install.MatchString(string(x.Command)) ||
		strings.HasPrefix(string(x.Command), "pip install ")):
		cost = "every user has to do it"
	case len(x.Cost) > 0:
	case x.Kind == fix.KindEnvironment && t.kind == otherVersions:
		cost = "it replaces the installed versions"
		if but := t.notWith(); but != notWithThese {
			cost = "it replaces " + strings.TrimPrefix(but, notWith)
		}
	case x.Kind == fix.KindEnvironment && install.MatchString(string(x.Command)):
		cost = "it needs administrator rights"
	case x.Kind == fix.KindPatchelf, strings.Contains(string(x.Command), "-m wheel pack "):
		cost = "it has to be repeated after each build"
	case x.Kind == fix.KindImage, x.Kind == fix.KindRebuild && x.Command == "":
		cost = "a rebuild"
	case x.Kind == fix.KindSource:
		cost = "a change of the source and a rebuild"
	}
	if cost != "" {
		x.Cost = append(x.Cost, cost)
	}
	if t.kind == linkPath && t.cause.Objects > 1 {
		x.Title = strings.Replace(x.Title, "in the library,", "in these libraries,", 1)
	}
	return []result.CauseFix{x}
}

// task returns who has to act, what to do, and when it fails.
func (t text) task() task {
	if (t.kind == system || t.kind == missing) && len(t.cause.Fixes) > 0 &&
		t.cause.Fixes[0].Kind == fix.KindDependency {
		return task{result.Builder, "declare the package that provides " +
			plural(t.libraryCount(), "it", "them"), ""}
	}
	switch t.kind {
	case abiChange:
		if t.all[0].Rule == "debian-symbols" {
			return task{result.Builder, "update the symbols file", ""}
		}
		return task{result.Builder, "keep the old interface, or change the SONAME", ""}
	case tooNew:
		if t.private() {
			return task{result.Builder, "avoid the internal symbols of glibc", ""}
		}
		if t.claimed() {
			return task{result.Builder, "correct the tag or build on an older system", ""}
		}
		if len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindSymver {
			return task{result.Builder, "use older versions of the symbols below or build on an older " +
				"system", ""}
		}
		if t.refused() {
			return task{result.Builder, "build on an older system; pip does not install this one there",
				"not for " + t.target()}
		}
		return task{result.Builder, "build on an older system", ""}
	case wrongLibc:
		if t.artifact.wheel() && !t.claimed() {
			return task{result.Builder, "publish another wheel, for " + t.subject +
				"; pip does not install this one there", "not for " + t.target()}
		}
		return task{result.Builder, "publish a build for " + t.subject, ""}
	case otherVersions:
		return task{result.Installer, "install the versions that it requires; " +
			"pip does not install it with others", t.notWith()}
	case wrongPackage:
		if !t.given() {
			return task{result.Builder, "limit the versions of " + t.subject + " that it requires" +
				t.working(), ""}
		}
		if len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindEnvironment {
			return task{result.Installer, "install versions that fit each other", t.notWith()}
		}
		return task{result.Installer, "choose another version of " + t.subject, t.notWith()}
	case undeclared:
		if t.extra() {
			with := "the extra that requires " + t.subject
			if len(t.cause.Fixes) > 1 {
				with = "one of these extras"
			}
			return task{result.Installer, "install it with " + with, "it does not work without an extra"}
		}
		return task{result.Builder, "declare " + t.subject + " as a dependency", ""}
	case system, systemLibraries:
		it := plural(t.libraryCount(), "it", "them")
		return task{result.Installer, "add what provides " + it + " to the system",
			"it works where the system has " + it}
	case missing:
		if strings.HasPrefix(t.subject, "libpython") {
			return task{result.Builder, "link without libpython, since the interpreter provides its " +
				"symbols", ""}
		}
		return task{result.Builder, "bundle what it needs or declare the package that provides it",
			""}
	case unreachable:
		return task{result.Builder, "give these objects a RUNPATH to the libraries", ""}
	case linkPath:
		return task{result.Builder, "let the linker find " +
			t.libraries() + "; programs that only load it are not affected", ""}
	case linkFlag:
		return task{result.Builder, "correct the link line", ""}
	case undefined:
		return task{result.Builder, "link the library that defines " +
			plural(t.cause.Symbols, "it", "them"), ""}
	}
	if do := tasks[t.subject]; do.do != "" {
		if do.but == notWithThese {
			do.but = t.notWith()
		}
		return do
	}
	return task{result.Builder, "change how it is built", ""}
}

const (
	notWith      = "not for use with "
	notWithThese = notWith + "these packages"
)

// notWith returns the package with which the artifact does not work, for text.ship.
func (t text) notWith() string {
	name := t.subject
	if t.kind == otherVersions {
		if q, err := pkgmeta.ParseRequirement(asRequired(t.all[0])[0]); err == nil {
			name = q.Name
		}
	} else if t.all[0].Rule == "gpu-stack-mismatch" {
		name = "torch"
	}
	if versions := t.versions(name); len(versions) == 1 {
		return notWith + name + " " + versions[0]
	}
	return notWithThese
}

// working says which versions of a package work, if findings occur at one end of a range only.
func (t text) working() string {
	ends := map[packages.End]bool{}
	for _, f := range t.all {
		if f.Range != nil {
			ends[f.Range.Fails] = true
		}
	}
	switch {
	case t.all[0].Rule == "numpy-abi-mismatch":
		return "; it works with NumPy 1"
	case len(ends) != 1:
		return ""
	case ends[packages.Highest]:
		return "; it works with older ones"
	}
	return "; it works with newer ones"
}

// extra reports whether the first fix is to install one of the artifact's extras.
func (t text) extra() bool {
	return len(t.cause.Fixes) > 0 &&
		strings.HasPrefix(string(t.cause.Fixes[0].Command), "pip install ")
}

// tasks are what to do about rules that are causes themselves.
var tasks = map[string]task{
	"abi3-violation": {result.Builder, "avoid the function or tag the wheel for a newer Python",
		""},
	"cuda-major-mixed": {result.Installer, "choose packages of one CUDA major version",
		notWithThese},
	"no-wheel":           {result.Installer, "choose a version with a wheel for the platform", ""},
	"executable-stack":   {result.Builder, "link it without an executable stack", ""},
	"gpu-stack-mismatch": {result.Installer, "choose packages for one GPU platform", notWithThese},
	"isa-level":          {result.Builder, "compile for the CPUs that the platform allows", ""},
	"metadata-mismatch":  {result.Builder, "make the metadata and the file name agree", ""},
	"record-mismatch":    {result.Builder, "regenerate RECORD", ""},
	"text-relocations":   {result.Builder, "compile it with -fPIC", ""},
	"wrong-architecture": {result.Builder, "build it for the architecture of its tag", ""},
}

// given reports whether the user specified the package's version, so that the artifact's
// requirement is not the cause.
func (t text) given() bool {
	for _, f := range t.all {
		if f.Range != nil {
			return false
		}
	}
	if !t.artifact.wheel() {
		return true
	}
	for _, q := range t.artifact.Wheel.Requires {
		name := strings.FieldsFunc(q, func(c rune) bool { return strings.ContainsRune(" <>=!~;[(,", c) })
		if len(name) > 0 && strings.EqualFold(strings.NewReplacer("_", "-", ".", "-").Replace(name[0]),
			t.subject) {
			return strings.Contains(q, "==")
		}
	}
	return true
}

func (t text) what() string {
	if t.artifact.wheel() {
		return t.artifact.own
	}
	return base(t.artifact.Path)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// listed returns the first names of a list and the number of others.
func listed(names []string, shown, limit int) string {
	if len(names) == 0 {
		return "a library"
	}
	var out []string
	for _, n := range names[:min(len(names), shown)] {
		out = append(out, clip(n, limit))
	}
	if n := len(names) - len(out); n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), n)
	}
	return strings.Join(out, " and ")
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
