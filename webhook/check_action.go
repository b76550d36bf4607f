package webhook

import (
	"errors"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/job"
)

// actions are the identifiers of the App's buttons on a check run.
var actions = []string{"recheck", "accept", "explain"}

// checkAction handles a click on one of the App's buttons on a check run. GitHub shows them to
// people with write access only; the worker checks that access again.
func checkAction(e envelope, identifier, external, sha string) (decision, error) {
	i := slices.IndexFunc(actions, func(a string) bool { return strings.Contains(identifier, a) })
	if i < 0 {
		return ignore("the action does not belong to this App")
	}
	if e.Sender.Login == "" || !job.IsSHA(sha) {
		return decision{}, errors.New("the payload has no commit or no sender")
	}
	var of job.Body
	of, found := job.ParseExternal(external, e.Repository.ID)
	if !found {
		of = &job.Commit{Repository: e.Repository.ID, SHA: sha}
	}
	return request(e.job(&job.CheckAction{
		Repository: e.Repository.ID,
		Request:    e.request(),
		Action:     actions[i],
		Of:         of.Kind(),
		Subject:    of.Key(),
		SHA:        sha,
		Author:     e.Sender.Login,
		External:   external,
	}, sha))
}
