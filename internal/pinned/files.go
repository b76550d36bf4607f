package pinned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	maxFiles = 100 // of one environment, including files that requirements files include
	// newestPython is the default interpreter.
	newestPython = "3.12"
)

// Files are the lock and requirements files of one environment.
type Files struct {
	Paths []string // as the user wrote them, with slashes
	// Read reads one of Paths, or a path that a requirements file includes. Files for which it
	// returns an error are not followed.
	Read           func(path string) ([]byte, error)
	Extras, Groups []string // in addition to what is installed by default
}

// ErrPython is the error for a lock file that does not allow the interpreter that was named.
var ErrPython = errors.New("it requires Python")

// FileError is the error for a file that cannot be read or is not a lock file.
type FileError struct {
	Path string
	Err  error // contains the line, if known
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// Python returns the interpreter of the environment, and where that is known from: the
// .python-version next to the first file or in the working directory; else the one for which
// pip-compile or uv wrote a file, or the oldest, from 3.7, that requires-python of a file or of the
// pyproject.toml next to one of them allows. Both are "" if no file names a version.
func (f *Files) Python() (python, from string) {
	python, from, _ = f.python()
	return python, from
}

// python is Python. own is false if the version is not that of .python-version or of f.Paths.
func (f *Files) python() (python, from string, own bool) {
	var next []string
	for _, file := range f.Paths {
		next = append(next, path.Dir(path.Clean(file)))
	}
	for _, dir := range append(next[:min(1, len(next))], ".") {
		data, err := f.Read(path.Join(dir, ".python-version"))
		if v := PythonVersion(string(data)); err == nil && v != "" {
			return v, ".python-version", true
		}
	}
	files := slices.Clone(f.Paths)
	for _, dir := range next {
		files = append(files, path.Join(dir, "pyproject.toml"))
	}
	for i, file := range files {
		data, err := f.Read(file)
		if err != nil {
			continue // Pinned returns the error
		}
		if v := OldestPython(lockfile.RequiresPython(path.Base(file), data)); v != "" {
			return v, "the oldest that " + path.Base(file) + " allows", i < len(f.Paths)
		}
		if v := lockfile.CompiledFor(data); v != "" && i < len(f.Paths) {
			return v, path.Base(file) + " was compiled for it", true
		}
	}
	return "", "", false
}

var pythonVersion = lazyregexp.New(`^(?:cpython-)?(3\.\d{1,2})(?:\.\d+)?(?:\s|$)`)

// PythonVersion returns the first interpreter that a .python-version names: "3.12". It is "" if
// that is no version of CPython 3.
func PythonVersion(text string) string {
	if m := pythonVersion.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		return m[1]
	}
	return ""
}

// OldestPython returns the oldest interpreter from 3.7 that a Requires-Python allows; "" if it is
// empty or invalid, or allows none.
func OldestPython(requires string) string {
	spec, err := pkgmeta.ParseSpec(requires)
	if err != nil || spec.String() == "" {
		return ""
	}
	for _, v := range packages.Interpreters(requires) {
		if !platform.Older(v, "3.7") {
			return v
		}
	}
	return ""
}

// Pinned reads the files and returns the pins that apply to the platform. A later pin of a
// package replaces an earlier one. Errors are *FileError, also for a lock file that does not allow
// on.Python.
func (f *Files) Pinned(on packages.Target) (*Pinned, error) {
	p := &Pinned{On: on}
	if on.Python == "" {
		var own bool
		p.On.Python, p.PythonFrom, own = f.python()
		if p.assumed = !own; p.On.Python == "" {
			p.On.Python, p.PythonFrom = newestPython, "no file names a version; --python sets one"
			p.Guessed = true
		}
	}
	r := fileReader{files: f, pinned: p, seen: map[string]bool{}, places: map[string]int{}}
	r.choice = lockfile.Choice{
		Python: p.On.Python, Arch: on.Arch, Extras: f.Extras, Groups: f.Groups,
	}
	for _, file := range f.Paths {
		r.hashed, r.constrained, r.unhashed = false, false, nil
		if err := r.read(path.Clean(file), false); err != nil {
			return nil, err
		}
		r.unhashed = slices.DeleteFunc(r.unhashed, func(u Pin) bool {
			return slices.ContainsFunc(p.Pins, func(x Pin) bool {
				return x.Requirement == u.Requirement && x.Hashes != nil
			})
		})
		// Constraints may have hashes too.
		if r.hashed && !r.constrained && len(r.unhashed) > 0 {
			if p.Unhashed == nil {
				p.Unhashed = map[string][]Pin{}
			}
			p.Unhashed[path.Clean(file)] = r.unhashed
		}
	}
	for _, file := range f.Paths {
		p.Declared = append(p.Declared, Declared(path.Clean(file), p.On, f.Read)...)
	}
	p.Notes = append(p.Notes, p.stale()...)
	for _, pins := range [][]Pin{p.Pins, p.Unpinned} {
		for i := range pins {
			if pin := &pins[i]; pin.Indexes == nil && pin.Files == nil {
				for _, x := range p.Named {
					pin.Indexes = append(pin.Indexes, x.URL)
				}
			}
		}
	}
	return p, nil
}

