package webhook

import (
	"errors"
	"fmt"

	"github.com/compat-app/compat/internal/queue"
)

// maxRemoved repositories of one event are looked at; the jobs of the others end by themselves when
// GitHub doesn't show them any more.
const maxRemoved = 500

// installationRepositories: the App was taken away from some repositories, and their jobs have to
// end.
func installationRepositories(e envelope, body []byte) (decision, error) {
	if e.Action != "removed" {
		return e.unused()
	}
	var p struct {
		Removed []struct{ ID int64 } `json:"repositories_removed"`
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	var jobs []queue.Job
	for _, r := range p.Removed[:min(len(p.Removed), maxRemoved)] {
		if r.ID <= 0 {
			return decision{}, errors.New("the payload names a repository without an id")
		}
		e.Repository.ID = r.ID
		j, err := e.subject("removed", fmt.Sprintf("removed/%d", r.ID), "", map[string]any{})
		if err != nil {
			return decision{}, err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return ignore("no repository is removed")
	}
	return decision{jobs: jobs}, nil
}

// repository: it has another name, owner or default branch, or is archived. Jobs know it by its id;
// what was noted of it is forgotten.
func repository(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "renamed", "transferred", "archived", "unarchived":
	case "edited":
		var p struct {
			Changes struct {
				DefaultBranch *struct{} `json:"default_branch"`
			}
		}
		if err := read(body, &p); err != nil {
			return decision{}, err
		}
		if p.Changes.DefaultBranch == nil {
			return ignore("repository.edited without a new default branch changes nothing")
		}
	default:
		return e.unused()
	}
	return one(
		e.subject(
			"repository",
			fmt.Sprintf("repository/%d", e.Repository.ID),
			"",
			map[string]any{},
		),
	)
}
