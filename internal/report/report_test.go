package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	ruleset "github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/compat-app/compat/internal/test/formattest"
)

var update = flag.Bool("update", false, "write what is written to testdata")

var rules = []Rule{
	{
		ID:       "symbol-version-too-new",
		Title:    "a symbol version that the platform does not have yet",
		Help:     "Build on an older system.",
		Severity: analyzer.Error,
	},
}

func write(t *testing.T, r *analyzer.Report) *txtar.Archive {
	t.Helper()
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All())})
	a := &txtar.Archive{}
	for _, w := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error { return Text(w, r, TextOptions{}) }},
		{"verbose.txt", func(w io.Writer) error { return Text(w, r, TextOptions{Verbose: true}) }},
		{"report.json", func(w io.Writer) error { return JSON(w, r) }},
		{"report.sarif", func(w io.Writer) error { return SARIF(w, r, rules, firstLine) }},
		{"report.md", func(w io.Writer) error { return Markdown(w, r, firstLine) }},
		{"report.html", func(w io.Writer) error { return Page(w, NewView(r), reportID) }},
		{"report.github", func(w io.Writer) error { return GitHub(w, r, firstLine) }},
		{"report.gitlab", func(w io.Writer) error { return GitLab(w, r, firstLine) }},
		{"report.junit", func(w io.Writer) error { return JUnit(w, r, "") }},
	} {
		var b bytes.Buffer
		if err := w.write(&b); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		var err error
		switch w.name {
		case "report.sarif":
			err = formattest.SARIF(b.Bytes())
		case "report.gitlab":
			err = formattest.GitLab(b.Bytes())
		case "report.junit":
			err = formattest.JUnit(b.Bytes())
		}
		if err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		a.Files = append(a.Files, txtar.File{Name: w.name, Data: b.Bytes()})
	}
	return a
}

// firstLine knows a line of the first cause only.
// reportID is the address of the page.
const reportID = "0123456789abcdef0123456789abcdef"

func firstLine(cause int) (string, int, []causetext.Edit) {
	if cause == 0 {
		return "py,project:1.toml", 5, nil
	}
	return "", 0, nil
}

// SARIF and GitLab show a cause at the same place.
func TestPlaces(t *testing.T) {
	r := sample()
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All())})
	var sarif, gitlab bytes.Buffer
	if err := errors.Join(SARIF(&sarif, r, nil, firstLine), GitLab(&gitlab, r, firstLine)); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	var issues []gitlabIssue
	if err := errors.Join(json.Unmarshal(sarif.Bytes(), &log),
		json.Unmarshal(gitlab.Bytes(), &issues)); err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Causes {
		res, at := log.Runs[0].Results[i], issues[i].Location
		first := res.Locations[0].Physical
		if first.Artifact.URI != uri(at.Path) || first.Region.Start != at.Lines.Begin {
			t.Errorf("%s: SARIF has %+v, GitLab %+v", c.ID, first, at)
		}
		if _, line, _ := firstLine(i); line > 0 && len(res.Related) == 0 {
			t.Errorf("%s: SARIF does not name the objects", c.ID)
		}
	}
}

// A command for a wheel in another folder enters it, in every format that people read.
func TestCommandsEnterFolder(t *testing.T) {
	r := sample()
	for i := range r.Findings {
		r.Findings[i].Artifact = path.Join("dist", r.Findings[i].Artifact)
	}
	for i := range r.Artifacts {
		r.Artifacts[i].Path = path.Join("dist", r.Artifacts[i].Path)
	}
	for _, f := range write(t, r).Files {
		text := html.UnescapeString(string(f.Data))
		if i := strings.Index(text, "wheel tags --platform-tag"); i >= 0 && f.Name != "report.json" &&
			!strings.HasSuffix(text[:i], "(cd dist && ") {
			t.Errorf("%s: the command does not enter the folder: %s", f.Name, text[max(0, i-40):i+60])
		}
	}
}

