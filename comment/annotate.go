package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// annotations returns an annotation for each new cause, on the line that causes it, or else on the
// first one of the file that is most relevant for the build.
func annotations(in Input, v view) []Annotation {
	var out []Annotation
	for _, i := range v.fresh {
		if len(out) == maxAnnotations {
			break
		}
		at, ok := v.at[i]
		if !ok {
			at.path, at.line, ok = fallback(in.Files)
		}
		if ok {
			out = append(out, annotation(in, v, i, at.path, at.line))
		}
	}
	return out
}

// linesOf returns the line of the repository that causes each new cause, by the index of the cause,
// as far as there is one.
func linesOf(in Input, v view, s *sources) map[int]place {
	at := map[int]place{}
	for _, i := range v.fresh {
		f := v.finding(i)
		p, line, ok := declared(f, in.Diff)
		if !ok {
			p, line, ok = s.anchor(f)
		}
		if ok {
			at[i] = place{p, line}
		}
	}
	return at
}

// annotation returns a cause as plain text, because GitHub renders no Markdown in annotations.
func annotation(in Input, v view, i int, file string, line int) Annotation {
	c := v.cause(i)
	a := Annotation{Path: file, StartLine: line, EndLine: line, Level: LevelWarning}
	if c.Severity == analyzer.Error {
		a.Level = LevelFailure
	}
	a.Title = mdsafe.Cut(v.headline(i), MaxTitle)
	lines := []string{plain(causetext.Action(v.report, c, place{file, line}.here(in)))}
	if len(c.Fails) > 0 {
		lines = append(lines, "Fails on "+strings.Join(c.Fails, ", ")+".")
	}
	changes := v.edits[i]
	if here := (place{file, line}); len(changes) > 0 && changes[0].At != here.String() {
		changes = nil // they are elsewhere
	}
	var raw []string // the commands for which the lines have no room, and the evidence
	for j, x := range c.Fixes {
		if j == 2 {
			break
		}
		command := ""
		if inlineCommand(x) != "" {
			command = string(x.Command)
		} else if x.Command != "" && !x.ShowsCommand() {
			raw = append(raw, string(x.Command))
		}
		lines = append(lines, causetext.Line(v.report, i, j, changes, command, func(s string) string {
			return plain(mdsafe.Cut(s, maxShown))
		}))
	}
	for _, e := range c.Evidence {
		raw = append(raw, strings.TrimSpace(strings.Join(causetext.NonEmpty(
			append([]string{e.Version, e.Library}, e.Symbols...)...), " ")+
			more(e.MoreSymbols)))
	}
	a.Message = bounded(strings.Join(lines, "\n"), maxRaw)
	a.RawDetails = bounded(mdsafe.Lines(strings.Join(raw, "\n")), maxRaw)
	return a
}

// comparison matches an operator of a version range: "<" or ">" before a digit opens no tag.
var comparison = lazyregexp.New(`(?:[<>]=?|!=)\s?\d`)

// plain removes everything that could be a mention, link or tag, except version comparisons.
func plain(s string) string {
	var b strings.Builder
	s = mdsafe.Visible(s)
	last := 0
	for _, at := range comparison.FindAllStringIndex(s, -1) {
		b.WriteString(mdsafe.Plain(s[last:at[0]], 0) + s[at[0]:at[1]])
		last = at[1]
	}
	return b.String() + mdsafe.Plain(s[last:], 0)
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" +%d", n)
}

// bounded truncates plain text to limit bytes without splitting a character.
func bounded(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end] + mark
}
