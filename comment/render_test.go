package comment

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/shellword"
)

var update = flag.Bool("update", false, "write what is rendered to testdata")

const url = "https://compat.test/reports/abc"

func TestRenderGolden(t *testing.T) {
	diff := Diff{"pyproject.toml": {{First: 8, Last: 8}}}
	accepted := of()
	accepted.Accepted = []analyzer.Accepted{
		{
			Finding: needs("pow", "GLIBC_2.29", "libm.so.6"),
			Because: "the wheel only goes to AlmaLinux 9",
			By:      "@maintainer",
			Until:   "2999-01-01",
		},
	}
	unread := of(needs("pow", "GLIBC_2.29", "libm.so.6"))
	unread.Unread = []analyzer.Unread{
		{Path: "widget/cut.so", Reason: "the dynamic section lies behind the end of the file"},
	}
	unread.Tool.Version = "1.2.3"
	unread.Skipped = []analyzer.Unread{{Path: "widget/mac.dylib", Reason: "Mach-O, not checked"}}
	unread.Notes = []string{
		"torch 2.7.0 could not be looked up: no package index is set; name one with PIP_INDEX_URL.",
	}
	proposed := caseA()
	proposed.PullRequest = true
	for name, in := range map[string]Input{
		"case-a":       {Report: caseA()},
		"pull-request": {Report: proposed, BaseName: "main"},
		"case-b":       {Report: of(nvjitlink()), Diff: diff, BaseName: "main"},
		"case-c":       {Report: of(rocm())},
		"case-d":       {Report: of(libdl())},
		"clean":        {Report: of(), BaseName: "main"},
		"existing": {Report: of(old(needs("pow", "GLIBC_2.29", "libm.so.6")), nvjitlink()),
			BaseName: "main"},
		"accepted": {Report: accepted},
		"unread":   {Report: unread},
		"config": {Problem: ConfigInvalid(ConfigPath,
			[]ConfigError{{Line: 3, Key: "python.wiht", Message: "unknown key wiht; did you mean with?"}},
			4)},
		"deadline": {Problem: Deadline(6*time.Hour,
			"no workflow run of this commit has uploaded an artifact")},
		"supersede": {Problem: Superseded()},
	} {
		t.Run(name, func(t *testing.T) {
			in.Files, in.DetailsURL, in.SHA = widget, url, "0123456789abcdef"
			in.RulesURL = "https://compat.test/rules"
			c := Render(in)
			within(t, c)
			file := filepath.Join("testdata", "render", name+".txtar")
			got := txtar.Format(tell(c))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s differs; go test ./comment -update writes it. Now:\n%s", file, got)
			}
		})
	}
}

