package pinned

import (
	"context"
	"errors"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/index"
)

// Lookup is where packages are looked up.
type Lookup struct {
	packages.Source
	Indexes index.Several // of which Source is made; nil = Source is the built-in history
}

// WithLock returns the lookup with the files that lock files list.
func (l Lookup) WithLock(locked *index.Locked) Lookup {
	if len(l.Indexes) == 0 {
		return l
	}
	with := l.Indexes.WithLock(locked)
	return Lookup{with, with}
}

// Addresses returns the URLs of the indexes, without credentials.
func (l Lookup) Addresses() []string {
	var out []string
	for _, i := range l.Indexes {
		out = append(out, i.String())
	}
	return out
}

// readOthers lets a fix be another version of a package, whose wheel is read for it, where it is
// known which wheels pip would choose.
func (l Lookup) readOthers(list []*Wheels, locked *index.Locked) {
	all := l.WithLock(&index.Locked{AnyPython: locked.AnyPython, ReadAll: true})
	for _, w := range list {
		if (w.On.Libc != "" || w.On.System != platform.Linux) && len(all.Indexes) > 0 {
			w.ReadOthersFrom(all.Indexes)
		}
	}
}

// Open opens the wheels of environments; see Pinned.Open.
func Open(ctx context.Context, list []*Pinned, from Opener) ([]*Wheels, error) {
	var out []*Wheels
	for _, e := range list {
		w, err := e.Open(ctx, from)
		if err != nil {
			return nil, errors.Join(err, Close(out))
		}
		out = append(out, w)
	}
	return out, nil
}

// Close closes all wheels of environments.
func Close(list []*Wheels) error {
	var err error
	for _, w := range list {
		err = errors.Join(err, w.Close())
	}
	return err
}
