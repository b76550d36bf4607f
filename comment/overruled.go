package comment

import (
	"fmt"

	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
)

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
