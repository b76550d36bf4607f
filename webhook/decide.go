package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/compat-app/compat/internal/queue"
)

// decision is what becomes of a delivery: jobs, or an installation whose jobs are dropped, or a
// reason to do nothing.
type decision struct {
	jobs     []queue.Job
	drop     int64
	ignored  string
	namesake bool // ignored: another App has a check run of this App's name
}

func ignore(format string, a ...any) (decision, error) {
	return decision{ignored: fmt.Sprintf(format, a...)}, nil
}

// envelope is what every event has in common.
type envelope struct {
	Action       string
	Installation struct{ ID int64 }
	Repository   struct {
		ID            int64
		DefaultBranch string `json:"default_branch"`
	}
	Sender struct{ Login, Type string }

	name string // of the event
	guid string
	app  int64 // the App's own id
}

// events holds the decision of each event the App asks for.
var events = map[string]func(e envelope, body []byte) (decision, error){
	"pull_request":                pullRequest,
	"workflow_run":                workflowRun,
	"release":                     release,
	"issue_comment":               issueComment,
	"pull_request_review_comment": reviewComment,
	"check_run":                   checkRun,
	"check_suite":                 checkSuite,
	"merge_group":                 mergeGroup,
	"deployment_protection_rule":  deployment,
	"installation":                installation,
	"installation_repositories":   installationRepositories,
	"push":                        push,
	"repository":                  repository,
	"ping":                        ping,
}

// decide is the pure heart of the package. An error means that the body is not what GitHub sends:
// 400.
func decide(event, guid string, body []byte, app int64) (decision, error) {
	e := envelope{name: event, guid: guid, app: app}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return decision{}, errors.New(
			"the body is not a JSON object; set the webhook's content type to application/json",
		)
	}
	body, err := thin(body, used)
	if err != nil {
		return decision{}, err
	}
	if err := read(body, &e); err != nil {
		return decision{}, err
	}
	f := events[event]
	if f == nil {
		return ignore("the event %s is not used", event)
	}
	return f(e, body)
}

func read(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("the payload's %s is not what GitHub sends", wrong.Field)
		}
		return errNotJSON
	}
	return nil
}

func (e envelope) unused() (decision, error) {
	return ignore("%s.%.60s is not used", e.name, e.Action)
}

// subject makes the job of a subject. payload holds the few fields of the event that the worker
// needs.
func (e envelope) subject(kind, key, sha string, payload any) (queue.Job, error) {
	if e.Installation.ID == 0 || e.Repository.ID == 0 {
		return queue.Job{}, errors.New("the payload names no installation or no repository")
	}
	if sha != "" && !hexadecimal(sha) {
		return queue.Job{}, errors.New("the payload's SHA is not one")
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return queue.Job{}, err
	}
	return queue.Job{
		Key: key, Kind: kind, Installation: e.Installation.ID, Repository: e.Repository.ID, SHA: sha,
		Trigger: e.name + "." + e.Action, Delivery: e.guid, Payload: data,
	}, nil
}

// one is a decision for a single job.
func one(j queue.Job, err error) (decision, error) {
	if err != nil {
		return decision{}, err
	}
	return decision{jobs: []queue.Job{j}}, nil
}

// hexadecimal tells whether s has the form of a commit's SHA-1 or SHA-256.
func hexadecimal(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) == 40 || len(s) == 64
}

// pull is the short form in which check runs, check suites and workflow runs name pull requests.
type pull struct {
	Number int
	Head   struct{ SHA string }
	Base   struct{ Repo struct{ ID int64 } }
}

// pulls makes a job for each of the pull requests that belong to the event's own repository: a
// workflow run in a fork's network may name others.
func (e envelope) pulls(ps []pull, sha, nonce string) (decision, error) {
	var d decision
	for _, p := range ps {
		if p.Number <= 0 || p.Base.Repo.ID != 0 && p.Base.Repo.ID != e.Repository.ID {
			continue
		}
		j, err := e.pullJob(p.Number, sha, nonce)
		if err != nil {
			return decision{}, err
		}
		d.jobs = append(d.jobs, j)
	}
	return d, nil
}

func (e envelope) pullJob(number int, sha, nonce string) (queue.Job, error) {
	if number <= 0 {
		return queue.Job{}, errors.New("the payload names no pull request")
	}
	j, err := e.subject(
		"pull",
		fmt.Sprintf("pull/%d/%d", e.Repository.ID, number),
		sha,
		pullPayload{Number: number},
	)
	j.Nonce = nonce
	return j, err
}

// commitPayload names a commit of which the worker has to find the pull request, as the event had
// its place.
type commitPayload struct {
	Ran        bool     `json:"ran,omitempty"`   // a workflow run of it is over
	Pulls      []string `json:"pulls,omitempty"` // keys of the pull requests, where the event names them
	HeadOwner  string   `json:"head_owner,omitempty"`
	HeadBranch string   `json:"head_branch,omitempty"`
}

func (e envelope) commitJob(sha, nonce string, p commitPayload) (queue.Job, error) {
	j, err := e.subject("commit", fmt.Sprintf("commit/%d/%s", e.Repository.ID, sha), sha, p)
	j.Nonce = nonce
	return j, err
}
