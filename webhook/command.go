package webhook

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/compat-app/compat/internal/job"
)

// maxComment is GitHub's limit for a comment in characters; longer bodies are not parsed.
const maxComment = 65536

// maxArguments is the length in characters to which the arguments of a command are truncated.
const maxArguments = 1000

// Commands returns the commands in a comment: lines of a paragraph that start with "/compat ".
// Code blocks, inline code, quotes, lists, HTML comments and text inside a line are ignored.
func Commands(body string) []job.CommandLine {
	if len(body) > 4*maxComment || !strings.Contains(body, "/compat ") {
		return nil
	}
	source := []byte(strings.ReplaceAll(body, "\r\n", "\n"))
	var out []job.CommandLine
	doc := goldmark.DefaultParser().Parse(text.NewReader(source))
	for block := doc.FirstChild(); block != nil; block = block.NextSibling() {
		if block.Kind() == ast.KindParagraph {
			out = append(out, paragraph(block, source)...)
		}
	}
	return out
}

func paragraph(p ast.Node, source []byte) (out []job.CommandLine) {
	// A line is a command only if it starts with plain text, not inside code or HTML that began
	// on an earlier line.
	plain := map[int]bool{}
	for n := p.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			plain[t.Segment.Start] = true
		}
	}
	for _, line := range p.Lines().Sliced(0, p.Lines().Len()) {
		s := string(line.Value(source))
		start := line.Start + len(s) - len(strings.TrimLeft(s, " \t"))
		rest, found := strings.CutPrefix(strings.TrimSpace(s), "/compat ")
		if !found || !plain[start] {
			continue
		}
		name, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if name == "" {
			continue
		}
		out = append(
			out,
			job.CommandLine{
				Name:      cut(strings.ToLower(name)),
				Arguments: cut(strings.TrimSpace(arguments)),
			},
		)
	}
	return out
}

func cut(s string) string {
	if r := []rune(s); len(r) > maxArguments {
		return string(r[:maxArguments])
	}
	return s
}
