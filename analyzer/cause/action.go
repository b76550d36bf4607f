package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

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
	return x.actor, strings.ToUpper(sentence[:1]) + sentence[1:], t.ship(x.because)
}

// ship says whether the artifact may be shipped. because is the reason why it may be, although it
// fails: nothing is wrong with the artifact.
func (t text) ship(because string) string {
	what := "file"
	if t.artifact.wheel() {
		what = "wheel"
	}
	switch {
	case t.artifact.Misnamed():
		return "Do not ship this wheel: pip does not install a file of this name."
	case slices.Contains([]string{"no-wheel", "hash-mismatch", "support-removed"}, t.all[0].Rule):
		return ""
	case t.unknown():
		return "Whether this " + what + " may be shipped is not known."
	case because != "":
		return "The " + what + " itself may be shipped: " + because + "."
	case t.cause.Severity != result.Error && t.works() != "":
		return "This " + what + " may be shipped, since it works with " + t.works() + "."
	case t.cause.Severity != result.Error && t.promised():
		return "By its tag, pip also installs this wheel where it fails: correct the tag before you " +
			"publish it."
	case t.cause.Severity != result.Error:
		return "This " + what + " may be shipped, but should be improved."
	}
	where := ""
	if t.kind == tooNew && !t.claimed() && len(t.cause.Targets) == 1 && t.all[0].Target != "" {
		where = " for " + t.target()
	}
	return "Do not ship this " + what + where + "."
}

// promised reports whether the artifact fails only on the platform of a tag, and the user named
// others.
func (t text) promised() bool {
	return t.artifact.wheel() && !slices.ContainsFunc(t.all, func(f *result.Finding) bool {
		return f.Target == "" || slices.ContainsFunc(t.report.Targets, func(x result.Target) bool {
			return x.Name == f.Target
		})
	})
}

// works returns the versions of a dependency that work if others that the artifact requires do not,
// and both: "numpy 1.23.2 to 1.26.4, but it also allows 2.0.0 and later, which fail". It is "" if
// they are not known.
func (t text) works() string {
	r := t.all[0].Range
	if t.kind != wrongPackage || r == nil || t.onlyVersions() != "" {
		return ""
	}
	works, fails := r.Lowest+" to "+r.Before, r.First+" and later"
	if r.Fails == packages.Lowest {
		works, fails = r.First+" to "+r.Highest, r.Before+" and earlier"
	}
	return fmt.Sprintf("%s %s, but its requirement %s also allows %s, with which it fails",
		r.Package, works, r.Requirement, fails)
}

// task is what somebody has to do about a cause.
type task struct {
	actor   result.Actor
	do      string
	because string // see text.ship; "" if something is wrong with the artifact
}

// dependencies says where the builder of a wheel writes a requirement.
const dependencies = " (dependencies in pyproject.toml or setup.py)"

// newRelease is the cost of a change that does not change the name of the wheel: who has the file
// already does not get the new one.
const newRelease = "a new release or build number if it is published"

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
		limit.Cost = slices.Concat([]string{"pip no longer installs it with other versions of " + q.Name},
			x.Cost, []string{newRelease})
		x.Title = "Until such a wheel is published, users can install versions that work"
		x.Cost = append(x.Cost, "every user has to do it")
		return []result.CauseFix{limit, x}
	case byBuilder && x.Kind == fix.KindEnvironment && (install.MatchString(string(x.Command)) ||
		strings.HasPrefix(string(x.Command), "pip install ")):
		cost = "every user has to do it"
	case len(x.Cost) > 0:
	case x.Kind == fix.KindEnvironment && t.kind == otherVersions:
		cost = "it replaces the installed versions"
		if wrong := t.wrongVersion(); wrong != "" {
			cost = "it replaces " + wrong
		}
	case x.Kind == fix.KindEnvironment && install.MatchString(string(x.Command)) &&
		!strings.HasPrefix(string(x.Command), "brew "):
		cost = "it needs administrator rights"
	case x.Kind == fix.KindPatchelf, strings.Contains(string(x.Command), string(fix.PackWheel)):
		cost = "it has to be repeated after each build"
	case x.Kind == fix.KindImage, x.Kind == fix.KindRebuild && x.Command == "":
		cost = "a rebuild"
	case x.Kind == fix.KindSource:
		cost = "a change of the source and a rebuild"
	}
	if cost != "" {
		x.Cost = append(x.Cost, cost)
	}
	if byBuilder && t.keepsName(x) {
		x.Cost = append(x.Cost, newRelease)
	}
	if t.kind == linkPath && t.cause.Objects > 1 {
		x.Title = strings.Replace(x.Title, "in the library,", "in these libraries,", 1)
	}
	return []result.CauseFix{x}
}

