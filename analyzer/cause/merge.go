package cause

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// merged is a fix and the findings that it removes.
type merged struct {
	fix.Fix
	key      mergeKey
	clears   int
	last     *result.Finding // the finding that was counted last: each finding counts once
	commands set[command]
	packages set[string] // of the system
	costs    set[string]
	retags   []retag // one for each artifact
	// libraries and objects in the titles
	libraries, objects set[string]
	open               bool // merged from different requirements, and not tried as a whole
	contradicts        bool // merged from requirements that contradict each other
	changes            fix.Merger
	ofLoader           bool // it is a fix for an error of the loader
}

// retag is the change of the tags of an artifact.
type retag struct {
	artifact string
	fix.Retagging
	change fix.Change
}

// mergeFixes merges the fixes of a cause's findings: of platform tags the newest is used, version
// ranges of a package are intersected, and fixes that differ only in the file, the library or the
// packages become one fix for all. They are in the order of the findings.
func mergeFixes(g *group) (list []*merged) {
	byKey := map[mergeKey]*merged{}
	for _, f := range g.all {
		if g.states(f) {
			continue
		}
		for _, x := range f.Fixes {
			if tried := x.Requirements(); tried != nil {
				x.Requirement = tried[0]
			}
			k := keyOf(x)
			m := byKey[k]
			if m == nil {
				m = &merged{Fix: x, key: k}
				byKey[k] = m
				list = append(list, m)
			} else {
				m.merge(x)
			}
			m.add(g, f, x)
		}
	}
	for _, f := range g.all {
		for _, m := range list {
			m.clears += boolRank(g.states(f) && satisfies(m.Fix, f))
		}
	}
	if g.kind == TooNew {
		list = withPythons(list)
	}
	return list
}

// withPythons adds the fix that changes for which Pythons wheels are to the one that changes their
// platform: it is one change of the tags.
func withPythons(list []*merged) []*merged {
	platforms := slices.IndexFunc(list, (*merged).tags)
	pythons := slices.IndexFunc(list, func(m *merged) bool { return ofPython(m.Fix) })
	if platforms < 0 || pythons < 0 {
		return list
	}
	m, other := list[platforms], list[pythons]
	var retags []retag
	for _, r := range m.retags {
		for _, o := range other.retags {
			if both, ok := fix.MergeRetags([]fix.Retagging{r.Retagging}, []fix.Retagging{o.Retagging}); ok &&
				o.artifact == r.artifact && len(both) == 1 {
				r.Retagging = both[0]
			}
		}
		retags = append(retags, r)
	}
	m.retags = retags
	m.Title = m.Title.Append(", and %s", string(fix.Part[fix.Tags](other.Title)))
	m.clears += other.clears
	return slices.Delete(list, pythons, pythons+1)
}

// mergeKey is equal for fixes that make the same change.
type mergeKey struct {
	kind fix.Kind
	by   string // the kind of change
	what string
}

func keyOf(x fix.Fix) mergeKey {
	switch {
	case len(x.Retags) == 1 && versionOf(x.Retags[0].To).kind != "":
		return mergeKey{x.Kind, "tag", versionOf(x.Retags[0].To).kind}
	case x.Requirement != "":
		// One that changes other packages too is another change, with costs of its own.
		var names []string
		for _, r := range append([]string{x.Requirement}, x.Requirements()...) {
			if q, err := pkgmeta.ParseRequirement(r); err == nil && !slices.Contains(names, q.Name) {
				names = append(names, q.Name)
			}
		}
		if len(names) > 0 {
			return mergeKey{x.Kind, "package", strings.Join(names, " ")}
		}
	case x.Kind == fix.KindSymver:
		return mergeKey{x.Kind, "", ""}
	case x.System != nil:
		return mergeKey{x.Kind, "system", string(x.System.With)}
	}
	return mergeKey{x.Kind, "title", x.Title.Form()}
}

// merge adds another fix with the same key.
func (m *merged) merge(x fix.Fix) {
	m.Verified = m.Verified && x.Verified
	switch {
	case len(m.Retags) == 1 && len(x.Retags) == 1 && newerTag(m.Retags[0].To, x.Retags[0].To):
		m.Title, m.Cost, m.Retags, m.costs = x.Title, x.Cost, x.Retags, set[string]{}
	case x.Requirement != "" && x.Requirement != m.Requirement:
		both, ok := Intersect(m.Requirement, x.Requirement)
		if !ok {
			m.open, m.contradicts = true, true
			return
		}
		if both != m.Requirement {
			m.open = m.open || both != x.Requirement
			m.Title = fix.With(m.Title, fix.Requirement(both))
			m.Command = m.Command.WithRequirement(m.Requirement, both)
			m.Requirement = both
		}
	case x.System != nil && !m.Title.Equal(x.Title):
		m.Title = fix.Titled("Install the packages that contain these libraries")
	case m.Kind == fix.KindSymver && !m.Title.Equal(x.Title):
		m.Title = fix.Titled("Bind these symbols to their older versions, in a header that every " +
			"source file includes")
	}
}

