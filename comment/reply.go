package comment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Replies to /compat commands, as Markdown for post.Poster.Reply. The text of a command is
// untrusted.

// Help returns the list of commands.
func Help() string {
	return "Commands, each alone on a line of a comment in a pull request:\n\n" +
		"- `/compat recheck` re-runs the check; add platforms to check those too " +
		"(`/compat recheck debian12 manylinux_2_34`). Requires write access\n" +
		"- `/compat explain SYMBOL` (or a rule) explains a finding and its fixes; without an " +
		"argument it explains the log of the failed build, which requires write access\n" +
		"- `/compat fix` shows the fixes, with a patch for the files of the repository\n" +
		"- `/compat accept SYMBOL because TEXT` (or a rule, library or package): its current " +
		"findings no longer fail the check of this pull request; with `until YYYY-MM-DD`, " +
		"only up to that date. Alias: `ignore`. Requires write access\n" +
		"- `/compat accept missing NAME because TEXT`: an artifact or wheel that the base branch " +
		"has may be missing in this pull request; NAME may have `*`. Requires write access\n" +
		"- `/compat accept OWNER/NAME because TEXT`: a repository that uses what this one builds may " +
		"break. Requires write access\n" +
		"- `/compat impact` re-runs the check with what other repositories of the organization use " +
		"now. Requires write access\n" +
		"- `/compat bisect SYMBOL` names the merged pull request after which the artifact of the " +
		"default branch no longer exported it; without an argument the newest one that lost a " +
		"symbol. Requires write access\n" +
		"- `/compat unaccept SYMBOL` (or a rule, library, package, repository or `missing NAME`) revokes an " +
		"acceptance. " +
		"Requires write access\n" +
		"- `/compat status` shows the result, what is in progress, and what was accepted\n" +
		"- `/compat help` shows this list\n"
}

// NothingToExplain replies to an explain without argument if no build has failed.
func NothingToExplain() string {
	return fmt.Sprintf(
		"No workflow run of this commit has failed. To explain a finding, write %s or %s.\n",
		mdsafe.Code("/compat explain SYMBOL", 0),
		mdsafe.Code("/compat explain RULE", 0),
	)
}

// Unknown replies to an unknown command. meant is the command that was probably meant; "" = none
// is close.
func Unknown(command, meant string) string {
	said := fmt.Sprintf("Unknown command %s.", mdsafe.Code(command, 60))
	if meant != "" {
		said += fmt.Sprintf(" Did you mean %s?", mdsafe.Code("/compat "+meant, 60))
	}
	return said + "\n\n" + Help()
}

// NotPermitted replies to a person who may not use the command.
func NotPermitted(command string) string {
	return fmt.Sprintf(
		"%s requires write access to this repository.\n",
		mdsafe.Code("/compat "+command, 60),
	)
}

// NeedsReason replies to an accept without a reason. what is the symbol or rule; "" = missing
// too.
func NeedsReason(what string) string {
	if what == "" {
		what = "SYMBOL"
	}
	return fmt.Sprintf(
		"Nothing was accepted: a reason is missing. Write %s, optionally followed by %s.\n",
		mdsafe.Code("/compat accept "+what+" because TEXT", 200),
		mdsafe.Code("until YYYY-MM-DD", 0),
	)
}

// RuleText is the documentation of a rule.
type RuleText struct {
	ID, Title, Doc string
}

// maxExplained limits the causes in one explanation, and the findings of each.
const maxExplained = 5

// NoPlatform replies to a recheck of an unknown platform. meant is the platform that was probably
// meant; "" = none is close.
func NoPlatform(name, meant string) string {
	return fmt.Sprintf(
		"Unknown platform %s.%s Nothing was checked again.\n",
		mdsafe.Code(name, 60),
		didYouMean(meant),
	)
}

// NothingToAccept replies to an accept or unaccept that matches nothing in the last report. meant
// is what was probably meant; reported is false if there is no report yet.
func NothingToAccept(what, meant string, reported bool) string {
	if !reported {
		return "There is no report on this pull request yet. Wait for the check to finish, then accept.\n"
	}
	return fmt.Sprintf(
		"No finding of the last report matches %s, so nothing was accepted.%s\n",
		mdsafe.Code(what, 200),
		didYouMean(meant),
	)
}

// NotMissing replies to an accept of something that was not missing. missing is what was.
func NotMissing(what string, missing []string) string {
	if len(missing) == 0 {
		return fmt.Sprintf("Nothing was missing in the last check when this was written, so %s was not "+
			"accepted.\n", mdsafe.Code(what, 200))
	}
	return fmt.Sprintf("Nothing was accepted: %s was not missing when this was written, but %s.\n",
		mdsafe.Code(what, 200), mdsafe.Codes(missing, 10, 200))
}

