// Package pinned reads what lock files, requirements files and environments pin, and opens the
// wheels, so that the analyzer can check whether they load together.
//
//	f := pinned.Files{Paths: []string{"uv.lock"}, Read: os.ReadFile}
//	p, err := f.Pinned(packages.Target{Python: "3.11", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36"})
//	c := pinned.Check{Lookup: lookup, Run: a.CheckEnvironments, Pins: []*pinned.Pinned{p}}
//	report, _, err := c.Report(ctx)
//
// Files reads the pins for one interpreter and platform, or with Anywhere for all. The command line
// and the App read files with it, so that they find the same packages. For each pin the wheel is
// opened that pip would install, and only the members that matter for loading are downloaded.
// Nothing is installed or executed.
package pinned

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/shellword"
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
	// Budget limits the bytes that are downloaded of wheels; 0 = DefaultBudget. Wheels above it are
	// in Unread.
	Budget int64

	// Unhashed are requirements that pip refuses because they have no hash and others of the file do,
	// by the file that was given.
	Unhashed map[string][]Pin

	from    *Files // that it was read from
	assumed bool   // none of the files that were given names On.Python
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
	// For is the package that needs one that no file names, as NAME==VERSION, and File is the one
	// that leads to it; "" for others.
	For string
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
// extra or group needs them: those that may be looked up in an index with credentials when a pull
// request is checked. It is nil if the file cannot be read, which is reported where it is used.
func Names(file string, data []byte) []string {
	l, err := decode(file, data)
	if err != nil {
		return nil
	}
	return l.Names
}

// Versions returns the releases that a lock or requirements file lists, as NAME==VERSION with a
// normalized name, whatever installs them. It is nil if the file cannot be read.
func Versions(file string, data []byte) []string {
	l, err := decode(file, data)
	if err != nil {
		return nil
	}
	return l.Versions
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
			q, version, err := split(p.Requirement)
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

// split returns the requirement of a pin and its version.
func split(requirement string) (q pkgmeta.Requirement, version string, err error) {
	if q, err = pkgmeta.ParseRequirement(requirement); err != nil {
		return q, "", err
	}
	version, pinned := strings.CutPrefix(q.Spec, "==")
	if version = strings.TrimSpace(strings.TrimLeft(version, "=")); !pinned ||
		strings.ContainsAny(version, "*,") {
		return q, "", fmt.Errorf("%s does not pin a version; write NAME==VERSION", q.Raw)
	}
	return q, version, nil
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

// at returns FILE:LINE of a pin, or which package requires it.
func at(p Pin) string {
	if p.For != "" {
		return "needed by " + p.For
	}
	return analyzer.Origin{File: p.File, Line: p.Line}.String()
}
