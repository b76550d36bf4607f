package wheelpolicy

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRecordPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"a.so,sha256=x,1\nb/c.so,,\n":        {"a.so", "b/c.so"},
		"a.so":                               {"a.so"},
		"a.so,,\r\nb.so,,\r\n":               {"a.so", "b.so"},
		"\"a,b.so\",,\n":                     {"a,b.so"},
		"\"a\"\"b\".so,,\n":                  {`a"b.so`},
		"a\"b.so,,\n":                        {`a"b.so`},
		"\"two\nlines\",,\nc.so,,\n":         {"twolines", "c.so"},
		"a.so,\"never\nclosed,\nb.so,,\n":    {"a.so"},
		"a.so,\"closed\nlater\",1\nb.so,,\n": {"a.so", "b.so"},
		",,\n":                               {""},
		"a\vb,,\n":                           {"a", "b"},
		"":                                   nil,
	} {
		if got, err := recordPaths([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"a.so,,\n\nb.so,,\n", "\n", "\xff,,\n",
		strings.Repeat("a", maxField+1), "\"" + strings.Repeat("a\n", maxField+1)} {
		if got, err := recordPaths([]byte(text)); err == nil || len(got) > 1 {
			t.Errorf("%.20q: %d paths, and no error", text, len(got))
		}
	}
}

// Any path that is written with quotes is read back.
func FuzzRecordPaths(f *testing.F) {
	for _, s := range []string{"a.so", `a,"b".so`, "", "ü/ö.so", "\"", ",,"} {
		f.Add(s, s+"2")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		_, _ = recordPaths([]byte(a + b))
		if !utf8.ValidString(a+b) || !utf8.ValidString(a) || strings.IndexFunc(a+b, breaks) >= 0 ||
			len(a)+len(b) > maxField {
			return
		}
		quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		got, err := recordPaths([]byte(quote(a) + ",,\n" + quote(b) + ",sha256=x,1\n"))
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q and %q come back as %q, %v", a, b, got, err)
		}
	})
}
