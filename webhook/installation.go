package webhook

import (
	"errors"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

// installation ends the jobs of an installation that was deleted or suspended. The worker asks
// GitHub first, because the event may be an old one.
func installation(e envelope, _ *struct{}) (decision, error) {
	switch e.Action {
	case "deleted", "suspend":
		if e.Installation.ID <= 0 {
			return decision{}, errors.New("the payload has no installation")
		}
		j, err := e.job(&job.InstallationEnded{ID: e.Installation.ID}, "")
		j.Priority = queue.Urgent
		return request(j, err)
	}
	return e.unused()
}