// A command in a sentence stays on one line, and nothing that is copied with it follows.
func TestCommandInSentence(t *testing.T) {
	const command = "auditwheel repair --plat manylinux_2_28_x86_64 dist/w-*.whl"
	got := wrap(joined("For the next build, run "+command+".", command), 60, "  ")
	if want := []string{"For the next build,", "  run " + command}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = wrap(joined("Run a b, then c.", "a b"), 7, "")
	if want := []string{"Run a b,", "then c."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The command of the plan enters the folder of the wheel that it names, not that of the first cause.
func TestCommandOfThePlanEntersItsFolder(t *testing.T) {
	const wheel = "tool-1.0-cp312-cp312-linux_x86_64.whl"
	r := analyzer.NewReport("test")
	for _, file := range []string{"libs/libx.so", "dist/" + wheel} {
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{Path: file, Objects: 1})
		r.Causes = append(r.Causes, analyzer.Cause{ID: file, Artifact: file, Title: "t",
			Severity: analyzer.Error, Rules: []string{"rule"}})
	}
	r.Plan.Command = "compat fix --write fixed " + wheel
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "\nRun this for what can be fixed in files. The command writes the corrected wheel to " +
		"dist/fixed.\n" +
		"       (cd dist && compat fix --write fixed " + wheel + ")\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nhas no %s", b.String(), want)
	}
}

// A note has no cause. It is in every format that lists results, and never makes one fail.
func TestNotes(t *testing.T) {
	r := sample()
	r.Causes, r.Accepted, r.Unread, r.Skipped = nil, nil, nil, nil
	r.Findings = r.Findings[len(r.Findings)-1:]
	r.Notes = []string{r.Findings[0].Message}
	var sarif, gitlab, junit bytes.Buffer
	if err := errors.Join(SARIF(&sarif, r, nil, nil), GitLab(&gitlab, r, nil),
		JUnit(&junit, r, analyzer.Error)); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		format, got string
		want        []string
	}{
		{"SARIF", sarif.String(), []string{`"level": "note"`, `"ruleId": "support-removed"`,
			`"baselineState": "new"`}},
		{"GitLab", gitlab.String(), []string{`"severity": "info"`, `"check_name": "support-removed"`}},
		{"JUnit", junit.String(), []string{`failures="0"`,
			"<system-out>note: widget has no wheel for Linux (aarch64)"}},
	} {
		for _, part := range append(w.want, "widget has no wheel for Linux (aarch64)") {
			if !strings.Contains(w.got, part) {
				t.Errorf("%s does not contain %s:\n%s", w.format, part, w.got)
			}
		}
	}
}

// A note about a library's ABI is counted without --verbose, once for copies of the library.
func TestABINotes(t *testing.T) {
	r := sample()
	note := analyzer.Finding{
		Rule: "exported-symbol-removed", Severity: analyzer.Note, Symbol: "pack_strerror",
		Object: "libpack.so.1", Library: "libpack.so.1", Against: []string{"base"},
		Message: "libpack.so.1 no longer exports pack_strerror",
	}
	link := note
	link.Object = "libpack.so.1.0.0"
	r.Verdict, r.Causes, r.Accepted, r.Unread, r.Notes = analyzer.Compatible, nil, nil, nil, nil
	r.Findings = []analyzer.Finding{note, link}
	const counted = "note: 1 change since the base may break programs that link libpack.so.1: " +
		"exported-symbol-removed (--verbose)"
	for verbose, want := range map[bool]string{false: counted, true: note.Message} {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, want) ||
			verbose && strings.Contains(got, counted) {
			t.Errorf("verbose %v:\n%s", verbose, b.String())
		}
	}
}

