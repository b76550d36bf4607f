package mdsafe

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/compat-app/compat/internal/test/hostiletest"
)

var gfm = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// alive returns what another Markdown renderer interprets in the text, except the allowed tags.
func alive(markdown string, allowed ...string) string {
	return hostiletest.Judge{Tags: allowed}.Alive(markdown)
}

func TestHostileTextIsShownAsText(t *testing.T) {
	for _, h := range hostiletest.Names() {
		for _, form := range []string{
			"It needs " + Code(h, 0) + ", which " + Code(h, 7) + " lacks.\n\n- " +
				Codes([]string{h, h}, 0, 0) + "\n",
			Prose("The object "+h+" needs "+h+" here.", h) + "\n",
			Prose("The object "+h+" needs "+h+" here.") + "\n",
			"- " + Prose(h) + "\n",
			"words\n\n" + Fence("", h) + "\nwords\n",
		} {
			if what := alive(form, "p", "li", "ul", "ol", "pre"); what != "" {
				t.Errorf("%q is alive in %q: %s", h, form, what)
			}
		}
	}
}

// A plain field is not Markdown, but Plain removes what would do harm if it were rendered.
func TestPlainHasNoMentionLinkOrTag(t *testing.T) {
	for _, h := range hostiletest.Names() {
		p := Plain(h, 100)
		if what := hostiletest.AlivePlain(p); what != "" {
			t.Errorf("Plain(%q) = %q has %s", h, p, what)
		}
	}
}

func FuzzCode(f *testing.F) {
	for _, h := range hostiletest.Names() {
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
		got := strings.TrimSuffix(
			strings.TrimPrefix(strings.TrimSpace(b.String()), "<p>x <code>"),
			"</code> y</p>",
		)
		got = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").
			Replace(got)
		if got != want {
			t.Fatalf("Code(%q): shown as %q, want %q", s, got, want)
		}
	})
}

func FuzzProse(f *testing.F) {
	for _, h := range hostiletest.Names() {
		f.Add("needs "+h+", lacks it", h)
		f.Add(h, "x")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		out := Prose(s, name)
		if !utf8.ValidString(out) {
			t.Fatalf("Prose(%q) is no UTF-8", s)
		}
		if what := alive("x "+out+"\n", "p"); what != "" {
			t.Fatalf("Prose(%q, %q) = %q: %s", s, name, out, what)
		}
	})
}
