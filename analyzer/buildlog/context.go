package buildlog

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// reader is the state between lines. Its size is limited.
type reader struct {
	out       []Diagnosis
	seen      map[key]int     // index in out by diagnosis
	lines     map[uint64]bool // hashes of lines that were matched: logs repeat themselves
	seed      maphash.Seed
	work      int
	spent     []int // work for each pattern
	exhausted set   // patterns that reached their limit
	plain     []byte
	limit     string
	// After "##[group]Run", GitHub shows the script in cyan instead of its output. A group that a
	// program with such a name started has no cyan line.
	script bool
	cyan   bool // this group has a cyan line
	colors bool // the log has a cyan line

	stamp    []byte // the time stamp of the current line
	ends     int    // number of "##[endgroup]" lines so far
	sections []Section

	object      string // from "obj.o: in function `main':", for the following lines
	objectLine  int
	last        []int // diagnoses of the last message, which the next lines may complete
	lastLine    int
	definedIn   string // from the last ">>> defined in"
	definedLine int
	marked      [contextLines]markedLine // the last lines that show a setting, as a ring
	markedCount int                      // how many there were
	module      string                   // from Node's "The module 'x.node'"
	// Files that the linker skipped because they are for another architecture, by -l name.
	skipped    map[string]string
	ignored    string // the last list of versions that pip ignored because of Requires-Python
	offline    bool   // pip could not reach an index
	imported   string // the package of the last frame of a traceback, except NumPy
	frameLine  int
	importer   string // the package of the last frame of a traceback; "" for a file of no package
	importLine int
	moduleLine int
	// Index+1 of "undefined reference to symbol"; the next line names the library.
	dsoMissing     int
	dsoMissingLine int
}

// markedLine is the setting that a line shows.
type markedLine struct {
	line int
	setting
}

// mark keeps the setting that a line without a message shows, for the messages before and after it.
func (s *reader) mark(n int, t setting) {
	if t == (setting{}) {
		return
	}
	s.marked[s.markedCount%len(s.marked)] = markedLine{n, t}
	s.markedCount++
	if n > s.lastLine && n <= s.lastLine+contextLines {
		for _, i := range s.last {
			s.out[i].at = s.out[i].at.completed(t)
		}
	}
}

// around returns the setting that the lines up to n show, the last one first.
func (s *reader) around(n int) setting {
	var out setting
	for i := range s.marked {
		m := &s.marked[(s.markedCount-1-i+2*len(s.marked))%len(s.marked)]
		if m.line > 0 && m.line+contextLines >= n {
			out = out.completed(m.setting)
		}
	}
	return out
}

// key identifies equal diagnoses.
type key struct{ class, symbol, version, library, object string }

// scriptColor starts the lines of a step's script.
var scriptColor = []byte("\x1b[36;1m")

// maxSkipped limits the files that the linker skipped.
const maxSkipped = 1 << 10

// contextLines is how many lines after a message can complete it.
const contextLines = 8

// contextNeedles are phrases in lines that complete other messages.
var contextNeedles = []string{
	">>> referenced by",
	`\\?\`,
	">>> defined in",
	">>>    ",
	"in function `",
	"In function `",
	"in function ‘",
	"The module '",
	"skipping incompatible ",
	"Ignored the following versions that require a different python version",
	"Retrying (Retry(total=",
	"was compiled against a different Node.js",
	"-packages/",
	`  File "`,
	": in <module>",
	"##[group]",
	"##[endgroup]",
}

var (
	referencedBy = lazyregexp.New(
		`>>> (?:referenced by|defined in|\s+) *(?:[^\s()]*\()?([^\s():]+\.(?:o|a|so|obj|rlib|` +
			`lo)(?:\.[\w.]+)?(?:\([^()\s]*\))?)`,
	)
	inFunction = lazyregexp.New("^(.*): [Ii]n function [`‘']")
	inSource   = lazyregexp.New(`:(?:\(\.[^()]*\)|\d+): (?:more )?$`)
	frame      = lazyregexp.New(`^\s*File "[^"]*/(?:site|dist)-packages/(\w+)[/.][^"]*", line \d`)
	// A frame of Python, which docker puts after a time, of pytest or of IPython.
	anyFrame = lazyregexp.New(
		`(?:^|\s)File "([^"]+)", line \d|^\s*(?:File )?(\S+):\d+(?:: in |, in |$)`,
	)
	// A file of an installed package.
	ofPackage = lazyregexp.New(`(?:^|/)(?:site|dist)-packages/(\w+)[/.]`)
	theModule = lazyregexp.New(`The module '([^']+)'`)
	// "when" is of GNU ld, "while" of gold.
	skippedFile = lazyregexp.New(`skipping incompatible (\S+) (?:when|while) searching for `)
)

// handleRaw handles a line that contains a needle. It returns false to stop reading.
func (s *reader) handleRaw(n int, raw []byte) bool {
	at := stamp(raw)
	s.stamp = raw[:at]
	if bytes.HasPrefix(raw[at:], scriptColor) && s.script {
		s.cyan, s.colors = true, true
		return true
	}
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		s.plain = plainText(s.plain[:0], raw)
		raw = s.plain
		if triggers.Get().all(raw).empty() {
			return true
		}
	}
	at = stamp(raw)
	s.stamp, raw = raw[:at], raw[at:]
	for len(raw) > 0 { // a progress bar rewrites its line: each version counts as a line
		var one []byte
		one, raw, _ = bytes.Cut(raw, []byte{'\r'})
		if !s.handleLine(n, one) {
			return false
		}
	}
	return true
}