// tell converts a Check to files.
func tell(c Check) *txtar.Archive {
	a := &txtar.Archive{
		Comment: fmt.Appendf(
			nil,
			"%s\nclean %v, create %v, %d actions\n\n",
			c.String(),
			c.Clean,
			c.Create,
			len(c.Actions),
		),
	}
	add := func(name, text string) {
		if text != "" {
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	add("summary", c.Summary)
	add("text", c.Text)
	for _, n := range c.Annotations {
		add(
			fmt.Sprintf("annotation %s:%d %s %s", n.Path, n.StartLine, n.Level, n.Title),
			n.Message+"\n--\n"+n.RawDetails,
		)
	}
	for _, r := range c.Review {
		add(fmt.Sprintf("review %s:%d", r.Path, r.Line), r.Body)
	}
	add("sticky", c.Sticky)
	return a
}

// within checks that a Check is within GitHub's limits.
func within(t *testing.T, c Check) {
	t.Helper()
	if n := utf8.RuneCountInString(c.Title); n == 0 || n > MaxTitle {
		t.Errorf("title of %d characters", n)
	}
	for name, s := range map[string]string{"summary": c.Summary, "text": c.Text, "sticky": c.Sticky} {
		if len(s) > maxOutput || !utf8.ValidString(s) {
			t.Errorf("%s: %d bytes, valid %v", name, len(s), utf8.ValidString(s))
		}
	}
	if c.Summary == "" {
		t.Error("no summary")
	}
	if len(c.Actions) > 3 || len(c.Annotations) > maxAnnotations {
		t.Errorf("%d actions, %d annotations", len(c.Actions), len(c.Annotations))
	}
	for _, a := range c.Annotations {
		if a.StartLine < 1 || a.EndLine < a.StartLine || a.Message == "" ||
			len(a.Message) > maxRaw ||
			len(a.RawDetails) > maxRaw ||
			utf8.RuneCountInString(a.Title) > MaxTitle ||
			a.Path == "" {
			t.Errorf(
				"annotation %s:%d: title %d, message %d, raw %d bytes",
				a.Path,
				a.StartLine,
				len(a.Title),
				len(a.Message),
				len(a.RawDetails),
			)
		}
	}
}

func TestConclusion(t *testing.T) {
	pow := needs("pow", "GLIBC_2.29", "libm.so.6")
	unread := of()
	unread.Unread = []analyzer.Unread{{Path: "x.so", Reason: "cut"}}
	both := of(pow)
	both.Unread = unread.Unread
	unchecked := of()
	unchecked.Verdict, unchecked.Notes = analyzer.Unchecked, []string{"the index did not answer"}
	skipped := of()
	skipped.Artifacts[0].Objects, skipped.Skipped = 0, []analyzer.Unread{
		{Path: "x.dll", Reason: "PE"},
	}
	skipped.Verdict = analyzer.NotJudged
	outcomes := map[string]analyzer.Outcome{
		"success": analyzer.OutcomePass, "neutral": analyzer.OutcomePass,
		"failure": analyzer.OutcomeFail, "action_required": analyzer.OutcomeError,
	}
	for _, c := range []struct {
		name   string
		in     Input
		want   string
		clean  bool
		create bool
	}{
		{"clean", Input{Report: of()}, "success", true, false},
		{"new error", Input{Report: of(pow)}, "failure", false, true},
		{"existing error", Input{Report: of(old(pow))}, "success", true, false},
		{"new warning", Input{Report: of(severity(pow, analyzer.Warning))}, "success", false, true},
		{"new warning that fails", Input{Report: of(severity(pow, analyzer.Warning)), FailOn: "warning"},
			"failure", false, true},
		{"new note", Input{Report: of(severity(pow, analyzer.Note)), FailOn: "warning"}, "success", true,
			false},
		{"never", Input{Report: of(pow), FailOn: "never"}, "neutral", false, true},
		{"never and clean", Input{Report: of(), FailOn: "never"}, "success", true, false},
		{"unread", Input{Report: unread}, "action_required", false, false},
		{"unread with never", Input{Report: unread, FailOn: "never"}, "action_required", false, false},
		{"unread and an error", Input{Report: both}, "failure", false, true},
		{"an artifact that was not fetched", Input{Report: of(),
			Partial: []analyzer.Unread{{Path: "wheels", Reason: "expired"}}}, "action_required", false,
			false},
		{"a missing artifact", Input{Report: of(), Missing: []Missing{{Name: "arm"}}},
			"action_required", false, false},
		{"a missing artifact, with never", Input{Report: of(), Missing: []Missing{{Name: "arm"}},
			FailOn: "never"}, "action_required", false, false},
		{"a missing artifact, with only other systems left", Input{Report: skipped,
			Missing: []Missing{{Name: "arm"}}}, "action_required", false, false},
		{"a missing artifact that was accepted", Input{Report: of(),
			AcceptedMissing: []AcceptedMissing{{Name: "arm"}}}, "success", true, false},
		{"unchecked", Input{Report: unchecked}, "action_required", false, false},
		{"only other systems", Input{Report: skipped}, "success", true, false},
		{"release of other systems", Input{Report: skipped, Release: true}, "neutral", true, false},
		{"no report", Input{}, "failure", false, false},
		{"config", Input{Problem: ConfigInvalid(ConfigPath, nil, 0)}, "action_required", false, false},
		{"superseded", Input{Problem: Superseded()}, "cancelled", false, false},
		{"empty release", Input{Problem: NothingToCheck()}, "neutral", false, false},
	} {
		got := Render(c.in)
		within(t, got)
		if c.in.Report != nil && Outcome(c.in) != outcomes[c.want] {
			t.Errorf("%s: outcome %s of a check run with %s", c.name, Outcome(c.in), c.want)
		}
		if strings.Contains(c.name, "other systems") && len(c.in.Missing) == 0 &&
			!strings.HasPrefix(got.Title, "Nothing to check: ") {
			t.Errorf("%s: title %q", c.name, got.Title)
		}
		if got.Conclusion != c.want || got.Clean != c.clean || got.Create != c.create {
			t.Errorf(
				"%s: %s, clean %v, create %v; want %s, %v, %v",
				c.name,
				got.Conclusion,
				got.Clean,
				got.Create,
				c.want,
				c.clean,
				c.create,
			)
		}
	}
	if c := Render(Input{Problem: Superseded()}); c.Sticky != "" || len(c.Actions) != 0 {
		t.Error("something is said about a superseded head")
	}
}

// A report of any size stays within the limits and counts what is not shown.
func TestHugeReports(t *testing.T) {
	objects, symbols := of(), of()
	for i := range 3000 {
		f := needs(fmt.Sprintf("sym_%d", i), "GLIBC_2.29", "libm.so.6")
		symbols.Findings = append(symbols.Findings, f)
		f.Object = fmt.Sprintf("widget/lib%d.so", i)
		f.Message = strings.ReplaceAll(f.Message, "warp/bin/warp.so", f.Object)
		objects.Findings = append(objects.Findings, f)
	}
	long := of(needs(strings.Repeat("_ZN`x", 100_000), "GLIBC_2.29", "libm.so.6"))
	long.Findings[0].Message = strings.Repeat("a`b ", 100_000)
	long.Findings[0].Fixes[0].Command = shellword.Line(strings.Repeat("`", 300_000))
	for i := range 100 {
		long.Unread = append(
			long.Unread,
			analyzer.Unread{
				Path:   strings.Repeat("\x01", 9000) + fmt.Sprint(i),
				Reason: strings.Repeat("@x ", 9000),
			},
		)
	}
	for name, r := range map[string]*analyzer.Report{"objects": objects, "symbols": symbols,
		"long": long} {
		c := Render(Input{Report: withCauses(r), Files: widget, DetailsURL: url})
		within(t, c)
		if name != "long" && !strings.Contains(c.Text, "2994 more symbols") {
			t.Errorf("%s: the text does not count: %s", name, c.Text)
		}
		for part, s := range map[string]string{"summary": c.Summary, "text": c.Text, "sticky": c.Sticky} {
			if !strings.Contains(s, url) && part != "text" {
				t.Errorf("%s: the %s does not link the report", name, part)
			}
			if what := unbalanced(s); what != "" {
				t.Errorf("%s: the %s leaves %s open", name, part, what)
			}
		}
	}
}

// unbalanced finds a fence that is not closed.
func unbalanced(s string) string {
	open := ""
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimLeft(l, " ") // it may be in a list
		n := len(l) - len(strings.TrimLeft(l, "`"))
		switch {
		case open == "" && n >= 3 && !strings.Contains(l[n:], "`"):
			open = l[:n]
		case open != "" && n >= len(open) && strings.Trim(l, "`") == "":
			open = ""
		}
	}
	return open
}
