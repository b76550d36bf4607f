package comment

import (
	"fmt"

	"github.com/compat-app/compat/internal/mdsafe"
)

// Peer is the verdict of another open pull request on the same head commit.
type Peer struct {
	Number     int
	Conclusion string
	Title      string // of its own check
	DetailsURL string // "" when there is none
}

// Overruled is c where a peer's verdict is stricter: a commit has one check, whatever it is the head of, so the peer's conclusion and title
// stand there and c's own words follow. What is said in c's own pull request stays as it is.
func Overruled(c Check, by Peer) Check {
	title := fmt.Sprintf("#%d: %s", by.Number, mdsafe.Plain(by.Title, maxTitle))
	head := fmt.Sprintf("This commit is also the head of #%d, and a commit has one check: the strictest verdict stands.\n\nThe verdict on #%d: **%s**\n", by.Number, by.Number, mdsafe.Prose(by.Title))
	head += link(Input{DetailsURL: by.DetailsURL}, "\n", "Its report")
	own := fmt.Sprintf("\n### This pull request alone: %s\n\n", mdsafe.Prose(c.Title))
	c.Conclusion, c.Title = by.Conclusion, mdsafe.Cut(title, maxTitle)
	c.Summary = mdsafe.Join([]string{head, own + c.Summary}, maxOutput, nil)
	return c
}
