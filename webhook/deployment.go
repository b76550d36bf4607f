package webhook

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// callback is the path of the address that GitHub wants the answer at. Only the run's number is
// taken from it: the answer goes to the configured API host, whatever host the payload names.
var callback = lazyregexp.New(`/actions/runs/([0-9]{1,18})/deployment_protection_rule$`)

// maxEnvironment is how long an environment's name may be (docs: deployment environments).
const maxEnvironment = 255

type deploymentPayload struct {
	Environment string
	Callback    string `json:"deployment_callback_url"`
	Deployment  struct{ SHA string }
}

// deployment: a workflow run waits for an environment's protection rule until its artifacts are
// checked.
func deployment(e envelope, p *deploymentPayload) (decision, error) {
	if e.Action != "requested" {
		return e.unused()
	}
	u, err := url.Parse(p.Callback)
	if err != nil || p.Environment == "" || len(p.Environment) > maxEnvironment {
		return decision{}, errors.New("the payload has no environment or no callback")
	}
	m := callback.FindStringSubmatch(u.Path)
	if m == nil {
		return decision{}, errors.New("the payload's callback has no workflow run")
	}
	run, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return decision{}, errors.New("the payload's callback has no workflow run")
	}
	return one(e.job(&job.Deployment{
		Repository:  e.Repository.ID,
		Run:         run,
		Environment: p.Environment,
	}, p.Deployment.SHA))
}
