package judge

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Policies for ABI changes that break programs.
const (
	// PolicyDefault is PolicyPatch if compared with a release and PolicyWarn otherwise. In a wheel,
	// whose libraries are rarely linked from outside, changes are notes.
	PolicyDefault = ""
	PolicyNone    = "none" // libraries are not compared
	PolicyWarn    = "warn" // changes are warnings
	// Changes are errors unless the major version is higher.
	PolicyPatch  = "break-on-patch"
	PolicyAlways = "break-always" // changes are errors
)

// ABI contains the settings for comparing libraries with earlier builds. The zero value
// compares all exports, with PolicyDefault.
type ABI struct {
	Policy  string
	Version string // version of the new build; "": that of each artifact
	// Globs of public headers; types that are declared elsewhere are private.
	Headers []string
	Private []string // patterns of symbols, versions and types that are private
	// SkipBase is set if libraries are only compared with other earlier builds than the base.
	SkipBase bool
	// Suppress contains the contents of .abignore files.
	Suppress [][]byte
}

// Earlier is an earlier build that programs may have been linked with.
type Earlier struct {
	Name      string // a branch, a tag, or the path of a baseline
	Version   string // "": that of each artifact
	Release   bool   // it was published
	Artifacts []*facts.Artifact
	Library   *abi.Library // a baseline, instead of Artifacts
}

// Compared is the comparison of a library with an earlier build.
type Compared struct {
	Earlier  *Earlier
	Artifact *facts.Artifact
	Path     string // path of the library; the earlier path if it was removed
	Result   *abi.Result
	Old, New string // versions; "" if unknown
	// Suppressed is the number of changes that the configuration hides.
	Suppressed int

	session *Session
}

// Users returns the other checked objects that import a symbol of the library.
func (c *Compared) Users(symbol string) []string {
	var out []string
	for _, a := range c.session.artifacts {
		for _, o := range a.Objects {
			if o.SONAME == c.Result.Library || !slices.Contains(o.Needed, c.Result.Library) {
				continue
			}
			for _, i := range o.Imports.All() {
				if i.Name == symbol {
					out = append(out, path.Base(a.Path)+" ("+o.Path+")")
					break
				}
			}
		}
	}
	return out
}

// Major reports whether the new version may break programs: a higher major version, or a higher
// minor version before 1.0. known is false if a version is not known.
func (c *Compared) Major() (major, known bool) {
	old, new := numbers(c.Old), numbers(c.New)
	if old == nil || new == nil {
		return false, false
	}
	for len(old) < 2 || len(new) < 2 {
		old, new = append(old, 0), append(new, 0)
	}
	return new[0] > old[0] || old[0] == 0 && new[0] == 0 && new[1] > old[1], true
}

// Next returns the version after the earlier one that may break programs, or "" if the new
// version may break programs or a version is not known.
func (c *Compared) Next() string {
	if major, _ := c.Major(); major {
		return ""
	}
	n := numbers(c.Old)
	switch {
	case n == nil:
		return ""
	case n[0] == 0 && len(n) > 1:
		return "0." + strconv.Itoa(n[1]+1) + ".0"
	}
	return strconv.Itoa(n[0]+1) + ".0.0"
}

var release = lazyregexp.New(`^v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?`)

