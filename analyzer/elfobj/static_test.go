package elfobj_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// The test's own program has a .symtab.
func TestStaticSymbolsAgainstDebugELF(t *testing.T) {
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	second, err := elf.NewFile(f)
	if err != nil {
		t.Fatalf("this test needs a system whose programs are ELF: %v", err)
	}
	all, err := second.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		t.Fatal(err)
	}
	var want []elfobj.StaticSymbol
	for _, s := range all {
		if strings.HasPrefix(s.Name, "runtime.ma") || strings.HasPrefix(s.Name, "os.") {
			want = append(want, elfobj.StaticSymbol{s.Name, elf.ST_BIND(s.Info) == elf.STB_LOCAL, false})
		}
	}
	got, err := elfobj.StaticSymbols(f, info.Size(), "runtime.ma", "os.")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d symbols, %v; debug/elf has %d", len(got), err, len(want))
	}
	if got, err := elfobj.StaticSymbols(f, info.Size(), "no such prefix"); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	for n := int64(1); n < info.Size(); n *= 3 { // cut off: an error or nothing, never a panic
		if got, err := elfobj.StaticSymbols(f, n, "runtime."); err == nil && len(got) > 0 {
			t.Errorf("%d symbols in the first %d bytes", len(got), n)
		}
	}
}

func TestStaticSymbolsOfAStrippedFile(t *testing.T) {
	b := elftest.File(t, "elf x86_64\nexport PyInit_m\n")
	if got, err := elfobj.StaticSymbols(bytes.NewReader(b), int64(len(b)), "Py"); err != nil ||
		got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := elfobj.StaticSymbols(strings.NewReader("text"), 4, "Py"); !errors.Is(err,
		elfobj.ErrNotELF) {
		t.Errorf("a text: %v", err)
	}
}

func TestLocals(t *testing.T) {
	for text, want := range map[string][2]bool{
		"elf x86_64\nexport shown\nlocal kept\nlocal other\n": {true, true},
		"elf x86_64\nexport kept\n":                           {false, false}, // stripped
	} {
		b := elftest.File(t, text)
		l := elfobj.ReadLocals(bytes.NewReader(b), int64(len(b)))
		if l.Has("kept") != want[0] || (l != nil) != want[1] || l.Has("shown") {
			t.Errorf("%q: %v", text, l)
		}
		for n := range b { // cut off: nothing, never a panic
			elfobj.ReadLocals(bytes.NewReader(b[:n]), int64(n))
		}
	}
}
