package webhook

import (
	"slices"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/job"
)

const (
	maxPath    = 300  // bytes of a path in a job
	maxCommits = 2048 // that GitHub lists in an event (docs: webhook events, push)
)

type pushPayload struct {
	Ref     string
	Before  string
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
	b := &job.DefaultBranch{Repository: e.Repository.ID, Before: p.Before}
	for _, c := range p.Commits {
		changed := slices.Concat(c.Added, c.Modified, c.Removed)
		b.Settings = b.Settings || slices.Contains(changed, config.Path)
		for _, path := range changed {
			switch {
			case slices.Contains(b.Paths, path):
			case len(b.Paths) == job.MaxPaths || len(path) > maxPath:
				b.More = true
			default:
				b.Paths = append(b.Paths, path)
			}
		}
	}
	b.More = b.More || len(p.Commits) >= maxCommits
	e.Action = "default"
	return one(e.job(b, p.After))
}
