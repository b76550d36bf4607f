package webhook

import (
	"errors"
	"net/url"
	"strconv"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// callback matches the path of deployment_callback_url. Only the run ID is used: the response
// goes to the configured API host, whatever host the payload names.
var callback = lazyregexp.New(`/actions/runs/([0-9]{1,18})/deployment_protection_rule$`)

// maxEnvironment is the limit for the name of an environment in characters (docs: deployment
// environments).
const maxEnvironment = 255

type deploymentPayload struct {
	Environment string
	Callback    string `json:"deployment_callback_url"`
	Deployment  struct {
		ID  int64
		SHA string
	}
}

// deployment handles a workflow run that waits for this App's protection rule until its artifacts
// are checked.
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
		ID:          p.Deployment.ID,
	}, p.Deployment.SHA))
}
