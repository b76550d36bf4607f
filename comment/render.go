package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Render returns the Check for one head. It is a pure function.
//
// The conclusion is failure for a new finding at or above FailOn; action_required if something
// could not be checked; neutral if FailOn is "never" and there are new findings, or for a release
// with nothing to check; success otherwise. Findings that the base has are listed but do not fail
// the check.
func Render(in Input) Check {
	if in.Report == nil {
		return problem(in)
	}
	decided := *in.Report
	decided.Outcome = Outcome(in) // what its sentences say has to agree with the conclusion
	s := newView(&decided, in.Partial)
	in.Report = s.report
	c := Check{
		Title:      title(in, s),
		Conclusion: conclude(in, s),
		Actions:    recheck(),
		Clean:      len(s.fresh) == 0 && !unchecked(in, s),
	}
	source := newSources(in.Files)
	s.at = linesOf(in, s, source)
	all := edits(in, s, source)
	s.edits = editsOf(all)
	var told int
	c.Summary, told = summary(in, s)
	c.Text = details(in, s, told)
	c.Names = s.names(s.fresh)
	c.Annotations = annotations(in, s)
	c.Review, c.Patch = review(in, s, all), patch(in.Files, all)
	c.Sticky = sticky(in, s)
	c.Create = len(s.fresh) > 0
	if in.Converse && len(s.fresh) > 0 {
		c.Actions = conversationActions(c.Actions)
	}
	return c
}

// conversationActions adds the actions that are answered with a comment.
func conversationActions(actions []Action) []Action {
	return append(
		actions,
		Action{
			Label:       "Accept",
			Description: "New findings no longer fail this check",
			Identifier:  AcceptAll,
		},
		Action{
			Label:       "Explain",
			Description: "Explain the findings in a comment",
			Identifier:  ExplainAll,
		},
	)
}

