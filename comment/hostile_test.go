package comment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/compat-app/compat/internal/test/hostiletest"
)

var judge = hostiletest.Judge{
	Tags: []string{"p", "li", "ul", "ol", "strong", "em", "h3", "h4", "table", "thead", "tbody",
		"tr", "th", "td"},
	Links: []string{url, "https://github.test/", causetext.ReadURL},
	Marks: []string{"compat:report", "compat:thread"},
	Lang:  []string{"suggestion", "diff"},
}

// dead checks with another Markdown renderer that the text contains only text, code, and the
// constructs that Render adds.
func dead(t *testing.T, what, markdown string) {
	t.Helper()
	if alive := judge.Alive(markdown); alive != "" {
		t.Errorf("%s has %s:\n%.3000s", what, alive, markdown)
	}
}

// surfaces renders every text that can contain a name, with names from next. The keys describe
// the texts.
func surfaces(t *testing.T, next func() string) map[string]string {
	t.Helper()
	finding := func() analyzer.Finding {
		symbol, version, object, by := next(), next(), "a/"+next(), next()
		return analyzer.Finding{
			Rule:       "symbol-version-too-new",
			Severity:   analyzer.Error,
			New:        true,
			Target:     next(),
			Artifact:   next() + ".whl",
			Object:     object,
			Symbol:     symbol,
			Demangled:  next() + "()",
			Version:    version,
			Library:    next(),
			ProvidedBy: &by,
			Message: next() + ": " + object + " needs " + symbol + "@" + version + ", not there. " +
				next(),
			Chain:   []string{object, next()},
			Package: next(),
			Fixes: []fix.Fix{
				{
					Kind:        fix.KindPin,
					Title:       fix.Titled("Pin %s", next()),
					Command:     shellword.Line(next() + "\n" + next()),
					Requirement: next(),
					Cost:        []string{"pip cannot resolve this: " + next()},
				},
				{Kind: fix.KindSource, Title: fix.Text(next())},
			},
		}
	}
	unread := func() []analyzer.Unread {
		return []analyzer.Unread{{Path: next(), Reason: next() + " is cut, " + next()}}
	}
	r := of(finding(), old(finding()))
	r.Unread, r.Skipped, r.Notes = unread(), unread(), []string{next(), "about " + next()}
	r.Accepted = []analyzer.Accepted{
		{Finding: finding(), Because: next(), By: "@" + next(), Until: next()},
	}
	r.Targets[0].Name, r.Targets[0].With = next(), []string{next()}
	r.Artifacts[0].Path = next()
	pin := nvjitlink()
	pin.Object = next()
	pin.Message = pin.Object + " needs what " + next() + " lacks"
	r.Findings = append(r.Findings, pin)
	withCauses(r)

	out := map[string]string{}
	add := func(name string, c Check) {
		within(t, c)
		out["the title of "+name], out["the summary of "+name], out["the text of "+name],
			out["the comment of "+name] = c.Title, c.Summary, c.Text, c.Sticky
		for i, a := range c.Annotations {
			out[fmt.Sprintf("the details of annotation message %d of %s", i, name)] = a.Message
			out[fmt.Sprintf("the details of annotation %d of %s", i, name)] = a.RawDetails
			out[fmt.Sprintf("the title of annotation %d of %s", i, name)] = a.Title
		}
		for i, v := range c.Review {
			out[fmt.Sprintf("review comment %d of %s", i, name)] = v.Body
		}
	}
	pull := Render(
		Input{
			Report:  r,
			Files:   widget,
			Diff:    Diff{"pyproject.toml": {{First: 8, Last: 8, Added: map[int]string{8: next()}}}},
			Partial: unread(),
			Missing: []Missing{
				{Name: next(), Workflow: next(), Run: next()},
				{Name: next(), Workflow: next(), Artifact: next()},
				{Name: next()},
			},
			AcceptedMissing: []AcceptedMissing{{next(), next(), next(), next()}},
			Unselected:      []string{next()},
			DetailsURL:      url,
			BaseName:        next(),
			SHA:             "0123456789abcdef",
		},
	)
	if len(pull.Review) == 0 || len(pull.Annotations) == 0 {
		t.Error("no review comment or no annotation")
	}
	add("a pull request", pull)
	add("a release", Render(Input{Report: r, Release: true, DetailsURL: url, SHA: "0123456789abcdef"}))
	add(
		"a shared head",
		Overruled(
			Render(Input{Report: of(), BaseName: next()}),
			Peer{Name: "release " + next(), Conclusion: "failure", Title: next(), DetailsURL: url},
		),
	)
	nothingNew := of(old(finding()))
	nothingNew.Accepted = r.Accepted
	add("nothing new", Render(Input{Report: nothingNew, BaseName: next()}))
	cut := of()
	cut.Unread = unread()
	add("an unread file", Render(Input{Report: cut}))
	unchecked := of()
	unchecked.Verdict, unchecked.Notes = analyzer.Unchecked, []string{next()}
	add("an unchecked one", Render(Input{Report: unchecked}))
	for name, p := range map[string]*Problem{
		"a bad configuration": ConfigInvalid(ConfigPath,
			[]ConfigError{{1, next(), "unknown key " + next()}, {0, "", next()}}, 3),
		"what is unjudged": Unjudged(next(), next()+" has expired"), "a failure": Failed(next()),
		"no artifacts": NoArtifacts([]string{next()}), "the deadline": Deadline(1, next()),
	} {
		add(name, Render(Input{Problem: p, DetailsURL: url}))
	}
	log := logLine(next())
	log.Job, log.Object, log.Library, log.Version, log.Message = next(), next(), next(), next(), next()
	log.Fixes = []fix.Fix{
		{Kind: fix.KindSource, Title: fix.Titled("Add %s",
			next()), Command: shellword.Line(next() + "\n" + next())},
	}
	logs := &Logs{
		Lines: []LogLine{log},
		Jobs:  []LogJob{{Name: next(), URL: log.URL, Gone: true}, {Name: next(), Limit: next()}},
	}
	add("a failed build", Render(Input{Problem: NoArtifacts(nil), Logs: logs}))

	out["a reply to explain"], _ = Explain(r.Findings[0].Symbol, r, nil, next(), url)
	out["a reply to explain of nothing"], _ = Explain(next(), nil, nil, next(), url)
	out["a reply to the button Explain"] = ExplainNew(r, url)
	out["a reply about a platform"], out["a reply about nothing to accept"],
		out["a reply about an old head"] = NoPlatform(
		next(),
		next(),
	), NothingToAccept(next(), next(), true), Outdated(next())
	out["a reply to fix"] = Fixes(r, next(), "", url)
	out["a reply to explain of a log"], _ = ExplainLogs("", logs)
	out["a reply to status"] = Status(
		Standing{
			SHA:        next(),
			Conclusion: "failure",
			Title:      next(),
			DetailsURL: url,
			Doing:      next(),
			Accepted: []Taken{
				{What: next(), Because: next(), By: next(), On: "2026-01-01", Until: next()},
			},
		},
	)
	out["a reply to an unknown command"], out["a refusal"], out["a reply without a reason"] = Unknown(
		next(),
		"",
	), NotPermitted(next()), NeedsReason(next())
	return out
}

