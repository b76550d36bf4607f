package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Texts that answer a /compat command, as Markdown for post.Poster.Reply. What a user typed is outside
// text like any other.

// Help lists the commands.
func Help() string {
	return "Commands, each alone on its line in a comment of a pull request:\n\n" +
		"- `/compat recheck` judges the head again, with platforms behind it (`/compat recheck debian12 manylinux_2_34`) on these as well; for people with write access\n" +
		"- `/compat explain SYMBOL` (or a rule) tells what, where and why, and the fixes; alone it tells what the log of a failed build says\n" +
		"- `/compat accept SYMBOL because TEXT` (or a rule) takes a finding on yourselves, with `until YYYY-MM-DD` behind it for a while only; it holds for the findings that there are, not for others that come. `ignore` is another word for it. For people with write access\n" +
		"- `/compat unaccept SYMBOL` (or a rule) takes that back; for people with write access\n" +
		"- `/compat status` tells the verdict, what is under way, and what was accepted\n" +
		"- `/compat help` is this list\n"
}

// NothingToExplain answers an explain without a word behind it where no build has failed.
func NothingToExplain() string {
	return fmt.Sprintf(
		"No workflow run of this head has failed. Say what to explain: %s or %s.\n",
		mdsafe.Code("/compat explain SYMBOL", 0),
		mdsafe.Code("/compat explain RULE", 0),
	)
}

// Unknown answers a command that does not exist. meant is the one that was probably meant; "" when
// none is near.
func Unknown(command, meant string) string {
	said := fmt.Sprintf("There is no command %s.", mdsafe.Code(command, 60))
	if meant != "" {
		said += fmt.Sprintf(" Did you mean %s?", mdsafe.Code("/compat "+meant, 60))
	}
	return said + "\n\n" + Help()
}

// NotPermitted answers a command of somebody who may not give it.
func NotPermitted(command string) string {
	return fmt.Sprintf(
		"%s is for people with write access to this repository.\n",
		mdsafe.Code("/compat "+command, 60),
	)
}

// NeedsReason answers an accept that says no reason. what is the symbol or rule; "" when not even
// that was said.
func NeedsReason(what string) string {
	if what == "" {
		what = "SYMBOL"
	}
	return fmt.Sprintf(
		"Nothing was accepted: a reason is missing. Write %s, with %s behind it where it is not for ever.\n",
		mdsafe.Code(
			"/compat accept "+what+" because TEXT",
			200,
		),
		mdsafe.Code("until YYYY-MM-DD", 0),
	)
}

// RuleText is what compat says of a rule; the worker takes it from analyzer/rules.
type RuleText struct {
	ID, Title, Doc string
}

// maxExplained is how many groups one explanation tells.
const maxExplained = 5

// NoPlatform answers a recheck that names a platform which there is not. meant is the one that was
// probably meant; "" when none is near.
func NoPlatform(name, meant string) string {
	return fmt.Sprintf(
		"There is no platform %s.%s Nothing was judged again.\n",
		mdsafe.Code(name, 60),
		didYouMean(meant),
	)
}

// NothingToAccept answers an accept or unaccept of something that the last report doesn't have.
// meant is what was probably meant.
func NothingToAccept(what, meant string, reported bool) string {
	if !reported {
		return "There is no report on this pull request yet. What is accepted has to be in one: wait for the verdict.\n"
	}
	return fmt.Sprintf(
		"No finding of the last report is about %s, so nothing was accepted.%s\n",
		mdsafe.Code(what, 200),
		didYouMean(meant),
	)
}

// Outdated answers a button of a check run that is not the newest head's.
func Outdated(sha string) string {
	return fmt.Sprintf(
		"The button was that of %s, and there is a newer verdict by now. Nothing was accepted.\n",
		mdsafe.Code(sha[:min(len(sha), 12)], 0),
	)
}

func didYouMean(what string) string {
	if what == "" {
		return ""
	}
	return " Did you mean " + mdsafe.Code(what, 200) + "?"
}

// ExplainNew tells all new findings of a report, the worst first.
func ExplainNew(r *analyzer.Report, detailsURL string) string {
	in := Input{Report: r, DetailsURL: detailsURL}
	groups := worstFirst(grouped(sortOut(r, nil).fresh))
	if len(groups) == 0 {
		return "The last report has nothing new to explain.\n" + link(in, "\n", "The full report")
	}
	return mdsafe.Join(
		append(told(in, groups), link(in, "\n", "The full report")),
		maxBody/2,
		func(int) string { return "\nThe rest is in the report.\n" },
	)
}

// told are the blocks of the first groups, and how many there are more.
func told(in Input, groups []*group) (blocks []string) {
	said := map[string]bool{}
	most := min(len(groups), maxExplained)
	for _, g := range groups[:most] {
		blocks = append(blocks, block(in, g, 3000, said))
	}
	return append(blocks, leftOut(in, groups, len(groups)-most))
}

// Explain tells the findings about a symbol, library, object or rule: what, where, why, and each
// fix. rule is the rule of that name, nil when what is none; r may be nil when the head has no
// report yet; meant is what was probably meant where there is nothing of that name. found is false
// where there was nothing to tell.
func Explain(
	what string,
	r *analyzer.Report,
	rule *RuleText,
	meant, detailsURL string,
) (text string, found bool) {
	in := Input{Report: r, DetailsURL: detailsURL}
	var blocks []string
	if rule != nil {
		blocks = append(
			blocks,
			fmt.Sprintf(
				"#### %s: %s\n\n%s\n",
				mdsafe.Code(rule.ID, 80),
				mdsafe.Prose(rule.Title),
				strings.TrimSpace(rule.Doc),
			),
		)
	}
	var groups []*group
	if r != nil {
		var of []*analyzer.Finding
		for i := range r.Findings {
			if f := &r.Findings[i]; about(f, what) {
				of = append(of, f)
			}
		}
		groups = grouped(of)
	}
	hint := didYouMean(meant)
	if rule != nil {
		hint = ""
	}
	switch {
	case len(groups) > 0:
		blocks = append(blocks, told(in, groups)...)
	case r == nil:
		blocks = append(
			blocks,
			fmt.Sprintf(
				"\nThere is no report on this head yet, so nothing can be said of %s in it.%s\n",
				mdsafe.Code(what, 200),
				hint,
			),
		)
	default:
		blocks = append(
			blocks,
			fmt.Sprintf("\nNo finding of this head is about %s.%s\n", mdsafe.Code(what, 200), hint),
		)
	}
	blocks = append(blocks, link(in, "\n", "The full report"))
	text = mdsafe.Join(
		blocks,
		maxBody/2,
		func(int) string { return "\nThe rest is in the report.\n" },
	)
	return text, rule != nil || len(groups) > 0
}

// about says whether a finding is what a person means by a word: its symbol with or without
// version, its rule, library or object.
func about(f *analyzer.Finding, what string) bool {
	if what == "" {
		return false
	}
	for _, s := range []string{f.Symbol, f.Symbol + "@" + f.Version, f.Demangled, f.Rule, f.Library, f.Object, f.Version, baseName(f.Object)} {
		if s == what {
			return true
		}
	}
	return false
}

func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
