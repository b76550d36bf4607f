package webhook

import (
	"slices"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/job"
)

type pushPayload struct {
	Ref     string
	After   string
	Deleted bool
	Commits []struct{ Added, Modified, Removed []string }
}

// push handles a new commit on the default branch, which may change the configuration of pull
// requests. Pushes to other branches arrive as events of their pull requests.
func push(e envelope, p *pushPayload) (decision, error) {
	if p.Deleted || e.Repository.DefaultBranch == "" ||
		p.Ref != "refs/heads/"+e.Repository.DefaultBranch {
		return ignore("the push is not to the default branch")
	}
	b := &job.DefaultBranch{Repository: e.Repository.ID}
	for _, c := range p.Commits {
		b.Settings = b.Settings ||
			slices.Contains(slices.Concat(c.Added, c.Modified, c.Removed), config.Path)
	}
	e.Action = "default"
	return one(e.job(b, p.After))
}
