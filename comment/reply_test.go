package comment

import (
	"strings"
	"testing"
)

func TestReplies(t *testing.T) {
	r := caseA()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"help", Help(), []string{"/compat recheck", "/compat explain", "/compat accept", "/compat help"}},
		{"unknown", Unknown("frobnicate"), []string{"`frobnicate`", "/compat help"}},
		{"not permitted", NotPermitted("recheck"), []string{"`/compat recheck`", "write access"}},
		{"no reason", NeedsReason("pow"), []string{"`/compat accept pow because TEXT`"}},
		{"a symbol", Explain("pow", r, nil, url), []string{"`pow`", "`GLIBC_2.29`", "manylinux_2_31", url}},
		{"a symbol with its version", Explain("pow@GLIBC_2.29", r, nil, url), []string{"1 symbol: `pow`"}},
		{"a demangled name", Explain("std::thread::join()", r, nil, url), []string{"`_ZNSt6thread4joinEv`"}},
		{"an object", Explain("warp.so", r, nil, url), []string{"2 symbols", "GLIBCXX_3.4.21"}},
		{"a rule without findings", Explain(tooNew, of(), &RuleText{ID: tooNew, Title: "a version that is too new", Doc: "Long."}, ""), []string{"`symbol-version-too-new`", "a version that is too new", "Long.", "No finding"}},
		{"no report yet", Explain(tooNew, nil, nil, ""), []string{"`symbol-version-too-new`", "no report"}},
		{"nothing of that name", Explain("nonsense", r, nil, url), []string{"No finding of this head is about `nonsense`"}},
		{"no word", Explain("", r, nil, url), []string{"No finding"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s does not say %q:\n%s", c.name, w, c.text)
			}
		}
		if strings.Contains(c.text, Marker) {
			t.Errorf("%s has the marker of the summary comment", c.name)
		}
	}
}