func sample() *analyzer.Report {
	by := "nvidia-nvjitlink-cu12 12.9.86"
	const wheel = "widget-1.1.0-py3-none-manylinux2014_x86_64.whl"
	pow := func(symbol, artifact string) analyzer.Finding {
		return analyzer.Finding{
			Rule:     "symbol-version-too-new",
			Severity: analyzer.Error,
			New:      true,
			Target:   "manylinux_2_17_x86_64",
			Artifact: artifact,
			Object:   "warp/bin/warp.so",
			Symbol:   symbol,
			Version:  "GLIBC_2.29",
			Library:  "libm.so.6",
			Message:  "warp/bin/warp.so needs " + symbol + "@GLIBC_2.29, which manylinux_2_17_x86_64 lacks",
			Chain:    []string{"warp/bin/warp.so", "libm.so.6"},
			Fixes: []fix.Fix{
				{
					Kind:     fix.KindPlatformTag,
					Title:    fix.Titled("Tag the wheel manylinux_2_31_x86_64"),
					Command:  "wheel tags --platform-tag manylinux_2_31_x86_64 " + wheel,
					Verified: true,
					Cost:     []string{"drops debian10"},
				},
			},
		}
	}
	return &analyzer.Report{
		Schema:  analyzer.Schema,
		Tool:    analyzer.Tool{Version: "1.0.0"},
		Verdict: analyzer.Incompatible,
		Targets: []analyzer.Target{
			{
				Name:    "manylinux_2_17_x86_64",
				Verdict: analyzer.Incompatible,
				With:    []string{"torch==2.7.0"},
			},
		},
		Artifacts: []analyzer.Artifact{
			{
				Path:    wheel,
				SHA256:  "ab12",
				Kind:    "wheel",
				Objects: 2,
				Targets: []string{"manylinux_2_17_x86_64"},
				Wheel:   &analyzer.Wheel{Name: "widget", Version: "1.1.0", Tags: []string{"py3-none-manylinux2014_x86_64"}},
			},
			{Path: "libx.so", SHA256: "cd34", Kind: "object", Objects: 1,
				Targets: []string{"manylinux_2_17_x86_64"}},
		},
		Findings: []analyzer.Finding{
			pow("pow", wheel),
			pow("exp", wheel),
			pow("pow", "widget-cp312.whl"),
			{
				Rule:       "symbol-missing-in-package",
				Severity:   analyzer.Warning,
				New:        true,
				Target:     "manylinux_2_17_x86_64",
				Artifact:   wheel,
				Object:     "widget/c.so",
				Symbol:     "_ZN1a1bEv",
				Demangled:  "a::b()",
				Library:    "libnvJitLink.so.12",
				ProvidedBy: &by,
				Message:    "widget/c.so needs _ZN1a1bEv",
			},
			{
				Rule:     "library-not-found",
				Severity: analyzer.Error,
				Artifact: "libx.so",
				Object:   "libx.so",
				Library:  "liby.so.1",
				Message:  "libx.so needs liby.so.1, which nothing provides",
			},
			{
				Rule:     analyzer.RuleSupportRemoved,
				Severity: analyzer.Note,
				New:      true,
				Artifact: wheel,
				Object:   "widget",
				Version:  "Linux (aarch64)",
				Message:  "widget has no wheel for Linux (aarch64), but the base has",
			},
		},
		Unread:  []analyzer.Unread{{Path: "widget/cut.so", Reason: "the file ends early"}},
		Skipped: []analyzer.Unread{{Path: "widget/mac.dylib", Reason: "Mach-O, not checked"}},
		Accepted: []analyzer.Accepted{
			{
				Finding: pow("log", wheel),
				Because: "only AlmaLinux 9",
				Until:   "2999-01-01",
				By:      "maintainer",
			},
		},
		Notes: []string{"torch was not looked up: no index is set; name one with --index-url."},
	}
}

func TestGolden(t *testing.T) {
	clean := &analyzer.Report{
		Verdict:   analyzer.Compatible,
		Artifacts: []analyzer.Artifact{{Path: "a.so", Kind: "object", Objects: 1}},
	}
	for name, r := range map[string]*analyzer.Report{"sample": sample(), "clean": clean} {
		file := filepath.Join("testdata", name+".txtar")
		got := txtar.Format(write(t, r))
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; go test ./internal/report -update writes it. Now:\n%s", file, got)
		}
	}
}

// JSON decodes to the same report, contains no null list, and does not change the caller's
// report.
func TestJSON(t *testing.T) {
	r := sample()
	r.Findings[3].Fixes, r.Artifacts[0].Wheel.Tags = nil, nil
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if r.Findings[3].Fixes != nil || r.Artifacts[0].Wheel.Tags != nil {
		t.Error("the caller's report was changed")
	}
	var back analyzer.Report
	d := json.NewDecoder(bytes.NewReader(b.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	var c bytes.Buffer
	if err := JSON(&c, &back); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
		t.Errorf("it does not read back as itself: %v", err)
	}
	b.Reset()
	if err := JSON(&b, &analyzer.Report{Artifacts: []analyzer.Artifact{{Path: "a.so"}},
		Findings: []analyzer.Finding{{Rule: "x"}}}); err != nil {
		t.Fatal(err)
	}
	var any map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &any); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"targets", "unread", "skipped"} {
		if string(any[k]) != "[]" {
			t.Errorf("%s is %s, want []", k, any[k])
		}
	}
	if s := b.String(); !strings.Contains(s, `"fixes": []`) ||
		!strings.Contains(s, `"chain": []`) ||
		!strings.Contains(s, `"provided_by": null`) ||
		strings.Contains(s, `"wheel"`) {
		t.Errorf("an almost empty report: %s", s)
	}
}

