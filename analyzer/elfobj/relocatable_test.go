package elfobj_test

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/test/needs"
)

const objectSource = `int level = 3, tentative;
__thread int local;
static int helper(int n) { return n + level; }
int get(const int *p) { return helper(*p) + local; }
__attribute__((weak)) int weak(void) { return 1; }
__attribute__((visibility("hidden"))) int inner(void) { return 2; }
`

// object compiles an object file.
func object(t testing.TB, flags ...string) []byte {
	t.Helper()
	gcc := needs.Program(t, "gcc", "gcc", "no object file is read")
	dir := t.TempDir()
	source, out := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.o")
	err := os.WriteFile(source, []byte(objectSource), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", "-fcommon", source, "-o", out}, flags...)
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRelocatable compares the debug sections of an object file with those that debug/elf
// relocates, and its symbols with what the source says.
func TestRelocatable(t *testing.T) {
	for _, flags := range [][]string{
		{"-gdwarf-4"}, {"-gdwarf-5"}, {"-gdwarf-5", "-ffunction-sections"},
	} {
		b := object(t, flags...)
		_, x, err := elfobj.ReadRelocatable(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		patched, err := io.ReadAll(io.NewSectionReader(x.Content, 0, int64(len(b))))
		if err != nil {
			t.Fatal(err)
		}
		want, got := entries(t, b), entries(t, withoutRelocations(patched))
		if want == "" || got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", flags, got, want)
		}
		kinds := map[string]elfobj.Kind{}
		for _, s := range x.Symbols {
			if !s.Local && !s.Hidden {
				kinds[s.Name] = s.Kind
			}
			if (s.Name == "weak") != s.Weak || s.Name == "inner" && !s.Hidden ||
				s.Name == "helper" && !s.Local {
				t.Errorf("%+v", s)
			}
		}
		for name, kind := range map[string]elfobj.Kind{
			"get": elfobj.Func, "level": elfobj.Data, "tentative": "common", "local": elfobj.TLS,
			"weak": elfobj.Func,
		} {
			if kinds[name] != kind {
				t.Errorf("%s is %q, want %q", name, kinds[name], kind)
			}
			delete(kinds, name)
		}
		if len(kinds) > 0 {
			t.Errorf("other symbols: %v", kinds)
		}
	}
	b := []byte("\x7fELF")
	if _, _, err := elfobj.ReadRelocatable(bytes.NewReader(b), int64(len(b))); !errors.Is(
		err, elfobj.ErrTruncated,
	) {
		t.Error(err)
	}
}

// withoutRelocations removes the relocations of an object file for x86_64, so that debug/elf does
// not apply them.
func withoutRelocations(b []byte) []byte {
	const headerSize, typeField = 64, 4
	at := binary.LittleEndian.Uint64(b[40:]) // e_shoff
	for ; at+headerSize <= uint64(len(b)); at += headerSize {
		if typ := b[at+typeField:]; elf.SectionType(typ[0]) == elf.SHT_RELA {
			typ[0] = byte(elf.SHT_PROGBITS)
		}
	}
	return b
}

// entries lists the names of the entries of debug information.
func entries(t *testing.T, b []byte) (out string) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return out
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		out += e.Tag.String() + " " + name + "\n"
	}
}

// FuzzRelocatable checks that object files and static libraries are read without a panic, and that
// what they contain is inside them.
func FuzzRelocatable(f *testing.F) {
	b := object(f, "-gdwarf-5")
	f.Add(b)
	f.Add([]byte("!<arch>\n//                                              8         `\nlong.o/\n" +
		"/0              0           0     0     100644  2         `\nxx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, x, err := elfobj.ReadRelocatable(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			for _, s := range x.Symbols {
				if s.Offset > uint64(len(b)) {
					t.Errorf("%s is at %d of %d bytes", s.Name, s.Offset, len(b))
				}
			}
			if n, err := io.Copy(io.Discard, io.NewSectionReader(x.Content, 0, int64(len(b)))); err != nil ||
				n != int64(len(b)) {
				t.Errorf("%d of %d bytes, %v", n, len(b), err)
			}
		}
		if !elfobj.IsArchive(b) {
			return
		}
		members, _ := elfobj.Archive(bytes.NewReader(b), int64(len(b)))
		total := int64(0)
		for _, m := range members {
			total += m.Content.Size()
		}
		if total > int64(len(b)) {
			t.Errorf("members of %d bytes in %d", total, len(b))
		}
	})
}
