package reportpage

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/browser"
)

// reports are stored reports by their keys.
type reports map[string][]byte

func (r reports) Get(_ context.Context, key string) ([]byte, error) { return r[key], nil }

// drawn returns a report of 300 objects with a wide graph and a header.
func drawn(t *testing.T) []byte {
	r := analyzer.NewReport("1.0")
	r.Verdict = analyzer.Incompatible
	a := analyzer.Artifact{Path: "a-1.0-py3-none-manylinux2014_x86_64.whl", Kind: "wheel", Objects: 300}
	for i := range 300 {
		a.Needs = append(a.Needs, analyzer.Needs{Object: fmt.Sprintf("a/d%d/lib%d.so", i%20, i),
			Libraries: []string{fmt.Sprintf("lib%d.so", i/2), "libm.so.6", "libc.so.6"}})
	}
	r.Artifacts = []analyzer.Artifact{a}
	r.Findings = []analyzer.Finding{{Rule: "symbol-version-too-new", Severity: analyzer.Error, New: true,
		Artifact: a.Path, Object: "a/d1/lib1.so", Symbol: "pow", Version: "GLIBC_2.29",
		Library: "libm.so.6", Message: "lib1.so needs pow", Chain: []string{"a/d1/lib1.so", "libm.so.6"}}}
	r.Causes = []analyzer.Cause{{ID: "pow", Title: "needs GLIBC_2.29", Severity: analyzer.Error,
		New: true, Action: "Build on an older system.", Rules: []string{"symbol-version-too-new"},
		Findings: []int{0}, Evidence: []analyzer.Evidence{{Version: "GLIBC_2.29", Library: "libm.so.6",
			Symbols: []string{"pow", "exp"}, Objects: []string{"a/d1/lib1.so"}}}}}
	v := report.NewView(r)
	v.Header = report.Header{Repository: "octo/widget", RepositoryURL: "https://git.example/octo/widget",
		Subject: "pull request #7", SubjectURL: "https://git.example/octo/widget/pull/7",
		Commit: "0123456789abcdef", Base: "main", At: time.Unix(1, 0), Took: time.Second}
	return stored(t, r, v)
}

func failedBuild(t *testing.T) []byte {
	r := analyzer.NewReport("1.0")
	r.Verdict, r.Notes = analyzer.Unchecked, []string{"The build failed: undefined reference to `dlopen'"}
	v := report.NewView(r)
	v.Problem = "No workflow run of this commit has uploaded an artifact that compat can check.\n"
	v.Header = report.Header{Repository: "octo/widget", RepositoryURL: "https://git.example/octo/widget",
		Subject: "pull request #7", SubjectURL: "https://git.example/octo/widget/pull/7",
		Commit: "0123456789abcdef", At: time.Unix(1, 0)}
	v.Build = report.Build{
		Failures: []report.Failure{{
			Cause: analyzer.Cause{ID: "failure-1", Title: "undefined reference to `dlopen'",
				Severity: analyzer.Error, Action: "To be fixed in the build.",
				Evidence: []analyzer.Evidence{{Library: "libdl.so.2", Symbols: []string{"dlopen", "dlsym"},
					Objects: []string{"build/temp/" + strings.Repeat("long/", 30) + "libcufile.so"}}},
				Fixes: []analyzer.CauseFix{{Fix: fix.Fix{Title: fix.Titled("Link with libdl"), Command: shellword.Line(
					"LDFLAGS=\"-Wl,--no-as-needed -ldl\" " + strings.Repeat("long ", 60))}}}},
			Job: "build", Lines: []report.Link{{Text: "line 7", URL: "https://git.example/octo/widget/runs/1"}},
		}},
		Notes: []report.Link{{Text: "test", URL: "https://git.example/octo/widget/runs/2", More: "failed"}},
	}
	return stored(t, r, v)
}

// Each page of the service works in a browser: on a phone in the dark, printed, and without
// scripts. It loads nothing from elsewhere, and all of it can be reached with the keyboard.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	id := func(s string) string { return strings.Repeat(s, 16) }
	key := func(s string) string { return store.ReportKey(id(s)) }
	rules := []report.Rule{{ID: "symbol-version-too-new", Title: "a version that the platform lacks",
		Severity: analyzer.Error, Help: "It *fails*.\n\n    readelf -V lib.so\n",
		References: []string{"gABI"}}}
	h, err := New(
		reports{key("aa"): large(t, 100_000), key("bb"): drawn(t), key("cc"): failedBuild(t)},
		t.TempDir(), rules, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	views := []browser.View{{Width: 900}, {Width: 390, Dark: true}, {Width: 700, Print: true},
		{Width: 390, NoScripts: true}}
	for path, want := range map[string]string{
		"/":                    "GitHub App",
		"/reports/" + id("aa"): "Search all 100,000 findings",
		"/reports/" + id("aa") + "/findings?q=lib7": "of 100,000 findings",
		"/reports/" + id("bb") + "#pow":             "pull request #7",
		"/reports/" + id("cc"):                      "line 7",
		"/rules/":                                   "symbol-version-too-new",
		"/rules/symbol-version-too-new":             "readelf -V",
	} {
		for _, v := range views {
			start := time.Now()
			p := b.Open(server.URL+path, v)
			took := time.Since(start)
			seen := p.Look()
			problems := append(seen.Problems(), p.Ran()...)
			if !v.NoScripts { // axe-core is a script
				problems = append(problems, p.Violations()...)
			}
			if len(problems) > 0 {
				t.Errorf("%s at %+v: %q", path, v, problems)
			}
			for _, s := range seen.Active {
				if !strings.HasPrefix(s, `<form role="search"`) && !strings.HasPrefix(s, browser.CopyScript) {
					t.Errorf("%s has %s", path, s)
				}
			}
			var text string
			p.Eval("document.body.textContent", &text)
			if !strings.Contains(text, want) {
				t.Errorf("%s at %+v has no %q", path, v, want)
			}
			t.Logf("%s at %+v opens in %s", path, v, took)
			p.Close()
		}
	}
}

// With scripts a button copies a command; without, there is none.
func TestCopy(t *testing.T) {
	b := browser.Start(t)
	id := strings.Repeat("cc", 16)
	h, err := New(reports{store.ReportKey(id): failedBuild(t)}, t.TempDir(), nil,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	for _, off := range []bool{false, true} {
		p := b.Open(server.URL+"/reports/"+id, browser.View{Width: 900, NoScripts: off})
		var buttons int
		p.Eval("document.querySelectorAll('button.copying').length", &buttons)
		if (buttons == 0) != off {
			t.Errorf("scripts off: %t: %d buttons", off, buttons)
		}
		if !off {
			var copied string
			p.Eval(`new Promise(done => {
				navigator.clipboard.writeText = async text => done(text)
				document.querySelector('button.copying').click()
			})`, &copied)
			if !strings.HasPrefix(copied, `LDFLAGS="-Wl,--no-as-needed -ldl" long`) {
				t.Errorf("copied %q", copied)
			}
		}
		if problems := p.Ran(); len(problems) > 0 {
			t.Errorf("%q", problems)
		}
		p.Close()
	}
}