// stale returns a note for each requirement of a project that the lock file does not satisfy,
// because it was changed and the lock file was not made again.
func (p *Pinned) stale() (notes []string) {
	if p.Declared == nil {
		return nil
	}
	type pinned struct {
		pkgmeta.Version
		file string
	}
	versions := map[string]pinned{}
	for _, x := range p.Pins {
		q, err := pkgmeta.ParseRequirement(x.Requirement)
		if v, ok := q.Pin(); err == nil && ok {
			versions[q.Name] = pinned{v, x.File}
		}
	}
	for _, d := range p.Declared {
		v, ok := versions[d.Name]
		if !ok || d.Manual || d.Tool != "" || d.Extra != "" || d.Group != "" || d.Admits(v.Version) {
			continue // of the optional ones it is not known whether they are locked
		}
		notes = append(notes, fmt.Sprintf("%s:%d requires %s%s, but %s pins %s; lock again",
			d.File, d.Line, d.Name, d.Spec, v.file, v.Version))
	}
	return notes
}

// Declared returns the requirements that apply to a system in the pyproject.toml next to a lock
// file, and in those of the members of its workspace. read is as in Files.
func Declared(
	file string,
	on packages.Target,
	read func(path string) ([]byte, error),
) (out []lockfile.Declared) {
	if !lockfile.OfProject(file) {
		return nil
	}
	members := []lockfile.Member{{}}
	if data, err := read(file); err == nil {
		members = append(members, lockfile.Members(file, data)...)
	}
	for _, m := range members {
		project := path.Join(path.Dir(file), m.Folder, "pyproject.toml")
		data, err := read(project)
		if err != nil {
			continue
		}
		for _, d := range lockfile.Project(data) {
			ok, err := d.Applies(pkgmeta.DefaultMarkerEnv(on.Python, on.Arch))
			if d.File, d.Member = project, m; ok && err == nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// fileReader reads files and the files that they include.
type fileReader struct {
	files  *Files
	choice lockfile.Choice
	pinned *Pinned
	seen   map[string]bool
	places map[string]int // package -> index in pinned.Pins

	hashed, constrained bool // the current file of Files.Paths has hashes, and constraints
	unhashed            []Pin
}

func (r *fileReader) read(file string, constraint bool) error {
	key := fmt.Sprint(constraint, file)
	if r.seen[key] {
		return nil
	}
	if r.seen[key] = true; len(r.seen) > maxFiles {
		return &FileError{file, fmt.Errorf("the environment has more than %d files", maxFiles)}
	}
	data, err := r.files.Read(file)
	if err != nil {
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err // the inner error does not repeat the path
		}
		return &FileError{file, err}
	}
	lock, err := lockfile.Read(file, data, r.choice)
	if err != nil {
		return &FileError{file, err}
	}
	python := r.pinned.On.Python
	if requires := lockfile.RequiresPython(path.Base(file), data); python != "" &&
		r.pinned.PythonFrom == "" && !packages.AdmitsPython(requires, python) {
		return &FileError{file, fmt.Errorf("%w %s, not %s", ErrPython, requires, python)}
	}
	for kind, list := range [][]lockfile.Include{lock.Includes, lock.Constraints} {
		for _, i := range list {
			at := path.Join(path.Dir(file), strings.ReplaceAll(i.Path, "\\", "/"))
			err := r.read(at, constraint || kind == 1)
			var inner *FileError
			if errors.As(err, &inner) && inner.Path == at && len(lock.Pins)+i.Line > 0 {
				err = &FileError{file, fmt.Errorf("line %d: %w", i.Line, inner)}
			}
			if err != nil {
				return err
			}
		}
	}
	for _, x := range lock.Indexes {
		r.pinned.Named = append(r.pinned.Named, Index{x, file})
	}
	r.hashed, r.constrained = r.hashed || lock.Hashed, r.constrained || constraint
	for _, pin := range lock.Unhashed {
		r.unhashed = append(r.unhashed, Pin{pin, file})
	}
	p := r.pinned
	if !constraint {
		p.Partial, p.Apart = p.Partial || !lock.Complete, p.Apart || !lock.Graph
	}
	for _, note := range lock.Notes {
		p.Notes = append(p.Notes, file+": "+note)
	}
	for _, pin := range lock.Pins {
		if constraint {
			p.Constraints = append(p.Constraints, Pin{pin, file})
			continue
		}
		r.add(Pin{pin, file})
	}
	for _, open := range lock.Open {
		if constraint {
			p.Constraints = append(p.Constraints, Pin{open, file})
		} else {
			p.Unpinned = append(p.Unpinned, Pin{open, file})
		}
	}
	return nil
}

// add adds a pin, which replaces an earlier pin of the same package.
func (r *fileReader) add(pin Pin) {
	p := r.pinned
	name, _, _ := strings.Cut(pin.Requirement, "==")
	name = pkgmeta.Normalize(name)
	n, again := r.places[name]
	if !again {
		r.places[name] = len(p.Pins)
		p.Pins = append(p.Pins, pin)
		return
	}
	if was := p.Pins[n]; was.Requirement != pin.Requirement {
		p.Notes = append(p.Notes, fmt.Sprintf("%s pins %s and %s pins %s; compat checked %s (%s)",
			at(was), was.Requirement, at(pin), pin.Requirement, pin.Requirement, at(pin)))
	}
	p.Pins[n] = pin
}

// Resolve pins the packages in Unpinned to the versions that pip would install now: the newest
// that the requirements, constraints and other pins allow. Packages without such a version stay
// in Unpinned and are reported as Unread. The error is that of ctx.
func (e *Pinned) Resolve(ctx context.Context, source packages.Source) error {
	var with, open []pkgmeta.Requirement
	names := map[string]Pin{}
	for _, p := range e.Pins {
		if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil {
			with = append(with, q)
			names[q.Name] = Pin{}
		}
	}
	limits := map[string][]string{}
	for _, p := range slices.Concat(e.Constraints, e.Unpinned) {
		if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil && q.Spec != "" {
			limits[q.Name] = append(limits[q.Name], q.Spec)
		}
	}
	for _, p := range e.Unpinned {
		q, err := pkgmeta.ParseRequirement(p.Requirement)
		if err != nil {
			continue
		}
		if _, pinned := names[q.Name]; pinned {
			continue // it does not apply here, or the name is pinned by another line
		}
		names[q.Name] = p
		q.Spec = strings.Join(limits[q.Name], ",")
		q.Raw = q.Name + q.Spec
		open = append(open, q)
	}
	e.Unpinned = nil
	if len(open) == 0 {
		return nil
	}
	// The pins only matter for their requirements on the open packages.
	set, err := packages.Resolve(ctx, source, e.On, slices.Concat(with, open), nil, packages.Highest)
	if err != nil {
		return err
	}
	var chosen []string
	for _, q := range open {
		p := names[q.Name]
		release := set.Release(q.Name)
		if release == nil {
			e.Unpinned = append(e.Unpinned, p)
			continue
		}
		p.Requirement = release.ID().String()
		e.Pins = append(e.Pins, p)
		chosen = append(chosen, p.Requirement)
	}
	if i := slices.IndexFunc(set.Unresolved, func(u packages.Unresolved) bool {
		return errors.Is(u.Err, packages.ErrTooMany)
	}); i >= 0 {
		u := set.Unresolved[i]
		e.beyond = append(e.beyond, analyzer.Unread{Path: u.Requirement, Reason: u.Err.Error()})
	}
	if len(chosen) > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("not pinned, so checked at the versions that pip would "+
			"install today: %s", strings.Join(chosen, ", ")))
	}
	return nil
}

// unpinned lists the packages for which Resolve found no version, and one that it did not look up.
func (e *Pinned) unpinned() []analyzer.Unread {
	out := e.beyond
	for _, p := range e.Unpinned {
		out = append(out, analyzer.Unread{
			Path: p.Requirement, Reason: at(p) + ": it pins no version, and the index has none that fits" +
				e.elsewhere(p),
		})
	}
	return out
}
