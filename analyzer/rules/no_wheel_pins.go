package rules

import (
	"cmp"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// maxElsewhere limits the packages without a wheel that are looked up for another system.
const maxElsewhere = 32

// reportPins reports pins that an installer refuses or builds from source. One that several
// environments have is one finding.
func reportPins(p *analyzer.EnvironmentPass, pins []analyzer.NoWheel) {
	if len(pins) == 0 {
		return
	}
	var on []string
	pythons := map[string]fix.Fix{} // results of otherPython
	others := slices.Concat(p.AllArtifacts(), withoutWheel(p))
	for _, w := range pins {
		f := pinFinding(w)
		if f.On = w.On; f.On == nil {
			if on == nil {
				on = p.Targets()
			}
			f.On = on
		}
		if i := slices.IndexFunc(p.Reported(), func(x analyzer.Finding) bool {
			return x.Rule == p.ID() && x.Artifact == w.ID() && x.Package == w.Package
		}); i >= 0 {
			known := &p.Reported()[i]
			known.On = slices.Concat(known.On, f.On)
			continue
		}
		if w.Hash && w.Artifact == "" {
			f.Artifact = p.Artifact(w.Package)
		}
		var fixes []fix.Fix
		if w.Hash {
			fixes = append(fixes, fix.Fix{
				Kind: fix.KindEnvironment, Cost: []string{}, Command: w.Renew,
				Title: fix.Titled("Update the hashes of %s in %s", w.ID(), w.At.File),
			})
		}
		if x, ok := otherPin(w, others); ok {
			fixes = append(fixes, x)
		}
		if w.Python != "" {
			x, known := pythons[w.Python]
			if !known {
				x = otherPython(p, w.Python)
				pythons[w.Python] = x
			}
			fixes = append(fixes, x)
		}
		p.Report(f, fixes...)
	}
}

// pinFinding returns the finding of a pin. Its artifact is NAME==VERSION, or the one that is
// checked with it.
func pinFinding(w analyzer.NoWheel) analyzer.Finding {
	f := analyzer.Finding{
		Severity: analyzer.Error, Artifact: cmp.Or(w.Artifact, w.ID()), Package: w.Package,
		NoWheelFor: w.For, Message: w.Reason,
	}
	if w.Detail != "" {
		f.Headline, f.Message = w.Reason, w.Reason+"; "+w.Detail
	}
	if w.Source {
		f.Severity = analyzer.Warning
		f.Message += ", so it is built from source where it is installed"
	}
	f.Message += " (" + w.At.String() + ")"
	f.Headline = cmp.Or(f.Headline, f.Message)
	return f
}

// withoutWheel returns the packages without a wheel for the environment, with the requirements of
// their wheels for newer systems: an installer that builds them has to satisfy these too.
func withoutWheel(p *analyzer.EnvironmentPass) (out []analyzer.Artifact) {
	if !slices.ContainsFunc(p.NoWheel, func(w analyzer.NoWheel) bool { return len(w.Others) > 0 }) {
		return nil
	}
	on := packages.Target{Python: p.On.Python, Arch: p.On.Arch, System: p.On.System}
	env := on.Markers()
	for _, w := range p.NoWheel[:min(len(p.NoWheel), maxElsewhere)] {
		release := p.Release(pkgmeta.Normalize(w.Package), w.Version, on)
		if release == nil {
			continue // there is none, or only for another Python
		}
		a := analyzer.Artifact{Wheel: &analyzer.Wheel{Name: w.Package, Version: w.Version}}
		for _, q := range release.Requires {
			if ok, err := q.Applies(env); err == nil && ok {
				a.Wheel.Requires = append(a.Wheel.Requires, q.Name+q.Spec)
			}
		}
		out = append(out, a)
	}
	return out
}

// otherPython returns the fix that uses an interpreter for which all packages have a wheel. If
// there is none, it is the given one, and its cost are the packages without a wheel. Packages that
// could not be looked up are ignored, as are those of which only the source is published.
func otherPython(p *analyzer.EnvironmentPass, python string) fix.Fix {
	x := fix.Fix{
		Kind: fix.KindEnvironment, Cost: withoutWheelFor(p, python),
		Title: fix.Titled("Use Python %s", python),
	}
	if len(x.Cost) == 0 {
		x.Title = x.Title.Append(", for which all packages have a wheel")
		return x
	}
	if other := pythonForAll(p, python); other != "" {
		x.Title = fix.Titled("Use Python %s, for which all packages have a wheel", other)
		x.Cost = []string{}
		return x
	}
	missing := analyzer.List(x.Cost, 4, len(x.Cost), "package")
	x.Cost = []string{"no wheel for Python " + python + ": " + missing}
	return x
}

// pythonForAll returns the newest interpreter for which all packages have a wheel, neither the
// given one nor that of the environment; "" if there is none. Each package is looked up for all
// interpreters at once, because its page is long.
func pythonForAll(p *analyzer.EnvironmentPass, python string) string {
	left := slices.DeleteFunc(packages.Interpreters(""), func(other string) bool {
		return other == python || other == p.On.Python
	})
	var mu sync.Mutex // of left
	each(pinsOf(p), func(_ int, q pin) {
		mu.Lock()
		try := slices.Clone(left)
		mu.Unlock()
		lacking := slices.DeleteFunc(try, func(other string) bool { return !q.lacks(p, other) })
		mu.Lock()
		defer mu.Unlock()
		left = slices.DeleteFunc(left, func(other string) bool {
			return slices.Contains(lacking, other)
		})
	})
	if len(left) == 0 {
		return ""
	}
	return left[len(left)-1]
}

// withoutWheelFor returns the packages that have no wheel for an interpreter. It is not nil.
func withoutWheelFor(p *analyzer.EnvironmentPass, python string) []string {
	pins := pinsOf(p)
	lacks := make([]bool, len(pins))
	each(pins, func(n int, q pin) { lacks[n] = q.lacks(p, python) })
	out := []string{}
	for n, q := range pins {
		if lacks[n] {
			out = append(out, q.name+q.text)
		}
	}
	return out
}

// atOnce is how many packages are looked up at once: each may wait for a request.
const atOnce = 8

// each calls f for each pin and its index, several at once.
func each(pins []pin, f func(int, pin)) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for n, q := range pins {
		all.Go(func() error {
			f(n, q)
			return nil
		})
	}
	_ = all.Wait() // nothing fails
}

