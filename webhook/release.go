package webhook

import (
	"errors"

	"github.com/compat-app/compat/internal/job"
)

type releasePayload struct {
	Release struct {
		ID    int64
		Draft bool
	}
}

// release checks the assets of a release. GitHub sends released and prereleased together with
// published, and alone when a release stops or starts being a pre-release; the jobs have the same
// key. For a draft GitHub sends only created, so drafts are checked before users get them.
func release(e envelope, p *releasePayload) (decision, error) {
	switch e.Action {
	case "published", "released", "prereleased", "created", "edited", "deleted", "unpublished":
	default:
		return e.unused()
	}
	if e.Action == "created" && !p.Release.Draft {
		return ignore("release.published follows for the same release")
	}
	if p.Release.ID <= 0 {
		return decision{}, errors.New("the payload has no release")
	}
	return one(e.job(&job.Release{Repository: e.Repository.ID, ID: p.Release.ID}, ""))
}
