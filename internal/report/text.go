package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// TextOptions configures Text. The zero value is for a pipe.
type TextOptions struct {
	Verbose bool // show all findings, without a limit on lines and without wrapping
	Color   bool // color severities and the verdict with ANSI escapes
	Width   int  // columns; 0 = 100. Commands are never wrapped
	// Of is the file or folder that lists the packages of an environment; "" if there are several.
	Of string
}

// Limits on the lines of a report without Verbose.
const (
	linesWithoutCauses = 6
	linesOfOneCause    = 12
	linesPerCause      = 8
	maxLines           = 60
	columns            = 100
	minColumns         = 60
)

// Text writes the report for a terminal. The first line has the verdict and the first cause. Then
// follows a block for each cause (what, where, who has to act, fixes), and a line with counts.
func Text(w io.Writer, r *analyzer.Report, o TextOptions) error {
	width := o.Width
	if width <= 0 || width > columns {
		width = columns
	}
	p := &textPrinter{
		report:  r,
		options: o,
		width:   max(width, minColumns),
	}
	if o.Verbose {
		p.width = math.MaxInt32
	}
	var b bytes.Buffer
	for _, l := range p.lines() {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

type textPrinter struct {
	report  *analyzer.Report
	options TextOptions
	width   int
	steps   *causetext.Steps // of the causes that are shown
	brief   bool             // less about fixes that follow the word "or"
	terse   bool             // less about all fixes
}

// textLine is a line of a block. If a block is too long, lines with the highest rank are left out
// first; rank 0 is never left out.
type textLine struct {
	text string
	rank int
	more bool // continues the previous line, and is left out with it
	row  bool // of the evidence: it is counted if it is left out
	// It is of the evidence, the first one included, which is not counted.
	evidence bool
	rows     int    // how many rows the line counts
	noun     string // what a row is about, see moreRows
}

// moreRows is the line that counts the rows of the evidence that are left out. noun is "version" if
// each row has the symbols of one, and rowPlatform if each row is one without a wheel.
func moreRows(n int, noun string) textLine {
	what := "symbols of "
	if noun == rowPlatform {
		what = ""
	}
	return textLine{
		text: fmt.Sprintf("   and %s%s (--verbose)", what, analyzer.Count(n, "more "+noun)),
		rank: moreRowsRank,
		rows: n,
		noun: noun,
	}
}

const rowPlatform = "platform"

// Ranks of lines.
const (
	always = iota
	firstFixRank
	warnsRank
	whoRank
	evidenceRank
	platformRank
	alternativeRank
	placeRank
	moreRowsRank
	blankRank
	otherFixRank
	moreEvidenceRank
	noteRank
)

func (p *textPrinter) lines() []string {
	r := p.report
	limit := maxLines
	switch n := len(r.Causes); {
	case n == 0:
		limit = linesWithoutCauses
	case n == 1:
		limit = linesOfOneCause
	default:
		limit = min(limit, 6+linesPerCause*n)
	}
	table := p.table()
	more := len(table)
	if len(r.Causes) > 1 {
		more = max(0, more-smallTable)
	}
	limit = min(maxLines, limit+more)
	head := append([]string{p.first()}, table...)
	if s := p.overview(); s != "" {
		head = append(head, wrap(s, p.width, "  ")...)
	}
	runs, rest := p.shows(len(r.Causes))
	tail := append(rest, p.last())
	entries := p.notes()
	if p.options.Verbose {
		out := append(head, runs...)
		for i := range r.Causes {
			out = append(out, "")
			out = append(out, texts(p.block(i))...)
		}
		out = append(out, p.findings()...)
		if len(r.Causes) > 0 {
			entries = append(entries, []string{"note: " + causetext.Key})
		}
		return slices.Concat(out, slices.Concat(entries...), tail)
	}
	room := limit - len(head) - len(tail)
	forNotes := room
	if len(r.Causes) > 0 {
		forNotes = max(1, room/4)
		if len(r.Unread) > 0 && len(entries) > 0 { // its reason says what to do
			forNotes = max(forNotes, min(len(entries[0]), room/2))
		}
	}
	fit := func(lines int) []string {
		notes := fitNotes(entries, lines)
		if len(notes) > 0 && len(r.Causes) > 1 {
			notes = slices.Insert(notes, 0, "") // they belong to no cause
		}
		return notes
	}
	notes := fit(forNotes)
	room -= len(notes)
	shown := len(r.Causes)
	// a block has at least two lines and a blank one
	for shown > 1 && 3*shown+len(runs)+boolInt(shown < len(r.Causes)) > room {
		shown--
		runs, rest = p.shows(shown)
		tail = append(rest, p.last())
	}
	room -= len(runs) + boolInt(shown < len(r.Causes))
	out := append(head, runs...)
	blocks := p.blocks(shown)
	if left := room - len(blocks); left > 0 { // lines that the blocks do not need
		room += len(notes)
		notes = fit(forNotes + left)
		room -= len(notes)
	}
	if len(blocks) > room { // an alternative is worth more than what alternatives cost
		p.brief = true
		blocks = p.blocks(shown)
	}
	if need := needed(blocks); need > room && len(notes) == 1 && len(r.Causes) == 1 {
		last := len(tail) - 1 // the note is longer than its count, or the line counts several
		count := fmt.Sprintf("; %s (--verbose)", analyzer.Count(len(entries), "note"))
		if length(tail[last])+length(count) <= p.width {
			tail[last] += count
		}
		notes = nil
		room++
	}
	if needed(blocks) > room {
		p.terse = true
		blocks = p.blocks(shown)
	}
	out = append(out, texts(shortened(blocks, room, p.width))...)
	if n := len(r.Causes) - shown; n > 0 {
		out = append(out, fmt.Sprintf("and %s (--verbose)", analyzer.Count(n, "more cause")))
	}
	return append(append(out, notes...), tail...)
}

// Rows of the table of several artifacts. A small one takes the place of other lines if there are
// several causes.
const (
	smallTable = 4
	maxTable   = 24
)

// needed counts the lines of blocks that a report cannot do without: what is wrong, and the fixes
// that come first.
func needed(blocks []textLine) int {
	n := 0
	for _, l := range blocks {
		if l.rank <= firstFixRank {
			n++
		}
	}
	return n
}

// table returns a line for each of several artifacts, or for those with the same result and reason.
// It is nil for one artifact. If all work, it has a line for each of several systems.
func (p *textPrinter) table() (out []string) {
	rows := causetext.Rows(p.report)
	if !slices.ContainsFunc(rows, func(x causetext.Row) bool { return x.Result != causetext.Works }) {
		return p.systems()
	}
	reasons := 0
	for _, row := range rows {
		reasons = max(reasons, length(row.Reason))
	}
	colour := map[causetext.Result]string{
		causetext.Fails: red, causetext.Works: green, causetext.Skipped: blue,
	}
	left := 0
	for i, row := range rows {
		if i >= maxTable && !p.options.Verbose {
			left += len(row.Artifacts)
			continue
		}
		s := fmt.Sprintf("  %-9s  %-*s  ", row.Result, reasons, row.Reason)
		if n := len(row.Artifacts); n > 1 {
			s += fmt.Sprintf("%d: ", n)
		}
		room := p.width - length(s)
		names := []string{fit(row.Artifacts[0], room)}
		for _, name := range row.Artifacts[1:] {
			names = append(names, mdsafe.Visible(name))
		}
		s += counted(names, 0, room-16, "file") // so that the count fits
		out = append(out, strings.Replace(s, string(row.Result),
			p.paint(string(row.Result), cmp.Or(colour[row.Result], yellow)), 1))
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("  and %s (--verbose)", analyzer.Count(left, "more file")))
	}
	return out
}

// fit returns a file name, without its middle if it is wider than room: the platform is at the end.
func fit(name string, room int) string {
	name = mdsafe.Visible(name)
	r := []rune(name)
	if room = max(room, minName); len(r) <= room {
		return name
	}
	end := room / 2
	return string(r[:room-1-end]) + "…" + string(r[len(r)-end:])
}

// minName is how many characters of a file name are shown at least.
const minName = 20

// blocks returns the blocks of the first causes.
func (p *textPrinter) blocks(shown int) (out []textLine) {
	for i := range shown {
		if shown > 1 {
			out = append(out, textLine{rank: blankRank})
		}
		out = append(out, p.block(i)...)
	}
	return out
}

// shows sets how many of the causes are shown. It returns the lines before them, which list the
// commands to run, and those after them: the command that changes the files, if no fix has it.
func (p *textPrinter) shows(causes int) (before, after []string) {
	var of []int
	for i := range causes {
		of = append(of, i)
	}
	p.steps = causetext.StepsOf(p.report, of, true)
	runs := p.steps.Runs()
	if len(runs) > 0 {
		before = wrap(mdsafe.Visible(p.steps.RunsTitle()), p.width, "  ")
	}
	for i, x := range runs {
		if about := p.steps.About(i); about != "" {
			before = append(before, wrap(fmt.Sprintf("  %d. %s", i+1, mdsafe.Visible(about)), p.width,
				"     ")...)
		}
		for _, l := range x.Commands {
			before = append(before, "       "+mdsafe.Lines(l))
		}
	}
	if other := p.steps.Other(); other != "" {
		before = append(before, "  "+other)
	}
	if lines := p.steps.Rest(); len(lines) > 0 {
		after = []string{"   " + mdsafe.Lines(strings.Join(lines, " && "))}
	}
	return before, after
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func texts(lines []textLine) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.text)
	}
	return out
}

