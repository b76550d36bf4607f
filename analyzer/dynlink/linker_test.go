package dynlink

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// memory is a root whose files are objects in text form.
type memory map[string][]byte

type memoryFile struct {
	*bytes.Reader
	id uint64
}

func (f memoryFile) Close() error { return nil }
func (f memoryFile) ID() FileID   { return FileID{1, f.id} }
func (f memoryFile) Folder() bool { return false }

func (m memory) Open(p string) (File, error) {
	b, ok := m[path.Clean(p)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	id := uint64(14695981039346656037)
	for _, c := range []byte(path.Clean(p)) {
		id = (id ^ uint64(c)) * 1099511628211
	}
	return memoryFile{bytes.NewReader(b), id}, nil
}

func (m memory) Folder(p string) bool {
	p = strings.TrimSuffix(path.Clean(p), "/") + "/"
	for f := range m {
		if strings.HasPrefix(f, p) {
			return true
		}
	}
	return false
}

// rootOf returns a root for a list of "PATH\nTEXT" blocks.
func rootOf(t testing.TB, blocks ...string) memory {
	t.Helper()
	m := memory{}
	for _, b := range blocks {
		p, text, _ := strings.Cut(b, "\n")
		data := elftest.File(t, "elf x86_64\n"+text)
		m[p] = data
	}
	return m
}

func format(a *Answer) string {
	var out []string
	for _, o := range a.Objects {
		out = append(out, o.Name+"="+o.Path+" by "+o.FoundBy)
	}
	for _, n := range a.NotFound {
		out = append(out, "no "+n.Name+" for "+n.NeededBy)
	}
	for _, v := range a.MissingVersions {
		out = append(out, fmt.Sprintf("no %s in %s for %s", v.Version, v.Library, v.RequiredBy))
	}
	for _, u := range a.Undefined {
		out = append(out, "undefined "+u.Symbol+"@"+u.Version+" in "+u.Object)
	}
	if a.Error != "" {
		out = append(out, "error "+a.Error)
	}
	return strings.Join(out, "; ")
}

func TestGlibc(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks []string
		s      Settings
		want   string
	}{
		{"RPATH is inherited", []string{"/a\nrpath /r\nneeded libx.so", "/r/libx.so\nneeded liby.so",
			"/r/liby.so\n"}, Settings{}, "libx.so=/r/libx.so by rpath; liby.so=/r/liby.so by rpath"},
		{"RUNPATH is not", []string{"/a\nrunpath /r\nneeded libx.so", "/r/libx.so\nneeded liby.so",
			"/r/liby.so\n"}, Settings{}, "libx.so=/r/libx.so by runpath; no liby.so for /r/libx.so"},
		{"the library path is before RUNPATH and after RPATH",
			[]string{"/a\nrunpath /r\nneeded libx.so", "/r/libx.so\n", "/l/libx.so\n"},
			Settings{LibraryPath: "/l"}, "libx.so=/l/libx.so by library-path"},
		{"a SONAME that is loaded answers", []string{"/a\nneeded /d/one.so\nneeded libone.so.1",
			"/d/one.so\nsoname libone.so.1"}, Settings{}, "/d/one.so=/d/one.so by path"},
		{"a version node that is missing", []string{"/a\nneeded libv.so\nimport f@V2 libv.so",
			"/lib/libv.so\nsoname libv.so\nexport f@@V1"}, Settings{},
			"libv.so=/lib/libv.so by default; no V2 in /lib/libv.so for /a; undefined f@V2 in /a"},
		{"versions of a library that is not needed", []string{"/a\nneeded libb.so\nimport f@V1 libv.so",
			"/lib/libb.so\n"}, Settings{},
			"libb.so=/lib/libb.so by default; error Inconsistency detected by ld.so: dl-version.c: " +
				"_dl_check_map_versions: Assertion `needed != NULL' failed! (/a needs versions of libv.so, " +
				"which it does not need)"},
		{"a preload interposes, and one that is missing is ignored",
			[]string{"/a\nneeded libb.so\nimport f", "/lib/libb.so\n", "/p.so\nexport f"},
			Settings{Preload: []string{"/gone.so:/p.so"}},
			"/p.so=/p.so by preload; libb.so=/lib/libb.so by default"},
		{"a circle ends", []string{"/a\nneeded libb.so", "/lib/libb.so\nsoname libb.so\nneeded libc1.so",
			"/lib/libc1.so\nneeded libb.so"}, Settings{},
			"libb.so=/lib/libb.so by default; libc1.so=/lib/libc1.so by default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLinker(rootOf(t, c.blocks...))
			for range 2 { // the second answer comes out of memory
				if got := format(l.Resolve("/a", c.s)); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

func TestMusl(t *testing.T) {
	const ldso = "/lib/ld-musl-x86_64.so.1\nsoname libc.so\nexport printf\nexport open"
	for _, c := range []struct{ name, want string }{
		{"/plain\nneeded libc.so\nimport printf", "libc.so"},
		{"/versions are ignored\nneeded libv.so\nimport f@V9 libv.so",
			"libv.so=/usr/lib/libv.so by default"},
		{"/glibc's names are libc's\nneeded libm.so.6\nneeded libc.so.6\nimport open", ""},
		{"/missing\nneeded libgone.so\nimport gone",
			"no libgone.so for /missing; undefined gone@ in /missing"},
		{"/inherited\nrunpath /r\nneeded libr.so",
			"libr.so=/r/libr.so by runpath; libs.so=/r/libs.so by runpath"},
	} {
		name, _, _ := strings.Cut(c.name, "\n")
		l := NewLinker(
			rootOf(
				t,
				c.name,
				ldso,
				"/usr/lib/libv.so\nsoname libv.so\nexport f@@V1",
				"/r/libr.so\nneeded libs.so",
				"/r/libs.so\n",
			),
		)
		a := l.Resolve(name, Settings{})
		if got := format(a); !strings.Contains(got, c.want) ||
			c.want == "" && len(a.Undefined)+len(a.NotFound) > 0 ||
			a.Error != "" {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// FuzzCache checks that an invalid ld.so.cache returns only names and paths that it contains.
func FuzzCache(f *testing.F) {
	b := append([]byte("glibc-ld.so.cache1.1"), make([]byte, 28)...)
	b[20] = 1
	e := binary.LittleEndian.AppendUint32(nil, 0x303)
	e = binary.LittleEndian.AppendUint32(e, 72)
	e = binary.LittleEndian.AppendUint32(e, 80)
	b = append(append(b, e...), make([]byte, 12)...)
	b = append(b, "libx.so\x00/lib/libx.so\x00"...)
	f.Add(b)
	f.Add(append([]byte("ld.so-1.7.0\x00\x00\x00\x00\x00"), b...))
	g := &glibc{cacheID: 0x303, minor: 36}
	if g.readCache(b, binary.LittleEndian); g.cached["libx.so"] != "/lib/libx.so" {
		f.Errorf("the seed holds %v", g.cached)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g := &glibc{cacheID: 0x303, minor: 36, subs: []string{"glibc-hwcaps/x86-64-v2/", ""}}
		g.readCache(b, binary.LittleEndian)
		for k, v := range g.cached {
			if !bytes.Contains(b, []byte(k)) || !bytes.Contains(b, []byte(v)) {
				t.Errorf("%q leads to %q, which is not in the cache", k, v)
			}
		}
		systemFolders(b)
		banner(b)
	})
}
