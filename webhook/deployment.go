package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// callback is the path of the address that GitHub wants the answer at. Only the run's number is
// taken from it: the answer goes to the configured API host, whatever host the payload names.
var callback = lazyregexp.New(`/actions/runs/([0-9]{1,18})/deployment_protection_rule$`)

type deploymentPayload struct {
	Run         int64  `json:"run"`
	Environment string `json:"environment"`
}

// deployment: a run waits before an environment until its artifacts are judged.
func deployment(e envelope, body []byte) (decision, error) {
	if e.Action != "requested" {
		return e.unused()
	}
	var p struct {
		Environment string
		Callback    string `json:"deployment_callback_url"`
		Deployment  struct{ SHA string }
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	u, err := url.Parse(p.Callback)
	if err != nil || p.Environment == "" ||
		len(p.Environment) > 255 { // docs: an environment's name has at most 255 characters
		return decision{}, errors.New("the payload names no environment or no callback")
	}
	m := callback.FindStringSubmatch(u.Path)
	if m == nil {
		return decision{}, errors.New("the payload's callback names no run")
	}
	run, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return decision{}, errors.New("the payload's callback names no run")
	}
	key := fmt.Sprintf(
		"deployment/%d/%d/%s",
		e.Repository.ID,
		run,
		short(url.PathEscape(p.Environment)),
	)
	return one(
		e.subject(
			"deployment",
			key,
			p.Deployment.SHA,
			deploymentPayload{Run: run, Environment: p.Environment},
		),
	)
}

// short keeps a key below the queue's limit: a long name stands there by its digest.
func short(name string) string {
	if len(name) <= 200 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
