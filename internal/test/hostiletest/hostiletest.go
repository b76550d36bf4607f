// Package hostiletest provides hostile names, and checks that rendered text does not interpret
// them. Only tests import it.
//
// A Judge renders Markdown with goldmark, GitHub's extensions and raw HTML enabled, and parses
// the result like a browser. It reports everything that notifies people, links, loads, runs or
// hides text, or is structure that comes from a name.
//
//	what := hostiletest.Judge{Tags: []string{"p"}}.Alive(render(name)) // "" = text only
package hostiletest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	dom "golang.org/x/net/html"
)

// Long is the length of the longest names in bytes. Names in symbol tables and archives can be
// longer, but no more is shown.
const Long = 64 << 10

// atoms are the parts of hostile names.
var atoms = []string{
	"`", "``", "```", "````", "~~~", "@octocat", "@octocat/team", "#1", "GH-1", "octo/repo#1",
	"octo@deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
	"https://evil.test/x", "http://evil.test", "www.evil.test", "evil@evil.test", "mailto:a@b.cd",
	"ftp://evil.test", "javascript:alert(1)",
	"[link](http://evil.test)", "![img](http://evil.test/x.png)", "](http://evil.test)",
	"[x]: http://evil.test", "[^1]", "<http://evil.test>",
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<b>", "</code>", "</pre>",
	"</details>", "</p>", "<!--", "-->", "<!-- compat:report -->", "<!-- compat:reply 1 -->",
	"<!-- compat:thread 0123456789abcdef -->",
	"&lt;b&gt;", "&#64;octocat", "\\@octocat", "\\", "\\`", "**", "_", "~~", "|a|b|", "\n|-|-|\n",
	"\n# heading", "\n\n> quote", "\n- item", "\n1. item", "\n- [ ] task", "\n===\n", "\n---\n",
	"\n    code", "\n\n", "\r\n", "\r", "\t",
	"```suggestion\nx\n```", "\n```mermaid\ngraph\n```", "$x$", "$$x$$", ":tada:", "{{.}}", "%s%n",
	"'\">", "-Wl,", " ", "  ", "…",
	"\x1b[31m", "\x1b]8;;http://evil.test\x07", "\u009b31m", "\x00", "\x7f", "\b", "\u202e", "\u2066",
	"\u200f", "\u200b", "\u2028", "\ufeff", "\U000e0041", "\xff\xfe", "\xc3", "é", "pow", "lib.so",
	"x/y",
}

// Names returns the atoms, also inside a word, and some names of Long bytes.
func Names() []string {
	out := slices.Clone(atoms)
	for _, a := range atoms {
		out = append(out, "lib"+a+"x.so")
	}
	for _, a := range []string{"`", "é", "\u202e", "`@a "} {
		out = append(out, strings.Repeat(a, Long/len(a)))
	}
	return out
}

// Random returns a random combination of atoms, sometimes of up to Long bytes.
func Random(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(atoms[r.IntN(len(atoms))])
	}
	if r.IntN(12) == 0 {
		return strings.Repeat(b.String(), 1+Long/(1+b.Len()))
	}
	return b.String()
}

// Judge lists what Markdown may contain besides text and code.
type Judge struct {
	Tags  []string // allowed elements
	Links []string // prefixes of allowed link addresses
	Marks []string // prefixes of allowed HTML comments such as "compat:report", at most one of each
	Lang  []string // languages of allowed fenced blocks
}

var (
	gfm = goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)
	lives = regexp.MustCompile(`(^|\W)@\w|#\d|\bGH-\d|://|\bwww\.|\$|:[a-z]+:|\b[0-9a-f]{40}\b`)
)

// Alive returns the first part of the Markdown that is more than text, code and what the judge
// allows; "" = nothing.
func (j Judge) Alive(markdown string) string {
	if what := Hidden(markdown); what != "" {
		return what
	}
	var b bytes.Buffer
	if err := gfm.Convert([]byte(markdown), &b); err != nil {
		return err.Error()
	}
	root, err := dom.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		return err.Error()
	}
	marks := map[string]bool{}
	for n := range root.Descendants() {
		switch n.Type {
		case dom.CommentNode:
			mark, _, _ := strings.Cut(strings.TrimSpace(n.Data), " ")
			if !slices.Contains(j.Marks, mark) || marks[mark] {
				return fmt.Sprintf("the comment <!--%s-->", n.Data)
			}
			marks[mark] = true
		case dom.ElementNode:
			if what := j.element(n); what != "" {
				return what
			}
		case dom.TextNode:
			if m := lives.FindString(n.Data); m != "" && !inside(n, "code") {
				return fmt.Sprintf("%q in the text %q", m, n.Data)
			}
		}
	}
	return ""
}

func (j Judge) element(n *dom.Node) string {
	if slices.Contains([]string{"html", "head", "body", "code", "pre"}, n.Data) &&
		len(n.Attr) == 0 ||
		slices.Contains(j.Tags, n.Data) && len(n.Attr) == 0 {
		return ""
	}
	for _, a := range n.Attr {
		class, coded := strings.CutPrefix(a.Val, "language-")
		switch {
		case n.Data == "a" && a.Key == "href" && slices.ContainsFunc(j.Links, func(l string) bool {
			return strings.HasPrefix(a.Val, l)
		}):
		case n.Data == "code" && a.Key == "class" && coded && slices.Contains(j.Lang, class):
		default:
			return fmt.Sprintf("<%s %s=%q>", n.Data, a.Key, a.Val)
		}
	}
	if len(n.Attr) == 0 {
		return "<" + n.Data + ">"
	}
	return ""
}

func inside(n *dom.Node, tag string) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == tag {
			return true
		}
	}
	return false
}

// Hidden returns the first part of a text that is invisible or controls a terminal; "" = nothing.
// Line feeds and tabs are allowed.
func Hidden(s string) string {
	if !utf8.ValidString(s) {
		return "it is no UTF-8"
	}
	for _, r := range s {
		if r != '\n' && r != '\t' &&
			(unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
			return fmt.Sprintf("the invisible character %U", r)
		}
	}
	return ""
}

// AlivePlain is like Alive for one line of plain text, such as the title of a check, which may be
// rendered as Markdown elsewhere.
func AlivePlain(s string) string {
	if what := Hidden(s); what != "" {
		return what
	}
	if i := strings.IndexAny(s, "<>`[]\n\t"); i >= 0 {
		return fmt.Sprintf("%q", s[i:i+1])
	}
	if m := regexp.MustCompile(`(^|\W)@\w|#\d|://|\bwww\.`).FindString(s); m != "" {
		return fmt.Sprintf("%q", m)
	}
	return ""
}

// Shape returns the nested blocks of Markdown. A name in code spans does not change it.
func Shape(markdown string) string {
	var b strings.Builder
	source := []byte(markdown)
	_ = ast.Walk(
		gfm.Parser().Parse(text.NewReader(source)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if n.Type() == ast.TypeInline {
				return ast.WalkSkipChildren, nil
			}
			if entering {
				b.WriteString("(" + n.Kind().String())
			} else {
				b.WriteString(")")
			}
			return ast.WalkContinue, nil
		},
	)
	return b.String()
}
