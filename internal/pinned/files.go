package pinned

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

const (
	maxFiles = 100 // of one environment, including files that requirements files include
	// DefaultPython is the interpreter if nothing says which one is used.
	DefaultPython = "3.12"
)

// Files are the lock and requirements files of one environment. Each is read and parsed once.
type Files struct {
	Paths []string // as the user wrote them, with slashes
	// Read reads one of Paths, or a path that a requirements file includes. Files for which it
	// returns an error are not followed.
	Read           func(path string) ([]byte, error)
	Extras, Groups []string // in addition to what is installed by default
	// NoDefaultGroups is as in lockfile.Choice.
	NoDefaultGroups bool
	// Everything selects all extras and groups of each file, unless they exclude each other.
	Everything bool
	// ImagePython is the interpreter of the image that the packages are installed in; "" = it is not
	// known.
	ImagePython string
	// Most limits the files, with those that requirements files include; 0 = 100.
	Most int

	read map[string]*parsed
}

// parsed is a file that was read. lock is nil if it is not a lock file.
type parsed struct {
	data []byte
	lock *lockfile.Lock
	err  error // a *FileError
}

// FileError is the error for a file that cannot be read or is not a lock file.
type FileError struct {
	Path string
	Line int // 0 = unknown
	// Missing means that the file was not read: Err is that of Files.Read, or there are too many
	// files.
	Missing bool
	Err     error // of a line that includes a file, it may be the *FileError of that file
}

func (e *FileError) Error() string { return e.Path + ": " + e.Reason() }

// Reason is the error without the path.
func (e *FileError) Reason() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return e.Err.Error()
}

func (e *FileError) Unwrap() error { return e.Err }

// Included returns those of Paths, and of the files that they include, that were read so far.
func (f *Files) Included() (files []string) {
	for file, p := range f.read {
		if p.data != nil {
			files = append(files, file)
		}
	}
	return files
}

// parse reads a file, once.
func (f *Files) parse(file string) *parsed {
	if p := f.read[file]; p != nil {
		return p
	}
	if f.read == nil {
		f.read = map[string]*parsed{}
	}
	p := &parsed{}
	f.read[file] = p
	data, err := f.Read(file)
	if err != nil {
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err // the inner error does not repeat the path
		}
		p.err = &FileError{Path: file, Missing: true, Err: err}
		return p
	}
	p.data = data
	if p.lock, err = decode(file, data); err != nil {
		p.err = fileError(file, err)
	}
	return p
}

// fileError returns the error of package lockfile for a file.
func fileError(file string, err error) error {
	var line *lockfile.LineError
	if errors.As(err, &line) {
		return &FileError{Path: file, Line: line.Line, Err: line.Err}
	}
	return &FileError{Path: file, Err: err}
}

// Pinned reads the files and returns the pins that apply to the platform. A later pin of a
// package replaces an earlier one. Errors are *FileError, also for a lock file that does not allow
// on.Python.
func (f *Files) Pinned(on packages.Target) (*Pinned, error) {
	p := &Pinned{On: on, from: f}
	if on.Python == "" {
		p.On.Python, p.PythonFrom, p.assumed = f.python()
		if p.On.Python == "" {
			p.On.Python, p.PythonFrom = DefaultPython, "no file names a version; --python sets one"
			p.Guessed = true
		}
	}
	if err := f.choose(p); err != nil {
		return nil, err
	}
	for _, pins := range [][]Pin{p.Pins, p.Unpinned} {
		for i := range pins {
			pins[i].Marker = "" // it applies
		}
	}
	for _, file := range f.Paths {
		p.Declared = append(p.Declared, f.declared(path.Clean(file), p.On)...)
	}
	p.Notes = append(p.Notes, p.stale()...)
	return p, nil
}

// choose adds what the files pin for p.On.
func (f *Files) choose(p *Pinned) error {
	r := fileReader{
		files: f, pinned: p, seen: map[string]bool{}, places: map[string]int{},
		choice: lockfile.Choice{
			Python: p.On.Python, Arch: p.On.Arch, System: p.On.System, Extras: f.Extras, Groups: f.Groups,
			NoDefaultGroups: f.NoDefaultGroups,
		},
	}
	for _, file := range f.Paths {
		r.hashed, r.constrained, r.unhashed = false, false, nil
		if err := r.read(path.Clean(file), false); err != nil {
			return err
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
	// Packages come from the indexes that the files name, unless a file lists where they are.
	for _, pins := range [][]Pin{p.Pins, p.Unpinned} {
		for i := range pins {
			if pin := &pins[i]; pin.Indexes == nil && pin.Files == nil {
				for _, x := range p.Named {
					pin.Indexes = append(pin.Indexes, x.URL)
				}
			}
		}
	}
	return nil
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
	r.seen[key] = true
	if most := cmp.Or(r.files.Most, maxFiles); len(r.seen) > most {
		return &FileError{
			Path: file, Missing: true, Err: fmt.Errorf("the environment has more than %d files", most),
		}
	}
	f := r.files.parse(file)
	if f.err != nil {
		return f.err
	}
	choice := r.choice
	if r.files.Everything {
		choice.Extras, choice.Groups = f.lock.Extras, f.lock.Groups
	}
	lock, err := f.lock.Choose(choice)
	if err != nil && r.files.Everything {
		lock, err = f.lock.Choose(r.choice)
	}
	if err != nil {
		return fileError(file, err)
	}
	p := r.pinned
	p.Files = append(p.Files, file)
	if python := p.On.Python; python != "" && p.PythonFrom == "" &&
		!packages.AdmitsPython(f.lock.Python, python) {
		return &FileError{Path: file, Err: fmt.Errorf("%w %s, not %s", ErrPython, f.lock.Python, python)}
	}
	if err := r.include(file, lock.Includes, constraint); err != nil {
		return err
	}
	if err := r.include(file, lock.Constraints, true); err != nil {
		return err
	}
	for _, x := range lock.Indexes {
		p.Named = append(p.Named, Index{x, file})
	}
	r.hashed, r.constrained = r.hashed || lock.Hashed, r.constrained || constraint
	for _, pin := range lock.Unhashed {
		r.unhashed = append(r.unhashed, Pin{Pin: pin, File: file})
	}
	if !constraint {
		p.Partial, p.Apart = p.Partial || !lock.Complete, p.Apart || !lock.Graph
	}
	for _, note := range lock.Notes {
		p.Notes = append(p.Notes, file+": "+note)
	}
	for _, pin := range lock.Pins {
		if constraint {
			p.Constraints = append(p.Constraints, Pin{Pin: pin, File: file})
			continue
		}
		r.add(Pin{Pin: pin, File: file})
	}
	for _, open := range lock.Open {
		if constraint {
			p.Constraints = append(p.Constraints, Pin{Pin: open, File: file})
		} else {
			p.Unpinned = append(p.Unpinned, Pin{Pin: open, File: file})
		}
	}
	return nil
}

// include reads the files that lines of a file include.
func (r *fileReader) include(file string, list []lockfile.Include, constraint bool) error {
	for _, i := range list {
		at := strings.ReplaceAll(i.Path, "\\", "/")
		if !path.IsAbs(at) {
			at = path.Join(path.Dir(file), at)
		}
		err := r.read(at, constraint)
		var inner *FileError
		if errors.As(err, &inner) && inner.Path == at {
			return &FileError{Path: file, Line: i.Line, Err: inner}
		}
		if err != nil {
			return err
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
