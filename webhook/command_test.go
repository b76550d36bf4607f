package webhook

import (
	"fmt"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"alone", "/compat recheck", "recheck|"},
		{"CRLF and spaces", "Rebuilt the image.\r\n\r\n/compat recheck  \r\n\r\nThanks!\r\n", "recheck|"},
		{"within a paragraph", "Rebuilt.\n/compat recheck\nThanks", "recheck|"},
		{"indented a little", "  /compat recheck", "recheck|"},
		{"arguments", "/compat accept `pow` because *we* only ship to AlmaLinux 9 until 2027-01-01",
			"accept|`pow` because *we* only ship to AlmaLinux 9 until 2027-01-01"},
		{"upper case", "/compat Recheck", "recheck|"},
		{"two", "/compat help\n\n/compat explain pow", "help| explain|pow"},
		{"a symbol with underscores", "/compat explain __nvJitLinkCreate_12_9",
			"explain|__nvJitLinkCreate_12_9"},
		{"after an HTML comment", "<!-- x -->\n\n/compat help", "help|"},
		{"other command", "/compatible recheck", ""},
		{"nothing", "/compat ", ""},
		{"fence", "Try this:\n```\n/compat recheck\n```\n", ""},
		{"open fence", "~~~\n/compat recheck\n", ""},
		{"indented code", "Try this:\n\n    /compat recheck\n", ""},
		{"tab", "Try this:\n\n\t/compat recheck\n", ""},
		{"inline code", "`/compat recheck` starts it again", ""},
		{"inline code over lines", "see `this\n/compat recheck\nthat`", ""},
		{"quote", "> /compat recheck\n\nwhy?", ""},
		{"lazy quote", "> he said\n/compat recheck", ""},
		{"HTML comment", "<!--\n/compat recheck\n-->\nhello", ""},
		{"HTML comment in a paragraph", "hello <!--\n/compat recheck\n--> there", ""},
		{"open HTML comment", "<!--\n/compat recheck", ""},
		{"middle of a sentence", "you could say /compat recheck here", ""},
		{"list", "- /compat recheck", ""},
		{"heading", "# /compat recheck", ""},
		{"link text", "[x\n/compat recheck\n](http://example.com)", ""},
		{"text of a reference", "[x\n/compat recheck\n][y]\n\n[y]: http://example.com", ""},
		{"long paragraph", strings.Repeat("x\n", maxInline) + "/compat recheck", ""},
		{"after a long paragraph", strings.Repeat("x\n", maxInline) + "\n/compat recheck",
			"recheck|"},
		{"after deep quotes", strings.Repeat("> ", 1000) + "x\n\n/compat recheck", "recheck|"},
		{"too long", strings.Repeat("x", 5*maxComment) + "\n\n/compat recheck", ""},
	} {
		var got []string
		for _, k := range Commands(c.body) {
			got = append(got, fmt.Sprintf("%s|%s", k.Name, k.Arguments))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: commands %q, want %q", c.name, s, c.want)
		}
	}
}

// Anybody can write comments, and they are parsed before GitHub gets an answer. The time for each
// of these was quadratic once; make growth measures it.
func TestCommandsOfHostileComments(t *testing.T) {
	for _, c := range []struct{ piece, end string }{
		{"_a*", ""}, {"*a_ ", ""}, {"[a](", ""}, {"[a](<b", ""}, {"> ", ""}, {"- ", "x]"},
		{"* ", "x]"}, {"1) ", ""}, {"> - ", "x"}, {"-\t", "x"}, {"/compat x ", "x"},
		{"> > > >\n", ""}, {"[a]:b\n", "x]"}, {"/compat x _a* [a]( \n", ""},
		{"/compat x *a_ _a*\n\n", ""}, {"/compat \n> ", "x"}, {"\t- ", "x"},
	} {
		body := "/compat help\n\n" + strings.Repeat(c.piece, maxComment/len(c.piece)) + c.end
		if got := Commands(body); len(got) == 0 || got[0].Name != "help" {
			t.Errorf("%q: commands %+.100v", c.piece, got)
		}
	}
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{"/compat recheck", "`\n/compat x\n`", "> a\n/compat b",
		"<!--\n/compat c", "a\r\n/compat d e\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, c := range Commands(body) {
			if c.Name == "" || strings.ContainsAny(c.Name+c.Arguments, "\n") ||
				!strings.Contains(body, "/compat ") {
				t.Fatalf("%q gives %+v", body, c)
			}
		}
	})
}
