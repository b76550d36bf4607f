package buildlog

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// A text that somebody pasted may have been folded by a terminal or a mail program: a message is
// then in several lines. Only short texts are joined again; logs of builds are not folded.
const (
	maxFolded = 64 << 10 // bytes
	minWidth  = 60       // columns
	maxWidth  = 200
)

// widths are those of terminals and mail programs.
var widths = []int{72, 76, 78, 79, 80, 100, 120, 132, 160}

// begins matches the start of a line that continues no other one.
var begins = lazyregexp.New(
	`^(?:collect2|clang(?:\+\+)?|gcc|g\+\+|cc|c\+\+|g?make(?:\[\d+\])?|ninja|npm|error|warning|` +
		`(?:\S*/)?ld(?:\.\w+)?)\b[^\n]*: |^Traceback `)

// folded is a text whose lines were joined.
type folded struct {
	text   []byte
	starts []int        // number of the first original line of each line, from 1
	joined map[int]bool // original lines that were joined with another one
}

// line returns the original line in which a line begins.
func (f *folded) line(n int) int { return f.starts[min(max(n, 1), len(f.starts))-1] }

// unfold joins lines. If hard is set, the line after one that has the largest width continues it.
// Otherwise the text was folded between words: a line is continued if the first word of the next
// one would not have fitted. sure reports whether the width shows that the text was folded. It
// returns nil if there is nothing to join.
func unfold(text []byte, hard bool) (f *folded, sure bool) {
	lines := bytes.Split(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"))
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCount(l))
	}
	if width < minWidth || width > maxWidth {
		return nil, false
	}
	f = &folded{joined: map[int]bool{}}
	for i := 0; i < len(lines); i++ {
		f.starts = append(f.starts, i+1)
		f.text = append(f.text, lines[i]...)
		for ; i+1 < len(lines) && len(lines[i+1]) > 0; i++ {
			n := utf8.RuneCount(lines[i])
			next := lines[i+1]
			if begins.Match(next) {
				break
			}
			if hard {
				if n != width {
					break
				}
			} else {
				word, _, _ := bytes.Cut(next, []byte(" "))
				if len(word) == 0 || n == 0 || n+1+utf8.RuneCount(word) <= width {
					break
				}
				f.text = append(f.text, ' ')
			}
			f.joined[i+1], f.joined[i+2] = true, true
			f.text = append(f.text, next...)
		}
		f.text = append(f.text, '\n')
	}
	if len(f.joined) == 0 {
		return nil, false
	}
	return f, hard && slices.Contains(widths, width)
}

// readUnfolded returns what a text contains if its lines are joined, instead of what was read of it
// as it is: if nothing was found, or if the first message is in a line that was folded for sure, or
// if it is the only one and has more fields with the lines around it. The line numbers are those of
// the text.
func readUnfolded(text []byte, plain Result) (Result, error) {
	for _, hard := range []bool{true, false} {
		f, sure := unfold(text, hard)
		if f == nil {
			continue
		}
		first := slices.IndexFunc(plain.Diagnoses, func(d Diagnosis) bool { return f.joined[d.Line] })
		if len(plain.Diagnoses) > 0 && first != 0 {
			continue
		}
		r, err := readLines(bytes.NewReader(f.text))
		if err != nil {
			return Result{}, err
		}
		if len(r.Diagnoses) == 0 || len(r.Diagnoses) < len(plain.Diagnoses) ||
			first == 0 && !sure && (len(plain.Diagnoses) > 1 || len(r.Diagnoses) > 1 ||
				!adds(&r.Diagnoses[0], &plain.Diagnoses[0])) {
			continue
		}
		for i := range r.Diagnoses {
			r.Diagnoses[i].Line = f.line(r.Diagnoses[i].Line)
		}
		for i := range r.Sections {
			r.Sections[i].Line = f.line(r.Sections[i].Line)
		}
		r.Lines = plain.Lines
		return r, nil
	}
	return plain, nil
}

// adds reports whether a message is the same as another one, with fields that this one lacks.
func adds(d, to *Diagnosis) bool {
	more := false
	for _, f := range [][2]string{
		{d.Symbol, to.Symbol}, {d.Version, to.Version}, {d.Library, to.Library}, {d.Object, to.Object},
	} {
		if f[1] != "" && f[0] != f[1] {
			return false
		}
		more = more || f[0] != f[1]
	}
	return more && d.Rule == to.Rule
}
