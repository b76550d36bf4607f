// Package pinned opens the wheels of an environment that lock files or requirements
// describe, so that the analyzer can check whether they load together.
//
//	f := pinned.Files{Paths: []string{"uv.lock"}, Read: os.ReadFile}
//	p, err := f.Pinned(packages.Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"})
//	err = p.Resolve(ctx, source)
//	w, err := p.Open(ctx, indexes)
//	defer w.Close()
//	report, err := a.CheckEnvironment(ctx, &w.Environment, nil, options)
//
// Files reads the pins of lock files and requirements files. Resolve pins the requirements that
// have no version. For each pin the wheel is opened that pip would install for the interpreter
// and platform, and only the members that matter for loading are downloaded. Nothing is installed
// or executed.
package pinned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/shellword"
	"golang.org/x/sync/errgroup"
)

const (
	atOnce = 6 // concurrent downloads; pip opens about as many connections
	// maxObjects limits the compressed shared objects of a wheel that is read without asking whether
	// it is needed, in bytes. Only the large GPU frameworks exceed it.
	maxObjects = 192 << 20
)

// Pinned contains one version of each package, for one interpreter and platform.
type Pinned struct {
	Pins  []Pin
	On    packages.Target
	Files []string // that were read, in this order
	// PythonFrom is where On.Python is known from, as Files.Python returns it; "" = it was given.
	PythonFrom string
	// Guessed means that no file names On.Python.
	Guessed bool
	// Platform is the name of the system for the report; "" = analyzer.Options decides.
	Platform string
	// Unpinned are requirements without a version, which Resolve pins. Constraints limit their
	// versions.
	Unpinned, Constraints []Pin
	// Declared are the requirements of the projects from which lock files are made.
	Declared []lockfile.Declared
	Notes    []string
	// Partial means that a file may not pin all that its packages need.
	Partial bool
	// Apart means that a file does not show which packages depend on each other (Pin.Needs).
	Apart bool
	// Budget limits the total bytes of the opened wheels; 0 = DefaultBudget. Wheels above it are
	// in Unread.
	Budget int64

	// Unhashed are requirements that pip refuses because they have no hash and others of the file do,
	// by the file that was given.
	Unhashed map[string][]Pin

	assumed bool // none of the files that were given names On.Python
	// Named are the indexes that requirements files name.
	Named []Index
	// Asked are the URLs of the indexes that are used. If the files name another one, and a package
	// is not found, Unread says so. nil = Unread says nothing about indexes.
	Asked []string

	beyond []analyzer.Unread // a package that Resolve did not look up, because there are too many
}

// DefaultBudget is 2 GiB: the shared objects of torch have 860 MB, those of cuDNN 630 MB, and large
// environments have 600 MB of others. Wheels of that size are read only if a pin is not the one
// that they were published with.
const DefaultBudget = 2 << 30

// errBudget is the error for a wheel that was not opened because of Pinned.Budget.
var errBudget = errors.New("not opened")

// Pin is a pinned version with the file that contains it.
type Pin struct {
	lockfile.Pin
	File string // as the user wrote it
}

// Text returns the requirement with its marker.
func (p Pin) Text() string {
	if p.Marker == "" {
		return p.Requirement
	}
	return p.Requirement + "; " + p.Marker
}

// Index is an index that a requirements file names.
type Index struct {
	lockfile.Index
	File string
}

// Names returns the packages of a lock or requirements file of a trusted branch, whatever system,
// extra or group needs them: the ones that an index with credentials may be asked for when a pull
// request is checked. It is nil if the file cannot be read, which is reported where it is used.
func Names(file string, data []byte) []string {
	l, err := lockfile.Read(file, data)
	if err != nil {
		return nil
	}
	return l.Names
}

// SamePins reports whether two lists of environments pin the same versions.
func SamePins(a, b []*Pinned) bool {
	ids := func(list []*Pinned) map[string]bool {
		out := map[string]bool{}
		for _, e := range list {
			for _, p := range slices.Concat(e.Pins, e.Unpinned) {
				out[e.Platform+" "+p.Requirement] = true
			}
		}
		return out
	}
	return maps.Equal(ids(a), ids(b))
}

