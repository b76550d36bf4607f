package comment

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// annotations hang the new errors and warnings on the lines that cause them: one for each rule,
// object and line.
func annotations(in Input, groups []*group) []Annotation {
	type place struct {
		rule, object, path string
		line               int
	}
	byPlace := map[place][]*group{}
	var order []place
	for _, g := range groups {
		if g.Severity == analyzer.Note {
			continue
		}
		p, line, ok := Anchor(g.Finding, in.Files)
		if !ok {
			continue
		}
		at := place{g.Rule, g.Object, p, line}
		if byPlace[at] == nil {
			order = append(order, at)
		}
		byPlace[at] = append(byPlace[at], g)
	}
	var out []Annotation
	for _, at := range order[:min(len(order), maxAnnotations)] {
		out = append(out, annotation(at.path, at.line, byPlace[at]))
	}
	return out
}

func annotation(file string, line int, groups []*group) Annotation {
	first := groups[0]
	a := Annotation{Path: file, StartLine: line, EndLine: line, Level: LevelWarning}
	if first.Severity == analyzer.Error {
		a.Level = LevelFailure
	}
	a.Title = mdsafe.Cut(first.Rule+": "+mdsafe.Plain(path.Base(first.where()), 120), MaxTitle)
	var lines, raw []string
	for i, g := range groups {
		if i == 10 {
			lines = append(lines, fmt.Sprintf("and %d more of this kind", len(groups)-i))
			break
		}
		lines = append(lines, oneLine(g, 30))
		raw = append(
			raw,
			strings.Join(distinct(append([]string{g.Version, g.Library}, g.symbols...)), " "),
		)
	}
	for i, x := range first.fixes {
		if i == 3 {
			break
		}
		lines = append(
			lines,
			"Fix: "+mdsafe.Prose(x.Title, append(names(first.Finding), x.Requirement)...),
		)
		if x.Command != "" {
			raw = append(raw, x.Command)
		}
	}
	a.Message = bounded(strings.Join(lines, "\n"), maxRaw)
	a.RawDetails = bounded(mdsafe.Lines(strings.Join(raw, "\n")), maxRaw)
	return a
}

// bounded cuts plain text to limit bytes at a whole character.
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