// shortened removes lines of blocks, the least important first and among these the last, until at
// most room remain.
func shortened(lines []textLine, room, width int) []textLine {
	for len(lines) > max(room, 1) {
		worst := 0
		for i, l := range lines {
			if l.rank >= lines[worst].rank && !l.more {
				worst = i
			}
		}
		if lines[worst].rank == always {
			break
		}
		if lines[worst].rank < moreEvidenceRank {
			if joined, ok := joinRows(lines, width); ok {
				lines = joined
				continue
			}
		}
		if lines[worst].rank == blankRank {
			lines = slices.DeleteFunc(lines, func(l textLine) bool { return l.rank == blankRank })
			continue
		}
		if lines[worst].row {
			if next := worst + 1; next < len(lines) && lines[next].rows > 0 {
				lines[next] = moreRows(lines[next].rows+1, lines[next].noun)
				lines = slices.Delete(lines, worst, next)
			} else {
				lines[worst] = moreRows(1, lines[worst].noun)
			}
			continue
		}
		end := worst + 1
		for end < len(lines) && lines[end].more {
			end++
		}
		lines = slices.Delete(lines, worst, end)
	}
	return lines
}

// joinRows joins a row of the evidence with the count of the others. The end of a long row makes
// room for it: who sees only one row has to know that there are others.
func joinRows(lines []textLine, width int) ([]textLine, bool) {
	for i := 1; i < len(lines); i++ {
		if lines[i].rows == 0 || !lines[i-1].evidence {
			continue
		}
		count := "; " + strings.TrimLeft(lines[i].text, " ")
		if room := width - length(count); length(lines[i-1].text) > room {
			lines[i-1].text = mdsafe.Cut(lines[i-1].text, max(room, 1))
		}
		lines[i-1].text += count
		return slices.Delete(lines, i, i+1), true
	}
	return lines, false
}

