package fix

import "slices"

// Kind is what a fix changes. Its name is that in JSON.
type Kind string

// Kinds of fixes. Each has a row in kinds.
const (
	KindPin         Kind = "pin"
	KindLinkFlag    Kind = "link-flag"
	KindPlatformTag Kind = "platform-tag"
	KindRebuild     Kind = "rebuild"
	KindImage       Kind = "image"
	KindSymver      Kind = "symver"
	KindPatchelf    Kind = "patchelf"
	KindDependency  Kind = "dependency"
	KindEnvironment Kind = "environment"
	KindSource      Kind = "source"
)

// kindInfo is what is known about the fixes of a kind.
type kindInfo struct {
	kind Kind
	does string // "require another version of a dependency"
	// What it costs if its rule and its trial know no cost; "" = varies.
	cost   string
	varies bool // a fix of the kind costs nothing else than its rule and its trial know
	of     Setting
}

// kinds are all kinds, ordered by the effort for the author, lowest first.
var kinds = []kindInfo{
	{kind: KindPlatformTag, does: "use another platform tag", varies: true, of: BuildImage},
	{kind: KindDependency, does: "declare a dependency that provides the library", varies: true,
		of: Requirements},
	{kind: KindPin, does: "require another version of a dependency", varies: true, of: Requirements},
	{kind: KindLinkFlag, does: "link the users of the library with these flags", varies: true,
		of: LinkCommand},
	{kind: KindPatchelf, does: "edit the built object", cost: EachBuild, of: LinkCommand},
	{kind: KindEnvironment, does: "install something else in the environment", varies: true},
	{kind: KindImage, does: "build in another image", cost: "a rebuild", of: BuildImage},
	{kind: KindSymver, does: "bind to an older version of the symbol", varies: true, of: BuildImage},
	{kind: KindRebuild, does: "rebuild, with something else", cost: "a rebuild"},
	{kind: KindSource, does: "change the source", cost: "a change of the source and a rebuild"},
}

// EachBuild is the cost of an edit of what was built.
const EachBuild = "it has to be repeated after each build"

// Setting is the setting of a project that decides what a fix changes.
type Setting int

const (
	NoSetting    Setting = iota
	Requirements         // a list of dependencies
	BuildImage           // the image in which the artifact is built
	LinkCommand          // a command of the build that links
)

// Effort orders kinds by the effort for the author, lowest first. A kind without a row is last.
func (k Kind) Effort() int {
	i := slices.IndexFunc(kinds, func(x kindInfo) bool { return x.kind == k })
	if i < 0 {
		return len(kinds)
	}
	return i
}

// Cost is what a fix of the kind costs if nothing else is known about it, or "".
func (k Kind) Cost() string { return k.info().cost }

// Setting returns the setting of a project that such a fix is about.
func (k Kind) Setting() Setting { return k.info().of }

func (k Kind) info() kindInfo {
	if i := k.Effort(); i < len(kinds) {
		return kinds[i]
	}
	return kindInfo{}
}