// AcceptedEarlier says that an acceptance is about the report of an older commit than the newest.
func AcceptedEarlier(what, sha string) string {
	return fmt.Sprintf("%s was accepted as in the check of %s, the newest when this was written. If "+
		"the newer check has other findings, accept these too.\n", mdsafe.Code(what, 200),
		mdsafe.Code(sha[:min(len(sha), 12)], 0))
}

// Outdated replies to a button on the check run of an older commit.
func Outdated(sha string) string {
	return fmt.Sprintf(
		"This button belongs to an older check (%s). Nothing was accepted.\n",
		mdsafe.Code(sha[:min(len(sha), 12)], 0),
	)
}

// BaseChanged replies to an acceptance from before the base branch changed.
func BaseChanged() string {
	return "Nothing was accepted: the pull request was changed to another base branch after this " +
		"request, or the base branch of its last report is unknown. When the check is complete, " +
		"repeat the request if it still applies.\n"
}

func didYouMean(what string) string {
	if what == "" {
		return ""
	}
	return " Did you mean " + mdsafe.Code(what, 200) + "?"
}

// ExplainNew explains the new causes of a report, the worst first.
func ExplainNew(r *analyzer.Report, detailsURL string) string {
	v := newView(r, nil)
	in := Input{Report: v.report, DetailsURL: detailsURL}
	if len(v.fresh) == 0 {
		return "The last report has nothing new to explain.\n" + link(in, "\n", "The full report")
	}
	return mdsafe.Join(
		append(explained(in, v, v.fresh, nil), link(in, "\n", "The full report")),
		maxBody/2,
		func(int) string { return "\nThe rest is in the report.\n" },
	)
}

// explained returns the sections of the first causes, and a count of the others. about selects
// the findings to quote; nil = none.
func explained(
	in Input,
	v view,
	causes []int,
	about func(*analyzer.Finding) bool,
) (blocks []string) {
	most := min(len(causes), maxExplained)
	o := causetext.SectionOptions{
		Heading: "####", Steps: causetext.StepsOf(v.report, causes[:most], false),
	}
	for _, i := range causes[:most] {
		blocks = append(blocks, "\n"+causetext.Section(v.report, i, o))
		if about != nil {
			blocks = append(blocks, quoted(v, i, about))
		}
	}
	return append(blocks, leftOut(in, len(causes)-most))
}

// quoted returns the messages of the selected findings of a cause.
func quoted(v view, i int, about func(*analyzer.Finding) bool) string {
	var lines []string
	c := v.cause(i)
	for _, n := range c.Findings {
		f := &v.report.Findings[n]
		if !about(f) {
			continue
		}
		if len(lines) == maxExplained {
			lines = append(lines, "- and more\n")
			break
		}
		known := append(causetext.Names(v.report, c), causetext.NonEmpty(f.Object, f.Symbol,
			f.Demangled, f.Version, f.Library, f.Artifact, f.Target, f.Package)...)
		lines = append(lines, "- "+mdsafe.Prose(mdsafe.Cut(f.Message, 1500), known...)+"\n")
	}
	return "\n" + strings.Join(lines, "")
}

// Explain explains the findings of a symbol, library, object or rule: what, where, why, and all
// fixes. rule is the rule of that name, or nil. r is nil if the head has no report yet. meant is
// what was probably meant if nothing matches. found is false if nothing matches.
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
	var v view
	var causes []int
	if r != nil {
		v = newView(r, nil)
		for i := range v.report.Causes {
			if slices.ContainsFunc(v.cause(i).Findings, func(n int) bool {
				return about(&v.report.Findings[n], what)
			}) {
				causes = append(causes, i)
			}
		}
	}
	notes := noteMessages(v, what)
	hint := didYouMean(meant)
	if rule != nil {
		hint = ""
	}
	switch {
	case len(causes) > 0:
		blocks = append(blocks, explained(in, v, causes, func(f *analyzer.Finding) bool {
			return about(f, what)
		})...)
	case notes != "":
		blocks = append(blocks, notes)
	case r == nil:
		blocks = append(
			blocks,
			fmt.Sprintf(
				"\nThere is no report on this commit yet, so %s cannot be explained.%s\n",
				mdsafe.Code(what, 200),
				hint,
			),
		)
	default:
		blocks = append(blocks, fmt.Sprintf("\nNo finding matches %s.%s\n", mdsafe.Code(what, 200), hint))
	}
	blocks = append(blocks, link(in, "\n", "The full report"))
	text = mdsafe.Join(blocks, maxBody/2, func(int) string { return "\nThe rest is in the report.\n" })
	return text, rule != nil || len(causes) > 0 || notes != ""
}