// first returns the first line: the verdict, the artifact and the title of the first cause.
func (p *textPrinter) first() string {
	r := p.report
	name := "no artifact"
	switch n := len(r.Artifacts); {
	case n > 0 && unreadFirst(r) != nil:
		of := artifactOf(r, unreadFirst(r).Path)
		name = mdsafe.Visible(of)
		if n > 1 && isArtifact(r, of) {
			name += fmt.Sprintf(" (1 of %d artifacts)", n)
		}
	case len(r.Causes) > 0 && r.Environment: // the title names the packages that fail
		name = analyzer.Count(n, "package")
		if of := p.options.Of; of != "" {
			name = mdsafe.Visible(of) + " (" + name + ")"
		}
	case len(r.Causes) > 0:
		name = mdsafe.Visible(r.Causes[0].Artifact)
		switch k := len(r.ArtifactsOf(&r.Causes[0])); {
		case k > 1:
			name += fmt.Sprintf(" and %d more of %d artifacts", k-1, n)
		case n > 1:
			name += fmt.Sprintf(" (1 of %d artifacts)", n)
		}
	case n == 1:
		name = mdsafe.Visible(r.Artifacts[0].Path)
	case n > 1:
		name = analyzer.Count(n, "artifact")
		if k := len(notChecked(r)); k > 0 && k < n {
			name = fmt.Sprintf("%s (%d of %d not checked)", analyzer.Count(n-k, "artifact"), k, n)
		}
	case len(r.Unread) > 0:
		name = mdsafe.Visible(r.Unread[0].Path)
	case len(r.Skipped) > 0:
		name = mdsafe.Visible(r.Skipped[0].Path)
	}
	s := p.verdict() + ": " + name
	switch {
	case unreadFirst(r) != nil:
		u := unreadFirst(r)
		s += ": "
		if file, ok := strings.CutPrefix(u.Path, artifactOf(r, u.Path)); ok && file != "" {
			s += mdsafe.Visible(strings.TrimPrefix(file, "/")) + " could not be read: "
		}
		s += mdsafe.Cut(mdsafe.Visible(u.Reason), maxReason)
	case len(r.Causes) > 0:
		if r.Environment && r.Verdict == analyzer.Compatible {
			s += ": " + analyzer.Count(len(r.Causes), "warning")
		}
		s += ": " + mdsafe.Visible(r.Causes[0].Title)
	}
	return s
}

