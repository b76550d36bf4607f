package fix

import (
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// Kind is what a fix changes. It is written to JSON.
type Kind string

// Kinds of fixes. Each has a row in kinds.
const (
	KindPin         Kind = "pin"          // require another version of a dependency
	KindLinkFlag    Kind = "link-flag"    // link the users of the library with these flags
	KindPlatformTag Kind = "platform-tag" // use another platform tag
	KindRebuild     Kind = "rebuild"      // rebuild, with something else
	KindImage       Kind = "image"        // build in another image
	KindSymver      Kind = "symver"       // bind to an older version of the symbol
	KindPatchelf    Kind = "patchelf"     // edit the built object
	KindDependency  Kind = "dependency"   // declare a dependency that provides the library
	KindEnvironment Kind = "environment"  // install something else in the environment
	KindSource      Kind = "source"       // change the source
)

// kinds are all kinds, ordered by the effort for the author, lowest first.
var kinds = []struct {
	kind      Kind
	cost      string // see Kind.Cost
	setting   Setting
	exclusive bool // see Kind.Exclusive
}{
	{KindPlatformTag, varies, BuildImage, true},
	{KindDependency, varies, Requirements, false},
	{KindPin, varies, Requirements, false},
	{KindLinkFlag, varies, LinkCommand, false},
	{KindPatchelf, EachBuild, LinkCommand, false},
	{KindEnvironment, varies, NoSetting, false},
	{KindImage, "a rebuild", BuildImage, false},
	{KindSymver, varies, BuildImage, false},
	{KindRebuild, "a rebuild", NoSetting, false},
	{KindSource, "a change of the source and a rebuild", NoSetting, false},
}

// varies is the cost of kinds of which only the rule, the trial or the cause knows the cost.
const varies = ""

// EachBuild is the cost of an edit of what was built.
const EachBuild = "it has to be repeated after each build"

// Setting is what a fix changes in a project: where a reader looks for the line.
type Setting int

const (
	NoSetting    Setting = iota
	Requirements         // a list of dependencies
	BuildImage           // the image in which the artifact is built
	LinkCommand          // a command of the build that links
)

// Effort orders kinds by the effort for the author, lowest first. A kind without a row is last.
func (k Kind) Effort() int {
	for i, x := range kinds {
		if x.kind == k {
			return i
		}
	}
	return len(kinds)
}

// Cost is what a fix of the kind costs if nothing else is known about it; "" if that varies.
func (k Kind) Cost() string {
	if i := k.Effort(); i < len(kinds) {
		return kinds[i].cost
	}
	return ""
}

// Exclusive reports whether only the last of several such fixes counts: a wheel has one platform
// tag.
func (k Kind) Exclusive() bool {
	i := k.Effort()
	return i < len(kinds) && kinds[i].exclusive
}

// Runs reports whether the command of such a fix is run in a shell, unlike flags, variables and
// lines of a source file.
func (k Kind) Runs(command shellword.Line) bool {
	return k != KindLinkFlag && k != KindImage && k != KindSymver &&
		!strings.HasPrefix(string(command), "-")
}

// Setting returns what such a fix changes in a project.
func (k Kind) Setting() Setting {
	if i := k.Effort(); i < len(kinds) {
		return kinds[i].setting
	}
	return NoSetting
}
