package dynlink

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// glibc is the ld.so of a root. Differences between releases depend on minor.
type glibc struct {
	store   *store
	linker  *Linker
	arch    string
	path    string  // "" if the root has none: then Debian's glibc 2.36 is assumed
	object  *object // the file at path, nil if there is none
	minor   int     // 36 for glibc 2.36
	lib     string  // $LIB
	cpu     string  // $PLATFORM
	folders []string
	subs    []string // hwcaps subfolders of each search folder, "" last; each ends with "/"
	cacheID int32
	cached  map[string]string
	kind    *elfobj.Head // kind of the files that it loads
}

// interpreters are the paths of ld.so that the ABIs define; ldd tries only these.
var interpreters = map[string]string{
	"x86_64": "/lib64/ld-linux-x86-64.so.2", "i686": "/lib/ld-linux.so.2",
	"x32": "/libx32/ld-linux-x32.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1",
	"armv7l": "/lib/ld-linux-armhf.so.3", "ppc64le": "/lib64/ld64.so.2", "ppc64": "/lib64/ld64.so.1",
	"s390x":       "/lib/ld64.so.1",
	"riscv64":     "/lib/ld-linux-riscv64-lp64d.so.1",
	"loongarch64": "/lib64/ld-linux-loongarch-lp64d.so.1", "mips64el": "/lib64/ld.so.1",
	"mips": "/lib/ld.so.1", "mipsel": "/lib/ld.so.1",
}

// triplets are Debian's multiarch names of the library folders.
var triplets = map[string]string{
	"x86_64": "x86_64-linux-gnu", "i686": "i386-linux-gnu", "x32": "x86_64-linux-gnux32",
	"aarch64": "aarch64-linux-gnu", "armv7l": "arm-linux-gnueabihf",
	"ppc64le": "powerpc64le-linux-gnu",
	"ppc64":   "powerpc64-linux-gnu", "s390x": "s390x-linux-gnu", "riscv64": "riscv64-linux-gnu",
	"loongarch64": "loongarch64-linux-gnu", "mips64el": "mips64el-linux-gnuabi64",
	"mips": "mips-linux-gnu", "mipsel": "mipsel-linux-gnu",
}

// Triplet returns Debian's multiarch name of an architecture's library folder; "" if there is none.
func Triplet(arch string) string { return triplets[arch] }

// cacheIDs are the flags of an architecture's entries in ld.so.cache (glibc,
// sysdeps/generic/ldconfig.h).
var cacheIDs = map[string]int32{
	"x86_64":      0x303,
	"i686":        3,
	"x32":         0x803,
	"aarch64":     0xa03,
	"armv7l":      0x903,
	"ppc64le":     0x503,
	"ppc64":       0x503,
	"s390x":       0x403,
	"riscv64":     0x1003,
	"loongarch64": 0x1103,
}

// hwcaps are the folders in glibc-hwcaps that the newest CPU of an architecture uses, best
// first.
var hwcaps = map[string][]string{
	"x86_64":  {"x86-64-v4", "x86-64-v3", "x86-64-v2"},
	"ppc64le": {"power10", "power9"},
	"s390x":   {"z16", "z15", "z14", "z13"},
}

const unknownMinor = 36

// loader returns the loader of an architecture.
func (l *Linker) loader(arch string) *glibc {
	g, ok := l.loaders[arch]
	if !ok {
		g = &glibc{
			store:   l.store,
			linker:  l,
			arch:    arch,
			minor:   unknownMinor,
			cpu:     arch,
			cacheID: cacheIDs[arch],
		}
		g.path = interpreters[arch]
		if o, err := l.store.open(g.path); g.path != "" && err == nil && o.m != nil {
			g.object = o
		} else {
			g.path = ""
		}
		g.describe()
		l.loaders[arch] = g
	}
	return g
}

