package webhook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// buttons are the identifiers of the App's actions on a check run.
var buttons = []string{"recheck", "accept", "explain"}

type buttonPayload struct {
	Action string `json:"action"` // one of buttons
	Kind   string `json:"kind"`   // of the subject that the check run is about
	Key    string `json:"key"`
	SHA    string `json:"sha"`
	Author string `json:"author"` // login of who pressed it
}

// button: somebody pressed one of the App's buttons. GitHub shows them to people who may write; the
// worker asks all the same.
func button(e envelope, identifier, external, sha string) (decision, error) {
	i := slices.IndexFunc(buttons, func(b string) bool { return strings.Contains(identifier, b) })
	if i < 0 {
		return ignore("the action is not one of this App's")
	}
	if e.Sender.Login == "" || !hexadecimal(sha) {
		return decision{}, errors.New(
			"the payload names no commit or nobody who pressed the button",
		)
	}
	p := buttonPayload{Action: buttons[i], SHA: sha, Author: e.Sender.Login}
	var ok bool
	if p.Kind, p.Key, ok = subjectOf(external, e.Repository.ID); !ok {
		p.Kind, p.Key = "commit", fmt.Sprintf("commit/%d/%s", e.Repository.ID, sha)
	}
	return one(e.subject("button", fmt.Sprintf("button/%d/%s", e.Repository.ID, e.guid), sha, p))
}