// Locked returns the files that the lock files of environments list. indexes are the URLs of those
// that are used: hashes of packages that come from another one are not compared.
func Locked(indexes []string, list ...*Pinned) *index.Locked {
	l := &index.Locked{
		Files: map[packages.ID][]lockfile.File{}, Digests: map[packages.ID][]string{},
		Pins: map[string][]string{}, Complete: true,
	}
	for _, e := range list {
		l.Complete, l.AnyPython = l.Complete && !e.Partial, l.AnyPython || e.assumed
		for _, p := range e.Pins {
			q, version, err := split(p)
			if err != nil {
				continue
			}
			v, err := pkgmeta.ParseVersion(version)
			if err != nil {
				continue
			}
			if !slices.Contains(l.Pins[q.Name], v.String()) {
				l.Pins[q.Name] = append(l.Pins[q.Name], v.String())
			}
			id := packages.ID{Name: q.Name, Version: v.String()}
			if len(p.Files) > 0 {
				l.Files[id] = p.Files
			}
			if digests := p.SHA256(); len(digests) > 0 && from(p.Indexes, indexes) {
				l.Digests[id] = append(l.Digests[id], digests...)
			}
		}
	}
	return l
}

// from reports whether all indexes are among those that are used.
func from(indexes, used []string) bool {
	return !slices.ContainsFunc(indexes, func(address string) bool {
		u, err := url.Parse(address)
		return err != nil || address == "" || !slices.ContainsFunc(used, func(a string) bool {
			b, err := url.Parse(a)
			return err == nil && strings.EqualFold(u.Host, b.Host) &&
				strings.Trim(u.Path, "/") == strings.Trim(b.Path, "/")
		})
	})
}

// Opener opens the wheel that pip would install. It is implemented by internal/index; index.Open
// documents the errors.
type Opener interface {
	Open(
		ctx context.Context,
		name, version string,
		on packages.Target,
		limit int64,
	) (*index.Wheel, error)
}

// Wheels are the opened wheels of an environment. Wheels with native code are in the order of the
// pins.
type Wheels struct {
	analyzer.Environment
	// Recorded are the wheels that were not opened, because they are known to need no other package:
	// NAME==VERSION, in the order of the pins.
	Recorded []string
	// Together is set if some of them need other packages of exactly the pinned versions.
	Together bool
	opened   []io.Closer
	left     int64 // bytes left of the budget
}

// ReadOthersFrom sets where other versions than the pinned or installed ones are read. Without it
// none are: the Opener of the wheels may be limited to the files of a lock file.
func (w *Wheels) ReadOthersFrom(o Opener) {
	w.Other = func(ctx context.Context, name, version string) (*analyzer.Input, error) {
		if w.left <= 0 {
			return nil, nil
		}
		other, err := o.Open(ctx, name, version, w.On, maxObjects)
		if err != nil {
			return nil, err
		}
		w.left -= other.Size
		if other.Pure || other.Recorded {
			return nil, nil
		}
		w.opened = append(w.opened, other)
		return &analyzer.Input{
			Name: other.File, Content: other, Size: other.Size, SHA256: other.SHA256,
		}, nil
	}
}

// Close closes all wheels.
func (w *Wheels) Close() error {
	var err error
	for _, o := range w.opened {
		err = errors.Join(err, o.Close())
	}
	return err
}

