package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/compat-app/compat/analyzer"
)

// The header links what a report is about, and nothing but web pages.
func TestHeader(t *testing.T) {
	v := NewView(sample())
	v.Header = Header{
		Repository: "octo/<b>", RepositoryURL: "javascript:alert(1)",
		Subject: "pull request #7", SubjectURL: "https://git.example/octo/widget/pull/7",
		Commit: "0123456789abcdef", CommitURL: "https://git.example/octo/widget/commit/0123456789abcdef",
		Base: "main", At: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Took: 1234567 * time.Microsecond,
	}
	page := rendered(t, func(b *bytes.Buffer) error { return Page(b, v, reportID) })
	for _, want := range []string{
		"<dd>octo/&lt;b&gt;</dd>",
		`<a href="https://git.example/octo/widget/pull/7">pull request #7</a>`,
		`/commit/0123456789abcdef">0123456789ab</a>`,
		"<dt>Compared with</dt><dd>main</dd>",
		"<dd>2026-05-04 03:02 UTC, in 1.235s</dd>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, "javascript:") {
		t.Error("a link runs a script")
	}
	v.Header, v.Report.Artifacts, v.Report.Targets = Header{}, nil, nil
	page = rendered(t, func(b *bytes.Buffer) error { return Page(b, v, reportID) })
	if strings.Contains(page, "<dl") {
		t.Error("an empty header is shown")
	}
}