// unreadFirst returns what the first line says could not be read: the verdict is due to it, or the
// first cause is about a wheel that cannot be used by its file name. It is nil if the first line
// shows a cause.
func unreadFirst(r *analyzer.Report) *analyzer.Unread {
	for i := range r.Unread {
		u := &r.Unread[i]
		if r.Verdict == analyzer.Unchecked || slices.ContainsFunc(r.Artifacts,
			func(a analyzer.Artifact) bool {
				return a.Path == u.Path && a.Misnamed() && len(r.Causes) > 0 && r.Causes[0].Artifact == a.Path
			}) {
			return u
		}
	}
	return nil
}

// artifactOf returns the artifact that contains a file, or the file itself.
func artifactOf(r *analyzer.Report, file string) string {
	for _, a := range r.Artifacts {
		if file == a.Path || strings.HasPrefix(file, a.Path+"/") {
			return a.Path
		}
	}
	return file
}

// isArtifact reports whether a path is that of an artifact of the report.
func isArtifact(r *analyzer.Report, path string) bool {
	return slices.ContainsFunc(r.Artifacts, func(a analyzer.Artifact) bool { return a.Path == path })
}

// maxReason limits the reason for an unchecked file in the first line.
const maxReason = 200

// verdict returns the words of the verdict in their color.
func (p *textPrinter) verdict() string {
	words, as := verdictOf(p.report)
	colour := map[analyzer.Verdict]string{
		analyzer.Compatible: green, analyzer.Incompatible: red,
	}[as]
	return p.paint(words, cmp.Or(colour, yellow))
}

// verdictOf returns the verdict and what it assumes, and the verdict as which it is colored. If the
// exit code differs, because of the base or fail_on, both are in the words.
func verdictOf(r *analyzer.Report) (words string, as analyzer.Verdict) {
	words, as = string(r.Verdict), r.Verdict
	switch {
	case r.Outcome == "pass" && r.Fails(analyzer.Error):
		words, as = "pass (incompatible, but fail_on is never)", analyzer.Compatible
	case r.Outcome == "pass" && r.Verdict == analyzer.Incompatible:
		words, as = "pass (incompatible, but no error is new)", analyzer.Compatible
	case r.Outcome == "fail" && r.Verdict == analyzer.Compatible:
		words, as = "fail (compatible, but fail_on is warning)", analyzer.Incompatible
	case r.Outcome == "error" && r.Verdict == analyzer.Compatible:
		words, as = "error (compatible, but not all files were checked)", analyzer.Unchecked
	}
	if r.Assumed != "" {
		words += ", assuming " + mdsafe.Visible(r.Assumed)
	}
	return words, as
}

// overview returns the second line: who has to act, or the number of causes and the result of the
// plan.
func (p *textPrinter) overview() string {
	return spaced(mdsafe.Visible(refused(p.report)), p.answer())
}

// refused says which of the given packages pip refuses to install together; "" if there are none.
func refused(r *analyzer.Report) string {
	var sentences []string
	for _, s := range r.Refused {
		sentences = append(sentences, s+".")
	}
	return strings.Join(sentences, " ")
}