// add records that a fix, which was merged, is one of a finding.
func (m *merged) add(g *group, f *result.Finding, x fix.Fix) {
	if len(x.Retags) == 1 {
		m.retag(f.Artifact, x)
	}
	m.changes.Add(x.Change)
	m.ofLoader = m.ofLoader || !g.rules[f.Rule].Linker
	if m.last != f {
		m.last = f
		m.clears++
		if library := fix.Part[fix.Library](x.Title); library != "" {
			m.libraries.add(string(library))
		}
		if object := fix.Part[fix.Object](x.Title); object != "" {
			m.objects.add(string(object))
		}
	}
	for _, of := range []*fix.SystemPackages{x.System, bundled(x)} {
		if of != nil {
			for _, name := range of.Names {
				m.packages.add(name)
			}
		}
	}
	if x.Command != "" {
		m.commands.add(command{f.Artifact, x.Command})
	}
	for _, c := range x.Cost {
		if !x.Kind.Exclusive() || slices.Contains(m.Cost, c) {
			m.costs.add(c)
		}
	}
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

// fix returns the merged fix. Its title lists the objects and libraries of all.
func (m *merged) fix() fix.Fix {
	x := m.Fix
	x.Title = fix.With(x.Title, fix.Library(Listed(m.libraries.list, 3, 40, "library")))
	x.Title = fix.With(x.Title, fix.Object(Listed(m.objects.list, 2, 80, "file")))
	switch {
	case m.retags != nil:
		m.retagging(&x)
	case x.Requirement != "":
	case x.System != nil:
		x.System = &fix.SystemPackages{With: x.System.With, Names: m.packages.list}
		x.Command = x.System.Command()
	case m.commands.list != nil:
		x.Command = m.command()
		if first := bundled(x); first != nil { // auditwheel copies what they install
			all := fix.SystemPackages{With: first.With, Names: m.packages.list}
			// One line, because the second command fails without the first one.
			x.Command = all.Command() + " && " + x.Command
		}
	}
	x.Cost = append([]string{}, m.costs.list[:min(len(m.costs.list), maxCosts)]...)
	x.Verified = x.Verified && !m.open
	x.Change = m.change()
	return x
}

// bundled returns the packages with the libraries that a fix copies into a wheel; nil if it copies
// none, or they are not known.
func bundled(x fix.Fix) *fix.SystemPackages {
	if x.Bundling == nil {
		return nil
	}
	return x.Bundling.System
}

// retagging sets the tags, the title and the command of a fix for all wheels.
func (m *merged) retagging(x *fix.Fix) {
	x.Retags = nil
	same := true
	for _, r := range m.retags {
		x.Retags = append(x.Retags, r.Retagging)
		same = same && r.To == m.retags[0].To
	}
	x.Title = x.Title.For(len(x.Retags))
	if !same {
		x.Title = fix.Titled("Give each wheel the tag that its libraries need")
	}
	x.Command = fix.RetagCommand(x.Retags)
}

// change returns the change of the merged fix, or nil if it cannot be simulated.
func (m *merged) change() fix.Change {
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
	case m.key.by == "package":
		return m.changes.Requiring(m.Requirement)
	}
	return m.changes.Change()
}

// tags reports whether a fix changes the platform of the tags.
func (m *merged) tags() bool { return m.key.by == "tag" }

func (m *merged) unusable() bool {
	return m.contradicts || m.Kind == fix.KindSymver && len(m.commands.list) > maxCommands
}

// tagVersion is the change of a tag of which only the version of the platform or of Python is set:
// what it is the version of, and the version as a number to compare.
type tagVersion struct {
	kind    string
	version int
}

// versionOf returns the version that a tag sets. It is empty for other tags.
func versionOf(to pkgmeta.Tag) tagVersion {
	tag := platform.ParseTag(to.Platform)
	minor, ok := strings.CutPrefix(to.Python, "cp3")
	switch {
	case to.Python+to.ABI == "" && (tag.Libc != "" || tag.System == platform.TagMacOS):
		return tagVersion{tag.System.Name() + tag.Libc, tag.Ordinal()}
	case to.ABI+to.Platform == "" && ok:
		if n, err := strconv.Atoi(minor); err == nil {
			return tagVersion{"Python", n}
		}
	}
	return tagVersion{}
}

// newerTag reports whether the second tag is of the same kind as the first and has a newer version.
func newerTag(old, other pkgmeta.Tag) bool {
	a, b := versionOf(old), versionOf(other)
	return a.kind != "" && a.kind == b.kind && b.version > a.version
}

func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
