package startup

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// searched is what wordsOf returns, with a search for each word.
func searched(text string) words {
	w := words{defined: map[string]bool{}}
	other := func(c rune) bool { return c < 0x80 && !isName(byte(c)) }
	for _, name := range strings.FieldsFunc(text, other) {
		if !loads(name) {
			continue
		}
		w.mayLoad = true
		for _, part := range []string{"oad", "dll", "DLL", "dlopen"} {
			w.loads = w.loads || strings.Contains(name, part)
		}
	}
	for _, v := range vocabulary {
		found := strings.Contains(text, v.text)
		switch v.kind {
		case ofUses:
			w.uses = w.uses || found
		case ofOperators:
			w.torch = w.torch || found
		case ofExecution:
			w.imports = w.imports || found
		case ofErrors:
			w.handles = w.handles || found
		case ofOpaque:
			w.opaque = w.opaque || found
		case ofGlobal:
			w.global = w.global || found
		case ofImport:
			for at := range every(text, v.text) {
				line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
				before := strings.TrimLeft(line, " \t")
				w.imports = w.imports ||
					len(before) < len(line) && (before == "" || strings.HasPrefix(before, "from ")) ||
					strings.Contains(before, ": ") || strings.Contains(before, "; ") ||
					strings.HasPrefix(text[at:], "import_") || strings.HasSuffix(before, "__")
			}
		case ofDefinition:
			for at := range every(text, v.text) {
				end := at + len(v.text)
				for end < len(text) && isName(text[end]) {
					end++
				}
				w.defined[text[at+len(v.text):end]] = true
			}
		}
	}
	return w
}

// FuzzWords compares the search in one pass with one for each word, at even and odd places.
func FuzzWords(f *testing.F) {
	for _, v := range vocabulary {
		f.Add(v.text)
		f.Add("x" + v.text + "y")
	}
	f.Add("def load_library(): import a; b = import_module('c')\nclass Dll: pass")
	f.Add("import a, b import c: import d")
	f.Add("  x import y\nfrom . import z\n\tfrom q import r\n__import__")
	f.Add("DLOPEN Preload preLOAD loadlib LoadShared oadll")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, " " + text} {
			got, want := wordsOf(text), searched(text)
			got.named, got.loading, got.at = 0, false, 0
			if got.loads != want.loads || got.mayLoad != want.mayLoad || got.uses != want.uses ||
				got.torch != want.torch || got.imports != want.imports || got.handles != want.handles ||
				got.opaque != want.opaque || got.global != want.global ||
				!maps.Equal(got.defined, want.defined) {
				t.Errorf("%q: %+v, but there are %+v", text, got, want)
			}
			var filter nameFilter
			for name := range got.defined {
				filter.add(name)
			}
			if slices.ContainsFunc(slices.Collect(maps.Keys(got.defined)), func(name string) bool {
				return !filter.may(name)
			}) {
				t.Errorf("%q: a name is not in the filter", text)
			}
		}
	})
}

// The work grows with the length of a source, whatever it contains: four megabytes of one name, and
// of one line with many imports, would take hours otherwise.
func TestWordsOfLongLines(t *testing.T) {
	for _, part := range []string{"oad", "import ", "import,", "Dll_", "def ", "def x"} {
		few, many := wordsOf(strings.Repeat(part, 10)), wordsOf(strings.Repeat(part, 4<<20/len(part)))
		if many.loads != few.loads || many.mayLoad != few.mayLoad || many.imports != few.imports {
			t.Errorf("%q: %+v, but %+v if it is repeated less often", part, many, few)
		}
	}
}
