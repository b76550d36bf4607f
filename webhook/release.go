package webhook

import (
	"errors"
	"fmt"
)

// release: assets to judge. released and prereleased come beside published, and alone when a
// release stops or starts being a pre-release; as jobs of one subject they are one look. A draft is
// judged before anybody gets it: created is told of drafts alone, what is published at once is told
// of twice.
func release(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "published", "released", "prereleased", "created", "edited", "deleted", "unpublished":
	default:
		return e.unused()
	}
	var p struct {
		Release struct {
			ID    int64
			Draft bool
		}
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	if e.Action == "created" && !p.Release.Draft {
		return ignore("release.published says the same")
	}
	if p.Release.ID <= 0 {
		return decision{}, errors.New("the payload names no release")
	}
	return one(
		e.subject(
			"release",
			fmt.Sprintf("release/%d/%d", e.Repository.ID, p.Release.ID),
			"",
			map[string]any{"release": p.Release.ID},
		),
	)
}
