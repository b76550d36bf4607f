package webhook

import "errors"

// installation removes the jobs of an installation that was deleted or suspended.
func installation(e envelope, _ *struct{}) (decision, error) {
	switch e.Action {
	case "deleted", "suspend":
		if e.Installation.ID == 0 {
			return decision{}, errors.New("the payload has no installation")
		}
		return decision{drop: e.Installation.ID}, nil
	}
	return e.unused()
}