// glibcFor returns the loader of an architecture if it accepts the program.
func (l *Linker) glibcFor(arch string, main *object) (rules, error) {
	g := l.loader(arch)
	if g.path == "" {
		for _, p := range interpreters {
			if l.exists(p) {
				return nil, &failure{
					"not a dynamic executable",
				} // as ldd says when no loader of the root takes the file
			}
		}
	}
	if ok, text := g.header(main); !ok || text != "" {
		return nil, &failure{"not a dynamic executable"}
	}
	if text := g.segments(main, true); text != "" {
		return nil, &failure{"not a dynamic executable"}
	}
	return g, nil
}

// describe reads the release and the default folders from the loader's file.
func (g *glibc) describe() {
	if g.object != nil {
		data := g.store.text(g.path, 4<<20)
		g.folders = systemFolders(data)
		g.minor = g.release(data)
	}
	if len(g.folders) == 0 {
		g.folders = debianFolders(g.arch)
	}
	g.capabilities()
}

// debianFolders are the default folders of Debian's loader.
func debianFolders(arch string) []string {
	t := triplets[arch]
	return []string{"/lib/" + t + "/", "/usr/lib/" + t + "/", "/lib/", "/usr/lib/"}
}

// capabilities sets what depends on the release and on the default folders.
func (g *glibc) capabilities() {
	g.lib = strings.Trim(g.folders[0], "/")
	if g.minor >= 33 {
		for _, c := range hwcaps[g.arch] {
			g.subs = append(g.subs, "glibc-hwcaps/"+c+"/")
		}
	}
	if g.minor <= 36 {
		g.subs = append(g.subs, legacySubs(g.arch)...)
	}
	g.subs = append(g.subs, "")
}

// legacySubs returns the subfolders that _dl_important_hwcaps generated until glibc 2.36: all
// combinations of "tls", the platform, and on x86_64 a capability with the same name.
func legacySubs(arch string) []string {
	parts := []string{arch, "tls"}
	if arch == "x86_64" {
		parts = []string{arch, arch, "tls"}
	}
	var out []string
	for n := 1<<len(parts) - 1; n > 0; n-- {
		s := ""
		for i := len(parts) - 1; i >= 0; i-- {
			if n&(1<<i) != 0 {
				s += parts[i] + "/"
			}
		}
		out = append(out, s)
	}
	return out
}

// systemFolders finds the table system_dirs in the loader's file: consecutive strings that end
// with "/", including /usr/lib….
func systemFolders(data []byte) []string {
	at := bytes.Index(data, []byte("/\x00/usr/lib"))
	if at < 0 {
		return nil
	}
	start := bytes.LastIndexByte(data[:at], 0) + 1
	var out []string
	for rest := data[start:]; len(rest) > 0 && rest[0] == '/'; {
		s, tail, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(s) > 256 || s[len(s)-1] != '/' {
			break
		}
		out, rest = append(out, string(s)), tail
	}
	return out
}

// release returns the minor version from the banner of ld.so (since 2.33) or of libc.so.6.
func (g *glibc) release(data []byte) int {
	if n := banner(data); n > 0 {
		return n
	}
	for _, f := range g.folders {
		if n := banner(g.store.text(f+"libc.so.6", 8<<20)); n > 0 {
			return n
		}
	}
	return unknownMinor
}

func banner(data []byte) int {
	_, rest, ok := bytes.Cut(data, []byte("release version 2."))
	if !ok {
		return 0
	}
	n := 0
	for n < len(rest) && n < 4 && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	minor, _ := strconv.Atoi(string(rest[:n]))
	return minor
}

