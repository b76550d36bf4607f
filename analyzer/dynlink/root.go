package dynlink

import (
	"errors"
	"io"
	"io/fs"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Root is a file system as the loader sees it. The caller provides it: this package opens nothing
// by itself. Paths start with "/" and may hold "..", "//" and links, which are followed inside the
// root as the kernel does in a chroot.
type Root interface {
	// Open returns an error that wraps fs.ErrNotExist where nothing is there (or can be, below a
	// file or under too long a name), fs.ErrPermission where it can't be read, and another one
	// otherwise (a circle of links). A folder and a device can be opened.
	Open(path string) (File, error)
	// Folder tells whether there is a folder.
	Folder(path string) bool
}

// ReadObject reads a file of a root in whole; nil where there is none, or none that is an object.
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

// File is an open file. ReadAt of a folder fails.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64  // 0 for what is no regular file
	ID() FileID   // equal for two names of one file
	Folder() bool // whether it is a folder
}

// FileID is the identity of a file: device and inode.
type FileID struct{ Device, Inode uint64 }

// object is one file of the root, read once.
type object struct {
	path     string // where it was opened first
	folder   bool
	short    bool // no whole ELF header
	magic    bool // the magic number is right
	head     *elfobj.Head
	segments []elfobj.Segment
	unread   error // of the program headers
	m        *elfobj.Mapping
	damage   error // of m: what would kill the process
	kernel   uint32
	foreign  []elfobj.Reference // what it looks up and does not define itself

	bound   bindings
	other   *object  // read by another head: see like
	library *Library // of an Environment, which has no files; else nil
	// of an Environment: what it was in an earlier load, to be what it is in the next one
	again *loaded
}

// span is the range of addresses that an object of fixed addresses takes.
func (o *object) span() (from, to uint64) {
	from = ^uint64(0)
	for _, s := range o.segments {
		if s.Type == ptLoad {
			from, to = min(from, s.Addr), max(to, s.Addr+s.MemSize)
		}
	}
	return from, to
}

// readObject reads everything that any loader asks of a file. kind is nil, or the head by whose
// class, byte order and machine the file is read, whatever its own says.
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

// opened is the answer to one path.
type opened struct {
	object *object
	err    error // nil: object is there
}

// store is what was read of a root, in memory.
type store struct {
	root    Root
	known   func(path string) *object // of an Environment, in place of root
	files   map[string]opened
	objects map[FileID]*object
	folders map[string]bool
	held    int // bytes
	marks   int
}

// maxHeld is where the store is emptied: with what the collector leaves behind it keeps the process
// under 300 MB.
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

// open opens a path; a relative one is below "/", the loader's working folder.
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
	f, err := s.root.Open(rooted(path))
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

// like is an object as a loader sees it that takes every file for one of its own kind.
func (s *store) like(o *object, path string, kind *elfobj.Head) *object {
	if h := o.head; o.folder ||
		h != nil && h.Class == kind.Class && h.Big == kind.Big && h.Machine == kind.Machine {
		return o
	}
	if o.other == nil {
		o.other = o
		if f, err := s.root.Open(rooted(path)); err == nil {
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
		is = s.root.Folder(rooted(path))
		s.folders[path] = is
	}
	return is
}

// text reads a whole small file; nil where there is none.
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

func rooted(path string) string {
	if path == "" || path[0] != '/' {
		return "/" + path
	}
	return path
}

func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// passes tells whether the search goes on after such an error in a folder that exists (open_path:
// ENOENT and EACCES).
func passes(err error) bool {
	return notThere(err) || errors.Is(err, fs.ErrPermission)
}
