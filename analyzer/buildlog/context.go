package buildlog

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// reader is what is remembered between lines; all of it is bounded.
type reader struct {
	out   []Diagnosis
	seen  map[key]int     // diagnosis -> index in out
	lines map[uint64]bool // lines that were looked at: a log repeats itself
	seed  maphash.Seed
	work  int
	spent []int // of the work, on each pattern
	deaf  set   // patterns that spent theirs
	plain []byte
	limit string
	// between "##[group]Run" and its end GitHub shows the script in cyan, not its output; a group
	// that a program of that name began has no cyan line
	script bool
	cyan   bool // there is one in this group
	colors bool // there was one in this log

	stamp    []byte // what the line at hand begins with, its time
	ends     int    // "##[endgroup]" lines so far
	sections []Section

	object         string // of "obj.o: in function `main':" and the lines after it
	objectLine     int
	last           []int // diagnoses of the last message, which the next lines may add to
	lastLine       int
	definedIn      string // of the last ">>> defined in"
	definedLine    int
	module         string // of Node's "The module 'x.node'"
	moduleLine     int
	dsoMissing     int // index+1 of "undefined reference to symbol", whose library the next line names
	dsoMissingLine int
}

// key is what makes a diagnosis the same as an earlier one.
type key struct{ class, symbol, version, library, object string }

// scriptColor begins the lines of a step's script.
var scriptColor = []byte("\x1b[36;1m")

// near is how many lines after a message still belong to it.
const near = 8

// contextNeedles are phrases of lines that are no message but say more of one.
var contextNeedles = []string{
	">>> referenced by",
	">>> defined in",
	">>>    ",
	"in function `",
	"In function `",
	"in function ‘",
	"The module '",
	"was compiled against a different Node.js",
	"##[group]",
	"##[endgroup]",
}

var (
	referencedBy = lazyregexp.New(
		`>>> (?:referenced by|defined in|\s+) *(?:[^\s()]*\()?([^\s():]+\.(?:o|a|so|obj|rlib|lo)(?:\.[\w.]+)?(?:\([^()\s]*\))?)`,
	)
	inFunction = lazyregexp.New("^(.*): [Ii]n function [`‘']")
	inSource   = lazyregexp.New(`:(?:\(\.[^()]*\)|\d+): (?:more )?$`)
	theModule  = lazyregexp.New(`The module '([^']+)'`)
)

// line looks at one line that holds a needle; false ends the reading.
func (s *reader) line(n int, raw []byte) bool {
	at := stamp(raw)
	s.stamp = raw[:at]
	if bytes.HasPrefix(raw[at:], scriptColor) && s.script {
		s.cyan, s.colors = true, true
		return true
	}
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		s.plain = plainText(s.plain[:0], raw)
		raw = s.plain
		if triggers().all(raw).empty() {
			return true
		}
	}
	at = stamp(raw)
	s.stamp, raw = raw[:at], raw[at:]
	for len(raw) > 0 { // a progress bar draws over itself: each drawing is a line
		var one []byte
		one, raw, _ = bytes.Cut(raw, []byte{'\r'})
		if !s.one(n, one) {
			return false
		}
	}
	return true
}

func (s *reader) one(n int, raw []byte) bool {
	hits := triggers().all(raw)
	if hits = (set{hits[0] &^ s.deaf[0], hits[1] &^ s.deaf[1]}); hits.empty() {
		return true
	}
	h := maphash.Bytes(s.seed, raw)
	if hits.has(aContext) {
		s.context(n, clean(raw))
	} else if s.lines[h] {
		return true
	}
	if len(s.lines) < 1<<14 {
		s.lines[h] = true
	}
	if s.script && (s.cyan || !s.colors) {
		return true
	}
	text := clean(raw)
	if quoted(text) {
		return true
	}
	for i, p := range patterns() {
		if !hits.has(i) {
			continue
		}
		if s.work += len(text); s.work > maxWork {
			s.limit = "too many lines look like messages; the log was read up to line " +
				"" + strconv.Itoa(
				n,
			)
			return false
		}
		if s.spent[i] += len(text); s.spent[i] > maxPattern {
			s.limit = "too many lines look like " + p.id + "; those after line " + strconv.Itoa(
				n,
			) + " were not read"
			s.deaf.add(i)
		}
		found := p.find(text)
		if len(found) == 0 {
			continue
		}
		s.last, s.lastLine = s.last[:0], n
		for i := range found {
			m := &found[i]
			if m.obj == "" && m.stage == linking && n <= s.objectLine+64 &&
				inSource.MatchString(m.prefix) {
				m.obj = s.object
			}
			for _, d := range m.diagnoses() {
				d.Line, d.Place = n, s.place()
				s.add(d)
			}
		}
		if len(s.out) >= maxDiagnoses {
			s.limit = "the log has more failures than are listed"
			return false
		}
		return true
	}
	return true
}

// add keeps a diagnosis, or completes the one that says the same.
func (s *reader) add(d Diagnosis) {
	if d.Rule == "node-module-version" && d.Object == "" && d.Line <= s.moduleLine+near {
		d.Object = bound(s.module)
	}
	if d.Rule == "ld-dso-missing" && s.dsoMissing > 0 && d.Line <= s.dsoMissingLine+near {
		s.out[s.dsoMissing-1].Library = d.Library
		s.last, s.dsoMissing = append(s.last, s.dsoMissing-1), 0
		return
	}
	k := key{class: d.Class, symbol: d.Symbol, version: d.Version}
	if d.Symbol == "" {
		k.library = base(d.Library)
		if d.Library == "" && d.Version == "" {
			k.object = base(d.Object)
		}
	}
	i, ok := s.seen[k]
	if ok {
		old := &s.out[i]
		for _, f := range [][2]*string{{&old.Library, &d.Library}, {&old.Object, &d.Object}} {
			if *f[0] == "" {
				*f[0] = *f[1]
			}
		}
	} else {
		i = len(s.out)
		s.out, s.seen[k] = append(s.out, d), i
	}
	if d.Rule == "ld-undefined-reference-to-symbol" {
		s.dsoMissing, s.dsoMissingLine = i+1, d.Line
	}
	s.last = append(s.last, i)
}

// context reads a line that says more of the messages around it.
func (s *reader) context(n int, text string) {
	if strings.HasPrefix(text, "##[endgroup]") {
		s.script, s.cyan = false, false
		s.ends++
	} else if strings.HasPrefix(text, "##[group]") {
		s.cyan = false
		if s.script = strings.HasPrefix(text, "##[group]Run "); s.script {
			s.section(n, text)
		}
	}
	if m := inFunction.FindStringSubmatch(text); m != nil {
		s.object, _ = fileBefore(m[1], true)
		s.objectLine = n
	}
	if m := theModule.FindStringSubmatch(text); m != nil {
		s.module, s.moduleLine = m[1], n
	}
	if m := referencedBy.FindStringSubmatch(text); m != nil && n <= s.lastLine+near {
		defined := strings.Contains(
			text,
			">>> defined in",
		) // it is who refers that counts; the other only where nobody else is named
		for _, i := range s.last {
			if d := &s.out[i]; d.Object == "" ||
				!defined && s.definedLine > d.Line && d.Object == s.definedIn {
				d.Object = bound(m[1])
			}
		}
		if defined {
			s.definedIn, s.definedLine = bound(m[1]), n
		}
	}
}