// answer is the overview without what pip refuses.
func (p *textPrinter) answer() string {
	r := p.report
	ship := mdsafe.Visible(causetext.Ship(r))
	switch len(r.Causes) {
	case 0:
		if r.Verdict == analyzer.NotJudged && len(r.Skipped) == 0 {
			return "It contains no library or program that compat reads."
		}
		judged, ok := r.Judged()
		names := platformNames(r)
		if !ok || len(names) == 0 {
			return ""
		}
		on := analyzer.List(names, 3, len(names), "platform")
		if p.systems() != nil {
			on = "these platforms"
		}
		if except := ignored(r); except != "" {
			return "Nothing else was found on " + on + ": " + except + "."
		}
		// The last line has why something is undecided.
		return spaced(judged.Found()+" on "+on+".", mdsafe.Visible(r.Unsure()))
	case 1:
		counts := ""
		if r.Causes[0].Severity != analyzer.Error {
			counts = causetext.Counts(r)
		}
		return p.besides() + spaced(ship, counts, mdsafe.Visible(causetext.Action(r, &r.Causes[0], nil)))
	}
	return p.besides() + spaced(ship, causetext.Counts(r), causetext.PlanSentence(r))
}

// spaced joins the sentences that are not empty.
func spaced(sentences ...string) string {
	return strings.Join(causetext.NonEmpty(sentences...), " ")
}

// besides returns the title of the first cause if the first line shows another problem.
func (p *textPrinter) besides() string {
	if r := p.report; unreadFirst(r) != nil {
		return "Also: " + mdsafe.Visible(r.Causes[0].Title) + ". "
	}
	return ""
}

// findings returns the list of all findings, for Verbose.
func (p *textPrinter) findings() []string {
	var out []string
	for i, x := range alikeOf(p.report.Findings, len(p.report.Findings), len(p.report.Findings)) {
		f := &x.Finding
		if i == 0 {
			out = append(out, "", "findings:")
		}
		out = append(out, "  "+p.severity(f.Severity)+" "+mdsafe.Visible(f.Rule)+": "+
			mdsafe.Visible(f.Message))
		if len(x.Symbols) > 0 {
			out = append(out, "      the same for "+mdsafe.Visible(strings.Join(x.Symbols, ", ")))
		}
		if len(f.Chain) > 1 {
			out = append(out, "      load path: "+mdsafe.Visible(strings.Join(f.Chain, " -> ")))
		}
	}
	return out
}

// last returns the line that counts causes, imports and objects.
func (p *textPrinter) last() string {
	line := p.counts(true)
	if length(line) > p.width {
		line = p.counts(false)
	}
	all := p.report.Accounting()
	if all.Undecided == 0 {
		return line
	}
	var why []string
	for _, u := range all.Why {
		why = append(why, mdsafe.Visible(u.String()))
	}
	if p.options.Verbose {
		return fmt.Sprintf("%s; %s of %s undecided: %s", line, grouped(all.Undecided),
			number(all.Imports, "import"), strings.Join(why, ", "))
	}
	first := grouped(all.Undecided) + " undecided: " + why[0]
	if n := len(why) - 1; n > 0 {
		why[0] += " and " + analyzer.Count(n, "more reason")
	}
	// The longest that fits into one line.
	undecided := grouped(all.Undecided) + " undecided: " + why[0]
	plain := p.counts(false)
	for _, full := range []string{
		fmt.Sprintf("%s; %s of %s undecided: %s", line, grouped(all.Undecided),
			number(all.Imports, "import"), why[0]),
		line + "; " + undecided,
		fmt.Sprintf("%s; %s of %s undecided: %s", plain, grouped(all.Undecided),
			number(all.Imports, "import"), why[0]),
		plain + "; " + undecided,
		p.briefCounts() + "; " + undecided,
		p.briefCounts() + "; " + first,
	} {
		if length(full) <= p.width {
			return full
		}
	}
	// A long name loses its middle.
	u := all.Why[0]
	u.Library = path.Base(u.Library)
	line = p.briefCounts() + "; " + grouped(all.Undecided) + " undecided: "
	room := p.width - length(line) - length(mdsafe.Visible(u.String())) + length(u.Library)
	u.Library = fit(u.Library, room)
	return clip(line+mdsafe.Visible(u.String()), p.width)
}

