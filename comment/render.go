package comment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
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
	s := sortOut(in.Report, in.Partial)
	groups := worstFirst(grouped(s.fresh))
	c := Check{
		Title:      title(in, s),
		Conclusion: conclude(in, s),
		Actions:    recheck(),
		Clean:      len(s.fresh) == 0 && !unchecked(in, s),
	}
	c.Summary = summary(in, s, groups)
	c.Text = details(in, s, groups)
	c.Annotations = annotations(in, groups)
	c.Review = review(in, groups)
	c.Sticky = sticky(in, s, groups)
	c.Create = len(s.fresh) > 0
	if in.Converse && len(s.fresh) > 0 {
		c.Actions = append(
			c.Actions,
			Action{
				Label:       "Accept",
				Description: "Take what is new on yourselves",
				Identifier:  AcceptAll,
			},
			Action{
				Label:       "Explain",
				Description: "Tell what, where and why in a comment",
				Identifier:  ExplainAll,
			},
		)
	}
	return c
}

// problem is the Check of a head that could not be judged. The conversation hears of it only where
// there is a comment already, whose findings would otherwise look as if they were of this head.
func problem(in Input) Check {
	p := in.Problem
	if p == nil {
		p = Failed("there is no report")
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
		{Label: "Re-check", Description: "Judge this commit again", Identifier: Recheck},
	}
}

func conclude(in Input, s sorted) string {
	never := in.FailOn == "never"
	for _, f := range s.fresh {
		if !never &&
			(f.Severity == analyzer.Error || f.Severity == analyzer.Warning && in.FailOn == "warning") {
			return "failure"
		}
	}
	switch {
	case unchecked(in, s):
		return "action_required"
	case never && len(s.fresh) > 0:
		return "neutral"
	case in.Release && objects(in.Report) == 0:
		return "neutral"
	}
	return "success"
}

// unchecked says that something which should have been judged was not.
func unchecked(in Input, s sorted) bool {
	return len(s.unread) > 0 || in.Report.Verdict == analyzer.Unchecked
}

// worstFirst brings the groups of the worst finding's rule to the front of their severity: their
// symbols are the ones that must be named whatever the space.
func worstFirst(groups []*group) []*group {
	if len(groups) == 0 {
		return groups
	}
	rule := groups[0].Rule
	slices.SortStableFunc(groups, func(a, b *group) int {
		if d := rank(a.Severity) - rank(b.Severity); d != 0 {
			return d
		}
		return later(a.Rule != rule) - later(b.Rule != rule)
	})
	return groups
}

func later(b bool) int {
	if b {
		return 1
	}
	return 0
}

// summary is the overview: the verdict, one line for each group, and everything that is no finding.
func summary(in Input, s sorted, groups []*group) string {
	head := lead(in, s) + "\n" + gapList(in.Gaps)
	if in.Advice != "" {
		head += "\n" + in.Advice
	}
	if t := targets(in.Report); t != "" {
		head += t
	}
	tail := unreadList(
		s.unread,
	) + noteList(
		in.Report.Notes,
	) + acceptedList(
		s.accepted,
	) + skippedList(
		in.Report.Skipped,
	) + link(
		in,
		"\n",
		"The full report",
	)
	var lines []string
	for i, g := range groups {
		l := fmt.Sprintf("- **%s** %s\n", g.Severity, oneLine(g, 20))
		if i == 0 {
			l = "\n### New\n\n" + l
		}
		lines = append(lines, l)
	}
	body := mdsafe.Join(
		lines,
		maxOutput*2/5,
		func(left int) string { return leftOut(in, groups, left) },
	)
	old := existingList(in, s, maxOutput/8)
	return mdsafe.Join([]string{head, body, old, tail, logSection(in.Logs)}, maxOutput, nil)
}

// details tells each new group whole: what, where, why, and each fix.
func details(in Input, s sorted, groups []*group) string {
	if len(groups) == 0 {
		return ""
	}
	blocks := make([]string, len(groups))
	said := map[string]bool{}
	for i, g := range groups {
		blocks[i] = block(in, g, symbolBytes, said)
	}
	legend := "\nA fix is verified when compat applied it, judged again, and the finding was gone and no new one had come.\n"
	return mdsafe.Join(
		blocks,
		maxOutput-len(legend),
		func(left int) string { return leftOut(in, groups, left) },
	) + legend
}

// symbolBytes bounds the list of symbols in one paragraph, so that the paragraphs behind it have
// room too.
const symbolBytes = 12 << 10

func leftOut(in Input, groups []*group, left int) string {
	if left <= 0 {
		return ""
	}
	n := 0
	for _, g := range groups[len(groups)-left:] {
		n += max(len(g.symbols), 1)
	}
	return fmt.Sprintf("\nand %s more%s.\n", count(n, "finding"), where(in))
}

// where says in which place the rest is.
func where(in Input) string {
	if in.DetailsURL == "" {
		return ", not shown here"
	}
	return ", in [the report](" + in.DetailsURL + ")"
}

func link(in Input, before, what string) string {
	if in.DetailsURL == "" {
		return ""
	}
	return before + "[" + what + "](" + in.DetailsURL + ")\n"
}

// lead is the verdict in a sentence.
func lead(in Input, s sorted) string {
	var parts []string
	switch {
	case len(s.fresh) > 0 && in.FailOn == "never":
		parts = append(
			parts,
			fmt.Sprintf(
				"**%s**, shown only: the configuration says `fail_on: never`.",
				counts(s.fresh),
			),
		)
	case len(s.fresh) > 0:
		parts = append(parts, fmt.Sprintf("**%s**%s.", counts(s.fresh), newer(in, s)))
	case unchecked(in, s):
	case objects(in.Report) == 0 && len(in.Report.Skipped) > 0:
		parts = append(
			parts,
			"**Nothing to judge.** Only files of kinds that compat does not judge were found; they are listed below.",
		)
	case objects(in.Report) == 0:
		parts = append(
			parts,
			"**Nothing to judge.** There is no shared library in what was looked at.",
		)
	case len(s.existing) > 0:
		parts = append(parts, "**Nothing new.**")
	default:
		parts = append(
			parts,
			fmt.Sprintf(
				"**Compatible.** %s in %s judged.",
				count(objects(in.Report), "object"),
				count(len(in.Report.Artifacts), "artifact"),
			),
		)
	}
	if unchecked(in, s) {
		parts = append(parts, "**Not everything could be checked**, so this does not pass.")
	}
	if len(s.existing) > 0 {
		parts = append(
			parts,
			fmt.Sprintf(
				"%s already on %s; that does not fail the check.",
				counts(s.existing),
				mdsafe.Code(base(in), 60),
			),
		)
	}
	if len(s.accepted) > 0 {
		parts = append(parts, count(len(s.accepted), "accepted finding")+".")
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
		"\n**A partial set**: these workflows keep artifacts on the base branch or are named in the configuration, and nothing of them was judged here.\n\n",
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

func newer(in Input, s sorted) string {
	if in.BaseName == "" {
		return ""
	}
	return " that " + mdsafe.Code(base(in), 60) + " does not have"
}