// 10,000 findings of a few causes give a short report in every format.
func TestManyFindings(t *testing.T) {
	r := sample()
	for i := range 10000 {
		f := r.Findings[i%2*3] // from one of two causes
		f.Symbol, f.Object = fmt.Sprint("_ZN1a1bEv", i), fmt.Sprintf("copy%d/a.so", i%301)
		r.Findings = append(r.Findings, f)
	}
	a := write(t, r)
	if len(r.Causes) != 4 {
		t.Fatalf("%d causes", len(r.Causes))
	}
	file := func(name string) string {
		i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
		return string(a.Files[i].Data)
	}
	if n := strings.Count(file("report.txt"), "\n"); n > 6+8*4 {
		t.Errorf("text of %d lines", n)
	}
	if n := len(file("report.html")); n > 300<<10 {
		t.Errorf("page of %d bytes", n)
	}
	if n := len(file("report.md")); n > 64<<10 {
		t.Errorf("Markdown of %d bytes", n)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(file("report.sarif")), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 6 { // four causes, a note and an accepted finding
		t.Errorf("%d results", len(run.Results))
	}
	for _, x := range run.Results {
		if run.Tool.Driver.Rules[x.RuleIndex].ID != x.RuleID {
			t.Errorf("result of %s points at rule %d", x.RuleID, x.RuleIndex)
		}
		if len(x.Locations) == 0 || len(x.Locations) > maxLocations {
			t.Errorf("%d locations", len(x.Locations))
		}
	}
}

var hostile = []string{
	"x` <img src=y> `",
	"`@octocat",
	"</code><script>alert(1)</script>",
	"<img src=x onerror=y>",
	"![i](http://evil.test)",
	"[l](http://evil.test)",
	"\x1b[31mred\x1b[0m\x07",
	"\u202eevil",
	"a\n# b\r\n",
	"\xff\xfe",
	"javascript:alert(1)",
	"{{.}}",
	"\"'><b>",
	"-->",
	"\u009b31m",
	"#1",
}

func TestHostileNames(t *testing.T) {
	gfm := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithRendererOptions(markdown.WithUnsafe()),
	)
	for _, h := range hostile {
		f := analyzer.Finding{
			Rule:       "symbol-version-too-new",
			Severity:   analyzer.Error,
			New:        true,
			Target:     h,
			Artifact:   h,
			Object:     h,
			Symbol:     h,
			Demangled:  h + "()",
			Version:    h,
			Library:    h,
			Message:    h + " needs " + h,
			Chain:      []string{h, h},
			ProvidedBy: &h,
			Fixes: []fix.Fix{{Kind: fix.Kind(h), Title: fix.Text(h), Command: shellword.Line(h + "\n" + h),
				Cost: []string{h}}},
		}
		old := f
		old.New = false
		u := []analyzer.Unread{{Path: h, Reason: h}}
		r := &analyzer.Report{
			Verdict: analyzer.Incompatible,
			Tool:    analyzer.Tool{Version: h},
			Targets: []analyzer.Target{{Name: h, With: []string{h}}},
			Artifacts: []analyzer.Artifact{{Path: h, SHA256: h, Kind: "object",
				Needs: []analyzer.Needs{{Object: h, Name: h, Libraries: []string{h + ".so", "libc.so.6"}}}}},
			Findings: []analyzer.Finding{
				f,
				old,
			},
			Unread:   u,
			Skipped:  u,
			Accepted: []analyzer.Accepted{{Finding: f, Because: h, By: h, Until: h}},
			Notes:    []string{h},
		}
		a := write(t, r)
		for _, w := range a.Files[:2] {
			for _, c := range string(w.Data) {
				if c != '\n' &&
					(c < ' ' || c == 0x7f || 0x80 <= c && c < 0xa0 || c == '\u202e' || c == '\ufffd') {
					t.Errorf("%q: %s lets %q through", h, w.Name, c)
				}
			}
		}
		for _, w := range a.Files[2:4] {
			if !json.Valid(w.Data) {
				t.Errorf("%q: %s is no JSON", h, w.Name)
			}
		}
		var b bytes.Buffer
		if err := gfm.Convert(a.Files[4].Data, &b); err != nil {
			t.Fatal(err)
		}
		page, ours := strings.CutSuffix(string(a.Files[5].Data),
			"<script>"+string(script)+"</script>\n</body>\n</html>\n")
		if !ours {
			t.Errorf("%q: the page does not end with its script", h)
		}
		for _, page := range []string{b.String(), page} {
			if why := unsafe(page); why != "" {
				t.Errorf("%q: %s", h, why)
			}
		}
		for line := range strings.Lines(string(a.Files[6].Data)) {
			if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::notice ") {
				t.Errorf("%q: a line of %s is no command: %q", h, a.Files[6].Name, line)
			}
		}
		if !json.Valid(a.Files[7].Data) {
			t.Errorf("%q: %s is not valid", h, a.Files[7].Name)
		}
		if err := xml.Unmarshal(a.Files[8].Data, &junitSuites{}); err != nil {
			t.Errorf("%q: %s: %v", h, a.Files[8].Name, err)
		}
	}
}

