package webhook

import (
	"errors"

	"github.com/compat-app/compat/internal/job"
)

// maxRemoved limits the jobs of one event. The jobs of other removed repositories end when GitHub
// answers 404.
const maxRemoved = 500

type installationRepositoriesPayload struct {
	Removed []struct{ ID int64 } `json:"repositories_removed"`
}

// installationRepositories ends the jobs of repositories that the App lost access to.
func installationRepositories(e envelope, p *installationRepositoriesPayload) (decision, error) {
	if e.Action != "removed" {
		return e.unused()
	}
	d := decision{once: true}
	for _, r := range p.Removed[:min(len(p.Removed), maxRemoved)] {
		if r.ID <= 0 {
			return decision{}, errors.New("the payload has a repository without an id")
		}
		j, err := e.job(&job.RepositoryRemoved{Repository: r.ID}, "")
		if err != nil {
			return decision{}, err
		}
		d.jobs = append(d.jobs, j)
	}
	if len(d.jobs) == 0 {
		return ignore("no repository is removed")
	}
	return d, nil
}

type repositoryPayload struct {
	Changes struct {
		DefaultBranch *struct{} `json:"default_branch"`
	}
}

// repository clears the cached data of a repository that has a new name, owner, visibility or
// default branch, or was archived, and ends the jobs of one that was deleted.
// Jobs use the repository's ID, which does not change.
func repository(e envelope, p *repositoryPayload) (decision, error) {
	switch e.Action {
	case "renamed", "transferred", "archived", "unarchived", "privatized", "publicized":
	case "deleted":
		return one(e.job(&job.RepositoryRemoved{Repository: e.Repository.ID}, ""))
	case "edited":
		if p.Changes.DefaultBranch == nil {
			return ignore("repository.edited without a new default branch changes nothing")
		}
	default:
		return e.unused()
	}
	return one(e.job(&job.RepositoryRenamed{Repository: e.Repository.ID}, ""))
}