// judged fails for texts that are interpreted as more than text.
func judged(t *testing.T, all map[string]string) {
	t.Helper()
	for what, s := range all {
		switch {
		case what == "the title of a shared head":
			s = strings.TrimPrefix(s, "#3: ") // added by Render
			fallthrough
		case strings.HasPrefix(what, "the title of") && !strings.Contains(what, "annotation"):
			if alive := hostiletest.AlivePlain(s); alive != "" {
				t.Errorf("%s has %s: %q", what, alive, s)
			}
		case strings.HasPrefix(what, "the title of"),
			strings.HasPrefix(what, "the details"): // plain text, which GitHub shows unchanged
			if hidden := hostiletest.Hidden(s); hidden != "" {
				t.Errorf("%s has %s: %q", what, hidden, s)
			}
		case what == "the summary of a shared head":
			dead(t, what, strings.ReplaceAll(s, "#3", "the other"))
		default:
			dead(t, what, s)
		}
	}
}

// Every text that can contain a name shows hostile names as text only.
func TestHostileNamesAreShownAsText(t *testing.T) {
	names := hostiletest.Names()
	for pass := range 12 {
		i := pass * 37
		judged(t, surfaces(t, func() string {
			i++
			return names[i%len(names)]
		}))
		if t.Failed() {
			t.Fatalf("pass %d", pass)
		}
	}
}

// The structure around a name is not changed by it: a name adds no block and ends none.
func TestHostileNamesBreakNothing(t *testing.T) {
	plain := surfaces(t, func() string { return "name" })
	judged(t, plain)
	for _, name := range []string{"```", "~~~", "\n\n# heading", "\r\n> quote", "\n- item",
		"</details>", "<!--", "|a|b|\n|-|-|", "\n    code", "`\n\n```\n", "x\n===\n", "\u2028- item"} {
		for what, s := range surfaces(t, func() string { return name }) {
			if !strings.Contains(what, "title") && !strings.Contains(what, "details") &&
				hostiletest.Shape(s) != hostiletest.Shape(plain[what]) {
				t.Errorf(
					"%q breaks %s:\n%s\ninstead of\n%s\n%s",
					name,
					what,
					hostiletest.Shape(s),
					hostiletest.Shape(plain[what]),
					s,
				)
			}
		}
	}
}

// The same with random combinations of names.
func TestRandomNamesAreShownAsText(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		judged(t, surfaces(t, func() string { return hostiletest.Random(r) }))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("@octocat", "`", uint64(1))
	f.Fuzz(func(t *testing.T, one, two string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		judged(t, surfaces(t, func() string {
			return []string{one, two, one + two, hostiletest.Random(r)}[r.IntN(4)]
		}))
	})
}
