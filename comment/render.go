package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Render plans what is said on GitHub about one head. It is a pure function: the same input gives
// the same Check.
//
// The conclusion is failure for a new finding at or above FailOn; action_required when something
// that should have been judged could not be; neutral only where FailOn is "never" and there are new
// findings, or for a release with nothing to judge; success otherwise. Findings that the base has
// are listed and fail nothing.
func Render(in Input) Check {
	if in.Report == nil {
		return problem(in)
	}
	s := newView(in.Report, in.Partial)
	in.Report = s.report
	c := Check{
		Title:      title(in, s),
		Conclusion: conclude(in, s),
		Actions:    recheck(),
		Clean:      len(s.fresh) == 0 && !unchecked(in, s),
	}
	c.Summary = summary(in, s)
	c.Text = details(in, s)
	c.Names = s.names(s.fresh)
	source := newSources(in.Files)
	c.Annotations = annotations(in, s, source)
	c.Review = review(in, s, source)
	c.Sticky = sticky(in, s)
	c.Create = len(s.fresh) > 0
	if in.Converse && len(s.fresh) > 0 {
		c.Actions = conversationActions(c.Actions)
	}
	return c
}

// conversationActions adds those that are answered in a conversation.
func conversationActions(actions []Action) []Action {
	return append(
		actions,
		Action{
			Label:       "Accept",
			Description: "Accept all new findings",
			Identifier:  AcceptAll,
		},
		Action{
			Label:       "Explain",
			Description: "Explain the findings in a comment",
			Identifier:  ExplainAll,
		},
	)
}

// problem is the Check of a head that could not be judged. The conversation hears of it only where
// there is a comment already, whose findings would otherwise look as if they were of this head.
func problem(in Input) Check {
	p := in.Problem
	if p == nil {
		p = Failed("the analysis returned no report")
	}
	if t := logTitle(in.Logs); t != "" {
		p = &Problem{
			Conclusion:  p.Conclusion,
			Title:       t,
			Summary:     p.Summary,
			Annotations: p.Annotations,
			Silent:      p.Silent,
			NoRecheck:   p.NoRecheck,
		}
	}
	c := Check{
		Conclusion:  p.Conclusion,
		Title:       mdsafe.Cut(p.Title, MaxTitle),
		Summary:     p.Summary + logSection(in.Logs) + link(in, "\n", "The report"),
		Annotations: p.Annotations,
	}
	if !p.NoRecheck {
		c.Actions = recheck()
	}
	if !p.Silent {
		c.Sticky = stickyHead(
			in,
			mdsafe.Prose(p.Title),
		) + "\n" + p.Summary + logSection(
			in.Logs,
		) + link(
			in,
			"\n",
			"The report",
		)
	}
	return c
}

func recheck() []Action {
	return []Action{
		{Label: "Re-check", Description: "Check this commit again", Identifier: Recheck},
	}
}

func conclude(in Input, v view) string {
	never := in.FailOn == "never"
	switch {
	case !never && v.fails(in.FailOn):
		return "failure"
	case unchecked(in, v):
		return "action_required"
	case never && len(v.fresh) > 0:
		return "neutral"
	case in.Release && in.Report.Verdict == analyzer.NotJudged:
		return "neutral"
	}
	return "success"
}

// Outcome is what the conclusion of Render means for the report, which is not nil.
func Outcome(in Input) analyzer.Outcome {
	switch conclude(in, newView(in.Report, in.Partial)) {
	case "failure":
		return analyzer.OutcomeFail
	case "action_required":
		return analyzer.OutcomeError
	}
	return analyzer.OutcomePass
}