func rendered(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page names what was checked, numbers the causes as the text does, and shows the way to what
// is missing.
func TestPageOfSeveralCauses(t *testing.T) {
	r := analyzer.NewReport("1.0")
	r.Verdict, r.Outcome = analyzer.Incompatible, analyzer.OutcomeFail
	for i := range 6 {
		path := fmt.Sprintf("dist/p%d-1.0-py3-none-manylinux2014_x86_64.whl", i)
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{Path: path, Kind: analyzer.KindWheel,
			Objects: 1, Targets: []string{"manylinux_2_17_x86_64"},
			Wheel: &analyzer.Wheel{Name: fmt.Sprint("p", i), Version: "1.0"}})
		if i == 0 {
			continue // it works
		}
		r.Findings = append(r.Findings, analyzer.Finding{Rule: "symbol-version-too-new",
			Severity: analyzer.Error, New: i != 2, Artifact: path, Target: "manylinux_2_17_x86_64",
			Object: "lib/a.so", Symbol: "pow", Version: "GLIBC_2.29", Library: "libm.so.6",
			Message: "lib/a.so needs pow", Chain: []string{"lib/a.so", "libm.so.6"}})
		r.Causes = append(r.Causes, analyzer.Cause{ID: fmt.Sprint("c", i), New: i != 2,
			Severity: analyzer.Error, Title: fmt.Sprint("title of ", i), Reason: "needs pow",
			Artifact: path, Findings: []int{i - 1}, Objects: 1, Rules: []string{"symbol-version-too-new"}})
	}
	r.Targets = []analyzer.Target{{Name: "manylinux_2_17_x86_64", Verdict: analyzer.Incompatible}}
	page := rendered(t, func(b *bytes.Buffer) error { return Page(b, NewView(r), reportID) })
	for _, want := range []string{
		"<title>incompatible: 5 of 6 wheels - compat</title>",
		`<p class="lead">Title of 1</p>`,
		"<dt>Checked on</dt><dd>manylinux2014</dd>",
		"<p>5 fail, 1 works.</p>",
		`value="fails">`,
		`<td>needs pow (cause <a href="#c1">1</a>)</td>`,
		"<h2>New: the base does not have them</h2>", "<h2>Not new: the base has them too</h2>",
		`<h3><span class="error">cause 2 · error</span> title of 2</h3>`,
		"<article class=\"error\"><details>\n<summary><h3><span class=\"error\">cause 5 ", // others are open
		`<a id="c3" class="anchor" href="#c3"`,
		"<code>lib/a.so</code><small>needs</small>",
		"<code>libm.so.6</code><small>which lacks</small>",
		"<code>pow@GLIBC_2.29</code><small>✗ not there</small>",
		`<td><a href="#c4"><span class="incompatible"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(page, "<details open>"); n != openCauses+1 {
		t.Errorf("%d causes are open", n)
	}
	if t.Failed() {
		t.Log(page)
	}
}

// The header of a page lists the causes of one artifact: the errors, or else the warnings.
func TestContents(t *testing.T) {
	r := analyzer.NewReport("1.0")
	r.Artifacts = []analyzer.Artifact{{Path: "a.so", Kind: analyzer.KindObject, Objects: 1}}
	for i, s := range []analyzer.Severity{"error", "error", "warning", "error", "error", "warning"} {
		r.Findings = append(r.Findings, analyzer.Finding{Rule: "undefined-symbol", Severity: s})
		r.Causes = append(r.Causes, analyzer.Cause{ID: fmt.Sprint("c", i), Severity: s, New: i > 0,
			Title: "<b>", Artifact: "a.so", Findings: []int{i}})
	}
	page := rendered(t, func(b *bytes.Buffer) error { return Page(b, NewView(r), reportID) })
	item := `<li value="%d"><span class="%s">%[2]s</span> <a href="#c%d">&lt;b&gt;</a></li>` + "\n"
	list := func(severity string, numbers ...int) (s string) {
		for _, n := range numbers {
			s += fmt.Sprintf(item, n, severity, n-1)
		}
		return `<ol class="contents">` + "\n" + s + "</ol>"
	}
	if want := list("error", 2, 4, 5); !strings.Contains(page, want) {
		t.Errorf("no %s in\n%s", want, page)
	}
	for i := range r.Causes {
		r.Causes[i].Severity = analyzer.Warning
	}
	page = rendered(t, func(b *bytes.Buffer) error { return Page(b, NewView(r), reportID) })
	if want := list("warning", 2, 3, 4); !strings.Contains(page, want) {
		t.Errorf("no %s in\n%s", want, page)
	}
}

// What an example lacks is said for a symbol in a library, a symbol in no library, and a library.
func TestSteps(t *testing.T) {
	for _, x := range []struct {
		why  Why
		want string
	}{
		{Why{Chain: []string{"a.so", "b.so", "libc.so.6"}, Symbol: "pow", Version: "GLIBC_2.29", Lacks: true},
			"a.so needs; b.so which needs; libc.so.6 which lacks; pow@GLIBC_2.29 ✗ not there"},
		{Why{Chain: []string{"a.so"}, Symbol: "f()"}, "a.so loads no library with; f() ✗ not there"},
		{Why{Chain: []string{"a.so", "libx.so"}}, "a.so needs; libx.so ✗ here it fails"},
		{Why{Chain: []string{"a.so", "x/libv.so.1"}, Symbol: "f", Version: "libv.so.1", Lacks: true},
			"a.so needs; x/libv.so.1 which lacks; f ✗ not there"},
	} {
		var got []string
		for _, s := range steps(&x.why) {
			got = append(got, s.name+" "+s.what)
		}
		if s := strings.Join(got, "; "); s != x.want {
			t.Errorf("%s\nwant %s", s, x.want)
		}
	}
}

// Findings that differ only in the symbol are one entry, and what is left out is counted.
func TestAlike(t *testing.T) {
	var all []analyzer.Finding
	for i := range 5 {
		s := fmt.Sprint("f", i)
		all = append(all, analyzer.Finding{Rule: "r", Object: "a.so", Symbol: s, Message: "a.so needs " + s},
			analyzer.Finding{Rule: "r", Object: "b.so", Symbol: s, Message: "b.so needs " + s})
	}
	got := alikeOf(all, 1, 2)
	if len(got) != 1 || strings.Join(got[0].Symbols, " ") != "f1 f2" || got[0].More != 2 {
		t.Errorf("%+v", got)
	}
	v := NewView(&analyzer.Report{Findings: all})
	v.Alike = got
	page := rendered(t, func(b *bytes.Buffer) error { return Page(b, v, reportID) })
	for _, want := range []string{"Show 10 findings; those", "The same for <code>f1</code> <code>f2</code> +2",
		"and 5 more, in the JSON report"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// The page of a rule has its Markdown as HTML, and the list links each rule.
func TestRulePages(t *testing.T) {
	rule := Rule{ID: "undefined-symbol", Title: "a <b> symbol", Severity: analyzer.Error,
		Help: "It *fails*.\n\n- <script>x</script>\n", References: []string{"gABI, symbol <table>"},
		Example: "## Before and after\n\n    lib.so needs <pow>\n"}
	page := rendered(t, func(b *bytes.Buffer) error { return RulePage(b, &rule) })
	for _, want := range []string{"rule undefined-symbol</h1>", "<em>fails</em>", "a &lt;b&gt; symbol",
		"<h2>Before and after</h2>", "lib.so needs &lt;pow&gt;",
		"<li>gABI, symbol &lt;table&gt;</li>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("a script")
	}
	list := rendered(t, func(b *bytes.Buffer) error { return RulesPage(b, []Rule{rule}) })
	if !strings.Contains(list, `<a href="undefined-symbol">`) {
		t.Error(list)
	}
	if _, err := html.Parse(strings.NewReader(list)); err != nil {
		t.Error(err)
	}
}