// keepsName reports whether a fix changes the metadata or the files of a wheel, but not its name.
func (t text) keepsName(x result.CauseFix) bool {
	switch x.Kind {
	case fix.KindPlatformTag:
		return false
	case fix.KindPin, fix.KindDependency:
		return x.Requirement != ""
	}
	return strings.Contains(string(x.Command), string(fix.PackWheel))
}

// task returns who has to act, what to do, and why the artifact may be shipped.
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
		if t.all[0].Rule == abi.RuleLibraryRemoved {
			return task{result.Builder, "keep shipping the library", ""}
		}
		return task{result.Builder, "keep the old interface, or change the SONAME", ""}
	case tooNew:
		if t.private() {
			return task{result.Builder, "avoid the internal symbols of glibc", ""}
		}
		if t.declaredLibc(t.newest()) != nil {
			return task{result.Builder, "declare the glibc that it needs or build on an older system",
				""}
		}
		if len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindDependency {
			return task{result.Builder, "declare the package that provides the library", ""}
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
				t.unclaimed()}
		}
		switch {
		case ofMacOS(t.all[0]):
			return task{result.Builder, "build it for an older macOS (MACOSX_DEPLOYMENT_TARGET) or claim " +
				"only newer ones", ""}
		case ofWindows(t.all[0]):
			return task{result.Builder, "look " + plural(t.cause.Symbols, "it", "them") +
				" up at run time (GetProcAddress), so that it also works on older releases", ""}
		}
		return task{result.Builder, "build on an older system", ""}
	case wrongLibc:
		if t.artifact.wheel() && !t.claimed() {
			return task{result.Builder, "publish another wheel, for " + t.subject +
				"; pip does not install this one there", t.unclaimed()}
		}
		if len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindPlatformTag {
			return task{result.Builder, "correct the tag or publish a build for " + t.subject, ""}
		}
		return task{result.Builder, "publish a build for " + t.subject, ""}
	case otherVersions:
		return task{result.Installer, "install the versions that it requires; " +
			"pip does not install it with others", t.combination()}
	case wrongPackage:
		if !t.given() {
			return task{result.Builder, "limit the versions of " + t.subject + " that it requires" +
				t.working(), ""}
		}
		if len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindEnvironment {
			return task{result.Installer, "install versions that fit each other", t.combination()}
		}
		return task{result.Installer, "choose another version of " + t.subject, t.combination()}
	case undeclared:
		return task{result.Builder, "declare " + t.subject + " as a dependency", ""}
	case ofExtras:
		with, without := "one of these extras", "an extra"
		if len(t.cause.Fixes) == 1 {
			with = "the " + extrasNamed(t.extras().names.list)
			without = with
		}
		return task{result.Installer, "install it with " + with, "it fails only without " + without}
	case system, systemLibraries:
		if what := cmp.Or(t.oneRelease(), t.subject); t.kind == system {
			return task{result.Installer, "install " + what + " on the system",
				"it fails only where " + what + " is not installed"}
		}
		return task{result.Installer, "install the packages of the system that contain " +
			plural(t.libraryCount(), "this library", "these libraries"),
			"it fails only where " + t.libraries() + plural(t.libraryCount(), " is", " are") +
				" not installed"}
	case missing:
		if t.unknown() {
			return task{result.Builder, "check it again with a package index that has what it declares", ""}
		}
		return task{result.Builder, plural(t.libraryCount(),
			"bundle this library or declare the package that provides it",
			"bundle these libraries or declare the packages that provide them"), ""}
	case libraryPath:
		return task{result.Builder, "give the library a SONAME and link again, so that it is found by " +
			"its name", ""}
	case interpreter:
		return task{result.Builder, "link without the library of Python, since the interpreter " +
			"provides its symbols", ""}
	case stringABI:
		return task{result.Builder, "compile with the std::string ABI of " + t.libraries(), ""}
	case unreachable:
		return task{result.Builder, t.reach(), ""}
	case linkPath:
		return task{result.Builder, "let the linker find " +
			t.libraries() + "; programs that only load it are not affected", ""}
	case linkFlag:
		return task{result.Builder, "correct the link line", ""}
	case undefined:
		if t.otherVersion() {
			return task{result.Builder, "bundle the " + t.libraries() + " that it was linked with", ""}
		}
		it := plural(t.cause.Symbols, "it", "them")
		switch from := t.all[0].NotExported; {
		case t.hides():
			return task{result.Builder, "export " + it + " from " + t.libraries(), ""}
		case from != "":
			return task{result.Builder, "use a " + from + " that exports " + it + ", or link the library " +
				"that defines " + it, ""}
		}
		if t.lacking() {
			return task{result.Builder, "use a " + t.libraries() + " that has " + it +
				", or build without " + it, ""}
		}
		return task{result.Builder, "link the library that defines " + it, ""}
	}
	if t.subject == excludedRule {
		do := "build on an older system; pip does not install this one there"
		switch {
		case len(t.cause.Fixes) > 0 && t.cause.Fixes[0].Kind == fix.KindPlatformTag:
			do = "correct the tag"
		case t.all[0].Library != "":
			do = "publish another wheel, for the other C library; pip does not install this one there"
		}
		return task{result.Builder, do, t.unclaimed()}
	}
	if do := tasks[t.subject]; do.do != "" {
		if do.actor == result.Installer {
			do.because = t.combination()
		}
		return do
	}
	return task{result.Builder, "change how it is built", ""}
}