// noteMessages returns the messages of notes that match a word, because notes belong to no cause.
func noteMessages(v view, what string) string {
	if v.report == nil {
		return ""
	}
	var lines []string
	for i := range v.report.Findings {
		if f := &v.report.Findings[i]; f.Severity == analyzer.Note && about(f, what) &&
			len(lines) < maxExplained {
			known := causetext.NonEmpty(f.Object, f.Symbol, f.Demangled, f.Version, f.Library,
				f.Artifact, f.Target, f.Package)
			lines = append(lines, "- "+mdsafe.Prose(mdsafe.Cut(f.Message, 1500), known...)+"\n")
		}
	}
	return strings.Join(lines, "")
}

// about reports whether a word in a command means a finding: its symbol with or without version,
// its rule, library or object.
func about(f *analyzer.Finding, what string) bool {
	if what == "" {
		return false
	}
	for _, s := range []string{f.Symbol, f.Symbol + "@" + f.Version, f.Demangled, f.Rule, f.Library,
		f.Object, f.Version, baseName(f.Object)} {
		if s == what {
			return true
		}
	}
	return false
}

func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// Standing is the input of Status.
type Standing struct {
	SHA        string // head of the last verdict; "" = none yet
	Conclusion string
	Title      string
	DetailsURL string
	Doing      string // what is running or waited for, a clause; "" = nothing
	Accepted   []Taken
}

// Taken is an acceptance made by a command.
type Taken struct {
	What, Because, By, On string
	Until                 string // YYYY-MM-DD; "" = no end
}

// Status returns the verdict, what is running, and the acceptances.
func Status(s Standing) string {
	var b strings.Builder
	if s.SHA == "" {
		b.WriteString("This pull request has not been checked yet.\n")
	} else {
		fmt.Fprintf(&b, "The result for %s is **%s**: %s\n", mdsafe.Code(s.SHA[:min(len(s.SHA), 12)], 0),
			mdsafe.Prose(s.Conclusion), mdsafe.Prose(s.Title))
		b.WriteString(link(Input{DetailsURL: s.DetailsURL}, "\n", "The full report"))
	}
	if s.Doing != "" {
		fmt.Fprintf(&b, "\nIn progress: %s.\n", mdsafe.Prose(strings.TrimRight(s.Doing, ".")))
	}
	if len(s.Accepted) > 0 {
		b.WriteString("\nAccepted here:\n\n")
	}
	for _, a := range s.Accepted {
		until := ""
		if a.Until != "" {
			until = ", until " + mdsafe.Prose(a.Until)
		}
		fmt.Fprintf(
			&b,
			"- %s because %s (%s, %s%s)\n",
			mdsafe.Code(a.What, 200),
			mdsafe.Prose(a.Because),
			mdsafe.Code(a.By, 60),
			mdsafe.Prose(a.On),
			until,
		)
	}
	return b.String()
}

// Bisected is a build of the default branch that lost symbols.
type Bisected struct {
	SHA, Before string // its commit, and that of the build before it
	At          time.Time
	Lost        []string // symbols and SONAMEs, some of All
	All         int
	URL         string // of the repository; "" = unknown
	Pull        int    // the merged pull request of the commit; 0 = GitHub names none
	Title       string // of the pull request
}

// lostNames limits the symbols in the reply to a bisect.
const lostNames = 10

// Text returns the reply to a bisect.
func (b Bisected) Text() string {
	text := fmt.Sprintf("The build of %s (%s) no longer exports what that of %s did: %s",
		mdsafe.Code(b.SHA[:min(len(b.SHA), 12)], 0), b.At.Format(time.DateOnly),
		mdsafe.Code(b.Before[:min(len(b.Before), 12)], 0), mdsafe.Codes(b.Lost, lostNames, maxShown))
	if b.All > len(b.Lost) {
		text += fmt.Sprintf(" (%d in all)", b.All)
	}
	text += ".\n\n"
	if b.Pull == 0 {
		return text + "GitHub names no merged pull request of that commit.\n"
	}
	text += fmt.Sprintf("That commit is of #%d, %s, which was merged.", b.Pull,
		mdsafe.Plain(b.Title, maxShown))
	return text + " Commits that were pushed between the two builds may be the reason too.\n"
}

// NothingLost replies to a bisect if no stored build of the default branch lost the symbol.
func NothingLost(what string) string {
	if what == "" {
		return "No build of the default branch that compat has analyzed lost a symbol.\n"
	}
	return fmt.Sprintf("No build of the default branch that compat has analyzed lost %s.\n",
		mdsafe.Code(what, 200))
}
