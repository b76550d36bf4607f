package judge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// resolver selects the packages that are installed with an artifact. It resolves each
// combination once.
type resolver struct {
	session *Session
	judge   *Judge
	// Look up all packages instead of only those that are needed.
	full map[*facts.Artifact]bool
	sets map[string][]*packages.Set
	none packages.Set // no packages
}

func newResolver(s *Session) *resolver {
	return &resolver{
		session: s,
		judge:   s.judge,
		full:    map[*facts.Artifact]bool{},
		sets:    map[string][]*packages.Set{},
		none:    packages.Set{Newest: true},
	}
}

// partial reports whether only the packages that are needed are looked up for an artifact.
func (r *resolver) partial(f *facts.Artifact) bool { return r.judge.demand != nil && !r.full[f] }

// resolve returns the packages of an environment: one set, or two if the ends of the declared
// ranges differ.
func (r *resolver) resolve(
	ctx context.Context,
	f *facts.Artifact,
	p *platform.Platform,
	s fix.Scenario,
) ([]*packages.Set, error) {
	on, e := r.judge.options.on(f, p), r.judge.environment
	if _, history := r.judge.options.Source.(packages.Embedded); p.OS != platform.Linux &&
		(history || r.judge.options.Source == nil) {
		return []*packages.Set{&r.none}, nil // the history describes packages for Linux only
	}
	with := r.judge.given
	for _, w := range s.With {
		q, err := pkgmeta.ParseRequirement(w)
		if err != nil {
			return nil, err
		}
		with = append(slices.Clone(with), q)
	}
	declared, err := requirements(f, s)
	if err != nil {
		return nil, err
	}
	if err := r.judge.options.enable(declared, on); err != nil {
		return nil, err
	}
	if r.judge.conda != nil && e == nil {
		declared = append(declared, r.judge.conda.others(f, p, declared)...)
	}
	together := r.session.togetherWith(f, p)
	declared = append(declared, together.undeclared(f, declared)...)
	if len(with) == 0 && (len(declared) == 0 || selfContained(f, p)) {
		return []*packages.Set{&r.none}, nil
	}
	d := r.judge.demand
	if d != nil {
		d.want(f, p, s)
	}
	key := setsKey(on, p, r.partial(f), s.With, declared)
	// The artifact stands for the release of its project that the user gave or that it requires.
	own := project(f)
	replaces := e != nil || together != nil || own != "" && (requires(with, own) ||
		requires(declared, own))
	if replaces {
		key += "|as " + own
	}
	if sets, ok := r.sets[key]; ok {
		return sets, nil
	}
	var sets []*packages.Set
	if e != nil && len(s.With)+len(s.Requires) == 0 {
		sets, err = e.resolve(ctx, on, p, r.partial(f))
	} else {
		var lazy packages.Lazy
		if r.partial(f) {
			lazy = d.lazy([]*facts.Artifact{f}, p)
		}
		sets, err = r.judge.resolve(ctx, on, with, declared, lazy, together.except(s.With))
	}
	if err != nil {
		return nil, err
	}
	if replaces {
		for i, set := range sets {
			sets[i] = set.In(own, declared)
		}
	}
	r.sets[key] = sets
	return sets, nil
}

// setsKey identifies a resolution with the same requirements of the user. If only the packages that
// are needed are looked up, it is for one platform.
func setsKey(
	on packages.Target,
	p *platform.Platform,
	partial bool,
	with []string,
	declared []pkgmeta.Requirement,
) string {
	key := []string{on.System, on.Arch, on.Python, on.Pythons}
	if partial {
		key = append(key, "for "+p.Name)
	}
	for _, w := range with {
		key = append(key, "with "+w)
	}
	for _, q := range declared {
		key = append(key, q.Raw)
	}
	return strings.Join(key, "|")
}

