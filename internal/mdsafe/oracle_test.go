package mdsafe

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// The oracle is another reader of Markdown: goldmark with GitHub's extensions, raw HTML let through so that it would be seen.

var hostile = []string{
	"plain", "x`@octocat", "a` [l](http://evil.test) `b", "`", "``", "a`b", "`` ` ``", "```\n@octocat\n```", "</code>@octocat", "@octocat", "x @octocat/team y", "#1", "octo/repo#1", "GH-1",
	"![img](http://evil.test/x.png)", "[link](http://evil.test)", "<script>alert(1)</script>", "<img src=x onerror=y>", "<!-- compat:report -->", "-->", "<!--",
	"https://evil.test/x", "www.evil.test", "evil@evil.test", "a\n\n# heading", "\r\n> quote", "|a|b|\n|-|-|", "**bold** _it_ ~~s~~", "\\", "\\`", "&lt;b&gt; &#64;octocat",
	" lead", "trail ", " both ", "\xff\xfe", "\u202ertl", "\x1b[31m", "$math$", "[^1]", "[x]: http://evil.test", "x\n===", "    code", "1. list", "- [ ] task", "https\n://x", strings.Repeat("`a", 500), strings.Repeat("@x ", 300),
	"deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "…", "(", ")", "x)](http://evil.test)", "mailto:a@b.cd", "xmpp:a@b.cd", "ftp://evil.test",
}

var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithRendererOptions(html.WithUnsafe()))

var (
	codeElement = regexp.MustCompile(`(?s)<code[^>]*>.*?</code>`)
	tagName     = regexp.MustCompile(`</?([a-zA-Z0-9]+)`)
	livesRE     = regexp.MustCompile(`(^|[^\w])@\w|#\d|\bGH-\d|https?://|www\.`)
)

// alive says what of rendered HTML is more than text: tags other than the allowed ones, mentions, references, addresses.
func alive(t *testing.T, markdown string, allowed ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := gfm.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	rest := codeElement.ReplaceAllString(b.String(), " ")
	for _, m := range tagName.FindAllStringSubmatch(rest, -1) {
		ok := false
		for _, a := range allowed {
			ok = ok || a == m[1]
		}
		if !ok {
			return "tag " + m[1] + " in " + b.String()
		}
	}
	if m := livesRE.FindString(rest); m != "" {
		return m + " in " + b.String()
	}
	return ""
}

func TestHostileTextIsDead(t *testing.T) {
	for _, h := range hostile {
		for _, form := range []string{
			"It needs " + Code(h, 0) + ", which " + Code(h, 7) + " lacks.\n\n- " + Codes([]string{h, h}, 0, 0) + "\n",
			Prose("The object "+h+" needs "+h+" here.", h) + "\n",
			Prose("The object "+h+" needs "+h+" here.") + "\n",
			"- " + Prose(h) + "\n",
			"words\n\n" + Fence("", h) + "\nwords\n",
		} {
			if what := alive(t, form, "p", "li", "ul", "ol", "pre"); what != "" {
				t.Errorf("%q is alive in %q: %s", h, form, what)
			}
		}
	}
}

// A plain field is no Markdown; what Plain keeps out is what hurts when somebody renders it all the same.
func TestPlainHasNoMentionLinkOrTag(t *testing.T) {
	for _, h := range hostile {
		p := Plain(h, 100)
		if strings.ContainsAny(p, "<>`[]#") || regexp.MustCompile(`(^|\W)@\w`).MatchString(p) || strings.Contains(p, "://") || strings.ContainsAny(p, "\n\x1b") {
			t.Errorf("Plain(%q) = %q", h, p)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, h := range hostile {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, s string) {
		span := Code(s, 200)
		if !utf8.ValidString(span) || strings.ContainsAny(span, "\n\r\x00") {
			t.Fatalf("Code(%q) = %q", s, span)
		}
		// a second reader sees one code element with exactly the visible text
		var b bytes.Buffer
		if err := gfm.Convert([]byte("x "+span+" y"), &b); err != nil {
			t.Fatal(err)
		}
		want := Cut(untagged(Visible(s)), 200)
		if s == "" {
			return
		}
		got := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), "<p>x <code>"), "</code> y</p>")
		got = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(got)
		if got != want {
			t.Fatalf("Code(%q): shown as %q, want %q", s, got, want)
		}
	})
}

func FuzzProse(f *testing.F) {
	for _, h := range hostile {
		f.Add("needs "+h+", lacks it", h)
		f.Add(h, "x")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		out := Prose(s, name)
		if !utf8.ValidString(out) {
			t.Fatalf("Prose(%q) is no UTF-8", s)
		}
		if what := alive(t, "x "+out+"\n", "p"); what != "" {
			t.Fatalf("Prose(%q, %q) = %q: %s", s, name, out, what)
		}
	})
}
