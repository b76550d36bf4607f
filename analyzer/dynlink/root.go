package dynlink

import (
	"errors"
	"io"
	"io/fs"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Root is the file system that the loader sees. The caller implements it: this package opens no
// files itself. Paths start with "/" and may contain "..", "//" and symbolic links, which are
// resolved inside the root as in a chroot.
type Root interface {
	// Open returns an error that wraps fs.ErrNotExist if there is no such file (also below a file
	// or if the name is too long), fs.ErrPermission if it cannot be read, and another one otherwise
	// (circular links). Folders and devices can be opened.
	Open(path string) (File, error)
	// Folder reports whether there is a folder at path.
	Folder(path string) bool
}

// ReadObject reads a file of a root. It returns nil if there is no ELF file at path.
func ReadObject(root Root, path string) *elfobj.Object {
	f, err := root.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	o, err := elfobj.Read(f, f.Size())
	if err != nil {
		return nil
	}
	return o
}

// File is an open file. ReadAt fails for a folder.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64  // 0 unless it is a regular file
	ID() FileID   // the same for all names of a file
	Folder() bool // whether it is a folder
}

// FileID is the identity of a file: device and inode.
type FileID struct{ Device, Inode uint64 }

// object is a file of the root. It is read once.
type object struct {
	path     string // the path with which it was first opened
	folder   bool
	short    bool // shorter than an ELF header
	magic    bool // the magic number is right
	head     *elfobj.Head
	segments []elfobj.Segment
	unread   error // error of reading the program headers
	m        *elfobj.Mapping
	damage   error // why m is not usable: what would kill the process
	kernel   uint32
	foreign  []elfobj.Reference // references that the object does not satisfy itself

	bound   bindings
	other   *object  // read with another header: see readAs
	library *Library // set in an Environment, which has no files
	// In an Environment: its state in an earlier load, reused in the next one.
	previous *loaded
}

// span returns the address range of an object with fixed addresses.
func (o *object) span() (from, to uint64) {
	from = ^uint64(0)
	for _, s := range o.segments {
		if s.Type == ptLoad {
			from, to = min(from, s.Addr), max(to, s.Addr+s.MemSize)
		}
	}
	return from, to
}

// readObject reads everything that a loader needs from a file. If kind is not nil, its class,
// byte order and machine replace those of the file.
func readObject(f File, path string, kind *elfobj.Head) *object {
	o := &object{path: path}
	if o.folder = f.Folder(); o.folder {
		return o
	}
	h, err := elfobj.ReadHead(f, f.Size(), kind)
	if err != nil {
		o.short, o.magic = !errors.Is(err, elfobj.ErrNotELF), !errors.Is(err, elfobj.ErrNotELF)
		return o
	}
	o.head, o.magic = h, true
	if h.Class == 0 || h.Type != typeExec && h.Type != typeDyn ||
		h.PhEntSize != phEntSize(h.Class) {
		return o
	}
	if o.segments, o.unread = h.Segments(f, f.Size()); o.unread != nil {
		return o
	}
	if !hasDynamic(o.segments) {
		return o
	}
	o.kernel = h.KernelNote(f, f.Size(), o.segments)
	if o.m, o.damage = h.Map(f, f.Size(), o.segments); o.damage != nil {
		return o
	}
	o.foreign = foreign(o.m)
	return o
}

const (
	typeExec, typeDyn = 2, 3 // ET_EXEC, ET_DYN
	ptLoad, ptDynamic = 1, 2
)

func phEntSize(class int) uint16 {
	if class == 64 {
		return 56
	}
	return 32
}

func hasDynamic(segments []elfobj.Segment) bool {
	for _, s := range segments {
		if s.Type == ptDynamic && s.FileSize > 0 {
			return true
		}
	}
	return false
}

// opened is the result of opening a path.
type opened struct {
	object *object
	err    error // nil if object is set
}

// store caches the files of a root.
type store struct {
	root    Root
	work    string                    // the working folder of processes; "" = /
	known   func(path string) *object // replaces root in an Environment
	files   map[string]opened
	objects map[FileID]*object
	folders map[string]bool
	held    int // bytes
	marks   int
}

// maxHeld is the size in bytes at which the cache is cleared. With uncollected garbage, the
// process stays below 300 MB.
const maxHeld = 96 << 20

func newStore(root Root) *store {
	s := &store{root: root}
	s.empty()
	return s
}

func (s *store) empty() {
	s.files, s.objects, s.folders, s.held = map[string]opened{}, map[FileID]*object{},
		map[string]bool{}, 0
}

// open opens a path. Relative paths are below the loader's working folder.
func (s *store) open(path string) (*object, error) {
	if o, ok := s.files[path]; ok {
		return o.object, o.err
	}
	o, err := s.read(path)
	s.files[path] = opened{o, err}
	s.held += 64 + len(path)
	return o, err
}

func (s *store) read(path string) (*object, error) {
	if s.known != nil {
		if o := s.known(path); o != nil {
			return o, nil
		}
		return nil, fs.ErrNotExist
	}
	f, err := s.root.Open(s.rooted(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	id := f.ID()
	if o, ok := s.objects[id]; ok {
		return o, nil
	}
	o := readObject(f, path, nil)
	s.objects[id] = o
	s.hold(o)
	return o, nil
}

func (s *store) hold(o *object) {
	if o.m != nil {
		s.held += o.m.Size() + 24*len(o.foreign)
	}
}

// readAs returns an object as read by a loader that assumes its own kind for every file.
func (s *store) readAs(o *object, path string, kind *elfobj.Head) *object {
	if h := o.head; o.folder ||
		h != nil && h.Class == kind.Class && h.Big == kind.Big && h.Machine == kind.Machine {
		return o
	}
	if o.other == nil {
		o.other = o
		if f, err := s.root.Open(s.rooted(path)); err == nil {
			defer f.Close()
			o.other = readObject(f, path, kind)
			s.hold(o.other)
		}
	}
	return o.other
}

func (s *store) folder(path string) bool {
	if path == "" || s.known != nil {
		return true
	}
	is, ok := s.folders[path]
	if !ok {
		is = s.root.Folder(s.rooted(path))
		s.folders[path] = is
	}
	return is
}

// text returns the content of a small file, or nil if there is none.
func (s *store) text(path string, limit int64) []byte {
	f, err := s.root.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, min(max(f.Size(), 0), limit))
	if n, err := f.ReadAt(b, 0); n < len(b) && err != nil {
		return nil
	}
	return b
}

// rooted returns an absolute path.
func (s *store) rooted(path string) string {
	if path == "" || path[0] != '/' {
		return s.work + "/" + path
	}
	return path
}

func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// searchContinues reports whether a search continues after an error in an existing folder
// (open_path: ENOENT and EACCES).
func searchContinues(err error) bool {
	return notThere(err) || errors.Is(err, fs.ErrPermission)
}
