package impact

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Build is the artifacts of a commit, those of what it is compared with, and wheels that may depend
// on them.
type Build struct {
	// New and Old are packages, libraries, or archives of some. Old is empty if there is nothing to
	// compare with.
	New, Old   []analyzer.Input
	Dependents []analyzer.Input // wheels, also Stored
	// Source has all other packages; nil = the built-in history.
	Source   packages.Source
	Analyzer *analyzer.Analyzer
	Options  analyzer.Options
}

// Answer is what becomes of one dependent with one package of the build.
type Answer struct {
	Dependent int `json:"dependent"` // number in Build.Dependents
	New       ID  `json:"new"`
	Old       *ID `json:"old"` // null: the package has no earlier build
	Entry
}

// built are the builds of one package, for different interpreters and systems.
type built struct {
	name string
	new  []variant
	old  []variant
}

// variant is a package for some interpreters and systems.
type variant struct {
	*Release
	tags []pkgmeta.Tag // nil if it is no wheel
	arch string        // of its first object, for others than wheels
}

// Judge returns what becomes of the dependents, one answer for each package of the build that a
// dependent uses; none for a dependent that uses none. It returns an error if the artifacts cannot
// be read, or if ctx ends.
func (b *Build) Judge(ctx context.Context) ([]Answer, error) {
	all, err := b.packages(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if b.Source == nil {
		b.Source = packages.History()
	}
	out := []Answer{}
	for n := range b.Dependents {
		some, err := b.dependent(ctx, n, all)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// packages reads the packages of both sides. Those that only Old has are left out.
func (b *Build) packages(ctx context.Context) (all []*built, _ error) {
	byName := map[string]*built{}
	for side, inputs := range [][]analyzer.Input{b.New, b.Old} {
		if len(inputs) == 0 {
			continue
		}
		set, err := facts.Read(ctx, inputs, facts.Options{
			Limits: b.Options.Limits, Scratch: b.Options.Scratch, Progress: b.Options.Progress, ABI: true,
		}, elfobj.NewNames())
		if err != nil {
			return nil, err
		}
		for _, a := range set.Artifacts {
			r := releaseOf(a)
			if len(r.Contents.Libraries) == 0 || damaged(set, a) {
				continue
			}
			v := variant{Release: r}
			if a.Kind == facts.KindWheel && a.Wheel != nil {
				v.tags = a.Wheel.Tags
			} else {
				v.arch = a.Objects[0].Arch()
			}
			p := byName[r.Contents.Name]
			switch {
			case p == nil && side == 0:
				p = &built{name: r.Contents.Name}
				byName[p.name] = p
				all = append(all, p)
				p.new = append(p.new, v)
			case p == nil:
			case side == 0:
				p.new = append(p.new, v)
			default:
				p.old = append(p.old, v)
			}
		}
	}
	return all, nil
}

// dependent judges one dependent.
func (b *Build) dependent(ctx context.Context, n int, all []*built) (out []Answer, _ error) {
	in := b.Dependents[n]
	name, err := pkgmeta.ParseWheelName(path.Base(in.Name))
	if err != nil {
		return nil, nil //nolint:nilerr // pip does not install it
	}
	read, err := analyzer.Read(ctx, []analyzer.Input{in}, b.Options)
	if err != nil {
		return []Answer{{Dependent: n, New: ID{all[0].new[0].Name, all[0].new[0].Version}, Entry: Entry{
			Name: name.Name, Version: name.Version, Wheel: in.Name, Verdict: Undecided,
			Reason:  "what is stored of it was read by another version of compat",
			Symbols: []string{}, Fixes: []Fix{},
		}}}, ctx.Err()
	}
	for _, p := range all {
		if p.name == pkgmeta.Normalize(name.Name) {
			continue
		}
		if !p.usedBy(read) {
			if of := p.copiedBy(read); of != "" {
				first := p.new[0]
				out = append(out, Answer{Dependent: n, New: ID{first.Name, first.Version}, Entry: Entry{
					Name: name.Name, Version: name.Version, Wheel: in.Name, Verdict: Works,
					Reason:  "it has its own copy of " + of + ", which its next build may replace",
					Symbols: []string{}, Fixes: []Fix{},
				}})
			}
			continue
		}
		a := Answer{Dependent: n, Entry: Entry{
			Name: name.Name, Version: name.Version, Wheel: in.Name, Verdict: Undecided,
			Symbols: []string{}, Fixes: []Fix{},
		}}
		on, platform, new := p.install(name.Tags)
		if new == nil {
			a.New = ID{p.new[0].Name, p.new[0].Version}
			a.Reason = fmt.Sprintf("%s was not built for its interpreter and system", p.new[0].Release)
			out = append(out, a)
			continue
		}
		old := best(p.old, on)
		a.New = ID{new.Name, new.Version}
		q := &Question{
			New: new, Old: old, On: on, Platform: platform, Source: b.Source, Analyzer: b.Analyzer,
			Options: b.Options,
		}
		if old != nil {
			a.Old = &ID{old.Name, old.Version}
		}
		a.Entry, err = q.Judge(ctx, Dependent{
			Name: name.Name, Version: name.Version, Wheel: in.Name, Content: &in,
		})
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// usedBy reports whether a wheel requires the package, or needs one of its libraries.
func (p *built) usedBy(read *analyzer.Reading) bool {
	for _, a := range read.Artifacts() {
		if a.Metadata != nil && slices.ContainsFunc(a.Metadata.Requires,
			func(r pkgmeta.Requirement) bool { return r.Name == p.name }) {
			return true
		}
		own := map[string]bool{}
		for _, o := range a.Objects {
			own[o.SONAME], own[path.Base(o.Path)] = true, true
		}
		for _, o := range a.Objects {
			if slices.ContainsFunc(o.Needed, func(n string) bool {
				return !own[n] && slices.ContainsFunc(slices.Concat(p.new, p.old),
					func(v variant) bool { return v.named(n) })
			}) {
				return true
			}
		}
	}
	return false
}

// copiedBy returns the library of the package of which auditwheel put a copy into a wheel; "" if
// there is none.
func (p *built) copiedBy(read *analyzer.Reading) string {
	for _, a := range read.Artifacts() {
		for _, o := range a.Objects {
			name := copied(o.Path)
			for _, v := range slices.Concat(p.new, p.old) {
				for _, l := range v.Contents.Libraries {
					if name != "" && platform.Stem(cmp.Or(l.SONAME, l.Path)) == name {
						return cmp.Or(l.SONAME, path.Base(l.Path))
					}
				}
			}
		}
	}
	return ""
}

// systems are what dependents are installed on, the newest of each libc: an older one lacks what
// neither side of the comparison is the reason for.
var systems = []string{"debian13", "alpine3.20"}

// install returns where a dependent with these tags can be installed together with the package, and
// the build of the package for it; nil if there is none. The newest interpreter is taken first.
func (p *built) install(tags []pkgmeta.Tag) (on packages.Target, system string, _ *Release) {
	for system, on := range places(tags) {
		if r := best(p.new, on); r != nil {
			return on, system, r
		}
	}
	return on, "", nil
}

// Targets returns where wheels with these tags are installed, in the order in which Build.Judge
// searches a place for a dependent of such a wheel: x86_64 and the newest interpreter first.
func Targets(tags []pkgmeta.Tag) (out []packages.Target) {
	for _, on := range places(tags) {
		out = append(out, on)
	}
	return out
}

// places returns the systems on which a wheel with these tags is installed, and the targets there.
func places(tags []pkgmeta.Tag) iter.Seq2[string, packages.Target] {
	return func(yield func(string, packages.Target) bool) {
		for _, system := range systems {
			for _, arch := range arches(tags) {
				s, err := platform.Named(system, arch)
				if err != nil {
					continue
				}
				pythons := packages.Interpreters("")
				slices.Reverse(pythons)
				for _, python := range pythons {
					on := packages.On(s, python)
					if rated(tags, on) && !yield(system, on) {
						return
					}
				}
			}
		}
	}
}

// arches returns the architectures of tags, x86_64 first.
func arches(tags []pkgmeta.Tag) (out []string) {
	for _, t := range tags {
		if arch := platform.ParseTag(t.Platform).Arch; arch != "" && !slices.Contains(out, arch) {
			out = append(out, arch)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(b, a) })
	return out
}

func rated(tags []pkgmeta.Tag, on packages.Target) bool {
	return slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool {
		_, ok := packages.Rate(t, on)
		return ok
	})
}

// best returns the build that is installed on a target; nil if there is none.
func best(list []variant, on packages.Target) (found *Release) {
	var top packages.Rank
	for _, v := range list {
		if v.tags == nil && v.arch == on.Arch {
			return v.Release
		}
		for _, t := range v.tags {
			if r, ok := packages.Rate(t, on); ok && (found == nil || r.Compare(top) > 0) {
				found, top = v.Release, r
			}
		}
	}
	return found
}
