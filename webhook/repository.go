package webhook

import (
	"errors"

	"github.com/compat-app/compat/internal/job"
)

// maxRemoved repositories of one event get a job; the jobs of the others end by themselves once
// GitHub answers 404 for the repository.
const maxRemoved = 500

type installationRepositoriesPayload struct {
	Removed []struct{ ID int64 } `json:"repositories_removed"`
}

// installationRepositories: the App lost access to some repositories, and their jobs have to end.
func installationRepositories(
	e envelope,
	p *installationRepositoriesPayload,
) (decision, error) {
	if e.Action != "removed" {
		return e.unused()
	}
	var d decision
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

// repository: it has another name, owner or default branch, or is archived. Jobs know it by its id;
// what is cached of it is forgotten.
func repository(e envelope, p *repositoryPayload) (decision, error) {
	switch e.Action {
	case "renamed", "transferred", "archived", "unarchived":
	case "edited":
		if p.Changes.DefaultBranch == nil {
			return ignore("repository.edited without a new default branch changes nothing")
		}
	default:
		return e.unused()
	}
	return one(e.job(&job.RepositoryRenamed{Repository: e.Repository.ID}, ""))
}
