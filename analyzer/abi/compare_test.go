package abi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the wanted changes of testdata/compare")

// TestCompare compares the baselines of testdata/compare. The comment of each file has the source
// of both libraries; want has the verdict and the changes.
func TestCompare(t *testing.T) {
	files, err := filepath.Glob("testdata/compare/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			old, new := parsed(t, section(a, "old.json")), parsed(t, section(a, "new.json"))
			got := written(Compare(old, new, Options{}))
			if *update {
				for i := range a.Files {
					if a.Files[i].Name == "want" {
						a.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(section(a, "want")); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			for _, l := range []*Library{old, new} {
				if same := Compare(l, l, Options{}); same.Verdict != None {
					t.Errorf("the library compared with itself:\n%s", written(same))
				}
			}
		})
	}
}

func section(a *txtar.Archive, name string) []byte {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return a.Files[i].Data
}

func parsed(t *testing.T, b []byte) *Library {
	t.Helper()
	l, err := ParseBaseline(b)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func written(r *Result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, breaks %d of %d\n", r.Verdict, r.Broken, r.Interfaces)
	for _, c := range r.Changes {
		name := c.Symbol
		if name == "" {
			name = c.Type
		}
		fmt.Fprintf(&out, "%s %s %s: %s\n", c.Severity, c.Rule, name, c.Detail)
	}
	return out.String()
}

func read(t testing.TB, path string) *Library {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Read(File{Name: path, Content: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestNoise compares libraries built from the same source with different compilers, optimization
// levels and formats of debug information: there must be no changes.
func TestNoise(t *testing.T) {
	for _, language := range []string{"c", "cxx"} {
		files, err := filepath.Glob("../dwarf/testdata/" + language + "-*.so")
		if err != nil || len(files) < 6 {
			t.Fatal(files, err)
		}
		var libraries []*Library
		for _, f := range files {
			l := read(t, f)
			if l.Evidence != EvidenceDWARF || len(l.Problems) > 0 {
				t.Errorf("%s: evidence %s, problems %q", f, l.Evidence, l.Problems)
			}
			libraries = append(libraries, l)
		}
		for _, a := range libraries {
			for _, b := range libraries {
				if r := Compare(a, b, Options{}); r.Verdict != None {
					t.Errorf("%s against %s: %s", a.Name, b.Name, written(r))
				}
			}
		}
	}
}

// TestCTF compares a library with types in .ctf with the same source with DWARF.
func TestCTF(t *testing.T) {
	ctf, dwarf := read(t, "../btf/testdata/shapes-ctf.so"), read(t, "../dwarf/testdata/c-5.so")
	if ctf.Evidence != EvidenceCTF || len(ctf.Problems) > 0 {
		t.Errorf("evidence %s, problems %q", ctf.Evidence, ctf.Problems)
	}
	for _, r := range []*Result{Compare(ctf, dwarf, Options{}), Compare(dwarf, ctf, Options{})} {
		if r.Verdict != None {
			t.Error(written(r))
		}
	}
	big := slices.IndexFunc(ctf.Types, func(t Type) bool { return t.Name == "big" })
	if big < 0 {
		t.Fatal("struct big was not read")
	}
	ctf.Types[big].Members[1].Offset += 64
	if r := Compare(dwarf, ctf, Options{}); r.Verdict != Breaking {
		t.Errorf("a member was moved: %s", written(r))
	}
	conflict := read(t, "../btf/testdata/conflict.so")
	want := []string{"s in .ctf of ../btf/testdata/conflict.so, which source files define " +
		"differently"}
	if !slices.Equal(conflict.Problems, want) {
		t.Errorf("problems %q", conflict.Problems)
	}
}

func TestTypesOfASource(t *testing.T) {
	l := read(t, "../dwarf/testdata/c-5.so")
	find := func(name string) *Type {
		i := slices.IndexFunc(l.Types, func(t Type) bool { return t.Name == name })
		if i < 0 {
			t.Fatalf("no type %s", name)
		}
		return &l.Types[i]
	}
	big := find("big")
	var got []string
	for _, f := range l.fields(big) {
		got = append(got, fmt.Sprintf("%s %d %d", f.Name, f.Offset/8, f.bits/8))
	}
	want := []string{
		"name 0 10", "n 16 8", "c 24 4", "in 28 8", "t 40 48", "wide 96 16",
		"ok 112 1", "rest 116 0",
	}
	if !slices.Equal(got, want) || big.Size != 128 {
		t.Errorf("size %d, members %q", big.Size, got)
	}
	if few := find("tree").Members[3]; few.Name != "few" || few.Offset != 160 || few.Bits != 3 {
		t.Errorf("bit-field %+v", few)
	}
	if e := find("color").Enumerators[0]; e.Name != "RED" || int32(e.Value) != -1 {
		t.Errorf("enumerator %+v", e)
	}
	for _, s := range l.Symbols {
		if s.Type == 0 {
			t.Errorf("%s has no type", s.Name)
		}
	}
}

func TestPair(t *testing.T) {
	list := func(names ...string) (out []*Library) {
		for _, n := range names {
			soname := filepath.Base(n)
			out = append(out, &Library{Name: n, SONAME: soname})
		}
		return out
	}
	pairs := Pair(
		list(
			"x.libs/libpng16-58efbb84.so.16.1.0",
			"x/_core.cpython-311-x86_64-linux-gnu.so",
			"x/libold.so.1",
			"x/_gone.abi3.so",
			"a/libz.so.1",
			"b/libz.so.1",
		),
		list(
			"x.libs/libpng16-aabbccdd.so.16.4.0",
			"x/_core.cpython-312-x86_64-linux-gnu.so",
			"x/libnew.so.1",
			"b/libz.so.1",
			"a/libz.so.1",
		),
	)
	var got []string
	for _, p := range pairs {
		name := func(l *Library) string {
			if l == nil {
				return "-"
			}
			return l.Name
		}
		got = append(got, name(p.Old)+" "+name(p.New))
	}
	want := []string{
		"x.libs/libpng16-58efbb84.so.16.1.0 x.libs/libpng16-aabbccdd.so.16.4.0",
		"x/_core.cpython-311-x86_64-linux-gnu.so x/_core.cpython-312-x86_64-linux-gnu.so",
		"x/libold.so.1 -", "x/_gone.abi3.so -", "a/libz.so.1 a/libz.so.1", "b/libz.so.1 b/libz.so.1", "- x/libnew.so.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// a wheel has copies in place of symbolic links
	before, after := list("x/libq.so.1", "x/libq.so.1.0.0"), list("x/libq.so.2", "x/libq.so.2.0.0")
	before[1].SONAME, after[1].SONAME = "libq.so.1", "libq.so.2"
	for i, p := range Pair(before, after) {
		if p.Old != before[i] || p.New != after[i] {
			t.Errorf("copy %d is paired with %+v", i, p.New)
		}
	}
	whole, each := ComparePairs(pairs, func(*Library) Options { return Options{} })
	if whole.Verdict != Breaking || len(each) != 4 || whole.Changes[0].Rule != RuleLibraryRemoved {
		t.Errorf("%d pairs: %s", len(each), written(whole))
	}
	for _, c := range whole.Changes { // no program links against a module
		if gone := c.Library == "x/_gone.abi3.so"; c.Severity == Error && gone ||
			c.Severity != Error && c.Library == "x/libold.so.1" {
			t.Errorf("%s: %s", c.Library, c.Severity)
		}
	}
}

func TestBaseline(t *testing.T) {
	for _, f := range []string{"c-5", "cxx-types"} {
		l := read(t, "../dwarf/testdata/"+f+".so")
		b, err := Baseline(l)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBaseline(b)
		if err != nil {
			t.Fatal(err)
		}
		if r := Compare(again, l, Options{}); r.Verdict != None {
			t.Errorf("%s", written(r))
		}
		second, err := Baseline(again)
		if err != nil || !bytes.Equal(b, second) {
			t.Errorf("the baseline of a baseline is another one (%v)", err)
		}
		edited := bytes.Replace(b, []byte(`"size":4`), []byte(`"size":8`), 1)
		if _, err := ParseBaseline(edited); err == nil || !strings.Contains(err.Error(), "edited") {
			t.Errorf("edited baseline: %v", err)
		}
	}
	if _, err := ParseBaseline([]byte(`{"schema":"compat/abi/v9"}`)); err == nil {
		t.Error("a baseline of another schema was read")
	}
}

// FuzzRead checks that a damaged library that can be read is equal to itself, and that its baseline
// can be parsed.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"c-5", "c-clang", "c-zlib", "cxx-types4"} {
		b, err := os.ReadFile("../dwarf/testdata/" + name + ".so")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint32(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint32, value byte) {
		if int(at) < len(b) {
			b = slices.Clone(b)
			b[at] ^= value
		}
		l, err := Read(File{Name: "x", Content: bytes.NewReader(b), Size: int64(len(b))})
		if err != nil {
			return
		}
		if r := Compare(l, l, Options{}); r.Verdict != None {
			t.Errorf("compared with itself: %s", written(r))
		}
		if !json.Valid(fmt.Appendf(nil, "%q", l.SONAME)) {
			return // JSON changes names that are not UTF-8
		}
		out, err := Baseline(l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseBaseline(out); err != nil && !strings.Contains(err.Error(), "edited") {
			t.Error(err)
		}
	})
}