// reach says how the objects find the bundled libraries.
func (t text) reach() string {
	one, several := "this object", "these objects"
	objects := plural(t.cause.Objects, one, several)
	libraries := plural(t.libraryCount(), "the library", "the libraries")
	switch {
	case ofWindows(t.all[0]):
		return "put " + plural(t.libraryCount(), "the DLL", "the DLLs") + " into the folder of the " +
			"module, or into one that the package passes to os.add_dll_directory"
	case ofMacOS(t.all[0]):
		return "give " + objects + " a path to " + libraries + " that starts with @loader_path"
	case len(t.cause.Fixes) == 0: // a RUNPATH was tried
		return "change " + objects + " or " + libraries + " so that the loader finds " +
			plural(t.libraryCount(), "it", "them")
	case renames(t.cause.Fixes[0].Change):
		return "give " + plural(t.libraryCount(), "the file of the library the name",
			"the files of the libraries the names") + " that " + objects + " " +
			plural(t.cause.Objects, "needs", "need")
	}
	kind := "a RUNPATH"
	if t.artifact.Kind != facts.KindWheel {
		kind = "an RPATH" // of conda
	}
	return "give " + objects + " " + kind + " to " + libraries
}

// renames reports whether a change gives a file another name.
func renames(c fix.Change) bool {
	switch c := c.(type) {
	case fix.Rename:
		return true
	case fix.All:
		return slices.ContainsFunc(c, renames)
	}
	return false
}

// unclaimed says that no tag of the wheel names the target, for text.ship.
func (t text) unclaimed() string { return "its tags do not claim " + t.target() }

// combination says with which package the artifact does not work, for text.ship.
func (t text) combination() string {
	if wrong := t.wrongVersion(); wrong != "" {
		return "it fails in combination with " + wrong
	}
	return "it fails in combination with these packages"
}

// wrongVersion returns the package with which the artifact does not work, and its version: "torch
// 2.6.0". It is "" if there are several.
func (t text) wrongVersion() string {
	name := t.subject
	if t.kind == otherVersions {
		if q, err := pkgmeta.ParseRequirement(asRequired(t.all[0])[0]); err == nil {
			name = q.Name
		}
	} else if t.all[0].Rule == "gpu-stack-mismatch" {
		name = "torch"
	}
	if versions := t.versions(name); len(versions) == 1 {
		return name + " " + versions[0]
	}
	return ""
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

// tasks are what to do about rules that are causes themselves.
var tasks = map[string]task{
	"abi3-violation": {result.Builder, "avoid the function or tag the wheel for a newer Python",
		""},
	"cuda-major-mixed": {result.Installer, "choose packages of one CUDA major version", ""},
	"no-wheel": {result.Installer, "choose a version with a wheel, or another Python or platform",
		""},
	"hash-mismatch":      {result.Installer, "renew the hashes in the lock file", ""},
	"executable-stack":   {result.Builder, "link it without an executable stack", ""},
	"gpu-stack-mismatch": {result.Installer, "choose packages for one GPU platform", ""},
	"isa-level":          {result.Builder, "compile for the CPUs that the platform allows", ""},
	"metadata-mismatch":  {result.Builder, "make the metadata and the file name agree", ""},
	"record-mismatch":    {result.Builder, "regenerate RECORD", ""},
	"support-removed": {result.Builder, "publish wheels for them, or accept the finding if support " +
		"has ended", ""},
	"text-relocations":   {result.Builder, "compile it with -fPIC", ""},
	"wrong-architecture": {result.Builder, "build it for the platform of its tag", ""},
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
			return strings.Contains(q, "==") || t.refusedByPip()
		}
	}
	return true
}

// refusedByPip reports whether the artifact requires another version than the one that was checked.
func (t text) refusedByPip() bool {
	return len(t.cause.Fixes) > 0 && strings.HasPrefix(t.cause.Fixes[0].Title, "Use the version that")
}

func (t text) what() string {
	if t.artifact.wheel() {
		return t.artifact.own
	}
	return base(t.artifact.Path)
}
