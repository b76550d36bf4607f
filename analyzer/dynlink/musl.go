package dynlink

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// musl models musl's ldso (ldso/dynlink.c of 1.2.x) as its ldd runs it: no versions, no cache,
// RPATH and RUNPATH are equivalent and both inherited, and libc and the loader are one file. It
// checks few fields of the header, and loads the first file that a search finds or fails.
type musl struct {
	arch   string       // musl's name of the architecture
	self   *loaded      // the loader, with the name in PT_INTERP
	kind   *elfobj.Head // header of self
	path   []string     // default folders
	short  map[string]*loaded
	listed map[string]bool // which of muslReserved were listed
	// 1.2.4 and later: libc has no symbols for large files (open64 …), the loader maps them
	large bool
	crash string // why the loader dies of a signal
}

// muslArch returns musl's name of an architecture, as in ld-musl-armhf.so.1.
func muslArch(arch string) string {
	switch arch {
	case "i686":
		return "i386"
	case "armv7l":
		return "armhf"
	case "ppc64le":
		return "powerpc64le"
	}
	return arch
}

// muslPath returns the path of musl's loader, which the ABI defines.
func muslPath(arch string) string { return "/lib/ld-musl-" + muslArch(arch) + ".so.1" }

// muslRelocations are the types that do_relocs supports (arch/*/reloc.h). On other machines
// every type is accepted.
var muslRelocations = map[elfobj.Machine][]uint32{
	62:  {0, 1, 2, 5, 6, 7, 8, 16, 17, 18, 36},                    // x86_64
	3:   {0, 1, 2, 5, 6, 7, 8, 14, 35, 36, 37, 41},                // i386
	183: {0, 257, 1024, 1025, 1026, 1027, 1028, 1029, 1030, 1031}, // aarch64
	243: {0, 2, 3, 4, 5, 7, 9, 11, 12},                            // riscv64
}

func (u *musl) resolve(r *run) error {
	loader := "/lib/ld-musl-" + u.arch + ".so.1"
	o, err := r.store.open(loader)
	if err != nil || o.m == nil {
		return &failure{"the root has no loader " + loader}
	}
	if r.main.object.damage != nil {
		return &failure{r.asking + ": Not a valid dynamic program"}
	}
	name := first(r.main.object.m, loader)
	u.kind, u.self = o.head, &loaded{object: o, path: name, shown: name, foundBy: foundLoader}
	u.large = !muslDefines(o.m, named("open64"))
	u.path = u.folders(r)
	u.short, u.listed = map[string]*loaded{}, map[string]bool{}
	// A library may need the program's file, which is loaded once more then.
	delete(r.byFile, r.main.object)
	r.libPath = muslList(r.settings.LibraryPath)
	r.scope, r.order = []*loaded{r.main}, []entry{{l: r.main}}
	for _, list := range r.settings.Preload {
		for _, name := range strings.FieldsFunc(list, func(c rune) bool {
			return c == ':' || c == ' ' || c >= '\t' && c <= '\r'
		}) {
			if u.load(r, name, nil, foundPreload, new([]string)) == nil {
				r.answer.Ignored = append(r.answer.Ignored, name)
			}
		}
	}
	if err := u.dependencies(r, 0); err != nil {
		return err
	}
	return u.relocate(r)
}

// newMusl returns the loader of an Environment; libc is nil if the platform has none.
func newMusl(r *run, libc *Library, object func(*Library) *object) *musl {
	u := &musl{
		kind:   defaultHead,
		path:   []string{system},
		short:  map[string]*loaded{},
		listed: map[string]bool{},
	}
	if libc != nil {
		u.self = &loaded{
			object:  object(libc),
			path:    libc.place(),
			shown:   libc.place(),
			foundBy: foundLoader,
		}
	}
	needed := map[string]bool{}
	for _, l := range r.all[1:] {
		for _, d := range l.object.m.Needed {
			needed[d.Name] = true
		}
	}
	// a library that was opened by path and that no other one needs is not found by name
	for _, l := range r.all[1:] {
		if name := path.Base(l.path); needed[name] || l.object.library.Kind == FromPlatform {
			u.short[name] = cmp.Or(u.short[name], l)
		}
	}
	r.scope, r.order = []*loaded{r.main}, []entry{{l: r.main}}
	return u
}

