package webhook

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/config"
)

type basePayload struct {
	Settings bool `json:"settings,omitempty"` // the push touches the configuration
}

// push: the default branch has moved, and with it the configuration that its pull requests are
// judged by. Other branches are told of by their pull requests.
func push(e envelope, body []byte) (decision, error) {
	type commit struct{ Added, Modified, Removed []string }
	var p struct {
		Ref     string
		After   string
		Deleted bool
		Commits []commit
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	if p.Deleted || e.Repository.DefaultBranch == "" ||
		p.Ref != "refs/heads/"+e.Repository.DefaultBranch {
		return ignore("the push is not to the default branch")
	}
	touched := slices.ContainsFunc(p.Commits, func(c commit) bool {
		return slices.ContainsFunc(
			slices.Concat(c.Added, c.Modified, c.Removed),
			func(path string) bool { return path == config.Path },
		)
	})
	e.Action = "default"
	return one(
		e.subject(
			"base",
			fmt.Sprintf("base/%d", e.Repository.ID),
			p.After,
			basePayload{Settings: touched},
		),
	)
}
