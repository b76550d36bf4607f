package review

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/sleep"
)

const (
	// patience is how long a failing index is retried, in one review.
	patience   = 35 * time.Second
	firstPause = 2 * time.Second
)

// opener opens each wheel once, as a file, within the limits of a review. It retries a failing
// index.
type opener struct {
	dir string

	mu     sync.Mutex
	left   int64 // bytes left of the limit
	opened map[wheelID]func() (*index.Wheel, error)
	open   []*index.Wheel
	over   map[string]bool // NAME==VERSION of packages above the limit
	seen   map[string]bool
	more   int       // number of packages that were left out before
	failed time.Time // time since which the index fails; zero = it does not
}

type wheelID struct {
	name, version string
	on            packages.Target
	digests       string // of which it has to have one
}

// comparing is the opener for a commit: it compares digests with those of its files.
type comparing struct {
	*opener
	index   index.Installer
	digests map[packages.ID][]string // of the releases, as index compares them
}

// Open implements pinned.Opener. Closing the wheel does nothing.
func (o *comparing) Open(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*index.Wheel, error) {
	id := wheelID{name, version, on, ""}
	if v, err := pkgmeta.ParseVersion(version); err == nil {
		release := packages.ID{Name: pkgmeta.Normalize(name), Version: v.String()}
		id.digests = strings.Join(o.digests[release], " ")
	}
	o.mu.Lock()
	if o.opened == nil {
		o.opened = map[wheelID]func() (*index.Wheel, error){}
		o.over, o.seen = map[string]bool{}, map[string]bool{}
	}
	o.seen[name+"=="+version] = true
	get := o.opened[id]
	if get == nil {
		get = sync.OnceValues(func() (*index.Wheel, error) { return o.fetch(ctx, id, limit) })
		o.opened[id] = get
	}
	o.mu.Unlock()
	w, err := get()
	var large *index.TooLargeError
	if errors.As(err, &large) { // another limit may admit it
		o.mu.Lock()
		delete(o.opened, id)
		o.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	shared := &index.Wheel{
		ReaderAt: w.ReaderAt, File: w.File, SHA256: w.SHA256, Size: w.Size, Pure: w.Pure,
		Recorded: w.Recorded, Shares: w.Shares, Together: w.Together,
		Portable: w.Portable, Stored: w.Stored,
	}
	return shared, nil
}

// fetch opens a wheel and copies it to a file.
func (o *comparing) fetch(ctx context.Context, id wheelID, limit int64) (*index.Wheel, error) {
	o.mu.Lock()
	full := o.left <= 0
	limit = min(limit, o.left)
	o.mu.Unlock()
	if full {
		return nil, o.above(id)
	}
	var w *index.Wheel
	err := o.retry(ctx, func() (err error) {
		w, err = o.index.Open(ctx, id.name, id.version, id.on, limit)
		return err
	})
	if err != nil || w.Pure || w.Recorded {
		return w, err
	}
	o.mu.Lock()
	o.left -= w.Size
	full = o.left < 0
	o.mu.Unlock()
	if full {
		return nil, errors.Join(o.above(id), w.Close())
	}
	if err := o.retry(ctx, func() error { return w.Spool(o.dir) }); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, w)
	return w, nil
}

func (o *opener) above(id wheelID) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over[id.name+"=="+id.version] = true
	return errBudget
}

// Pure is like index.Installer.Pure, with retries.
func (o *comparing) Pure(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (pure bool, err error) {
	err = o.retry(ctx, func() error {
		pure, err = o.index.Pure(ctx, name, version, on)
		return err
	})
	return pure, err
}

// retry repeats a function while the index fails, with pauses, until patience is over.
func (o *opener) retry(ctx context.Context, do func() error) error {
	pause := firstPause
	for {
		err := do()
		if err == nil || !errors.Is(err, packages.ErrUnreachable) {
			return err
		}
		o.mu.Lock()
		if o.failed.IsZero() {
			o.failed = time.Now()
		}
		ends := time.Since(o.failed) > patience
		o.mu.Unlock()
		if ends || sleep.For(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, 8*time.Second)
	}
}

// skip counts packages that were left out.
func (o *opener) skip(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.more += n
}

// missed returns the number of packages above the limits, and of all packages.
func (o *opener) missed() (n, of int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.more + len(o.over), o.more + len(o.seen)
}

// counted reports whether a package is above the limits.
func (o *opener) counted(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over[id]
}

// Close removes the files.
func (o *opener) Close() {
	for _, w := range o.open {
		_ = w.Close() // it is unlinked
	}
}

// file returns the file of a wheel that an opener opened.
func file(content io.ReaderAt) io.ReaderAt {
	if w, ok := content.(*index.Wheel); ok {
		if f, ok := w.ReaderAt.(*os.File); ok {
			return f
		}
	}
	return content
}