// dependencies implements load_deps: breadth first, starting at index from of the scope.
func (u *musl) dependencies(r *run, from int) error {
	for i := from; i < len(r.scope); i++ {
		l := r.scope[i]
		if l == u.self {
			continue
		}
		for _, d := range l.object.m.Needed {
			if d.Kind != elfobj.Need {
				continue
			}
			var tried []string
			if dep := u.load(r, d.Name, l, "", &tried); dep != nil {
				l.direct = append(l.direct, dep)
			} else {
				r.missingNeeds = append(r.missingNeeds, missingNeed{d.Name, l})
				if !r.missing[d.Name] {
					r.missing[d.Name] = true
					r.answer.NotFound = append(r.answer.NotFound, NotFound{d.Name, l.shown, tried})
				}
			}
			if u.crash != "" {
				return &failure{u.crash}
			}
		}
	}
	return nil
}

// relocate looks up all references of the objects; the program comes last.
func (u *musl) relocate(r *run) error {
	var unsupported error
	for _, l := range append(slices.Clone(r.scope[1:]), r.main) {
		if l == u.self {
			continue
		}
		m := l.object.m
		if len(m.References) > 0 && !r.main.object.m.HasHash() {
			return &failure{r.main.shown + " has no hash table, which crashes the loader"}
		}
		for _, ref := range m.References {
			w := wanted(m, ref)
			if ref.Weak && m.Definition(ref.Symbol).Undefined ||
				u.binds(r, w, [][]*loaded{r.scope}) != nil {
				continue
			}
			r.answer.Undefined = append(r.answer.Undefined, Undefined{string(w.name), "", l.shown})
		}
		known, judged := muslRelocations[u.kind.Machine]
		for _, t := range m.RelocationTypes {
			if judged && unsupported == nil && !slices.Contains(known, t) {
				unsupported = &failure{
					"Error relocating " + l.shown + ": unsupported relocation type " + strconv.Itoa(int(t)),
				}
			}
		}
	}
	r.answer.Undefined = distinct(r.answer.Undefined)
	return unsupported
}

// binds implements find_sym, and get_lfs64 if that finds nothing.
func (u *musl) binds(r *run, w want, scopes [][]*loaded) *loaded {
	for _, scope := range scopes {
		for _, l := range scope {
			if l == r.main && w.class&elfobj.ClassCopy != 0 {
				continue
			}
			if muslDefines(l.object.m, w) {
				return l
			}
		}
	}
	if u.large {
		if plain := largeFileName(string(w.name)); plain != "" &&
			muslDefines(u.self.object.m, named(plain)) {
			return u.self
		}
	}
	return nil
}

func named(name string) want {
	return want{name: []byte(name), hash: elfobj.HashGNU([]byte(name)), class: elfobj.ClassPLT}
}

// muslDefines implements a step of find_sym2: only the first symbol of the name whose version
// is not hidden is considered.
func muslDefines(m *elfobj.Mapping, w want) bool {
	for c := m.Lookup(w.name, w.hash); ; {
		s, ok := c.Next()
		if !ok {
			return false
		}
		d := m.Definition(s)
		switch {
		case d.Hidden:
			continue
		case d.Undefined && (w.class&elfobj.ClassPLT != 0 || d.Type == sttTLS),
			!d.Value && d.Type != sttTLS:
			return false
		}
		return d.Type != sttIFunc && 1<<d.Type&sttAllowed != 0 && !d.Local
	}
}

// largeFiles are the functions of libc that are also available as NAME64 (get_lfs64).
var largeFiles = strings.Fields(
	`aio_cancel aio_error aio_fsync aio_read aio_return aio_suspend aio_write alphasort creat
	fallocate fgetpos fopen freopen fseeko fsetpos fstat fstatat fstatfs fstatvfs ftello ftruncate
	ftw getdents getrlimit glob globfree lio_listio lockf lseek lstat mkostemp mkostemps mkstemp
	mkstemps mmap nftw open openat posix_fadvise posix_fallocate pread preadv prlimit pwrite pwritev
	readdir scandir sendfile setrlimit stat statfs statvfs tmpfile truncate versionsort __fxstat
	__fxstatat __lxstat __xstat`,
)

// largeFileName returns the name without its 64, or "" if it is not such a function.
func largeFileName(name string) string {
	if name == "readdir64_r" {
		return "readdir_r"
	}
	if plain, ok := strings.CutSuffix(name, "64"); ok && slices.Contains(largeFiles, plain) {
		return plain
	}
	return ""
}
