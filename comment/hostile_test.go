package comment

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

var hostile = []string{
	"`", "```", "a`b", "```\n@octocat\n```", "</code>@octocat", "@octocat", "lib@octocat/x.so", "#1", "octo/repo#1", "![img](http://evil.test/x.png)", "[link](http://evil.test)",
	"<script>alert(1)</script>", "<img src=x>", "<!-- compat:report -->", "--> @octocat", "https://evil.test/x.so", "www.evil.test", "evil@evil.test", "a\n\n# heading\n@octocat", "\r\n> quote",
	"|a|", "\\@octocat", "&#64;octocat", "\xff\xfe@octocat", "\u202ertl", "\x1b[31m@octocat", strings.Repeat("`@a ", 400), "```suggestion\nx\n```", "</details>", "$x$", "deadbeefdeadbeefdeadbeef",
}

var (
	gfm     = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	codeTag = regexp.MustCompile(`(?s)<code[^>]*>.*?</code>`)
	ours    = regexp.MustCompile(`<!-- compat:(?:report|thread [0-9a-f]+) -->`)
	report  = regexp.MustCompile(`<a href="https://compat.test/reports/abc">[^<@#]*</a>`)
	tags    = regexp.MustCompile(`</?([a-zA-Z0-9]+)|<!`)
	harmful = regexp.MustCompile(`(^|[^\w])@\w|#\d|https?://|www\.|\bGH-\d`)
)

// dead checks with a second reader that Markdown holds nothing but text, code, and what Render itself puts there.
func dead(t *testing.T, what, markdown string) {
	t.Helper()
	var b bytes.Buffer
	if err := gfm.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	rest := report.ReplaceAllString(ours.ReplaceAllString(codeTag.ReplaceAllString(b.String(), " "), " "), " ")
	for _, m := range tags.FindAllStringSubmatch(rest, -1) {
		if !strings.Contains(" p li ul ol pre strong em h3 h4 ", " "+m[1]+" ") || m[1] == "" {
			t.Errorf("%s has %s:\n%s", what, m[0], rest)
		}
	}
	if m := harmful.FindString(rest); m != "" {
		t.Errorf("%s has %q alive:\n%s", what, m, rest)
	}
	if n := strings.Count(b.String(), "compat:report -->") - strings.Count(b.String(), "compat:report --&gt;"); n > 1 {
		t.Errorf("%s has the marker %d times", what, n)
	}
}

func TestHostileNamesAreDead(t *testing.T) {
	for _, h := range hostile {
		f := analyzer.Finding{Rule: "symbol-version-too-new", Severity: analyzer.Error, New: true, Target: h, Artifact: h + ".whl", Object: "a/" + h, Symbol: h, Demangled: h + "()", Version: h, Library: h, ProvidedBy: &h,
			Message: h + ": a/" + h + " needs " + h + "@" + h + " of " + h + ", not there. " + h, Chain: []string{h, h}, Package: h,
			Fixes: []fix.Fix{{Kind: fix.KindPin, Title: "Pin " + h, Command: h + "\n" + h, Requirement: h, Cost: []string{"conflicts with " + h}}, {Kind: fix.KindSource, Title: h}}}
		r := of(f, old(f))
		r.Unread = []analyzer.Unread{{Path: h, Reason: h + " is cut, " + h}}
		r.Skipped, r.Notes = r.Unread, []string{h, "about " + h}
		r.Accepted = []analyzer.Accepted{{Finding: f, Because: h, By: "@" + h, Until: h}}
		r.Targets[0].Name, r.Targets[0].With = h, []string{h}
		pin := nvjitlink()
		pin.Object, pin.Message = h, h+" needs what "+h+" lacks"
		r.Findings = append(r.Findings, pin)
		c := Render(Input{Report: r, Files: widget, Diff: Diff{"pyproject.toml": {8: 1}}, DetailsURL: url, BaseName: h, SHA: "0123456789abcdef"})
		within(t, c)
		dead(t, "summary", c.Summary)
		dead(t, "text", c.Text)
		dead(t, "sticky", c.Sticky)
		if strings.ContainsAny(c.Title, "<>`[]#\n\x1b") || harmful.MatchString(c.Title) {
			t.Errorf("title %q", c.Title)
		}
		for _, a := range c.Annotations {
			dead(t, "annotation", a.Message)
			if strings.ContainsAny(a.Title+a.RawDetails, "\x1b\u202e\r") {
				t.Errorf("annotation raw %q", a.RawDetails)
			}
		}
		if len(c.Review) == 0 {
			t.Error("no review comment")
		}
		for _, v := range c.Review {
			dead(t, "review", v.Body)
		}
		for _, p := range []*Problem{ConfigInvalid(ConfigPath, []ConfigError{{1, h, "unknown key " + h}}, 3), Unjudged(h, h+" has expired"), Failed(h), NoArtifacts([]string{h}), Deadline(1, h)} {
			c := Render(Input{Problem: p, DetailsURL: url})
			dead(t, "problem", c.Summary)
			dead(t, "problem's comment", c.Sticky)
		}
		found, _ := Explain(h, r, nil, h, url)
		none, _ := Explain(h, nil, nil, h, url)
		status := Status(Standing{SHA: h, Conclusion: "failure", Title: h, Doing: h, Accepted: []Taken{{What: h, Because: h, By: h, On: "2026-01-01", Until: h}}})
		for _, reply := range []string{Unknown(h, ""), NotPermitted(h), NeedsReason(h), NoPlatform(h, h), NothingToAccept(h, h, true), Outdated(h), ExplainNew(r, url), found, none, status} {
			dead(t, "reply", reply)
		}
	}
}