var anchor = regexp.MustCompile(`^#[a-z0-9.+_-]+$`)

var ruleLink = regexp.MustCompile(`^\.\./rules/[a-z0-9-]+$`)

// docsLink matches the pages of the documentation that Markdown links.
var docsLink = regexp.MustCompile(
	`^https://github\.com/compat-app/compat/blob/main/docs/(rules/[a-z0-9-]+|read)\.md$`)

// unsafe parses HTML like a browser and returns what could run scripts, load resources or leave
// the page.
func unsafe(page string) string {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return err.Error()
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			return "a comment " + n.Data
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "img", "style", "iframe", "object", "embed", "form", "input", "base", "b":
			return "an element " + n.Data
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" ||
				a.Key == "href" && !anchor.MatchString(a.Val) && a.Val != "style.css" &&
					!ruleLink.MatchString(a.Val) && !docsLink.MatchString(a.Val) &&
					!strings.HasPrefix(a.Val, reportID) {
				return "an attribute " + a.Key + "=" + a.Val
			}
		}
	}
	return ""
}

func TestPageAnchorsAreUnique(t *testing.T) {
	r := sample()
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All())})
	var b bytes.Buffer
	if err := Page(&b, NewView(r), reportID); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Causes {
		if n := strings.Count(b.String(), fmt.Sprintf("id=%q", c.ID)); n != 1 {
			t.Errorf("%s is there %d times", c.ID, n)
		}
	}
	if len(Style()) == 0 || !strings.Contains(b.String(), "pow") {
		t.Error("no style, or no symbol")
	}
}