// summary is the overview: the verdict, one line for each cause, and the lists after them.
func summary(in Input, v view) string {
	head := lead(in, v) + "\n" + gapList(in.Gaps)
	if in.Advice != "" {
		head += "\n" + in.Advice
	}
	var lines []string
	for n, i := range v.fresh {
		l := fmt.Sprintf("%d. %s\n", n+1, v.line(i))
		if n == 0 {
			l = "\n" + l
		}
		lines = append(lines, l)
	}
	body := mdsafe.Join(lines, maxOutput*2/5, func(left int) string { return leftOut(in, left) })
	compared := abiSections(in.Report)
	tail := unreadList(v.unread) + noteList(in.Report.Notes) + acceptedList(v.accepted) +
		skippedList(in.Report.Skipped) + targets(in.Report) + link(in, "\n", "The full report") +
		foot(in.Report)
	old := existingList(in, v, maxOutput/8)
	return mdsafe.Join([]string{head, body, compared, old, tail, logSection(in.Logs)}, maxOutput, nil)
}

// details shows each new cause in full: the evidence as a table, the platforms and every fix.
func details(in Input, v view) string {
	if len(v.fresh) == 0 {
		return ""
	}
	var blocks []string
	for _, i := range v.fresh {
		blocks = append(blocks, causetext.Section(v.report, i, "####")+"\n")
	}
	legend := "\nA fix was tried when compat applied it, ran the analysis again, and the finding " +
		"disappeared with no new ones.\n"
	return mdsafe.Join(blocks, maxOutput-len(legend),
		func(left int) string { return leftOut(in, left) }) + legend
}

// where says in which place the rest is.
func where(in Input) string {
	if in.DetailsURL == "" {
		return ", not shown here"
	}
	return ", in [the report](" + in.DetailsURL + ")"
}

// lead is the verdict in a sentence or two.
func lead(in Input, v view) string {
	var parts []string
	switch {
	case len(v.fresh) > 0 && in.FailOn == "never":
		parts = append(parts, fmt.Sprintf("**%s** (informational: `fail_on` is `never`).",
			v.count(v.fresh)))
	case len(v.fresh) > 0:
		parts = append(parts, fmt.Sprintf("**%s**%s.", v.count(v.fresh), newer(in)))
	case unchecked(in, v):
	case in.Report.Verdict == analyzer.NotJudged && len(in.Report.Skipped) > 0:
		parts = append(parts,
			"**Nothing to check.** The artifacts contain only files of types that compat does not "+
				"read; they are listed below.")
	case in.Report.Verdict == analyzer.NotJudged:
		parts = append(parts,
			"**Nothing to check.** The artifacts contain no shared libraries.")
	case len(v.existing) > 0:
		parts = append(parts, "**Nothing new.**")
	default:
		parts = append(parts, fmt.Sprintf("**Compatible.** %s in %s checked.",
			count(objects(in.Report), "object"), count(len(in.Report.Artifacts), "artifact")))
	}
	if plan := causetext.PlanSentence(in.Report); plan != "" && len(v.fresh) > 1 &&
		len(v.existing) == 0 {
		parts = append(parts, mdsafe.Prose(plan))
	}
	if unchecked(in, v) {
		parts = append(parts, "**Not everything could be checked**, so this check fails.")
	}
	if len(v.existing) > 0 {
		parts = append(parts, fmt.Sprintf("%s already on %s, which do not fail the check.",
			v.count(v.existing), mdsafe.Code(base(in), 60)))
	}
	if len(v.accepted) > 0 {
		parts = append(parts, count(len(v.accepted), "accepted finding")+".")
	}
	return strings.Join(parts, " ")
}

// gapList says of which workflows nothing was judged.
func gapList(gaps []Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(
		"\n**Incomplete**: these workflows usually upload artifacts, but produced none for this " +
			"commit:\n\n",
	)
	for _, g := range gaps[:min(len(gaps), maxGaps)] {
		fmt.Fprintf(&b, "- %s %s\n", mdsafe.Code(g.Workflow, 100), mdsafe.Prose(g.Why))
	}
	if n := len(gaps) - maxGaps; n > 0 {
		fmt.Fprintf(&b, "- and %d more\n", n)
	}
	return b.String()
}

// maxGaps is far more than a repository has workflows that build.
const maxGaps = 20

func newer(in Input) string {
	if in.BaseName == "" {
		return ""
	}
	return " that " + mdsafe.Code(base(in), 60) + " does not have"
}
