package comment

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

func TestReplies(t *testing.T) {
	r := caseA()
	explain := func(what string, r *analyzer.Report, rule *RuleText, url string, want bool) string {
		text, found := Explain(what, r, rule, "", url)
		if found != want {
			t.Errorf("explaining %q has found something: %v", what, found)
		}
		return text
	}
	nearly, _ := Explain("powr", r, nil, "pow", url)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"help", Help(), []string{"/compat recheck", "/compat explain", "/compat accept",
			"/compat help"}},
		{"unknown", Unknown("frobnicate", ""), []string{"`frobnicate`", "/compat help"}},
		{"nearly known", Unknown("rechek", "recheck"), []string{"`rechek`",
			"Did you mean `/compat recheck`?"}},
		{"not permitted", NotPermitted("recheck"), []string{"`/compat recheck`", "write access"}},
		{"no reason", NeedsReason("pow"), []string{"`/compat accept pow because TEXT`"}},
		{"a symbol", explain("pow", r, nil, url, true), []string{"`pow`", "`GLIBC_2.29`",
			"manylinux_2_31", url}},
		{"a symbol with its version", explain("pow@GLIBC_2.29", r, nil, url, true), []string{"`pow`"}},
		{"a demangled name", explain("std::thread::join()", r, nil, url, true),
			[]string{"`std::thread::join`"}},
		{"an object", explain("warp.so", r, nil, url, true), []string{"GLIBC_2.29", "GLIBCXX_3.4.21"}},
		{"a rule without findings", explain(tooNew, of(),
			&RuleText{ID: tooNew, Title: "a version that is too new", Doc: "Long."}, "", true),
			[]string{"`symbol-version-too-new`", "a version that is too new", "Long.", "No finding"}},
		{"no report yet", explain(tooNew, nil, nil, "", false), []string{"`symbol-version-too-new`",
			"no report"}},
		{"nothing of that name", explain("nonsense", r, nil, url, false), []string{"No finding matches " +
			"`nonsense`"}},
		{"nearly a symbol", nearly, []string{"Did you mean `pow`?"}},
		{"all that is new", ExplainNew(r, url), []string{"`pow`", "`GLIBC_2.29`", "GLIBCXX_3.4.21", url}},
		{"nothing is new", ExplainNew(of(), url), []string{"nothing new", url}},
		{"no platform", NoPlatform("debain12", "debian12"), []string{"`debain12`",
			"Did you mean `debian12`?"}},
		{"nothing to accept", NothingToAccept("powr", "pow", true), []string{"`powr`",
			"Did you mean `pow`?"}},
		{"accepted too early", NothingToAccept("pow", "", false), []string{"no report"}},
		{"an old button", Outdated("0123456789abcdef"), []string{"`0123456789ab`", "older check"}},
		{"no word", explain("", r, nil, url, false), []string{"No finding"}},
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