// A pair of artifact and platform fails if a cause of the artifact occurs on the platform, and works
// only if it was checked.
func TestMatrix(t *testing.T) {
	wheel := func(path string, targets ...string) analyzer.Artifact {
		return analyzer.Artifact{Path: path, Kind: "wheel", Objects: 1, Targets: targets}
	}
	r := analyzer.NewReport("1.0")
	r.Artifacts = []analyzer.Artifact{
		wheel("dist/a.whl", "debian11", "debian12"), wheel("dist/b.whl", "debian12"),
		wheel("dist/c.whl", "debian12/aarch64"), {Path: "d.so", Kind: "object", Objects: 1},
		{Path: "empty.zip", Kind: "archive"},
	}
	for _, name := range []string{"debian11", "debian12", "debian12/aarch64"} {
		r.Targets = append(r.Targets, analyzer.Target{Name: name, Verdict: analyzer.Incompatible})
	}
	r.Findings = []analyzer.Finding{
		{Severity: analyzer.Error, Artifact: "dist/a.whl", Target: "debian11"},
		{Severity: analyzer.Error, Artifact: "dist/c.whl", Target: "debian12/aarch64"},
		{Severity: analyzer.Warning, Artifact: "dist/b.whl", Target: "debian11"},
		{Severity: analyzer.Warning, Artifact: "dist/a.whl", Target: "debian12"},
	}
	r.Causes = []analyzer.Cause{
		{ID: "one", Findings: []int{0, 2}, Fails: []string{"Debian 11"}},
		{ID: "two", Findings: []int{1, 99}, Fails: []string{"Debian 12"}}, // 99 does not exist
		{ID: "three", Findings: []int{3}},
	}
	r.Unread = []analyzer.Unread{{Path: "d.so", Reason: "it is damaged"}}
	var b bytes.Buffer
	if err := matrix(matrixOf(r)).Render(&b); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(b.String(), " ")
	got = strings.Join(strings.Fields(got), " ")
	_, got, _ = strings.Cut(got, "was not checked there. ")
	if want := "artifact Debian 11 Debian 12 Debian 12 aarch64 a.whl ✗ ! – b.whl – ✓ – " +
		"c.whl – – ✗ d.so ? ? ? empty.zip – – –"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsComeBack(t *testing.T) {
	for name, err := range map[string]error{"text": Text(broken{}, sample(),
		TextOptions{Verbose: true}), "json": JSON(broken{}, sample()),
		"sarif": SARIF(broken{}, sample(), nil, nil), "markdown": Markdown(broken{}, sample(), nil),
		"html": File(broken{}, NewView(sample())), "github": GitHub(broken{}, sample(), firstLine),
		"gitlab": GitLab(broken{}, sample(), firstLine), "junit": JUnit(broken{}, sample(), ""),
		"page": Page(broken{}, NewView(sample()), reportID)} {
		if err == nil {
			t.Errorf("%s hides a write error", name)
		}
	}
}

// Colors only add escapes, and names from an artifact cannot add any.
// An artifact of which nothing was checked is named although the others are compatible.
func TestArtifactNotChecked(t *testing.T) {
	r := &analyzer.Report{
		Verdict: analyzer.Compatible,
		Outcome: "pass",
		Targets: []analyzer.Target{{Name: "manylinux_2_31_x86_64", Verdict: analyzer.Compatible}},
		Artifacts: []analyzer.Artifact{
			{Path: "linux.whl", Kind: "wheel", Objects: 1},
			{Path: "mac.whl", Kind: "wheel"},
		},
		Skipped: []analyzer.Unread{
			{Path: "mac.whl", Reason: "no version of macOS was named"},
			{Path: "mac.whl", Reason: "another reason"},
			{Path: "linux.whl", Reason: "its Mach-O files"},
		},
	}
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{
		"compatible: 1 artifact (1 of 2 not checked)\n":         1,
		"not checked: mac.whl: no version of macOS was named\n": 1,
		"not checked: ": 1,
	} {
		if strings.Count(b.String(), want) != times {
			t.Errorf("not %d times %q:\n%s", times, want, b.String())
		}
	}
}

// What was not checked of a conda package is listed, and excepted from what was found.
func TestAssumedLibraries(t *testing.T) {
	r := &analyzer.Report{
		Verdict: analyzer.Compatible,
		Outcome: "pass",
		Targets: []analyzer.Target{{Name: "manylinux_2_17_x86_64", Verdict: analyzer.Compatible}},
		Artifacts: []analyzer.Artifact{{
			Path: "fast-1.0-h1_0.conda", Kind: "archive", Objects: 1, Assumed: []string{"libgemm.so.2"},
		}},
	}
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"All needed symbols and libraries that could be checked are found on manylinux2014.",
		"not checked: fast-1.0-h1_0.conda: the symbols of libgemm.so.2, because the packages that it " +
			"depends on were not read (--conda-prefix DIR reads them)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
}

// Imports that are undecided are excepted from what was found, by every text.
func TestUndecidedImports(t *testing.T) {
	imports := analyzer.Accounting{Imports: 3, Found: 1}
	imports.Undecide("not-read", "libgemm.so.2", 2)
	r := &analyzer.Report{
		Verdict: analyzer.Compatible,
		Outcome: "pass",
		Targets: []analyzer.Target{{Name: "manylinux_2_17_x86_64", Verdict: analyzer.Compatible}},
		Artifacts: []analyzer.Artifact{{
			Path: "fast-1.0-cp312-cp312-manylinux_2_17_x86_64.whl", Kind: "wheel", Objects: 1,
			Accounting: &imports,
		}},
	}
	const except = "2 of 3 imports undecided: libgemm.so.2 was not read"
	if got, want := Summary(r), "All symbols and libraries that 1 file needs, and that could be "+
		"checked, are found on "+
		"manylinux2014. 66 percent of the imports (needed symbols) could not be "+
		"checked, because libgemm.so.2 was not "+
		"read; to be certain, install and import it once on a system that has that library."; got !=
		want {
		t.Errorf("got %q, want %q", got, want)
	}
	var b bytes.Buffer
	if err := JUnit(&b, r, analyzer.Error); err != nil || !strings.Contains(b.String(),
		"All needed symbols and libraries that could be checked are found") ||
		!strings.Contains(b.String(), except) {
		t.Errorf("%v\n%s", err, &b)
	}
	if got := causetext.Ship(&analyzer.Report{Causes: []analyzer.Cause{
		{New: true, Severity: analyzer.Warning, Ship: "This wheel may be shipped."},
		{New: true, Severity: analyzer.Warning, Ship: "It is not known.", Undecided: true},
	}}); got != "It is not known." {
		t.Errorf("one cause is undecided, and the report says %q", got)
	}
}

func TestColour(t *testing.T) {
	var plain, painted bytes.Buffer
	r := sample()
	r.Findings[0].Message += "\x1b[35mevil"
	r.Findings[0].Object += "\x1b[35mevil"
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All())})
	if err := errors.Join(Text(&plain, r, TextOptions{Verbose: true}),
		Text(&painted, r, TextOptions{Color: true, Verbose: true})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(painted.String(), "\x1b[31;1m") ||
		!strings.Contains(plain.String(), "evil") ||
		strings.Contains(painted.String(), "\x1b[35m") {
		t.Errorf("%q", painted.String())
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(painted.String(),
		""); got != plain.String() {
		t.Errorf("with colours\n%s\nwithout\n%s", got, plain.String())
	}
}

// A library that is missing for many objects is one block; --verbose has each finding.
func TestOneBlockForACause(t *testing.T) {
	r := analyzer.NewReport("test")
	for _, object := range []string{"a.so", "b.so", "c.so", "d.so"} {
		r.Findings = append(
			r.Findings,
			analyzer.Finding{
				Rule:     "library-not-found",
				Severity: analyzer.Error,
				New:      true,
				Artifact: "x.whl",
				Object:   object,
				Library:  "libz.so.9",
				Message:  object + " needs libz.so.9",
			},
		)
	}
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All())})
	for verbose, want := range map[bool]int{false: 0, true: 4} {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "error library-not-found: "); got != want ||
			!verbose && !strings.Contains(b.String(), "in a.so, b.so, c.so and 1 more file\n") ||
			!strings.HasSuffix(b.String(), "1 cause in all 4 objects, which have no imports\n") {
			t.Errorf("verbose %v: %d findings\n%s", verbose, got, b.String())
		}
	}
}

