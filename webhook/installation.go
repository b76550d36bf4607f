package webhook

import "errors"

// installation: the App was uninstalled or suspended, and must do nothing more there.
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
