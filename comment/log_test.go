package comment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/compat-app/compat/internal/test/hostiletest"
)

func logLine(symbol string) LogLine {
	return LogLine{
		Job: "build",
		URL: "https://github.test/acme/widget/actions/runs/1/job/2#step:3:4",
		Diagnosis: buildlog.Diagnosis{
			Line:    12,
			Class:   "link-undefined-symbol",
			Rule:    "ld-undefined-reference",
			Symbol:  symbol,
			Object:  "/usr/lib/libcufile.so",
			Library: "libdl.so.2",
			Cause:   buildlog.CauseBuild,
			Message: "libcufile.so: nothing on the link line has the symbol (symbol " + symbol +
				", library libdl.so.2)",
			Fixes: []fix.Fix{
				{
					Kind:    fix.KindLinkFlag,
					Title:   fix.Titled("Link with -ldl"),
					Command: `LDFLAGS="-Wl,--no-as-needed -ldl"`,
				},
			},
		},
	}
}

// TestLogs: the symbols of one object are one paragraph, the title has the first, and the
// conclusion is that of the problem.
func TestLogs(t *testing.T) {
	logs := &Logs{
		Lines: []LogLine{logLine("dlopen"), logLine("dlsym")},
		Jobs:  []LogJob{{Name: "build"}},
		More:  2,
	}
	c := Render(Input{Problem: NoArtifacts(nil), Logs: logs, SHA: "0123456789abcdef"})
	if c.Conclusion != "failure" || !strings.Contains(c.Title, "dlopen") ||
		!strings.Contains(c.Title, "(and 1 more)") ||
		c.Create {
		t.Errorf("%s %q, create %t", c.Conclusion, c.Title, c.Create)
	}
	for _, want := range []string{"[line 12](https://github.test/acme/widget/actions/runs/1/job/2#step:3:4), [12](", "2 symbols: `dlopen`, `dlsym`", "2 jobs more failed", "-Wl,--no-as-needed -ldl"} {
		if !strings.Contains(c.Summary, want) {
			t.Errorf("no %q in\n%s", want, c.Summary)
		}
	}
	if n := strings.Count(c.Summary, "####"); n != 1 {
		t.Errorf("%d paragraphs", n)
	}
	for _, what := range []string{"dlsym", "libcufile.so", "libdl.so.2", "link-undefined-symbol"} {
		if text, found := ExplainLogs(what, logs); !found || !strings.Contains(text, "dlsym") {
			t.Errorf("%s: %t %s", what, found, text)
		}
	}
	if text, found := ExplainLogs("nothing", logs); found || text != "" {
		t.Errorf("%s", text)
	}
	if _, found := ExplainLogs("", nil); found {
		t.Error("there are no logs")
	}
}

// TestHostileLogsAreShownAsText: logs and names of jobs are shown as text only, within GitHub's limits.
func TestHostileLogsAreShownAsText(t *testing.T) {
	for _, h := range []string{"`@octocat", "</code>@octocat", "[link](http://evil.test)",
		"a\n\n# heading\n@octocat", "<!-- compat:report -->", "--> #1",
		strings.Repeat("`@a ", hostiletest.Long/4)} {
		l := logLine(h)
		l.Job, l.Object, l.Library, l.Version = h, "a/"+h, h, h
		l.Message = h + ": nothing has it (symbol " + h + ", version " + h + ", library " + h + ")"
		l.Fixes = []fix.Fix{{Kind: fix.KindSource, Title: fix.Titled("Add %s", h),
			Command: shellword.Line(h + "\n" + h)}}
		l.Analysis = &buildlog.Analysis{
			Verdict: buildlog.Undecided,
			Why:     "a/" + h + " was given, and " + h + " can't be told",
			Object:  "a/" + h,
			Library: h,
		}
		odd := l
		odd.Symbol, odd.URL = h+"2", "javascript:alert(1)"
		logs := &Logs{
			Lines: []LogLine{l, odd},
			Jobs: []LogJob{
				{Name: h, URL: l.URL, Gone: true},
				{Name: h, URL: "data:" + h, Limit: "cut at " + h},
			},
		}
		c := Render(Input{Problem: NoArtifacts(nil), Logs: logs})
		reply, _ := ExplainLogs("", logs)
		for what, text := range map[string]string{"the summary": c.Summary, "the comment": c.Sticky,
			"the reply": reply} {
			dead(t, what, text)
		}
		if alive := hostiletest.AlivePlain(c.Title); alive != "" {
			t.Errorf("the title has %s: %s", alive, c.Title)
		}
	}
}

func TestManyLogsFit(t *testing.T) {
	logs := &Logs{More: 250}
	for i := range 400 {
		l := logLine(fmt.Sprintf("symbol_%d_%s", i, strings.Repeat("x", 2000)))
		l.Object = fmt.Sprintf("lib%d.so", i%100)
		logs.Lines = append(logs.Lines, l)
		logs.Jobs = append(logs.Jobs, LogJob{Name: fmt.Sprint("job ", i), Limit: "cut"})
	}
	c := Render(Input{Problem: NoArtifacts(nil), Logs: logs})
	if len(c.Summary) > maxOutput || len(c.Sticky) > maxBody || len([]rune(c.Title)) > MaxTitle {
		t.Errorf("summary %d bytes, comment %d, title %d", len(c.Summary), len(c.Sticky), len(c.Title))
	}
	if !strings.Contains(c.Summary, "more in the log") ||
		!strings.Contains(c.Summary, "250 jobs more failed") {
		t.Errorf("what is left out is not counted:\n%s", c.Summary)
	}
}
