package comment

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Texts that answer a /compat command, as Markdown for Poster.Reply. What a user typed is outside text like any other.

// Help lists the commands.
func Help() string {
	return "Commands, each alone on its line in a comment of a pull request:\n\n" +
		"- `/compat recheck` judges the head again; for people with write access\n" +
		"- `/compat explain SYMBOL` (or a rule) tells what, where and why, and the fixes; alone it tells what the log of a failed build says\n" +
		"- `/compat accept SYMBOL because TEXT` (or a rule) takes a finding on yourselves, with `until YYYY-MM-DD` behind it for a while only; for people with write access\n" +
		"- `/compat unaccept SYMBOL` (or a rule) takes that back; for people with write access\n" +
		"- `/compat status` tells the verdict, what is under way, and what was accepted\n" +
		"- `/compat help` is this list\n"
}

// NothingToExplain answers an explain without a word behind it where no build has failed.
func NothingToExplain() string {
	return fmt.Sprintf("No workflow run of this head has failed. Say what to explain: %s or %s.\n", mdsafe.Code("/compat explain SYMBOL", 0), mdsafe.Code("/compat explain RULE", 0))
}

// Unknown answers a command that does not exist. meant is the one that was probably meant; "" when none is near.
func Unknown(command, meant string) string {
	said := fmt.Sprintf("There is no command %s.", mdsafe.Code(command, 60))
	if meant != "" {
		said += fmt.Sprintf(" Did you mean %s?", mdsafe.Code("/compat "+meant, 60))
	}
	return said + "\n\n" + Help()
}

// NotPermitted answers a command of somebody who may not give it.
func NotPermitted(command string) string {
	return fmt.Sprintf("%s is for people with write access to this repository.\n", mdsafe.Code("/compat "+command, 60))
}

// NeedsReason answers an accept that says no reason. what is the symbol or rule; "" when not even that was said.
func NeedsReason(what string) string {
	if what == "" {
		what = "SYMBOL"
	}
	return fmt.Sprintf("Nothing was accepted: a reason is missing. Write %s, with %s behind it where it is not for ever.\n",
		mdsafe.Code("/compat accept "+what+" because TEXT", 200), mdsafe.Code("until YYYY-MM-DD", 0))
}

// RuleText is what compat says of a rule; the worker takes it from analyzer/rules.
type RuleText struct {
	ID, Title, Doc string
}

// maxExplained is how many groups one explanation tells.
const maxExplained = 5

// Explain tells the findings about a symbol, library, object or rule: what, where, why, and each fix. rule is the rule of that name,
// nil when what is none; r may be nil when the head has no report yet. found is false where there was nothing to tell.
func Explain(what string, r *analyzer.Report, rule *RuleText, detailsURL string) (text string, found bool) {
	in := Input{Report: r, DetailsURL: detailsURL}
	var blocks []string
	if rule != nil {
		blocks = append(blocks, fmt.Sprintf("#### %s: %s\n\n%s\n", mdsafe.Code(rule.ID, 80), mdsafe.Prose(rule.Title), strings.TrimSpace(rule.Doc)))
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
	said := map[string]bool{}
	for _, g := range groups[:min(len(groups), maxExplained)] {
		blocks = append(blocks, block(in, g, 3000, said))
	}
	rest := len(groups) - min(len(groups), maxExplained)
	switch {
	case len(groups) == 0 && r == nil:
		blocks = append(blocks, fmt.Sprintf("\nThere is no report on this head yet, so nothing can be said of %s in it.\n", mdsafe.Code(what, 200)))
	case len(groups) == 0:
		blocks = append(blocks, fmt.Sprintf("\nNo finding of this head is about %s.\n", mdsafe.Code(what, 200)))
	case rest > 0:
		blocks = append(blocks, leftOut(in, groups, rest))
	}
	blocks = append(blocks, link(in, "\n", "The full report"))
	text = mdsafe.Join(blocks, maxBody/2, func(int) string { return "\nThe rest is in the report.\n" })
	return text, rule != nil || len(groups) > 0
}

// about says whether a finding is what a person means by a word: its symbol with or without version, its rule, library or object.
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
