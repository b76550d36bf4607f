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

// release: assets to check. released and prereleased come together with published, and alone when a
// release stops or starts being a pre-release; their jobs have one subject. A draft is checked
// before users get it: created comes for drafts alone, and together with published for the others.
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
