package packages

import (
	"context"
	"fmt"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// lookups caches what a source answers, for one resolution.
type lookups struct {
	source   Source
	target   Target // of the releases
	listing  Target // of the versions
	listed   map[string]*listed
	releases map[ID]*choice
	specs    map[string]pkgmeta.Spec
	required map[string][]required
	fresh    map[string]bool // packages whose versions were requested again
	first    map[string]bool // packages of which a release was looked up
	more     int             // releases that were looked up, without the first of each package
}

// listed is what a source answers about the versions of a package: those that can be installed on
// the target, and all, which are only requested if they are needed.
type listed struct{ here, all answer }

// answer is a list of versions, oldest first, or why there is none.
type answer struct {
	known    bool // it was requested
	versions []pkgmeta.Version
	err      error
}

// required is a requirement of a release that applies. extra is set if it does not without extras.
type required struct {
	requirement
	extra bool
}

func newLookups(source Source, q Request) *lookups {
	versions := q.On
	if q.End == Lowest {
		versions.Pythons = "" // the oldest versions are those for the oldest interpreter
	}
	return &lookups{
		source:   source,
		target:   q.On,
		listing:  versions,
		listed:   map[string]*listed{},
		releases: map[ID]*choice{},
		specs:    map[string]pkgmeta.Spec{},
		required: map[string][]required{},
		fresh:    map[string]bool{},
		first:    map[string]bool{},
	}
}

// spec parses a specifier; an invalid one admits every version.
func (l *lookups) spec(text string) pkgmeta.Spec {
	s, ok := l.specs[text]
	if !ok {
		s, _ = pkgmeta.ParseSpec(text)
		l.specs[text] = s
	}
	return s
}

// versions returns the versions of a package that can be installed on the target, or everywhere.
func (l *lookups) versions(
	ctx context.Context, name string, everywhere, again bool,
) ([]pkgmeta.Version, error) {
	if again && !l.fresh[name] {
		l.fresh[name] = true
		delete(l.listed, name)
	}
	if l.listed[name] == nil {
		l.listed[name] = &listed{}
	}
	to, on := &l.listed[name].here, l.listing
	on.Fresh = again
	if everywhere {
		to, on = &l.listed[name].all, Target{}
	}
	if !to.known {
		names, err := l.source.Versions(ctx, name, on)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && everywhere && len(names) == 0 {
			err = fmt.Errorf("%s has no version: %w", name, ErrUnknown)
		}
		*to = answer{true, Sorted(names), err}
	}
	return to.versions, to.err
}

// complete looks up the release of a choice that has only a version. The error is that of ctx.
func (l *lookups) complete(ctx context.Context, name string, c *choice) error {
	if c.release != nil || c.err != nil {
		return nil //nolint:nilerr // the error is that of the choice, which has it already
	}
	id := ID{name, c.version}
	known := l.releases[id]
	if known == nil {
		known = &choice{version: c.version}
		known.release, known.err = l.source.Release(ctx, name, c.version, l.target)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if l.releases[id] = known; known.err == nil && l.first[name] {
			l.more++
		}
		l.first[name] = l.first[name] || known.err == nil
	}
	*c = *known
	return nil
}

// applicable returns the requirements of a release that apply with some extras.
func (l *lookups) applicable(s *search, r *Release, extras []string) []required {
	key := r.ID().String() + fmt.Sprint(extras)
	out, ok := l.required[key]
	if ok {
		return out
	}
	for _, q := range r.Requires {
		w, always := s.requirement(q, nil)
		if !always {
			if w, ok = s.requirement(q, extras); !ok {
				continue
			}
		}
		w.by, w.from, w.rank = r.ID().String(), r.ID(), 2
		out = append(out, required{w, !always})
	}
	l.required[key] = out
	return out
}
