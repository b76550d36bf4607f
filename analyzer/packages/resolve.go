package packages

import (
	"context"
	"fmt"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// End selects an end of the declared version ranges.
type End string

const (
	Lowest  End = "lowest"
	Highest End = "highest"
)

// maxFollowed limits how many packages one resolution looks up that only the artifact and other
// packages require: a package may require any number. The largest CUDA stacks have about 30. The
// packages that the user requires are not limited, because all of them are needed.
const maxFollowed = 500

// ErrTooMany is the error for a required package that was not looked up, because there are too
// many. It wraps neither ErrUnknown nor ErrUnavailable.
var ErrTooMany error = tooMany{}

type tooMany struct{}

func (tooMany) Error() string {
	return fmt.Sprintf("not looked up, because more than %d packages are required that nothing pins",
		maxFollowed)
}

// Values of Conflict.By that are not packages.
const (
	Artifact = "the artifact"
	User     = "the user"
)

// Request is what a resolution is for.
type Request struct {
	On Target
	// With are the requirements of the user; a later one for the same package replaces an earlier one.
	With []pkgmeta.Requirement
	// Wheel returns the version of a package of which the user gave a wheel, "" without one. As soon
	// as something requires the package, that version is chosen as if With pinned it last, also
	// instead of a version in With. Nil: there are none.
	Wheel func(name string) string
	// Requires are the requirements of the artifact.
	Requires []pkgmeta.Requirement
	End      End
	// Lazy limits the packages that are looked up; nil: all are.
	Lazy Lazy
	// Installed returns the version of a package that is already installed, "" for none. That version
	// is chosen at both ends if it satisfies all requirements; otherwise it is replaced, as pip does.
	// Nil: nothing is installed.
	Installed func(name string) string
}

// Lazy decides which packages a lazy resolution looks up after the ones chosen so far. enough
// reports whether these suffice, so that packages with unknown contents need not be looked up.
// provides reports whether a package may contain something that is still missing; known is false if
// that cannot be decided without looking the package up.
//
// A lazy resolution looks up the packages that the user requires and, of the others, only those
// that are needed, beginning with those known to provide something missing. Requirements of
// packages that are not looked up are ignored.
type Lazy func(chosen *Set) (enough bool, provides func(name string) (provides, known bool))

// Resolve selects one release of every package that the user, the artifact and the selected
// packages require, with the extras that any of them requests: a set that can be installed
// together, as pip chooses it. At the highest end that is the set that a fresh install picks today,
// at the lowest end the oldest one that the ranges allow.
//
// A version that the user pins is always chosen. If no set satisfies the other requirements,
// those of the user take precedence over the artifact's, and those over the packages'; what the
// result does not satisfy is in Conflicts. The only errors are those of ctx.
func Resolve(ctx context.Context, source Source, q Request) (*Set, error) {
	s := newSearch(source, q)
	for {
		if err := s.run(ctx); err != nil {
			return s.set(), err
		}
		set := s.set()
		if q.Lazy == nil || s.beyond {
			return set, nil
		}
		next := s.nextLazy(q.Lazy(set))
		if next == "" {
			return set, nil
		}
		s.lookUp[next] = true
	}
}