// briefCounts is counts without what is affected: "3 causes, 6,301 imports, 11 objects".
func (p *textPrinter) briefCounts() string {
	causes := "no causes"
	if n := len(p.report.Causes); n > 0 {
		causes = number(n, "cause")
	}
	return fmt.Sprintf("%s, %s, %s", causes, number(imports(p.report), "import"),
		number(objects(p.report), "object"))
}

// imports returns how many symbols the objects of a report import.
func imports(r *analyzer.Report) (n int) {
	for _, a := range r.Artifacts {
		n += a.Imports
	}
	return n
}

// counts is the part of the last line about what was found. explained is set if it says what
// imports and objects are.
func (p *textPrinter) counts(explained bool) string {
	r := p.report
	type place struct{ artifact, object string }
	type symbol struct {
		place
		name, version string
	}
	affected, concerned := map[symbol]bool{}, map[place]bool{}
	for _, c := range r.Causes {
		for _, i := range c.Findings {
			f := &r.Findings[i]
			at := place{f.Artifact, f.Object}
			if f.Object != "" && f.Rule != analyzer.RuleSupportRemoved { // that is a project
				concerned[at] = true
			}
			if f.Symbol != "" {
				affected[symbol{at, f.Symbol, f.Version}] = true
			}
		}
	}
	total := imports(r)
	if len(r.Causes) == 0 {
		return p.briefCounts()
	}
	n := max(objects(r), len(concerned))
	in, have := grouped(len(concerned))+" of "+number(n, "object"), "have"
	switch {
	case n == 1 && len(concerned) == 1:
		in, have = "1 object", "has"
	case len(concerned) == n:
		in = "all " + number(n, "object")
	}
	switch {
	case len(affected)+total == 0:
		return fmt.Sprintf("%s in %s, which %s no imports", number(len(r.Causes), "cause"), in, have)
	case len(affected) == 0:
		return fmt.Sprintf("%s in %s; %s checked", number(len(r.Causes), "cause"), in,
			number(total, "import"))
	}
	needed := number(total, "import")
	if explained {
		needed += " (needed symbols)"
		in += " (binary " + analyzer.Plural(n, "file)", "files)")
	}
	return fmt.Sprintf("%s; %s of %s and %s are affected", number(len(r.Causes), "cause"),
		grouped(len(affected)), needed, in)
}

// number returns a count with its noun and thousands separators: "3,412 imports".
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Colors as SGR parameters (ECMA-48).
const (
	red, yellow, green, blue = "31;1", "33;1", "32;1", "36"
)

func (p *textPrinter) paint(s, colour string) string {
	if !p.options.Color {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (p *textPrinter) severity(s analyzer.Severity) string {
	return p.paint(string(s), map[analyzer.Severity]string{
		analyzer.Error: red, analyzer.Warning: yellow, analyzer.Note: blue,
	}[s])
}

// length returns the number of columns of a text without escapes.
func length(s string) int { return utf8.RuneCountInString(s) }

func clip(s string, width int) string {
	if length(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// wrap breaks a text at spaces into lines of at most width columns, and indents lines after the
// first. Words longer than a line are not broken.
func wrap(s string, width int, indent string) []string {
	lead := s[:len(s)-len(strings.TrimLeft(s, " "))]
	var out []string
	line := lead
	empty := true
	for word := range strings.FieldsSeq(s) {
		if !empty && visible(line)+1+visible(word) > width {
			out = append(out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += strings.ReplaceAll(word, string(joint), " ")
		empty = false
	}
	return append(out, line)
}

// joint is a space that wrap does not break: a character that no text has.
const joint = '\ue000'

// joined returns a sentence whose command wrap does not break. A period after it would be copied.
// The word before the command stays with it: what a line begins with is to be run as it is shown,
// and this command is for files that the next build writes.
func joined(sentence, command string) string {
	if command == "" {
		return sentence
	}
	if strings.HasSuffix(sentence, command+".") {
		sentence = strings.TrimSuffix(sentence, ".")
	}
	whole := strings.ReplaceAll(command, " ", string(joint))
	return strings.ReplaceAll(strings.ReplaceAll(sentence, command, whole), " "+whole,
		string(joint)+whole)
}

// visible returns the number of columns of a text, not counting escapes.
func visible(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] == '\x1b' {
			end := strings.IndexByte(s[i:], 'm')
			if end < 0 {
				break
			}
			i += end + 1
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
	}
	return n
}
