package judge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// wheels are the wheels of a check by project. pip installs the files that it is given, so each
// stands for its package wherever another artifact, or a package that it requires, requires that.
// Nil: there are no wheels of several projects.
type wheels map[string][]*wheel

// wheel is a wheel with its version and the libraries of each system and machine, which are
// described when they are needed.
type wheel struct {
	artifact *facts.Artifact
	version  pkgmeta.Version
	releases map[[2]string]*packages.Release // by system and machine
}

// wheelsOf returns the wheels among artifacts whose metadata was read.
func wheelsOf(artifacts []*facts.Artifact) wheels {
	out := wheels{}
	for _, f := range artifacts {
		if f.Wheel == nil || f.Metadata == nil {
			continue
		}
		version, err := pkgmeta.ParseVersion(f.Wheel.Version)
		if err != nil {
			continue
		}
		name := project(f)
		out[name] = append(out[name], &wheel{f, version, map[[2]string]*packages.Release{}})
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// release returns the wheel as a release of its package.
func (x *wheel) release(on packages.Target) *packages.Release {
	key := [2]string{on.System, on.Arch}
	if x.releases[key] == nil {
		f := x.artifact
		x.releases[key] = &packages.Release{
			Name: project(f), Version: x.version.String(), Requires: f.Metadata.Requires,
			RequiresPython: f.Metadata.RequiresPython, Libraries: librariesOf(f, on), Known: true,
		}
	}
	return x.releases[key]
}

// librariesOf describes the binaries of a wheel for a system and machine as those of a release.
func librariesOf(f *facts.Artifact, on packages.Target) (out []packages.Library) {
	var unread []string
	switch on.System {
	case platform.Linux:
		for _, o := range f.Objects {
			if o.Arch() == on.Arch {
				out = append(out, packages.NewLibrary(member(o.Path), o.Object, o.Types))
			}
		}
	case platform.MacOS:
		for _, o := range f.MachO {
			out = append(out, packages.NewMachO(member(o.Path), o.File))
		}
		unread = f.UnreadMachO
	case platform.Windows:
		for _, o := range f.PE {
			out = append(out, packages.NewPE(o.Installed, o.Object))
		}
		unread = f.UnreadPE
	}
	for _, at := range unread {
		out = append(out, packages.Library{Path: member(at)})
	}
	return out
}

// member returns the path of a library of a release: inside site-packages, or that of the member of
// the wheel if it is installed elsewhere.
func member(at string) string {
	if to := facts.Installed(at); !strings.HasPrefix(to, "../") {
		return to
	}
	return at
}

// choose returns the wheel of a project that pip installs on a target: of the newest version with a
// wheel for it, the one that suits it best; nil if there is none.
func (w wheels) choose(name string, on packages.Target) *wheel {
	for _, python := range append([]string{on.Python}, packages.Interpreters(on.Pythons)...) {
		on.Python = python
		var best *wheel
		var top packages.Rank
		for _, x := range w[name] {
			rank, ok := rate(x, on)
			if !ok {
				continue
			}
			if best == nil || cmp.Or(x.version.Compare(best.version), rank.Compare(top)) > 0 {
				best, top = x, rank
			}
		}
		if best != nil || on.Pythons == "" {
			return best
		}
	}
	return nil
}

// rate returns the rank of the tag of a wheel that suits an interpreter and machine best.
func rate(x *wheel, on packages.Target) (top packages.Rank, ok bool) {
	if !packages.AdmitsPython(x.artifact.Metadata.RequiresPython, on.Python) {
		return top, false
	}
	for _, t := range x.artifact.Wheel.Tags {
		if rank, fits := packages.Rate(t, on); fits && (!ok || rank.Compare(top) > 0) {
			top, ok = rank, true
		}
	}
	return top, ok
}

// together are the packages in the environment of an artifact that wheels of the check stand for.
// It is a source of packages: those wheels, and the packages of another source.
type together struct {
	packages.Source
	wheels wheels
	on     packages.Target
	chosen map[string]*wheel // nil where there is none for the target
	// artifacts and projects are what standing returns; nil until it is called.
	artifacts []*facts.Artifact
	projects  []string
}

func newTogether(source packages.Source, w wheels, on packages.Target) *together {
	return &together{Source: source, wheels: w, on: on, chosen: map[string]*wheel{}}
}

// of returns the wheel that stands for a package, or nil.
func (t *together) of(name string) *wheel {
	if t == nil || t.wheels[name] == nil {
		return nil
	}
	x, ok := t.chosen[name]
	if !ok {
		x = t.wheels.choose(name, t.on)
		t.chosen[name] = x
	}
	return x
}

// excludes reports whether another wheel of its project stands for an artifact.
func (t *together) excludes(x *facts.Artifact, project string) bool {
	w := t.of(project)
	return w != nil && w.artifact != x && x.Wheel != nil
}

// standing returns the artifacts of a check without those that another wheel of their project
// stands for, and their projects. All artifacts of a target share it.
func (t *together) standing(s *Session) ([]*facts.Artifact, []string) {
	if t.artifacts == nil {
		for n, x := range s.artifacts {
			if !t.excludes(x, s.projects[n]) {
				t.artifacts, t.projects = append(t.artifacts, x), append(t.projects, s.projects[n])
			}
		}
	}
	return t.artifacts, t.projects
}

// version returns the version of the wheel that stands for a package, "" without one.
func (t *together) version(name string) string {
	if x := t.of(name); x != nil {
		return x.version.String()
	}
	return ""
}

// Versions implements packages.Source.
func (t *together) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	versions, err := t.Source.Versions(ctx, name, on)
	if v := t.version(name); v != "" && ctx.Err() == nil {
		return append(slices.Clone(versions), v), nil
	}
	return versions, err
}

// Release implements packages.Source.
func (t *together) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	if v := t.version(name); v != "" && v == version {
		return t.of(name).release(t.on), nil
	}
	return t.Source.Release(ctx, name, version, on)
}

