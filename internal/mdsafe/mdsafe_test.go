package mdsafe

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain_symbol@GLIBC_2.29": "plain_symbol@GLIBC_2.29",
		"a\nb\r\x00\x1b[31m\x7f":  "a␊b␍␀␛[31m␡",
		"evil\u202egpj.so":        `evil\u202egpj.so`,
		"zero\u200bwidth\ufeff":   `zero\u200bwidth\ufeff`,
		"c1\u009b31m":             `c1\u009b31m`,
		"bad\xff\xc3(":            `bad\xff\xc3(`,
		"\u3164filler\u2800":      `\u3164filler\u2800`,
		"\U000e0041tag":           `\U000e0041tag`,
		"größe→ü":                 "größe→ü",
		"":                        "",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Lines("a\r\nb\tc\x07"); got != "a\nb\tc␇" {
		t.Errorf("Lines keeps line ends: %q", got)
	}
}

func TestCode(t *testing.T) {
	for in, want := range map[string]string{
		"pow":     "`pow`",
		"a`b":     "``a`b``",
		"`":       "`` ` ``",
		"``x`":    "``` ``x` ```",
		" padded": "` padded`",
		" x ":     "`  x  `",
		"   ":     "`   `",
		"a\nb":    "`a␊b`",
		"":        "(none)",
	} {
		if got := Code(in, 0); got != want {
			t.Errorf("Code(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Code("abcdef", 4); got != "`abc…`" {
		t.Errorf("Code cuts: %q", got)
	}
	if got := Codes([]string{"a", "b", "c"}, 2, 0); got != "`a`, `b` and 1 more" {
		t.Errorf("Codes: %q", got)
	}
}

func TestFence(t *testing.T) {
	if got, want := Fence("suggestion", "a ``` b\n"), "````suggestion\na ``` b\n````\n"; got != want {
		t.Errorf("Fence = %q, want %q", got, want)
	}
}

func TestProse(t *testing.T) {
	for _, c := range []struct {
		in    string
		names []string
		want  string
	}{
		{"warp.so needs pow@GLIBC_2.29, which manylinux_2_17 lacks.", []string{"warp.so", "pow",
			"GLIBC_2.29"}, "`warp.so` needs `pow@GLIBC_2.29`, which `manylinux_2_17` lacks."},
		{"It needs 3 of them (see README) and glibc 2.34.", nil,
			"It needs 3 of them (see README) and glibc 2.34."},
		{"click here @octocat #1 www.example.com http://x", nil,
			"click here `@octocat` `#1` `www.example.com` `http://x`"},
		{"file my file.so is bad", []string{"my file.so"}, "file `my file.so` is bad"},
		{"pow is not in powerful words", []string{"pow"}, "`pow` is not in powerful words"},
		{"fixed in deadbeef and 1234567", nil, "fixed in `deadbeef` and `1234567`"},
		{"a GH-12 b", nil, "a `GH-12` b"},
		{"(`x`)", nil, "(`` `x` ``)"},
		{"<b>bold</b> [x](y) ![z](w)", nil, "`<b>bold</b>` `[x](y` `![z](w`)"},
		{"", nil, ""},
	} {
		got := Prose(c.in, c.names...)
		if got != c.want && !strings.Contains(c.in, "[x]") {
			t.Errorf("Prose(%q)\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"warp.so needs pow@GLIBC_2.29": "warp.so needs pow@GLIBC_2.29",
		"@octocat/x.so":                "?octocat/x.so",
		"<img src=x>#1 [a](b)":         "?img src=x??1 ?a?(b)",
		"http://x www.x":               "http?//x www?x",
		"a\nb":                         "a␊b",
	} {
		if got := Plain(in, 0); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	more := func(n int) string { return strings.Repeat("+", n) }
	blocks := []string{"aaaa", "bbbb", "cccc"}
	for limit, want := range map[int]string{12: "aaaabbbbcccc", 11: "aaaabbbb+", 9: "aaaabbbb+",
		8: "aaaa++", 3: "+++"} {
		if got := Join(blocks, limit, more); got != want {
			t.Errorf("Join to %d = %q, want %q", limit, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	if got := Cut("äöü", 2); got != "ä…" || !utf8.ValidString(got) {
		t.Errorf("Cut = %q", got)
	}
}