// A cause of several wheels has a test case and an issue for each, and every format names them.
// TestPackagesOfACause checks that a cause of several packages of an environment names them instead
// of their objects.
func TestPackagesOfACause(t *testing.T) {
	r := analyzer.NewReport("test")
	r.Environment = true
	for _, name := range []string{"pa", "p_b", "pc"} {
		wheel := name + "-1.0-py3-none-any.whl"
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{
			Path: wheel, Wheel: &analyzer.Wheel{Name: name, Version: "1.0"},
		})
		for _, object := range []string{"/a.so", "/b.so"} {
			r.Findings = append(r.Findings, analyzer.Finding{
				Rule: "numpy-abi-mismatch", Severity: analyzer.Error, New: true, Artifact: wheel,
				Object: name + object, Package: "numpy",
			})
		}
	}
	cause.Of(r, cause.Options{Rules: analyzer.Causes(ruleset.All()), Pins: map[string]cause.Pin{"numpy": {Version: "2.1.0"}}})
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := " in pa 1.0, p-b 1.0, pc 1.0\n"; !strings.Contains(b.String(), want) ||
		strings.Contains(b.String(), "a.so") {
		t.Errorf("%s\nwant %q", b.String(), want)
	}
}

// The last line fits, and says why imports are undecided.
func TestLastLineHasTheReason(t *testing.T) {
	imports := analyzer.Accounting{Imports: 6301}
	imports.Undecide("not-found", "libwith-a-long-name-of-its-own.so.2", 600)
	imports.Undecide("not-read", "libother.so.1", 62)
	r := &analyzer.Report{
		Verdict:   analyzer.Compatible,
		Artifacts: []analyzer.Artifact{{Path: "a.so", Objects: 11, Imports: 6301, Accounting: &imports}},
	}
	for width, want := range map[int]string{
		200: "no causes, 6,301 imports, 11 objects; 662 of 6,301 imports undecided: " +
			"libwith-a-long-name-of-its-own.so.2 was not found and 1 more reason",
		100: "no causes, 6,301 imports, 11 objects; 662 undecided: libwith-a-long-n…-of-its-own.so.2 " +
			"was not found",
	} {
		p := &textPrinter{report: r, width: width}
		if got := p.last(); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
}

func TestCauseOfSeveralWheels(t *testing.T) {
	r := analyzer.NewReport("1.0")
	r.Verdict, r.Outcome = analyzer.Incompatible, analyzer.OutcomeFail
	for _, python := range []string{"cp311", "cp312"} {
		path := "dist/ng-1.2-" + python + "-" + python + "-manylinux2014_x86_64.whl"
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{Path: path, Kind: analyzer.KindWheel, Objects: 1,
			Wheel: &analyzer.Wheel{Name: "ng", Version: "1.2"}})
		r.Findings = append(r.Findings,
			analyzer.Finding{Rule: "symbol-version-too-new", Severity: analyzer.Error, New: true, Artifact: path,
				Target: "manylinux_2_17_x86_64", Object: "ng.so", Symbol: "pow", Version: "GLIBC_2.29",
				Library: "libm.so.6", Message: "ng.so needs pow"},
			analyzer.Finding{Rule: "tag-too-high", Severity: analyzer.Note, New: true, Artifact: path,
				Message: "it also qualifies for another tag"})
	}
	a := write(t, r)
	formats := map[string]string{}
	for _, f := range a.Files {
		formats[f.Name] = string(f.Data)
	}
	for name, want := range map[string]string{
		"report.txt":    "incompatible: " + r.Artifacts[0].Path + " and 1 more of 2 artifacts: ",
		"report.md":     "Found in both wheels.",
		"report.github": "Found in both wheels.",
		"report.html":   "<p>2 fail.</p>",
		"report.junit":  `tests="2" failures="2"`,
	} {
		if !strings.Contains(formats[name], want) {
			t.Errorf("%s has no %q:\n%s", name, want, formats[name])
		}
	}
	var b bytes.Buffer
	var issues []gitlabIssue
	if err := errors.Join(GitLab(&b, r, nil), json.Unmarshal(b.Bytes(), &issues)); err != nil {
		t.Fatal(err)
	}
	prints := map[string]string{}
	for _, x := range issues {
		if other, ok := prints[x.Fingerprint]; ok {
			t.Errorf("%s and %s have the same fingerprint", other, x.Location.Path)
		}
		prints[x.Fingerprint] = x.Location.Path
	}
	if len(prints) != 4 {
		t.Errorf("%d issues: %v", len(prints), prints)
	}
}

