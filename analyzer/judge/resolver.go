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
	judge *Judge
	// Look up all packages instead of only those that are needed.
	full map[*facts.Artifact]bool
	sets map[string]*packages.Set
	none packages.Set // no packages
}

func newResolver(j *Judge) *resolver {
	return &resolver{
		judge: j,
		full:  map[*facts.Artifact]bool{},
		sets:  map[string]*packages.Set{},
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
	if err := r.judge.options.enable(declared, r.judge.options.on(f, p.Arch)); err != nil {
		return nil, err
	}
	if len(with) == 0 && (len(declared) == 0 || selfContained(f, p)) {
		return []*packages.Set{&r.none}, nil
	}
	var lazy *packages.Lazy
	if d := r.judge.demand; d != nil {
		d.want(f, p, s)
		if r.partial(f) {
			lazy = d.lazy(f, p)
		}
	}
	low, err := r.atEnd(ctx, f, p.Arch, with, declared, packages.Lowest, lazy)
	if err != nil {
		return nil, err
	}
	high, err := r.atEnd(ctx, f, p.Arch, with, declared, packages.Highest, lazy)
	if err != nil || equal(low, high) {
		return []*packages.Set{low}, err
	}
	return []*packages.Set{low, high}, nil
}

func (r *resolver) atEnd(
	ctx context.Context,
	f *facts.Artifact,
	arch string,
	with, declared []pkgmeta.Requirement,
	end packages.End,
	lazy *packages.Lazy,
) (*packages.Set, error) {
	on := r.judge.options.on(f, arch)
	key := []string{arch, on.Python, on.Pythons, string(end)}
	for _, q := range with {
		key = append(key, "with "+q.Raw)
	}
	for _, q := range declared {
		key = append(key, q.Raw)
	}
	if lazy != nil {
		key = append(key, "for "+f.Path)
	}
	id := strings.Join(key, "|")
	if s, ok := r.sets[id]; ok {
		return s, nil
	}
	var installed func(name string) string
	if r.judge.conda != nil {
		installed = r.judge.conda.version
	}
	s, err := packages.ResolveLazily(ctx, r.judge.source, on, with, declared, end, lazy, installed)
	if err != nil {
		return s, err
	}
	if r.judge.demand != nil {
		r.judge.demand.complete(ctx, s, on)
	}
	r.sets[id] = s
	return s, nil
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
	env := pkgmeta.DefaultMarkerEnv(on.Python, on.Arch)
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
	if slices.ContainsFunc(f.Objects, func(o *facts.Object) bool { return o.NumPy == facts.NumPy1 }) {
		return false
	}
	own := ownNames(f)
	for _, o := range f.Objects {
		if o.Arch() != p.Arch {
			continue
		}
		for _, n := range o.Needed {
			if !own[n] && p.Library(n) == nil {
				return false
			}
		}
	}
	return true
}

func equal(a, b *packages.Set) bool {
	return slices.EqualFunc(
		a.Releases,
		b.Releases,
		func(x, y *packages.Release) bool { return x.ID() == y.ID() },
	)
}

// on returns the interpreter and machine of an artifact: those of the options, otherwise those
// of the wheel's tags, otherwise a current Python. A wheel for several interpreters is also
// resolved with versions for the later ones.
func (o *Options) on(f *facts.Artifact, arch string) packages.Target {
	if o.On.Python != "" {
		on := o.On
		on.Arch = arch
		return on
	}
	on := packages.Target{Python: "3.12", Arch: arch}
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
