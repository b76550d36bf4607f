// Package recording writes recordings of a terminal: as an asciicast, which terminal players show,
// and as an animated SVG, which a page shows without a script. It knows no command; who records
// runs them and gives it what they print:
//
//	r := recording.New("compat check", 100)
//	r.Run("compat check dist/*.whl", output)
//	os.WriteFile("check.svg", r.SVG(), 0o644)
//
// The times are made up, so that the same output gives the same bytes. Output may have the SGR
// escapes for bold and the eight colors (ECMA-48, 8.3.117); others are left out of the SVG.
package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Recording is a session in a terminal. Use New.
type Recording struct {
	title   string
	columns int
	now     float64 // seconds since the start
	events  []event
	lines   []line
}

// event is a piece of output of the terminal.
type event struct {
	at   float64
	text string
}

// line is a line of the screen, which appears at a time.
type line struct {
	at   float64
	text string // with escapes
}

// Times in seconds.
const (
	perKey  = 0.05 // between two typed characters
	started = 0.6  // from the end of a command to its output
	perLine = 0.04
	perRead = 0.15 // for each printed line, before the next command
)

// New returns an empty recording of a terminal with a number of columns.
func New(title string, columns int) *Recording {
	return &Recording{title: title, columns: columns, now: 0.5}
}

// Run records a command that is typed and what it prints.
func (r *Recording) Run(command, output string) {
	r.lines = append(r.lines, wrapped(r.columns, r.now, "\x1b[1m$ "+command+"\x1b[0m")...)
	r.emit("$ ")
	for _, c := range command {
		r.now += perKey
		r.emit(string(c))
	}
	r.now += started
	r.emit("\r\n")
	printed := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	for _, l := range printed {
		r.lines = append(r.lines, wrapped(r.columns, r.now, l)...)
		r.emit(l + "\r\n")
		r.now += perLine
	}
	r.now += perRead * float64(len(printed))
}

func (r *Recording) emit(text string) { r.events = append(r.events, event{r.now, text}) }

// Cast returns the recording as an asciicast of version 2: a header and a line for each event
// (docs.asciinema.org, "asciicast v2").
func (r *Recording) Cast() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(struct {
		Version int    `json:"version"`
		Width   int    `json:"width"`
		Height  int    `json:"height"`
		Title   string `json:"title"`
	}{2, r.columns, len(r.lines) + 1, r.title})
	for _, x := range r.events {
		if err == nil {
			err = e.Encode([]any{json.Number(seconds(x.at)), "o", x.text})
		}
	}
	return b.Bytes(), err
}

func seconds(at float64) string { return strconv.FormatFloat(at, 'f', 2, 64) }

// Sizes in pixels.
const (
	fontSize = 13
	charWide = 7.8
	lineHigh = 18
	margin   = 14
)

// SVG returns the recording as a picture on which the lines appear one after the other. It shows
// all of them where nothing is animated, and to those who prefer that (prefers-reduced-motion).
func (r *Recording) SVG() []byte {
	var b bytes.Buffer
	wide := int(charWide*float64(r.columns)) + 2*margin
	high := lineHigh*len(r.lines) + 2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" `+
		`height="%d" role="img" aria-label="%s">`+"\n", wide, high, wide, high,
		html.EscapeString(r.title))
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(r.title))
	fmt.Fprintf(&b, "<style>\ntext { font: %dpx monospace; fill: #d8dee6; white-space: pre }\n"+
		".b { font-weight: bold }\n", fontSize)
	for i, color := range colors {
		fmt.Fprintf(&b, ".c%d { fill: %s }\n", i, color)
	}
	b.WriteString("@media (prefers-reduced-motion: no-preference) {\n" +
		"text { animation: shown 0.01s linear backwards }\n}\n" +
		"@keyframes shown { from { opacity: 0 } }\n</style>\n")
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#14181f\"/>\n", wide, high)
	for i, l := range r.lines {
		n := utf8.RuneCountInString(escapes.ReplaceAllString(l.text, ""))
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f" style="animation-delay: %ss" `+
			`xml:space="preserve">%s</text>`+"\n", margin, margin+lineHigh*i+fontSize,
			charWide*float64(n), seconds(l.at), spans(l.text))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// colors are those of SGR 30 to 37, readable on a dark ground.
var colors = [8]string{
	"#8b949e", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#ffffff",
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// spans returns a line with escapes as the content of a text element.
func spans(text string) string {
	var b strings.Builder
	class := ""
	for text != "" {
		at := escapes.FindStringIndex(text)
		plain, code := text, ""
		if at != nil {
			plain, code, text = text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		} else {
			text = ""
		}
		switch plain = html.EscapeString(plain); {
		case plain == "":
		case class == "":
			b.WriteString(plain)
		default:
			b.WriteString(`<tspan class="` + class + `">` + plain + "</tspan>")
		}
		if strings.HasSuffix(code, "m") {
			class = classes(code[2 : len(code)-1])
		}
	}
	return b.String()
}

// classes returns the classes of the parameters of SGR: "b c1" for "31;1"; "" for a reset.
func classes(parameters string) string {
	var out []string
	for p := range strings.SplitSeq(parameters, ";") {
		switch n, err := strconv.Atoi(p); {
		case err != nil || n == 0:
			out = nil
		case n == 1:
			out = append(out, "b")
		case n >= 30 && n <= 37:
			out = append(out, fmt.Sprintf("c%d", n-30))
		}
	}
	return strings.Join(out, " ")
}

// wrapped divides a line as a terminal does, at the number of columns. Escapes have no width, and
// what one sets also counts for the next line.
func wrapped(columns int, at float64, text string) (out []line) {
	var b strings.Builder
	n, set := 0, ""
	for text != "" {
		if e := escapes.FindString(text); e != "" && strings.HasPrefix(text, e) {
			b.WriteString(e)
			set, text = e, text[len(e):]
			continue
		}
		c, size := utf8.DecodeRuneInString(text)
		if n == columns {
			out = append(out, line{at, b.String()})
			b.Reset()
			b.WriteString(set)
			n = 0
		}
		b.WriteRune(c)
		text = text[size:]
		n++
	}
	return append(out, line{at, b.String()})
}
