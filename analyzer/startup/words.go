package startup

import (
	"math/bits"
	"strings"
)

// words is what words in a Python source show before it is split into tokens. They may be in
// comments and texts too.
type words struct {
	// A name is like that of a function that loads libraries. If letters in upper case are taken for
	// those in lower case, there may be more of them: a token that is a name is none if mayLoad is
	// not set.
	loads, mayLoad bool
	uses           bool            // a word with which it would use a library: see declaring
	torch          bool            // it may use an operator of torch
	imports        bool            // a function may import something or execute a text
	handles        bool            // it may handle the error of an import
	opaque         bool            // a word for which Loads.call has an effect
	global         bool            // "global "
	defined        map[string]bool // names of functions and classes

	// The end of the last name that was examined, and whether it is one that loads.
	named   int
	loading bool
	at      int // of the last import; a line is examined once
}

// wordKind is what a word shows.
type wordKind byte

const (
	ofLoads wordKind = iota
	ofUses
	ofOperators
	ofImport // "import", if it may be in a function
	ofExecution
	ofErrors
	ofOpaque
	ofGlobal
	ofDefinition
)

// vocabulary are the words, and where in each of them three letters begin that are rare in Python
// sources.
var vocabulary = []struct {
	text string
	kind wordKind
	rare int
	fold bool // letters in upper case count too
}{
	{"oad", ofLoads, 0, true}, {"dll", ofLoads, 0, true}, {"dlopen", ofLoads, 0, true},
	{"torch.ops.", ofUses, 4, false}, {"restype", ofUses, 2, false}, {"argtypes", ofUses, 1, false},
	{"register_fake", ofUses, 8, false}, {"impl_abstract", ofUses, 3, false},
	{"torch", ofOperators, 2, false},
	{"import", ofImport, 1, false},
	{"exec(", ofExecution, 2, false}, {"_module(", ofExecution, 2, false},
	// in every source that handles the error of an import
	{"ImportError", ofErrors, 5, false}, {"ModuleNotFoundError", ofErrors, 5, false},
	{"Exception", ofErrors, 1, false}, {"except:", ofErrors, 4, false},
	{"suppress", ofErrors, 1, false}, {"find_spec", ofErrors, 3, false},
	// in every source for which Loads.call has an effect, if no name in it is that of a function that
	// loads libraries
	{"xtensionFileLoader", ofOpaque, 7, false}, {"spec_from_file_location", ofOpaque, 3, false},
	{"marshal", ofOpaque, 2, false}, {"__pyarmor__", ofOpaque, 2, false},
	{"LD_", ofOpaque, 0, false}, // LD_LIBRARY_PATH, LD_PRELOAD, RTLD_GLOBAL
	{"global ", ofGlobal, 2, false},
	{"def ", ofDefinition, 1, false}, {"class ", ofDefinition, 3, false},
}

// firsts and seconds have a bit for each two letters of a word that are searched, by the first and
// by the second of them: bit 2*i for the first two rare letters of word i, and the next one for the
// last two. So it is enough to look at every second place of a source.
var firsts, seconds = func() (first, second [256]uint64) {
	add := func(bit int, a, b byte) {
		first[a] |= 1 << bit
		second[b] |= 1 << bit
	}
	for i, w := range vocabulary {
		for n := range 2 {
			a, b := w.text[w.rare+n], w.text[w.rare+n+1]
			add(2*i+n, a, b)
			if w.fold {
				upper := strings.ToUpper(string([]byte{a, b}))
				add(2*i+n, upper[0], upper[1])
				add(2*i+n, upper[0], b)
				add(2*i+n, a, upper[1])
			}
		}
	}
	return first, second
}()

// bitsOf returns the bits of the words of a kind.
func bitsOf(k wordKind) (mask uint64) {
	for i, w := range vocabulary {
		if w.kind == k {
			mask |= 3 << (2 * i)
		}
	}
	return mask
}

// Code is a Python source.
type Code struct {
	file, text string // file is relative to site-packages
	words      words
}

// NewCode returns a source. file is its path relative to site-packages.
func NewCode(file, text string) *Code {
	c := &Code{file: file, text: text}
	if !InTests(file) {
		c.words = wordsOf(text)
	}
	return c
}

// wordsOf searches all words in one pass.
func wordsOf(text string) words {
	w := words{defined: map[string]bool{}}
	wanted := ^uint64(0)
	for i := 0; i+1 < len(text); i += 2 {
		found := firsts[text[i]] & seconds[text[i+1]] & wanted
		for ; found != 0; found &= found - 1 {
			bit := bits.TrailingZeros64(found)
			word := &vocabulary[bit/2]
			at := i - word.rare - bit%2
			if at < 0 || len(text)-at < len(word.text) {
				continue
			}
			if here := text[at : at+len(word.text)]; here != word.text &&
				(!word.fold || !strings.EqualFold(here, word.text)) {
				continue
			}
			if w.add(text, at, word.text, word.kind) {
				wanted &^= bitsOf(word.kind)
			}
		}
	}
	return w
}

// add handles a word at a place. It returns true if further words of its kind show nothing.
func (w *words) add(text string, at int, word string, k wordKind) (enough bool) {
	end := at + len(word)
	switch k {
	case ofLoads:
		if at >= w.named {
			from, to := at, end
			for from > 0 && isName(text[from-1]) {
				from--
			}
			for to < len(text) && isName(text[to]) {
				to++
			}
			w.named, w.loading = to, loads(text[from:to])
		}
		if w.loading {
			w.mayLoad = true
			here := text[at:end]
			w.loads = w.loads || here == word || here == "DLL"
		}
		return w.loads
	case ofUses:
		w.uses = true
	case ofOperators:
		w.torch = true
	case ofImport:
		w.imports = w.imports || importsAt(text, w.at, at)
		w.at = at
		return w.imports
	case ofExecution:
		w.imports = true
	case ofErrors:
		w.handles = true
	case ofOpaque:
		w.opaque = true
	case ofGlobal:
		w.global = true
	case ofDefinition:
		to := end
		for to < len(text) && isName(text[to]) {
			to++
		}
		w.defined[text[end:to]] = true
		return false
	}
	return true
}

// importsAt reports whether the word at a place is that of an import in a function. before is where
// the last one was, for which it was false, or 0.
func importsAt(text string, before, at int) bool {
	rest := text[at:]
	from := before + strings.LastIndexByte(text[before:at], '\n') + 1
	line := text[from:at]
	words := strings.TrimLeft(line, " \t")
	first := from == 0 || text[from-1] == '\n' // on its line
	return first && len(words) < len(line) && (words == "" || strings.HasPrefix(words, "from ")) ||
		strings.Contains(words, ": ") || strings.Contains(words, "; ") ||
		strings.HasPrefix(rest, "import_") || strings.HasSuffix(words, "__")
}

// nameFilter tells quickly of most names that they are not in a set.
type nameFilter [64]uint64

// place returns the word and the bit of a name.
func (nameFilter) place(name string) (word, bit byte) {
	if name == "" {
		return 0, 0
	}
	first, last := name[0], name[len(name)-1]
	return (first ^ byte(len(name))*9) & 63, (last ^ name[len(name)/2]*5) & 63
}

func (f *nameFilter) add(name string) {
	word, bit := f.place(name)
	f[word] |= 1 << bit
}

// may reports whether a name may have been added.
func (f *nameFilter) may(name string) bool {
	word, bit := f.place(name)
	return f[word]>>bit&1 != 0
}
