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
	v.Header = Header{}
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

// A graph has columns from the files that nothing needs to the libraries outside, and marks what
// has findings.
func TestGraph(t *testing.T) {
	x := graphOf(&analyzer.Report{
		Artifacts: []analyzer.Artifact{{Path: "a.whl", Needs: []analyzer.Needs{
			{Object: "a/libb.so", Name: "libb.so.1", Libraries: []string{"libc.so.6", "liba.so"}},
			{Object: "a/liba.so", Libraries: []string{"libb.so.1", "libc.so.6"}}, // a cycle
			{Object: "a/mod.so", Libraries: []string{"libb.so.1", "libgone.so.2"}},
		}}},
		Findings: []analyzer.Finding{{Severity: analyzer.Error, Artifact: "a.whl", Object: "a/mod.so",
			Library: "libgone.so.2"}},
	})
	var got []string
	for _, n := range x.Nodes {
		got = append(got, fmt.Sprintf("%s:%d,%d %s", n.Label, n.Column, n.Row, n.Severity))
	}
	for _, e := range x.Edges {
		got = append(got, fmt.Sprintf("%d>%d %s", e.From, e.To, e.Severity))
	}
	for _, r := range x.Rows {
		got = append(got, fmt.Sprint(r.File, r.Inside, r.Outside, r.Findings))
	}
	want := `mod.so:0,0 error|libb.so:1,0 |liba.so:2,0 |libgone.so.2:3,0 error|libc.so.6:3,1 |` +
		`1>2 |1>4 |2>1 |2>4 |0>1 |0>3 error|` +
		`a/libb.so[a/liba.so] [libc.so.6] 0|a/liba.so[a/libb.so] [libc.so.6] 0|` +
		`a/mod.so[a/libb.so] [libgone.so.2] 1`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if x := graphOf(sample()); len(x.Nodes) > 0 {
		t.Error("a graph without needs has nodes")
	}
}

// The drawing of 300 files is readable: files are folded, except those with findings.
func TestGraphIsFolded(t *testing.T) {
	r := &analyzer.Report{}
	for i := range 300 {
		name := fmt.Sprintf("lib/f%d/part%d/lib%d.so", i%3, i%50, i)
		r.Artifacts = append(r.Artifacts[:0], analyzer.Artifact{Path: "a.whl", Needs: append(needsOf(r),
			analyzer.Needs{Object: name, Libraries: []string{
				fmt.Sprintf("lib%d.so", i*7%300), fmt.Sprintf("lib%d.so", i*11%300),
				fmt.Sprintf("liboutside%d.so", i%90)}})})
		if i%100 == 0 {
			r.Findings = append(r.Findings, analyzer.Finding{Severity: analyzer.Error, Artifact: "a.whl",
				Object: name})
		}
	}
	x := graphOf(r)
	if len(x.Nodes) > maxGraphNodes || len(x.Edges) > maxGraphEdges || len(x.Nodes) < 4 {
		t.Errorf("%d nodes, %d edges", len(x.Nodes), len(x.Edges))
	}
	marked := 0
	for _, n := range x.Nodes {
		if n.Severity == analyzer.Error {
			marked++
		}
	}
	if marked == 0 || len(x.Rows) != maxGraphRows || x.More != 300-maxGraphRows {
		t.Errorf("%d nodes with errors, %d rows and %d more", marked, len(x.Rows), x.More)
	}
	page := rendered(t, func(b *bytes.Buffer) error { return Page(b, NewView(r), reportID) })
	if len(page) > 300_000 || strings.Count(page, "<rect ") != len(x.Nodes) {
		t.Errorf("a page of %d bytes with %d boxes", len(page), strings.Count(page, "<rect "))
	}
}

func needsOf(r *analyzer.Report) []analyzer.Needs {
	if len(r.Artifacts) == 0 {
		return nil
	}
	return r.Artifacts[0].Needs
}

// The page of a rule has its Markdown as HTML, and the list links each rule.
func TestRulePages(t *testing.T) {
	rule := Rule{ID: "undefined-symbol", Title: "a <b> symbol", Severity: analyzer.Error,
		Help: "It *fails*.\n\n- <script>x</script>\n", References: []string{"gABI, symbol <table>"}}
	page := rendered(t, func(b *bytes.Buffer) error { return RulePage(b, &rule) })
	for _, want := range []string{"rule undefined-symbol</h1>", "<em>fails</em>", "a &lt;b&gt; symbol",
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