// resolve returns the packages at the ends of the declared ranges, in a new slice: one set if the
// ends have the same, or if nothing can be installed at the other end. wheels are those that stand
// for their packages, or nil.
func (j *Judge) resolve(
	ctx context.Context,
	on packages.Target,
	with, declared []pkgmeta.Requirement,
	lazy packages.Lazy,
	wheels *together,
) ([]*packages.Set, error) {
	source := j.source
	if wheels != nil {
		source = wheels
	}
	var installed func(name string) string
	if j.conda != nil {
		installed = j.conda.version
	}
	var sets []*packages.Set
	ends := []packages.End{packages.Lowest, packages.Highest}
	if j.options.Newest {
		ends = ends[1:]
	}
	for _, end := range ends {
		s, err := packages.Resolve(ctx, source, packages.Request{
			On: on, With: with, Requires: declared, End: end, Lazy: lazy, Installed: installed,
			Wheel: wheels.version,
		})
		if err != nil {
			return nil, err
		}
		if j.demand != nil {
			j.demand.complete(ctx, s, on)
		}
		switch {
		case len(sets) == 1 && equal(sets[0], s):
		case len(sets) == 1 && s.Impossible() == nil && sets[0].Impossible() != nil:
			sets[0] = s
		case len(sets) == 0 || s.Impossible() == nil || sets[0].Impossible() != nil:
			sets = append(sets, s)
		}
	}
	sets[len(sets)-1].Newest = true // of those that are known
	return sets, nil
}

// requirements returns the artifact's requirements with the replacements of the scenario.
func requirements(f *facts.Artifact, s fix.Scenario) ([]pkgmeta.Requirement, error) {
	var out []pkgmeta.Requirement
	if f.Metadata != nil {
		out = slices.Clone(f.Metadata.Requires)
	}
	for _, r := range s.Requires {
		q, err := pkgmeta.ParseRequirement(r)
		if err != nil {
			return nil, err
		}
		out = append(
			slices.DeleteFunc(out, func(o pkgmeta.Requirement) bool { return o.Name == q.Name }),
			q,
		)
	}
	return out, nil
}

// enable removes the markers of the requirements that the chosen extras install.
func (o *Options) enable(declared []pkgmeta.Requirement, on packages.Target) error {
	if len(o.Extras) == 0 {
		return nil
	}
	env := on.Markers()
	for i, q := range declared {
		ok, err := q.Applies(env, o.Extras...)
		if err != nil {
			return err
		}
		if ok {
			declared[i].Marker = ""
		}
	}
	return nil
}

// selfContained reports whether all libraries that the objects need are in the artifact or on
// the platform, so that no other package matters.
func selfContained(f *facts.Artifact, p *platform.Platform) bool {
	return !numpyMatters(f) && !compares(f) && len(needsOf(f, p, fix.Scenario{})) == 0
}

// numpyMatters reports whether an artifact, or a package that it requires, may have been built
// against NumPy 1. Which NumPy is installed then matters, although no library shows it.
func numpyMatters(f *facts.Artifact) bool {
	return slices.ContainsFunc(f.Objects, func(o *facts.Object) bool {
		return o.NumPy == facts.NumPy1
	}) || f.Metadata != nil &&
		slices.ContainsFunc(f.Metadata.Requires, packages.History().MayBeForNumPy1)
}

// compares reports whether a module of an artifact compares itself with another package. Which
// release is installed then matters, although no library shows it.
func compares(f *facts.Artifact) bool {
	return slices.ContainsFunc(f.Objects, func(o *facts.Object) bool { return len(o.Compared()) > 0 })
}

func equal(a, b *packages.Set) bool {
	return slices.EqualFunc(
		slices.Collect(a.All()),
		slices.Collect(b.All()),
		func(x, y *packages.Release) bool { return x.ID() == y.ID() },
	)
}

// on returns the interpreter and machine of an artifact: those of the options, otherwise those
// of the wheel's tags, otherwise a current Python. A wheel for several interpreters is also
// resolved with versions for the later ones.
func (o *Options) on(f *facts.Artifact, p *platform.Platform) packages.Target {
	on := packages.Target{Python: "3.12", Arch: p.Arch, System: p.OS}
	if o.On.Python != "" {
		if on = o.On; p.OS != on.System {
			on.Libc, on.LibcVersion = "", ""
		}
		on.Arch, on.System = p.Arch, p.OS
		return on
	}
	if f.Wheel == nil {
		on.Pythons = ">=3"
		return on
	}
	tagged := ""
	for _, t := range f.Wheel.Tags {
		if v, ok := strings.CutPrefix(t.Python, "cp3"); ok && v != "" {
			on.Python, tagged = "3."+v, ">=3."+v
		}
	}
	if singlePython(f) {
		return on
	}
	on.Pythons = cmp.Or(tagged, ">=3")
	if f.Metadata != nil && f.Metadata.RequiresPython != "" {
		on.Pythons += "," + f.Metadata.RequiresPython
	}
	if !packages.AdmitsPython(on.Pythons, on.Python) {
		on.Python = cmp.Or(packages.Interpreters(on.Pythons)[0], on.Python)
	}
	return on
}