// numbers returns the first numbers of a version: 1, 4, 0 for v1.4.0rc1. It ignores a Debian
// epoch and a prefix of a tag (libfoo-1.4).
func numbers(version string) []int {
	if i := strings.IndexByte(version, ':'); i >= 0 {
		version = version[i+1:]
	}
	if i := strings.IndexAny(version, "0123456789"); i > 0 && !strings.HasPrefix(version, "v") {
		version = version[i:]
	}
	m := release.FindStringSubmatch(version)
	if m == nil {
		return nil
	}
	var out []int
	for _, s := range m[1:] {
		if s == "" {
			break
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// compare compares the libraries of the session's artifacts with those of earlier builds. It
// returns notes.
func (s *Session) compare(earlier []*Earlier) []string {
	o := s.judge.options.ABI
	if o.Policy == PolicyNone {
		return nil
	}
	var notes []string
	var hidden abi.Suppressions
	for _, b := range o.Suppress {
		more, unused, problems := abi.ParseSuppressions(b)
		for _, p := range append(unused, problems...) {
			notes = append(notes, ".abignore: "+p)
		}
		hidden = hidden.With(more)
	}
	public := abi.Globs(o.Headers)
	prepared := map[*abi.Library]bool{}
	headers := func(l *abi.Library) {
		if l != nil && len(o.Headers) > 0 && !prepared[l] {
			prepared[l] = true
			l.SetHeaderFiles(public)
		}
	}
	for _, e := range earlier {
		pairs := s.pairs(e)
		if len(pairs) == 0 && e.Library != nil {
			notes = append(notes, "the ABI was not compared with "+e.Name+": no artifact contains "+
				cmp.Or(e.Library.SONAME, e.Library.Name))
		}
		for _, p := range pairs {
			headers(p.Old)
			headers(p.New)
			whole, _ := abi.ComparePairs([]abi.Pairing{p.Pairing}, func(l *abi.Library) abi.Options {
				provided := s.provided(l)
				provided.Hidden, provided.Private = hidden, o.Private
				return provided
			})
			whole.Private(o.Private)
			c := &Compared{
				Earlier:    e,
				Artifact:   p.artifact,
				Result:     whole,
				Suppressed: hidden.Apply(whole),
				Old:        cmp.Or(e.Version, versionOf(p.before, p.Old)),
				session:    s,
			}
			if whole.Library == "" {
				whole.Library = cmp.Or(p.Old.SONAME, p.Old.Name)
			}
			c.Path = p.Old.Name
			if p.New != nil {
				c.Path = p.New.Name
			}
			c.New = cmp.Or(o.Version, versionOf(p.artifact, p.New))
			s.compared[p.artifact] = append(s.compared[p.artifact], c)
		}
	}
	return notes
}

// provided returns options that find what a new library needs in the checked artifacts.
func (s *Session) provided(new *abi.Library) abi.Options {
	return abi.Options{Find: func(soname string, _ *abi.Needed) *abi.Needed {
		for _, a := range s.artifacts {
			for _, o := range a.Objects {
				if o.SONAME == soname && o.Machine.String() == new.Machine && o.Class == new.Class {
					return &abi.Needed{Object: o.Object}
				}
			}
		}
		return nil
	}}
}

// pairing is a library and its earlier build. New is nil for a removed library.
type pairing struct {
	abi.Pairing
	artifact, before *facts.Artifact
}

// located is a public library in its artifact.
type located struct {
	*facts.Object
	artifact *facts.Artifact
}

// pairs pairs the libraries of earlier artifacts with current ones: first those of artifacts
// with the same name except for the version, then the others. A wheel for another Python or
// platform is another artifact. If an artifact is missing, its libraries do not count as
// removed, because a run may build only some artifacts.
func (s *Session) pairs(e *Earlier) []pairing {
	if e.Library != nil {
		return s.described(e.Library)
	}
	byKey := map[string]*facts.Artifact{}
	for _, a := range s.artifacts {
		byKey[artifactKey(a)] = a
	}
	var out []pairing
	var restOld, restNew []located
	seen := map[*facts.Artifact]bool{}
	for _, before := range e.Artifacts {
		olds := publicLibraries(before)
		a := byKey[artifactKey(before)]
		if a == nil || seen[a] {
			if before.Wheel == nil {
				restOld = append(restOld, olds...)
			}
			continue
		}
		seen[a] = true
		paired, oldLeft, newLeft := pairLocated(olds, publicLibraries(a))
		out = append(out, paired...)
		restOld, restNew = append(restOld, oldLeft...), append(restNew, newLeft...)
	}
	for _, a := range s.artifacts {
		if !seen[a] && a.Wheel == nil {
			restNew = append(restNew, publicLibraries(a)...)
		}
	}
	paired, gone, left := pairLocated(restOld, restNew)
	out = append(out, paired...)
	for _, g := range gone {
		// it may have been built for another architecture
		if i := slices.IndexFunc(left, func(l located) bool {
			return l.SONAME == g.SONAME && l.Arch() != g.Arch()
		}); i >= 0 && !s.builds(g.Arch()) {
			out = append(out, pairing{
				Pairing:  abi.Pairing{Old: g.ABI, New: left[i].ABI},
				artifact: left[i].artifact,
				before:   g.artifact,
			})
			continue
		}
		if home := s.formerArtifact(g); home != nil {
			out = append(out, pairing{
				Pairing:  abi.Pairing{Old: g.ABI},
				artifact: home,
				before:   g.artifact,
			})
		}
	}
	return out
}

// builds reports whether an object for an architecture is checked.
func (s *Session) builds(arch string) bool {
	return slices.ContainsFunc(s.artifacts, func(a *facts.Artifact) bool {
		return slices.ContainsFunc(a.Objects, func(o *facts.Object) bool { return o.Arch() == arch })
	})
}

// formerArtifact returns the artifact that a removed library belonged to, or nil if another
// artifact has a library of that name or none is for its architecture.
func (s *Session) formerArtifact(g located) *facts.Artifact {
	var home *facts.Artifact
	for _, a := range s.artifacts {
		same := artifactKey(a) == artifactKey(g.artifact)
		for _, o := range a.Objects {
			if o.Arch() != g.Arch() {
				continue
			}
			if o.SONAME == g.SONAME {
				return nil
			}
			if home == nil || same {
				home = a
			}
		}
	}
	return home
}

// publicLibraries returns the public libraries of an artifact whose ABI was read.
func publicLibraries(a *facts.Artifact) []located {
	var out []located
	for _, o := range a.Objects {
		if o.ABI != nil {
			out = append(out, located{o, a})
		}
	}
	return out
}

// pairLocated pairs libraries with the same architecture, and returns the others.
func pairLocated(olds, news []located) (paired []pairing, oldLeft, newLeft []located) {
	at := map[*abi.Library]located{}
	arches := map[string][2][]*abi.Library{}
	for side, list := range [][]located{olds, news} {
		for _, l := range list {
			at[l.ABI] = l
			lists := arches[l.Arch()]
			lists[side] = append(lists[side], l.ABI)
			arches[l.Arch()] = lists
		}
	}
	for _, arch := range slices.Sorted(maps.Keys(arches)) {
		for _, p := range abi.Pair(arches[arch][0], arches[arch][1]) {
			switch {
			case p.New == nil:
				oldLeft = append(oldLeft, at[p.Old])
			case p.Old == nil:
				newLeft = append(newLeft, at[p.New])
			default:
				paired = append(paired, pairing{p, at[p.New].artifact, at[p.Old].artifact})
			}
		}
	}
	return paired, oldLeft, newLeft
}

// described pairs a baseline with each library with its SONAME, or with its name without a
// version.
func (s *Session) described(old *abi.Library) []pairing {
	var out []pairing
	for _, exact := range []bool{true, false} {
		for _, a := range s.artifacts {
			for _, l := range publicLibraries(a) {
				if old.Machine != "" && old.Machine != l.ABI.Machine {
					continue
				}
				if l.SONAME == old.SONAME || !exact && abi.SameStem(old, l.ABI) {
					out = append(out, pairing{abi.Pairing{Old: old, New: l.ABI}, a, nil})
				}
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

var (
	versionInName = lazyregexp.New(`[-_]v?([0-9]+(?:\.[0-9]+)+[0-9A-Za-z.+~-]*?)(?:[-_][^-_]+)*\.[a-z0-9.]+$`)
	versionOfFile = lazyregexp.New(`\.so\.([0-9]+\.[0-9]+(?:\.[0-9]+)*)$`)
	anyVersion    = lazyregexp.New(`[-_.]?v?[0-9]+(\.[0-9]+)+[0-9A-Za-z.+~-]*`)
)

// artifactKey is equal for builds of an artifact: a wheel's name and tags, or a file name
// without its version.
func artifactKey(a *facts.Artifact) string {
	if a.Wheel != nil {
		var tags []string
		for _, t := range a.Wheel.Tags {
			tags = append(tags, t.Python+"-"+t.ABI+"-"+t.Platform)
		}
		slices.Sort(tags)
		return a.Wheel.Name + " " + strings.Join(tags, " ")
	}
	base := path.Base(a.Path)
	if a.Kind == facts.KindObject {
		base, _, _ = strings.Cut(base, ".so")
		return base
	}
	if name, rest, ok := strings.Cut(base, "_"); ok && strings.HasSuffix(base, ".deb") {
		return strings.TrimRight(name, "0123456789.") + rest[strings.LastIndexByte(rest, '_')+1:]
	}
	return anyVersion.ReplaceAllString(base, "")
}

// versionOf returns the version of a library's artifact, or in its file name, or "".
func versionOf(a *facts.Artifact, l *abi.Library) string {
	if a == nil {
		return ""
	}
	if a.Wheel != nil {
		return a.Wheel.Version
	}
	base := path.Base(a.Path)
	if parts := strings.Split(base, "_"); len(parts) == 3 && strings.HasSuffix(base, ".deb") {
		return parts[1]
	}
	if m := versionInName.FindStringSubmatch(base); m != nil && a.Kind != facts.KindObject {
		return m[1]
	}
	if l != nil {
		if m := versionOfFile.FindStringSubmatch(l.Name); m != nil {
			return m[1]
		}
	}
	return ""
}

// Compared returns the comparisons of an artifact's libraries with earlier builds.
func (s *Session) Compared(a *facts.Artifact) []*Compared { return s.compared[a] }