// pin is a requirement of an environment.
type pin struct {
	name, text string
	spec       pkgmeta.Spec
}

// pinsOf returns the requirements of an environment that can be parsed, also those of packages
// without a wheel.
func pinsOf(p *analyzer.EnvironmentPass) (out []pin) {
	ids := slices.Clone(p.With)
	for _, w := range p.NoWheel {
		ids = append(ids, w.Package+"=="+w.Version)
	}
	for _, id := range ids {
		q, err := pkgmeta.ParseRequirement(id)
		if err != nil {
			continue
		}
		if spec, err := pkgmeta.ParseSpec(q.Spec); err == nil {
			out = append(out, pin{q.Name, q.Spec, spec})
		}
	}
	return out
}

// lacks reports whether no version that the pin admits has a wheel for an interpreter. It is false
// if that is not known.
func (q pin) lacks(p *analyzer.EnvironmentPass, python string) bool {
	on := p.On
	on.Python = python
	versions, known := p.Versions(q.name, on)
	return known && !slices.ContainsFunc(packages.Sorted(versions), q.spec.Admits)
}

// otherPin returns the closest version with a wheel that the requirements of the other packages
// allow.
// If they allow none, it is the closest, and its cost is what does not allow it.
func otherPin(w analyzer.NoWheel, others []analyzer.Artifact) (x fix.Fix, ok bool) {
	for _, version := range w.Others {
		v, err := pkgmeta.ParseVersion(version)
		if err != nil {
			continue
		}
		pin := w.Package + "==" + version
		y := fix.Fix{
			Kind: fix.KindPin, Title: fix.Titled("Pin %s, which has a wheel for it",
				fix.Requirement(pin)),
			Requirement: pin, Cost: analyzer.Conflicts(w.Package, v, others),
		}
		if len(y.Cost) == 0 {
			return y, true
		}
		if !ok {
			x, ok = y, true
		}
	}
	return x, ok
}
