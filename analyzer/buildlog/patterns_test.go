package buildlog

import (
	"slices"
	"strings"
	"testing"
)

func read(t testing.TB, log string) []Diagnosis {
	t.Helper()
	r, err := Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if r.Limit != "" {
		t.Fatalf("limit: %s", r.Limit)
	}
	return r.Diagnoses
}

// TestPatterns checks that every pattern matches its example, and that no pattern matches the
// similar line.
func TestPatterns(t *testing.T) {
	ids := map[string]bool{}
	for _, p := range patterns.Get() {
		if ids[p.id] {
			t.Errorf("two patterns are called %s", p.id)
		}
		ids[p.id] = true
		if p.example == "" || p.similar == "" || len(p.needles) == 0 {
			t.Errorf("%s: an example, a similar line and needles belong to a pattern", p.id)
			continue
		}
		got := read(t, p.example+"\n")
		if len(got) != 1 || got[0].Rule != p.id {
			t.Errorf("%s: %q gave %+v", p.id, p.example, got)
			continue
		}
		if d := got[0]; !slices.Contains(Classes(), d.Class) || len(d.Fixes) == 0 ||
			len(d.Fixes) > 3 ||
			d.Message == "" ||
			d.Line != 1 {
			t.Errorf("%s: %+v", p.id, d)
		}
		if got := read(t, p.similar+"\n"); len(got) != 0 {
			t.Errorf("%s: the similar line %q gave %s", p.id, p.similar, got[0].Rule)
		}
	}
}

// TestWrappers checks that text around a message is ignored.
func TestWrappers(t *testing.T) {
	for _, p := range patterns.Get() {
		want := read(t, p.example)[0]
		for _, before := range []string{"2024-05-02T10:11:12.1234567Z ",
			"\ufeff2024-05-02T10:11:12.1234567Z ", "build\tRun make\t2024-05-02T10:11:12.1Z ", "#12 34.56 ",
			"\x1b[0m\x1b[31m"} {
			text := before + p.example
			if before[0] == '\x1b' {
				text += "\x1b[0m\r"
			}
			got := read(t, "ordinary\n"+text+"\n")
			if len(got) != 1 || got[0].Class != want.Class || got[0].Symbol != want.Symbol ||
				got[0].Version != want.Version ||
				got[0].Library != want.Library ||
				got[0].Object != want.Object ||
				got[0].Line != 2 {
				t.Errorf("%q: %+v, without it %+v", text, got, want)
			}
		}
	}
}

// TestEveryClassIsReached by an example, or by a symbol or library of its family.
func TestEveryClassIsReached(t *testing.T) {
	seen := map[string]bool{}
	log := "x.so: undefined symbol: _ZN2at5zerosEv\nImportError: libc10_hip.so: cannot open " +
		"shared object file\nx.so: undefined symbol: nope\n" +
		"x.so: undefined symbol: _dl_exception_create, version GLIBC_PRIVATE\nlibstdc++.so.6: version " +
		"`CXXABI_1.3.9' not found (required by x.so)\nlibz.so.1: version `ZLIB_1.2.9' not found " +
		"(required by x.so)\n"
	for _, p := range patterns.Get() {
		log += p.example + "\n"
	}
	for _, d := range read(t, log) {
		seen[d.Class] = true
	}
	for _, c := range Classes() {
		if !seen[c] {
			t.Errorf("%s: nothing in this test is of this class", c)
		}
	}
	if len(Classes()) != 32 {
		t.Errorf("%d classes; programs count on the 32", len(Classes()))
	}
}

// TestNeedles checks that the automaton finds the same as strings.Contains, including
// overlapping needles.
func TestNeedles(t *testing.T) {
	words := []string{"he", "she", "hers", "his", "a", "undefined symbol", "defined"}
	m := map[string]set{}
	for i, w := range words {
		var s set
		s.add(i)
		m[w] = s
	}
	a := newAutomaton(m)
	for _, text := range []string{"ushers", "this", "", "xyz", "undefined symbol", "heheh",
		"undefined reference", "\x00\xff a"} {
		got := a.all([]byte(text))
		for i, w := range words {
			if got.has(i) != strings.Contains(text, w) {
				t.Errorf("%q in %q: %v", w, text, got.has(i))
			}
		}
		if (a.find([]byte(text)) >= 0) == got.empty() {
			t.Errorf("find and all disagree on %q", text)
		}
	}
}