func (s *reader) handleLine(n int, raw []byte) bool {
	hits := triggers.Get().all(raw).without(s.exhausted)
	if hits.empty() {
		return true
	}
	shown := markOf(hits)
	if hits = hits.without(markBits.Get()); hits.empty() {
		s.mark(n, shown)
		return true
	}
	job := s.job()
	h := maphash.Bytes(s.seed, raw) ^ maphash.String(s.seed, job)
	if hits.has(aContext) {
		s.addContext(n, clean(raw))
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
	for i, p := range patterns.Get() {
		if !hits.has(i) {
			continue
		}
		if s.work += len(text); s.work > maxWork {
			s.limit = "too many lines look like messages; the log was read up to line " +
				strconv.Itoa(n)
			return false
		}
		if s.spent[i] += len(text); s.spent[i] > maxPattern {
			s.limit = "too many lines look like " + p.id + "; those after line " + strconv.Itoa(
				n,
			) + " were not read"
			s.exhausted.add(i)
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
				d.Line, d.Place, d.at = n, s.place(), settingOf(&d, shown.completed(s.around(n)))
				if job != "" {
					d.Jobs = []string{job}
				}
				s.add(d)
			}
		}
		if len(s.out) >= maxDiagnoses {
			s.limit = "the log has more failures than are listed"
			return false
		}
		return true
	}
	s.mark(n, shown)
	return true
}

// add adds a diagnosis, or completes an equal one.
func (s *reader) add(d Diagnosis) {
	if d.Rule == "node-module-version" && d.Object == "" && d.Line <= s.moduleLine+contextLines {
		d.Object = bound(s.module)
	}
	if d.Rule == "ld-dso-missing" && s.dsoMissing > 0 && d.Line <= s.dsoMissingLine+contextLines {
		s.out[s.dsoMissing-1].Library = d.Library
		s.last, s.dsoMissing = append(s.last, s.dsoMissing-1), 0
		return
	}
	switch d.Rule {
	case noDistribution:
		if d.named == "" && s.offline {
			return // the index is the problem
		}
		d.python = requiresPython(s.ignored, pinnedVersion(d.Object))
	case "numpy-abi", "numpy-api", cythonAPI:
		if s.imported != "" && d.Line <= s.frameLine+contextLines {
			d.named = s.imported
		}
	case "ld-cannot-find-library":
		d.named = s.skipped[stem(d.Library)]
	}
	if d.Class == "library-not-found" && causeOf(&d) != CauseBuild {
		d.named = cmp.Or(packageOf(d.Object), packageOf(d.Library))
		if d.named == "" && d.Object == "" && d.Library == base(d.Library) &&
			d.Line <= s.importLine+contextLines {
			d.named = s.importer
		}
	}
	k := key{class: d.Class, symbol: d.Symbol, version: d.Version}
	if d.Symbol == "" {
		k.library = base(d.Library)
		if d.Library == "" && d.Version == "" {
			k.object = cmp.Or(base(d.Object), d.Rule)
		}
	}
	i, ok := s.seen[k]
	if ok {
		old := &s.out[i]
		for _, job := range d.Jobs {
			if !slices.Contains(old.Jobs, job) && len(old.Jobs) < maxJobs {
				old.Jobs = append(old.Jobs, job)
			}
		}
		for _, f := range [][2]*string{{&old.Library, &d.Library}, {&old.Object, &d.Object},
			{&old.named, &d.named}, {&old.python, &d.python}} {
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

// packageOf returns the Python package that a file belongs to, by its name in imports; "" if it is
// of none. Debian's own packages are no wheels, so they have none.
func packageOf(file string) string {
	m := ofPackage.FindStringSubmatch(file)
	if m == nil || strings.HasPrefix(file, "/usr/lib/python3/dist-packages/") {
		return ""
	}
	return m[1]
}

// addContext handles a line that completes other messages.
func (s *reader) addContext(n int, text string) {
	if strings.HasPrefix(text, "##[endgroup]") {
		s.script, s.cyan = false, false
		s.ends++
	} else if strings.HasPrefix(text, "##[group]") {
		s.cyan = false
		if s.script = strings.HasPrefix(text, "##[group]Run "); s.script {
			s.section(n, text)
		}
	}
	if strings.HasPrefix(text, `\\?\`) && n == s.lastLine+1 {
		for _, i := range s.last {
			if d := &s.out[i]; d.Rule == addonModule && d.Object == "" {
				d.Object = bound(text)
				d.at = settingOf(d, d.at)
			}
		}
	}
	if m := inFunction.FindStringSubmatch(text); m != nil {
		s.object, _ = fileBefore(m[1], true)
		s.objectLine = n
	}
	if m := theModule.FindStringSubmatch(text); m != nil {
		s.module, s.moduleLine = m[1], n
	}
	if m := skippedFile.FindStringSubmatch(text); m != nil && len(s.skipped) < maxSkipped {
		s.skipped[stem(m[1])] = bound(m[1])
	}
	if m := frame.FindStringSubmatch(text); m != nil && m[1] != "numpy" {
		s.imported, s.frameLine = m[1], n
	}
	if m := anyFrame.FindStringSubmatch(text); m != nil {
		s.importer, s.importLine = bound(packageOf(cmp.Or(m[1], m[2]))), n
	}
	s.offline = s.offline || strings.Contains(text, "Retrying (Retry(total=")
	if strings.Contains(text, "Ignored the following versions") {
		s.ignored = text
	}
	if m := referencedBy.FindStringSubmatch(text); m != nil && n <= s.lastLine+contextLines {
		defined := strings.Contains(
			text,
			">>> defined in",
		// The referring object matters; the other one is used only if there is no referring object.
		)
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