// Open opens the wheel of every pin whose marker applies to the environment. The error is that of
// ctx; failures of single pins are in Unread.
func (e *Pinned) Open(ctx context.Context, from Opener) (*Wheels, error) {
	type result struct {
		place int
		wheel *index.Wheel
		id    string
		err   error
	}
	var (
		mu      sync.Mutex
		results []result
		spent   atomic.Int64
	)
	budget := cmp.Or(e.Budget, DefaultBudget)
	var g errgroup.Group
	g.SetLimit(atOnce)
	for n, p := range e.Pins {
		q, version, err := split(p)
		g.Go(func() error {
			r := result{place: n, id: p.Requirement, err: err}
			switch {
			case err != nil:
			case spent.Load() >= budget:
				r.id, r.err = q.Name+"=="+version, errBudget
			default:
				r.id = q.Name + "==" + version
				r.wheel, r.err = from.Open(ctx, q.Name, version, e.On, maxObjects)
				if r.wheel != nil {
					spent.Add(r.wheel.Size)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			results = append(results, r)
			return ctx.Err()
		})
	}
	err := g.Wait()
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.place, b.place) })
	var large []largeWheel
	for i, r := range results {
		if l := (largeWheel{result: i}); errors.As(r.err, &l.TooLargeError) {
			large = append(large, l)
		}
	}
	unread, matched := e.unmatched(large)
	for _, l := range unread { // the smallest first, so that most are read
		r := &results[l.result]
		p, version, _ := split(e.Pins[r.place])
		if left := budget - spent.Load(); err == nil && l.Packed <= left {
			if r.wheel, r.err = from.Open(ctx, p.Name, version, e.On, left); r.wheel != nil {
				spent.Add(r.wheel.Size)
			}
			err = ctx.Err()
		}
		if errors.As(r.err, &l.TooLargeError) {
			r.err = errBudget
		}
	}
	w := &Wheels{}
	w.Notes, w.Unread = slices.Clone(e.Notes), e.unpinned()
	w.On, w.Platform, w.Origins = e.On, e.Platform, map[string]analyzer.Origin{}
	w.Declared = e.Declared
	w.left = budget - spent.Load()
	missed, portable := 0, 0
	var unverified, sources []string
	for _, r := range results {
		p := e.Pins[r.place]
		if r.wheel != nil && r.wheel.File != "" && r.wheel.SHA256 == "" && len(p.SHA256()) > 0 {
			unverified = append(unverified, r.id)
		}
		if errors.Is(r.err, errBudget) {
			missed++
			r.err = fmt.Errorf(
				"the limit of %d MB for all wheels together was reached", budget>>20)
		}
		var none *index.NoWheelError
		// what a build from source contains is not known
		if errors.As(r.err, &none) && none.Tags == nil {
			sources = append(sources, r.id)
		} else {
			w.With = append(w.With, p.Requirement)
		}
		w.Origins[p.Requirement] = analyzer.Origin{File: p.File, Line: p.Line}
		if errors.Is(r.err, packages.ErrUnknown) {
			r.err = fmt.Errorf("%w%s", r.err, e.elsewhere(p))
		}
		w.add(p, r.id, r.wheel, r.err)
		if r.wheel != nil && r.wheel.Portable {
			portable++
		}
		if r.wheel != nil && r.wheel.Recorded {
			w.Recorded = append(w.Recorded, r.id)
			w.Together = w.Together || r.wheel.Together
		}
	}
	w.NoWheel = append(w.NoWheel, e.Refused()...)
	if len(unverified) > 0 {
		w.Notes = append(w.Notes, "the index has no SHA-256 of their files, so the hashes were not "+
			"compared: "+analyzer.List(unverified, 8, len(unverified), "package"))
	}
	if len(sources) > 0 {
		format := "%d of %d packages are published as source only and were not checked: %s"
		if len(sources) == 1 {
			format = "%d of %d packages is published as source only and was not checked: %s"
		}
		w.Notes = append(w.Notes, fmt.Sprintf(format, len(sources), len(results),
			analyzer.List(sources, 8, len(sources), "package")))
	}
	if len(w.Recorded) > 0 {
		w.Notes = append(w.Notes, "known from the built-in package history and independent of other "+
			"packages, so not read: "+analyzer.List(w.Recorded, 8, len(w.Recorded), "package"))
	}
	if len(matched) > 0 {
		w.Notes = append(w.Notes, "known from the built-in package history and pinned together with the "+
			"versions that they were published with, so not read: "+
			analyzer.List(matched, 8, len(matched), "package"))
	}
	if portable > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d of %d packages have a wheel for any platform, which "+
			"was not read, because such a wheel should have no native code", portable, len(results)))
	}
	if missed > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d of %d packages were not read, because the limit of "+
			"%d MB for all wheels together was reached", missed, len(results), budget>>20))
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// split returns the requirement of a pin and its version.
func split(p Pin) (q pkgmeta.Requirement, version string, err error) {
	if q, err = pkgmeta.ParseRequirement(p.Requirement); err != nil {
		return q, "", err
	}
	version, pinned := strings.CutPrefix(q.Spec, "==")
	if version = strings.TrimSpace(strings.TrimLeft(version, "=")); !pinned ||
		strings.ContainsAny(version, "*,") {
		return q, "", fmt.Errorf("%s does not pin a version; write NAME==VERSION", q.Raw)
	}
	return q, version, nil
}

