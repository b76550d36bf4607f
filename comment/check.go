package comment

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Check is everything that would be said on GitHub about one head. It is plain data: Render makes
// it, package post writes it.
type Check struct {
	Conclusion  string // GitHub's word: success, failure, neutral, action_required, cancelled
	Title       string // plain text, at most 255 characters
	Summary     string // Markdown, at most 65,535 bytes
	Text        string // Markdown, at most 65,535 bytes; "" when there is nothing to add
	Names       string // Markdown: the symbols or libraries of what is new; "" none
	Annotations []Annotation
	Actions     []Action
	Review      []ReviewComment // only lines of the diff, only with a suggestion
	// body of the summary comment; "" when nothing may be said in the conversation, not even in an
	// existing comment
	Sticky string
	// there is reason to write that comment where none exists; false only updates one
	Create bool
	// the repository wants no words in the conversation, and what stands there is left as it is
	Mute  bool
	Clean bool // nothing new was found and nothing was left unread
}

// String is the Check in one line, for logs and dry runs.
func (c Check) String() string {
	return fmt.Sprintf(
		"%s: %s (%s, %s)",
		c.Conclusion,
		c.Title,
		count(len(c.Annotations), "annotation"),
		count(len(c.Review), "suggestion"),
	)
}

// Annotation is a note on lines of a file that exists at the head. Texts are plain, with names in
// backticks.
type Annotation struct {
	Path               string
	StartLine, EndLine int // 1-based, inclusive
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

// Action is a button on the check run. GitHub sends its identifier back in
// check_run.requested_action.
type Action struct {
	Label, Description, Identifier string
}

// Identifiers of the buttons.
const (
	Recheck    = "recheck" // a new analysis
	AcceptAll  = "accept"  // what is new is accepted as it is
	ExplainAll = "explain" // what is new is explained in a comment
)

// ReviewComment hangs on a line on the right side of the diff.
type ReviewComment struct {
	Path      string
	Line      int
	StartLine int    // 0: one line
	Body      string // Markdown with a suggestion and the hidden fingerprint
	// the same for the same advice on a later head, wherever the line has moved to
	Fingerprint string
}

// Gap is a workflow of which there should be artifacts and are none.
type Gap struct{ Workflow, Why string }

// Input is what a Check is made of.
type Input struct {
	Report  *analyzer.Report // nil when nothing could be judged; then Problem says why
	Problem *Problem         // beside a Report it is ignored
	Logs    *Logs            // what the logs of failed jobs say; nil: none failed
	// artifacts that could not be fetched, where others were judged: they count as unread
	Partial []analyzer.Unread

	// workflows whose artifacts are not among what was judged: that is said, and fails nothing
	Gaps []Gap

	FailOn     string // "error" (also ""), "warning" or "never"
	BaseName   string // branch that existing findings are on, "main"; "" when there is no base
	DetailsURL string // the report page, "" when there is none
	SHA        string // head commit
	Advice     string // Markdown of ours below the verdict; "" none
	Release    bool   // a release: having nothing to judge is neutral and not success
	Converse   bool   // a pull request: there is a conversation that buttons are answered in

	// path to content at the head, of Candidates and at least one other file; nil: no annotations
	Files map[string]string
	Diff  Diff // nil: no review comments
}

// Peer is the verdict of another subject on the same commit.
type Peer struct {
	Name       string // "#12", "release v1.2", "the merge group"
	Conclusion string
	Title      string // of its own check
	Names      string // of its own check
	DetailsURL string // "" when there is none
}

var pullName = lazyregexp.New(`^#[0-9]{1,9}$`)

// Overruled is c where a peer's verdict is stricter: a commit has one check, whatever it is the
// head of, so the peer's conclusion and title stand there and c's own words follow. What is said in
// a conversation stays as it is.
func Overruled(c Check, by Peer) Check {
	name, shown := mdsafe.Plain(by.Name, MaxTitle), mdsafe.Code(by.Name, MaxTitle)
	if pullName.MatchString(by.Name) { // a reference, which GitHub links
		name, shown = by.Name, by.Name
	}
	title := name + ": " + mdsafe.Plain(by.Title, MaxTitle)
	head := fmt.Sprintf(
		"This commit is also the head of %s. A commit has one check, which shows the strictest "+
			"result.\n\nThe result of %s: **%s**\n",
		shown,
		shown,
		mdsafe.Prose(by.Title),
	)
	if by.Names != "" {
		head += "\nIt names " + by.Names + ".\n"
	}
	head += link(Input{DetailsURL: by.DetailsURL}, "\n", "The report of that check")
	own := fmt.Sprintf("\n### The result without it: %s\n\n", mdsafe.Prose(c.Title))
	c.Conclusion, c.Title = by.Conclusion, mdsafe.Cut(title, MaxTitle)
	c.Summary = mdsafe.Join([]string{head, own + c.Summary}, maxOutput, nil)
	return c
}
