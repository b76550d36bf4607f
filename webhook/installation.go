package webhook

import "errors"

// installation: the App was taken away or put on hold, and nothing more may be done there.
func installation(e envelope, _ []byte) (decision, error) {
	switch e.Action {
	case "deleted", "suspend":
		if e.Installation.ID == 0 {
			return decision{}, errors.New("the payload names no installation")
		}
		return decision{drop: e.Installation.ID}, nil
	}
	return e.unused()
}