func (g *glibc) resolve(r *run) error {
	if g.object != nil && g.object != r.main.object {
		self := &loaded{object: g.object, path: g.path, shown: g.path, foundBy: foundLoader}
		r.all = append(r.all, self)
		r.byFile[g.object] = self
		r.name(self, first(r.main.object.m, g.path))
		for _, n := range []string{g.path, g.object.m.SONAME} {
			if n != "" && !self.calledBy(n) {
				r.name(self, n)
			}
		}
	}
	if text := r.main.object.damage; text != nil {
		return &failure{"file is cut short or damaged, and the loader dies: " + text.Error()}
	}
	r.libPath = g.elements(r.settings.LibraryPath, ":;", r.main)
	preloads := g.preload(r)
	if err := g.dependencies(r, preloads); err != nil {
		return err
	}
	g.list(r)
	if err := g.versions(r, r.all); err != nil {
		return err
	}
	return g.relocate(r)
}

func first(m *elfobj.Mapping, otherwise string) string {
	if m != nil && m.Interp != "" {
		return m.Interp
	}
	return otherwise
}

// list sets the loaded objects and missing libraries, in the order of the link map.
func (g *glibc) list(r *run) {
	seen := map[string]bool{}
	after := false
	for _, l := range r.all {
		if l == r.main {
			after = true
			continue
		}
		switch {
		case !after || l.foundBy == foundLoader && !l.reserved:
		case l.fake:
			if name := l.names[0]; !seen[name] {
				seen[name] = true
				var tried []string
				if strings.Contains(name, "/") {
					tried = []string{name}
				} else {
					g.search(r, name, l.by, &tried)
				}
				r.answer.NotFound = append(r.answer.NotFound, NotFound{name, l.by.shownBy(), tried})
			}
		default:
			name := l.names[0]
			if l.foundBy == foundLoader {
				name = l.path
			}
			r.answer.Objects = append(
				r.answer.Objects,
				LoadedObject{name, l.shown, l.by.shownBy(), l.foundBy},
			)
		}
	}
}

func (g *glibc) binds(r *run, w want, scopes [][]*loaded) *loaded {
	l, _ := r.first(w, scopes)
	if l == nil {
		return nil
	}
	return r.unique(l, w)
}

// glibcRelocations are the types that elf_machine_rela supports (sysdeps/x86_64/dl-machine.h).
// On other machines every type is accepted.
var glibcRelocations = map[elfobj.Machine][]uint32{
	62: {0, 1, 2, 5, 6, 7, 8, 10, 16, 17, 18, 32, 33, 36, 37, 38},
}

// relocate looks up all references of the objects in the search list, as with LD_BIND_NOW.
func (g *glibc) relocate(r *run) error {
	var bad uint32
	known, checked := glibcRelocations[r.main.object.head.Machine]
	for _, l := range r.scope {
		if !checked || l.foundBy == foundLoader {
			continue
		}
		if i := slices.IndexFunc(l.object.m.RelocationTypes, func(t uint32) bool {
			return !slices.Contains(known, t)
		}); i >= 0 {
			bad = l.object.m.RelocationTypes[i]
		}
	}
	if r.unversioned && g.minor <= 40 {
		for _, l := range r.scope {
			for _, ref := range l.object.m.References {
				if _, refused := r.first(wanted(l.object.m, ref), [][]*loaded{r.scope}); refused != nil &&
					l.foundBy != foundLoader {
					return refusal(l, ref, refused)
				}
			}
		}
	}
	r.reportUndefined()
	if bad != 0 {
		return &failure{
			r.main.shown + ": error while loading shared libraries: unexpected reloc type 0x" +
				strconv.FormatUint(uint64(bad), 16),
		}
	}
	return nil
}

// refusal returns the assertion failure of older loaders.
func refusal(l *loaded, ref elfobj.Reference, refused *loaded) error {
	return &failure{
		"Inconsistency detected by ld.so: dl-lookup.c: check_match: Assertion `version->filename == " +
			"NULL || ! _dl_name_match_p (version->filename, map)' failed! (" +
			l.shown + " needs " + string(
			l.object.m.Name(ref),
		) + " under a version, and " + refused.shown + " has no versions at all)",
	}
}