// The report on a matrix build fits one screen, and no line is wider than it.
func TestManyWheelsFitAScreen(t *testing.T) {
	r := analyzer.NewReport("test")
	for i := range 60 {
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{
			Path: fmt.Sprintf("dist/widget-1.0-cp3%02d-cp3%02d-%s.whl", i, i,
				"manylinux_2_17_x86_64.manylinux2014_x86_64.manylinux_2_28_x86_64"),
			Kind: analyzer.KindWheel, Objects: 1, Targets: []string{"debian12"},
		})
	}
	for i := range 50 {
		r.Findings = append(r.Findings, analyzer.Finding{Artifact: r.Artifacts[i].Path, New: true,
			Rule: "library-not-found", Severity: analyzer.Error, Object: "w.so", Library: "libx.so"})
		r.Causes = append(r.Causes, analyzer.Cause{
			Artifact: r.Artifacts[i].Path, Findings: []int{i}, Rules: []string{"library-not-found"},
			Title: "needs libx.so", Reason: fmt.Sprintf("lacks %d libraries", i), New: true,
			Severity: analyzer.Error, Objects: 1,
		})
	}
	var b bytes.Buffer
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(all) > maxLines {
		t.Errorf("%d lines", len(all))
	}
	for _, l := range all[1:] {
		if length(l) > columns {
			t.Errorf("%d columns: %s", length(l), l)
		}
	}
	if !strings.HasPrefix(all[1], "  fails      lacks 0 libraries   widget-1.0-cp300-cp300-") ||
		!slices.Contains(all, "  and 36 more files (--verbose)") {
		t.Errorf("%s", b.String())
	}
}
