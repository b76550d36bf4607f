package cython

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// What Cython writes, as far as it matters here: the type of a module, and the specification of
// one; a table of strings with their lengths; calls that import types, of one module and of
// several.
const (
	provider = `
typedef struct {
    long refs; void *type; long items; const char *name; long size, item; void *free;
} type;
typedef struct { const char *name; int size, item; unsigned flags; void *slots; } spec;
typedef struct { void *where; const char *text; long size; } text;
static void *slots[2], *where;
void free_it(void);
type Bead = {1, 0, 0, "beads.Bead", 152, 0, free_it};
__attribute__((used)) static type Closure = {1, 0, 0, "beads.__pyx_scope_struct", 64, 0, free_it};
__attribute__((used)) static spec knot = {"beads.Knot", 48, 0, 1, slots};
__attribute__((used)) static text texts[] = {
    {&where, "beads.Thread.cut", sizeof "beads.Thread.cut"}, {&where, "beads.a", 8}};
void *PyInit_beads(void) { return &Bead; }
static void *local(void) { return &Bead; }
__attribute__((used)) static struct { void *(*call)(void); long size; } hook = {local, 64};
`
	user = `
extern void *PyImport_ImportModule(const char *);
extern void *type_of(void *, const char *, const char *, unsigned long, int);
extern void *keep(void *);
__attribute__((noinline, noclone)) static void *
import_type(void *m, const char *of, const char *name, unsigned long size, int check)
{ return keep(type_of(m, of, name, size, check)); }
__attribute__((noinline)) static void *import_thread(void *m, const char *name, unsigned long size)
{ return keep(type_of(m, "threads", name, size, 1)); }
void *PyInit_m(void)
{
    void *m = PyImport_ImportModule("beads");
    if (!m || !import_type(m, "beads", "Bead", 152, 1)) return 0;
    if (!import_type(m, "beads", "Knot", 48, 0)) return 0;
    m = PyImport_ImportModule("threads.spun");
    if (!m || !import_thread(m, "Wool", 64) || !import_thread(m, "Silk", 72)) return 0;
    m = PyImport_ImportModule("types");
    if (!m || !import_type(m, "types", "CodeType", 176, 2)) return 0;
    return m;
}
`
)

// compiled returns the object that gcc makes.
func compiled(t *testing.T, source string, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "m.c"), filepath.Join(dir, "m.so")
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append(args, "-shared", "-fPIC", "-nostdlib", "-o", out, in)
	if b, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q: %v\n%s", args, err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func contents(t *testing.T, b []byte) *elfobj.Contents {
	t.Helper()
	_, c, err := elfobj.ReadContents(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTypes(t *testing.T) {
	want := []Type{{"beads.Bead", 152}, {"beads.Knot", 48}}
	for _, args := range [][]string{{"-O2"}, {"-O2", "-Wl,-z,pack-relative-relocs"}} {
		b := compiled(t, provider, args...)
		if _, got, err := Read(bytes.NewReader(b), int64(len(b))); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v, want %v", args, got, err, want)
		}
	}
}

// guarded is an object of which the code is not stored.
type guarded struct {
	*bytes.Reader
	from, to int64
	read     bool
}

func (g *guarded) ReadAt(b []byte, off int64) (int, error) {
	g.read = g.read || off < g.to && off+int64(len(b)) > g.from
	return g.Reader.ReadAt(b, off)
}

// A number after the address of a function is no reason to read its code: of most wheels it is not
// stored, and the file would be inflated again.
func TestTypesReadNoCode(t *testing.T) {
	b := compiled(t, provider, "-O2", "-Wl,-z,separate-code")
	code := elfobj.Code(b)
	if len(code) != 1 {
		t.Fatalf("parts with code: %v", code)
	}
	g := &guarded{Reader: bytes.NewReader(b), from: code[0][0], to: code[0][1]}
	if _, types, err := Read(g, int64(len(b))); err != nil || len(types) != 2 || g.read {
		t.Errorf("%v, %v, code was read: %t", types, err, g.read)
	}
}

// code returns the code of an object and its address.
func code(t *testing.T, b []byte) (text []byte, addr uint64) {
	t.Helper()
	h, err := elfobj.ReadHead(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	segments, err := h.Segments(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		if s.Executable() {
			return b[s.Offset : s.Offset+s.FileSize], s.Addr
		}
	}
	t.Fatal("no code")
	return nil, 0
}

// The name of a module that the compiler moved into the function is that of the last module that
// was imported.
func TestUses(t *testing.T) {
	want := []Use{
		{"beads", "Bead", 152}, {"beads", "Knot", 48},
		{"threads.spun", "Silk", 72}, {"threads.spun", "Wool", 64}, {"types", "CodeType", 176},
	}
	for _, level := range []string{"-O1", "-O2", "-O3", "-Os"} {
		b := compiled(t, user, level)
		text, addr := code(t, b)
		for _, step := range []int{1, 7, 100, len(text)} {
			c := &Calls{}
			for at := 0; at < len(text); at += step {
				_, _ = c.Write(text[at:min(at+step, len(text))])
			}
			if got := Uses(contents(t, b), c.At(addr)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s in steps of %d: %v, want %v", level, step, got, want)
			}
		}
	}
}

// Code is written in any parts, and may be anything.
func FuzzCalls(f *testing.F) {
	f.Add([]byte("\x48\x8d\x3d\x10\x00\x00\x00\xe8\x00\x00\x00\x00\x48\x8d\x35\x10\x00\x00\x00"+
		"\xba\x40\x00\x00\x00\xe8\x00\x00\x00\x00"), 3)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		whole, parts := &Calls{}, &Calls{}
		_, _ = whole.Write(text)
		step = max(step, 1)
		for at := 0; at < len(text); at += min(step, len(text)-at) {
			_, _ = parts.Write(text[at : at+min(step, len(text)-at)])
		}
		if a, b := whole.At(0), parts.At(0); !reflect.DeepEqual(a, b) {
			t.Errorf("%v, in steps of %d: %v", a, step, b)
		}
	})
}