// problem returns the Check of a head that could not be checked. The summary comment is updated
// only if it exists, because its findings would otherwise seem to be those of this head.
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
	body := p.Summary + missingList(in.Missing) + unselectedList(in.Unselected) +
		acceptedMissingList(in.AcceptedMissing) + logSection(in.Logs) + link(in, "\n", "The report")
	c := Check{
		Conclusion:  p.Conclusion,
		Title:       mdsafe.Cut(p.Title, MaxTitle),
		Summary:     body,
		Annotations: p.Annotations,
	}
	if !p.NoRecheck {
		c.Actions = recheck()
	}
	if !p.Silent {
		c.Sticky = stickyHead(in, mdsafe.Prose(p.Title), false) + "\n" + body
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

// Outcome returns the outcome for the conclusion of Render. The report must not be nil.
func Outcome(in Input) analyzer.Outcome {
	switch conclude(in, newView(in.Report, in.Partial)) {
	case "failure":
		return analyzer.OutcomeFail
	case "action_required":
		return analyzer.OutcomeError
	}
	return analyzer.OutcomePass
}

// summary returns the overview: the verdict, each new cause with what to do, and lists. told is the
// number of causes for which there was room.
func summary(in Input, v view) (text string, told int) {
	rows := causetext.RowsTable(causetext.Rows(in.Report))
	head := lead(in, v) + "\n" + rows + missingList(in.Missing) + unselectedList(in.Unselected)
	if in.Advice != "" {
		head += "\n" + in.Advice
	}
	if runs := causetext.RunsMarkdown(v.steps); runs != "" { // the lists would be one without a text
		head += runs + "\nThe causes:\n"
	}
	var items []string
	for _, i := range v.fresh {
		items = append(items, "\n"+v.item(in, i))
	}
	left := 0
	body := mdsafe.Join(items, maxOutput*2/5, func(n int) string {
		left = n
		return leftOut(in, n)
	})
	compared := assetList(in, v) + abiSections(in.Report)
	tail := unreadList(v.unread) + noteList(in.Report.OtherNotes()) + acceptedList(v.accepted) +
		acceptedMissingList(in.AcceptedMissing) + skippedList(in.Report.Skipped) + targets(in.Report) +
		link(in, "\n", "The full report") + foot(in.Report)
	old := existingList(in, v, maxOutput/8)
	blocks := []string{head, body, restOf(v), compared, old, tail, logSection(in.Logs)}
	return mdsafe.Join(blocks, maxOutput, nil), len(v.fresh) - left
}

// restOf returns the command of the plan if no step of a single cause has it; else "".
func restOf(v view) string {
	lines := v.steps.Rest()
	if len(lines) == 0 {
		return ""
	}
	return "\nThis command applies the fixes that change the artifacts:\n\n" +
		mdsafe.Fence("", mdsafe.Lines(strings.Join(lines, "\n")))
}

// details returns why each new cause fails: evidence and platforms. The summary has what to do
// about the first of them, as many as told.
func details(in Input, v view, told int) string {
	if len(v.fresh) == 0 {
		return ""
	}
	var blocks []string
	o := causetext.SectionOptions{Heading: "####", Rules: rulePages(in), Steps: v.steps,
		Untitled: len(v.fresh) == 1 && told == 1}
	if in.BaseName != "" {
		o.Base = mdsafe.Code(base(in), 60)
	}
	for n, i := range v.fresh {
		o.Why = n < told
		blocks = append(blocks, causetext.Section(v.report, i, o)+"\n")
	}
	legend := "\n" + causetext.KeyOf(v.report) + " [How to read a report](" + causetext.ReadURL +
		").\n"
	return mdsafe.Join(blocks, maxOutput-len(legend),
		func(left int) string { return leftOut(in, left) }) + legend
}

// rulePages returns the address of the page of a rule; nil if there are none.
func rulePages(in Input) func(id string) string {
	if in.RulesURL == "" {
		return nil
	}
	return func(id string) string { return strings.TrimSuffix(in.RulesURL, "/") + "/" + id }
}

// where says where the rest of a list is.
func where(in Input) string {
	if in.DetailsURL == "" {
		return ", not shown here"
	}
	return ", in [the report](" + in.DetailsURL + ")"
}

// lead returns the verdict in one or two sentences.
func lead(in Input, v view) string {
	var parts []string
	switch {
	case len(v.fresh) > 0 && in.FailOn == "never":
		parts = append(parts, fmt.Sprintf("**%s** (informational: `fail_on` is `never`).",
			v.count(v.fresh)))
	case len(v.fresh) > 0:
		parts = append(parts, fmt.Sprintf("**%s**%s.", v.count(v.fresh), newer(in)))
		if advice := advice(in, v); advice != "" {
			parts = append(parts, mdsafe.Prose(advice))
		}
		if places := causetext.Places(in.Report, v.fresh); places != "" {
			parts = append(parts, strings.ToUpper(places[:1])+places[1:]+".")
		}
		parts = append(parts, asked(in)...)
		for _, s := range in.Report.Refused {
			parts = append(parts, mdsafe.Prose(s)+".")
		}
		if in.BaseName == "" && !in.Release {
			parts = append(parts, causetext.NoBase)
		}
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
			analyzer.Count(objects(in.Report), "binary file"),
			analyzer.Count(len(in.Report.Artifacts), "artifact")))
		if unsure := in.Report.Unsure(); unsure != "" {
			parts = append(parts, mdsafe.Prose(unsure))
		}
	}
	if plan := causetext.PlanSentence(in.Report); plan != "" && len(v.fresh) > 1 &&
		len(v.existing) == 0 {
		parts = append(parts, mdsafe.Prose(plan))
	}
	if unchecked(in, v) {
		parts = append(parts, "**Not everything could be checked**, so this check fails.")
	}
	if len(v.existing) > 0 {
		parts = append(parts, fmt.Sprintf("%s already on %s %s not fail the check.",
			v.count(v.existing), mdsafe.Code(base(in), 60),
			analyzer.Plural(len(v.existing), "does", "do")))
	}
	if len(v.accepted) > 0 {
		parts = append(parts, analyzer.Count(len(v.accepted), "accepted finding")+".")
	}
	return strings.Join(parts, " ")
}

// advice says whether a pull request with new causes may be merged, as far as they are concerned,
// and whether the artifacts may be shipped: "Do not merge it like this, and do not ship this
// wheel."; "" if nothing says it.
func advice(in Input, v view) string {
	ship := causetext.Ship(in.Report)
	if !in.Report.PullRequest {
		return ship
	}
	switch conclude(in, v) {
	case "success", "neutral":
		return strings.Join(causetext.NonEmpty(
			"It may be merged, since nothing of this fails the check, but is better corrected.", ship), " ")
	}
	const merge, not = "Do not merge it like this", "Do not ship "
	if what, ok := strings.CutPrefix(ship, not); ok {
		return merge + ", and do not ship " + what
	}
	return strings.Join(causetext.NonEmpty(merge+".", ship), " ")
}

// asked says which versions the configuration adds to the environment; nil if none. Without it, the
// author of a change wonders why a wheel that may be shipped fails its check.
func asked(in Input) []string {
	if len(in.With) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Checked with %s, as %s on %s demands (%s).",
		mdsafe.Codes(in.With, 5, 60), mdsafe.Code(ConfigPath, 0), mdsafe.Code(base(in), 60),
		mdsafe.Code("python.with", 0))}
}

func newer(in Input) string {
	if in.BaseName == "" {
		return ""
	}
	return " that " + mdsafe.Code(base(in), 60) + " does not have"
}