// add stores the result of opening a pin's wheel.
func (w *Wheels) add(p Pin, id string, opened *index.Wheel, err error) {
	var large *index.TooLargeError
	var none *index.NoWheelError
	var hash *packages.HashError
	switch {
	case errors.As(err, &hash):
		place := analyzer.Origin{File: p.File, Line: p.Line, HashLine: p.HashLine}
		w.NoWheel = append(w.NoWheel, analyzer.Refused(place, hash))
	case errors.As(err, &none) && none.Tags == nil:
		w.Skipped = append(w.Skipped, analyzer.Unread{Path: id, Reason: "published as source only; " +
			"the build that pip makes is not checked"})
	case errors.As(err, &none):
		w.NoWheel = append(w.NoWheel, analyzer.NoWheel{
			Package: none.Name, Version: none.Version, Reason: none.Reason(), Detail: none.Detail(),
			At:     analyzer.Origin{File: p.File, Line: p.Line},
			Source: none.Source && none.RequiresPython == "", Others: none.Others,
			Python: none.Misfit.Python, For: none.Misfit.Lacks,
		})
	case errors.As(err, &large):
		w.Listed = append(w.Listed, listed(large.File, ""))
	case err != nil:
		w.Unread = append(w.Unread, analyzer.Unread{Path: id, Reason: at(p) + ": " + err.Error()})
	case opened.Pure && opened.File == "":
		a := analyzer.Artifact{Path: id, Kind: analyzer.KindWheel, Wheel: &analyzer.Wheel{}}
		a.Wheel.Name, a.Wheel.Version, _ = strings.Cut(id, "==")
		w.Listed = append(w.Listed, a)
	case opened.Pure, opened.Recorded:
		w.Listed = append(w.Listed, listed(opened.File, opened.SHA256))
	default:
		w.opened = append(w.opened, opened)
		w.Wheels = append(w.Wheels, analyzer.Input{
			Name: opened.File, Content: opened, Size: opened.Size, SHA256: opened.SHA256,
		})
	}
}

func listed(file, sha256 string) analyzer.Artifact {
	a := analyzer.Artifact{Path: file, SHA256: sha256, Kind: analyzer.KindWheel}
	if n, err := pkgmeta.ParseWheelName(file); err == nil {
		a.Wheel = &analyzer.Wheel{Name: n.Name, Version: n.Version}
	}
	return a
}

// Refused returns the requirements that pip refuses because they have no hash.
func (e *Pinned) Refused() []analyzer.NoWheel {
	var out []analyzer.NoWheel
	for _, file := range slices.Sorted(maps.Keys(e.Unhashed)) {
		list := e.Unhashed[file]
		q, err := pkgmeta.ParseRequirement(list[0].Requirement)
		if err != nil {
			continue
		}
		n := analyzer.NoWheel{
			Package: q.Name, Hash: true, At: analyzer.Origin{File: list[0].File, Line: list[0].Line},
			Renew: lockfile.Renew(file, q.Name),
		}
		if version, pinned := strings.CutPrefix(q.Spec, "=="); pinned {
			n.Version = version
		}
		n.Reason = q.Name + q.Spec + " has no hash, but others of the file do"
		if more := len(list) - 1; more > 0 {
			n.Reason = fmt.Sprintf("%s%s and %d more have no hash, but others of the file do", q.Name,
				q.Spec, more)
		}
		n.Detail = "pip refuses to install the requirements of " + file
		out = append(out, n)
	}
	return out
}

// elsewhere ends an error about a pin that the indexes do not have: the files name another index,
// which is not used, because it may be anyone's. It is "" if they do not.
func (e *Pinned) elsewhere(p Pin) string {
	if e.Asked == nil {
		return ""
	}
	place := func(match func(Index) bool) string {
		if i := slices.IndexFunc(e.Named, match); i >= 0 {
			return analyzer.Origin{File: e.Named[i].File, Line: e.Named[i].Line}.String()
		}
		return ""
	}
	for _, address := range p.Indexes {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || from([]string{address}, e.Asked) {
			continue
		}
		u.User = nil // it may have a password
		at := cmp.Or(place(func(i Index) bool { return i.URL == address }), p.File)
		return fmt.Sprintf("; %s names the index %s, which compat uses only if you name it: "+
			"PIP_EXTRA_INDEX_URL=%s, or --index-url for each index", at, u, shellword.Quote(u.String()))
	}
	if at := place(func(i Index) bool {
		return i.Option == "-f" || i.Option == "--find-links"
	}); at != "" && slices.Contains(p.Indexes, "") {
		return "; " + at + " has --find-links, whose files compat does not read; install the packages " +
			"and check them with --venv"
	}
	return ""
}

// at returns FILE:LINE of a pin.
func at(p Pin) string {
	return analyzer.Origin{File: p.File, Line: p.Line}.String()
}