// undeclared returns requirements on packages that wheels of the check stand for and that an
// artifact compares itself with, or gets NumPy's table from, although it does not require them.
func (t *together) undeclared(
	f *facts.Artifact,
	declared []pkgmeta.Requirement,
) (out []pkgmeta.Requirement) {
	if t == nil {
		return nil
	}
	own := project(f)
	for name, has := range t.compared(f) {
		if has && name != own && !requires(declared, name) {
			out = append(out, pkgmeta.Requirement{Name: name, Raw: name})
		}
	}
	slices.SortFunc(out, func(a, b pkgmeta.Requirement) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// compared returns the projects with a module that an object of an artifact compares itself with.
func (t *together) compared(f *facts.Artifact) map[string]bool {
	tops, out := map[string]bool{}, map[string]bool{}
	for _, o := range f.Objects {
		for _, module := range o.Compared() {
			top, _, _ := strings.Cut(module, ".")
			tops[top] = true
		}
		if o.NumPy != "" {
			tops["numpy"] = true
		}
	}
	if len(tops) == 0 {
		return nil
	}
	for name := range t.wheels {
		x := t.of(name)
		out[name] = x != nil && slices.ContainsFunc(x.artifact.Objects, func(o *facts.Object) bool {
			top, _, _ := strings.Cut(facts.ModuleName(o.Path), "/")
			return tops[top]
		})
	}
	return out
}

// togetherWith returns the packages that wheels of the check stand for in the environment of an
// artifact; nil if there are none.
func (s *Session) togetherWith(f *facts.Artifact, p *platform.Platform) *together {
	switch p.OS {
	case platform.Linux, platform.MacOS, platform.Windows:
	default:
		return nil // packages for other systems have no libraries
	}
	if s.wheels == nil {
		return nil
	}
	on := s.judge.options.on(f, p)
	key := setsKey(on, p, false, nil, nil)
	if s.together[key] == nil {
		s.together[key] = newTogether(s.judge.source, s.wheels, on)
	}
	return s.together[key]
}

// sourceFor returns the packages of the environment of an artifact.
func (s *Session) sourceFor(f *facts.Artifact, p *platform.Platform) packages.Source {
	if t := s.togetherWith(f, p); t != nil {
		return t
	}
	return s.judge.source
}

// except returns the packages without those of which some requirements, of a fix, choose a version.
func (t *together) except(with []string) *together {
	if t == nil || len(with) == 0 {
		return t
	}
	out := newTogether(t.Source, maps.Clone(t.wheels), t.on)
	for _, w := range with {
		if q, err := pkgmeta.ParseRequirement(w); err == nil {
			delete(out.wheels, q.Name)
		}
	}
	return out
}
