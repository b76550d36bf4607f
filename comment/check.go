package comment

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Check is everything to post on GitHub for one head. It is plain data: Render makes it, package
// post posts it.
type Check struct {
	Conclusion  string // success, failure, neutral, action_required or cancelled
	Title       string // plain text, at most 255 characters
	Summary     string // Markdown, at most 65,535 bytes
	Text        string // Markdown, at most 65,535 bytes; "" = none
	Names       string // Markdown: symbols or libraries of the new findings; "" = none
	Annotations []Annotation
	Actions     []Action
	Review      []ReviewComment // only for lines of the diff, each with a suggestion
	// Patch is the unified diff of the files of the repository that fixes change, also of lines that
	// are not in the diff of the pull request; "" = none.
	Patch string
	// body of the summary comment; "" = write and update nothing in the conversation
	Sticky string
	// create the summary comment if there is none; false = only update it
	Create bool
	// the repository wants no comments; existing ones are left unchanged
	Mute  bool
	Clean bool // nothing new was found and everything was read
}

// String formats the Check in one line, for logs and dry runs.
func (c Check) String() string {
	return fmt.Sprintf(
		"%s: %s (%s, %s)",
		c.Conclusion,
		c.Title,
		analyzer.Count(len(c.Annotations), "annotation"),
		analyzer.Count(len(c.Review), "suggestion"),
	)
}

// Annotation is a message for lines of a file at the head. Texts are plain, with names in
// backticks.
type Annotation struct {
	Path               string
	StartLine, EndLine int // from 1, inclusive
	Level              string
	Title              string
	Message            string
	RawDetails         string
}

// Levels of an annotation.
const (
	LevelFailure = "failure"
	LevelWarning = "warning"
	LevelNotice  = "notice"
)

// Action is a button on the check run. GitHub sends its identifier in check_run.requested_action.
type Action struct {
	Label, Description, Identifier string
}

// Identifiers of the buttons.
const (
	Recheck    = "recheck" // check again
	AcceptAll  = "accept"  // accept all new findings
	ExplainAll = "explain" // explain all new findings in a comment
)

// ReviewComment is a comment on a line on the right side of the diff.
type ReviewComment struct {
	Path      string
	Line      int
	StartLine int    // 0 = a single line
	Body      string // Markdown with a suggestion and a hidden fingerprint
	// equal for the same suggestion on a later head, even if the line has moved
	Fingerprint string
}

// Input is the input of Render.
type Input struct {
	Report  *analyzer.Report // nil if nothing could be checked; then Problem has the reason
	Problem *Problem         // ignored if there is a Report
	Logs    *Logs            // errors in the logs of failed jobs; nil = no job failed
	// artifacts that could not be downloaded while others were checked; they count as unread
	Partial []analyzer.Unread

	Missing         []Missing // what the base branch has and the head does not; the check fails
	AcceptedMissing []AcceptedMissing
	Unselected      []string // names of artifacts that the configuration does not select

	FailOn     string // "error" (also ""), "warning" or "never"
	BaseName   string // branch that the report was compared with, such as "main"; "" = none
	DetailsURL string // address of the report page; "" = none
	RulesURL   string // address of the folder with the pages of the rules; "" = none
	SHA        string // head commit
	// With are the versions that the configuration lists as python.with: they are in the environment
	// of the artifacts, which may fail only because of them.
	With   []string
	Advice string // Markdown below the verdict; "" = none
	// the subject is a release: if there is nothing to check, the conclusion is neutral and not
	// success
	Release  bool
	Converse bool // the subject is a pull request, so buttons can be answered with comments

	// content at the head by path, for Candidates and at least one other file; nil = no
	// annotations
	Files map[string]string
	Diff  Diff // nil = no review comments
}

// Peer is the verdict on another subject with the same commit.
type Peer struct {
	Name       string // "#12", "release v1.2", "the merge group"
	Conclusion string
	Title      string // title of its check
	Names      string // names in its check
	DetailsURL string // "" = none
}

var pullName = lazyregexp.New(`^#[0-9]{1,9}$`)

// Overruled returns c with the conclusion and title of a peer, because a commit has one check run;
// the texts of c follow. The verdict of the peer is stricter, or it is about artifacts and there
// are none for c. Comments are not changed.
func Overruled(c Check, by Peer) Check {
	name, shown := mdsafe.Plain(by.Name, MaxTitle), mdsafe.Code(by.Name, MaxTitle)
	if pullName.MatchString(by.Name) { // GitHub links a reference
		name, shown = by.Name, by.Name
	}
	title := name + ": " + mdsafe.Plain(by.Title, MaxTitle)
	why := "this check shows the worst of the results"
	if by.Conclusion != "failure" && by.Conclusion != "action_required" {
		why = "this check shows the result for which there are artifacts"
	}
	head := fmt.Sprintf(
		"This commit is also the head of %s. GitHub shows one compat check per commit, so "+
			"%s.\n\nThe result of %s: **%s**\n",
		shown,
		why,
		shown,
		mdsafe.Prose(by.Title),
	)
	if by.Names != "" {
		head += "\nNew findings: " + by.Names + ".\n"
	}
	head += link(Input{DetailsURL: by.DetailsURL}, "\n", "The report of that check")
	own := fmt.Sprintf("\n### The result without it: %s\n\n", mdsafe.Prose(c.Title))
	c.Conclusion, c.Title = by.Conclusion, mdsafe.Cut(title, MaxTitle)
	c.Summary = mdsafe.Join([]string{head, own + c.Summary}, maxOutput, nil)
	return c
}

// link returns a link to the full report; "" if it has no address.
func link(in Input, before, what string) string {
	if in.DetailsURL == "" {
		return ""
	}
	return before + "[" + what + "](" + in.DetailsURL + ")\n"
}
