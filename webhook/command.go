package webhook

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxComment is GitHub's limit for a comment in characters; longer bodies are not parsed.
const maxComment = 65536

// maxArguments is the length in characters to which the arguments of a command are truncated.
const maxArguments = 1000

// Limits of what is parsed of a comment. Anybody can write one, and the parser needs quadratic time
// for deep blocks and for inline text with many delimiters.
const (
	maxMarkers = 50      // of quotes and lists at the start of a line
	maxInline  = 8 << 10 // bytes of all paragraphs with a command
)

// deep matches the start of a line with too many quotes and lists in each other.
var deep = lazyregexp.New(
	fmt.Sprintf(`^(?:[ \t]*(?:>|[-+*]|[0-9]{1,9}[.)])){%d}`, maxMarkers))

// blocks parses Markdown into blocks, but not the text in them.
var blocks = lazy.Value[parser.Parser]{New: func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
}}

// inline parses paragraphs.
var inline = lazy.Value[parser.Parser]{New: goldmark.DefaultParser}

// Commands returns the commands in a comment: lines of a paragraph that start with "/compat ".
// Code blocks, inline code, quotes, lists, HTML comments and text inside a line are ignored, and
// so are paragraphs that exceed maxInline. The time is linear in the length of the comment.
func Commands(body string) []job.CommandLine {
	if len(body) > 4*maxComment || !strings.Contains(body, "/compat ") {
		return nil
	}
	lines := strings.SplitAfter(strings.ReplaceAll(body, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if start := deep.FindString(line); start != "" { // no paragraph that could have a command
			lines[i] = start + "\n"
		}
	}
	source := []byte(strings.Join(lines, ""))
	var out []job.CommandLine
	known := parser.NewContext() // the destinations of links that the comment defines
	doc := blocks.Get().Parse(text.NewReader(source), parser.WithContext(known))
	left := maxInline
	for block := doc.FirstChild(); block != nil; block = block.NextSibling() {
		if block.Kind() != ast.KindParagraph {
			continue
		}
		whole := block.Lines().Value(source)
		if !bytes.Contains(whole, []byte("/compat ")) || len(whole) > left {
			continue
		}
		left -= len(whole)
		alone := inline.Get().Parse(text.NewReader(whole), parser.WithContext(known))
		if p := alone.FirstChild(); p != nil && p.Kind() == ast.KindParagraph {
			out = append(out, paragraph(p, whole)...)
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
