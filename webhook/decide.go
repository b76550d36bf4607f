package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

// decision is what becomes of a delivery: jobs, or an installation whose jobs are dropped, or a
// reason to do nothing.
type decision struct {
	jobs     []queue.Job
	drop     int64
	ignored  string
	namesake bool   // ignored: another App has a check run of this App's name
	rerunBy  string // login of who had something checked again; "": nobody
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

// event is what one of the events that the App subscribes to leads to.
type event struct {
	decide func(e envelope, body []byte) (decision, error)
	fields func() fields // the members of the payload that decide reads
}

// on makes an event whose payload is decoded into a P. The members of P, and those of the envelope,
// are all that is read of a payload.
func on[P any](decide func(e envelope, p *P) (decision, error)) event {
	return event{
		fields: sync.OnceValue(func() fields { return fieldsOf[envelope]().with(fieldsOf[P]()) }),
		decide: func(e envelope, body []byte) (decision, error) {
			p := new(P)
			if err := read(body, p); err != nil {
				return decision{}, err
			}
			return decide(e, p)
		},
	}
}

// events holds the decision of each event the App subscribes to.
var events = map[string]event{
	"pull_request":                on(pullRequest),
	"workflow_run":                on(workflowRun),
	"release":                     on(release),
	"issue_comment":               on(issueComment),
	"pull_request_review_comment": on(reviewComment),
	"check_run":                   on(checkRun),
	"check_suite":                 on(checkSuite),
	"merge_group":                 on(mergeGroup),
	"deployment_protection_rule":  on(deployment),
	"installation":                on(installation),
	"installation_repositories":   on(installationRepositories),
	"push":                        on(push),
	"repository":                  on(repository),
	"ping":                        on(ping),
}

// decide turns a payload into a decision, and depends on nothing else. An error means that the body
// is not what GitHub sends: 400.
func decide(name, guid string, body []byte, app int64) (decision, error) {
	e := envelope{name: name, guid: guid, app: app}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return decision{}, errors.New(
			"the body is not a JSON object; set the webhook's content type to application/json",
		)
	}
	ev, known := events[name]
	if !known {
		ev.fields = fieldsOf[envelope]
	}
	body, err := ev.fields().keep(body)
	if err != nil {
		return decision{}, err
	}
	if err := read(body, &e); err != nil {
		return decision{}, err
	}
	if !known {
		return ignore("the event %s is not used", name)
	}
	return ev.decide(e, body)
}

func read(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("the payload's %s has an unexpected type", wrong.Field)
		}
		return errNotJSON
	}
	return nil
}

func (e envelope) unused() (decision, error) {
	return ignore("%s.%.60s is not used", e.name, e.Action)
}

// job makes the job of a body. sha is the commit that the event names; "": none.
func (e envelope) job(b job.Body, sha string) (queue.Job, error) {
	return job.New(b, job.Origin{
		Installation: e.Installation.ID,
		SHA:          sha,
		Trigger:      e.name + "." + e.Action,
		Delivery:     e.guid,
	})
}

// rerun makes the job of a subject that a person wants checked again.
func (e envelope) rerun(b job.Body, sha string) (queue.Job, error) {
	j, err := e.job(b, sha)
	j.ForceID = e.guid
	return j, err
}

// one is a decision for a single job.
func one(j queue.Job, err error) (decision, error) {
	if err != nil {
		return decision{}, err
	}
	return decision{jobs: []queue.Job{j}}, nil
}

// pull is the short form in which check runs, check suites and workflow runs name pull requests.
type pull struct {
	Number int
	Base   struct{ Repo struct{ ID int64 } }
}

// pulls are the pull requests that belong to the event's own repository: a workflow run in a fork's
// network may name others.
func (e envelope) pulls(named []pull) (own []job.Body) {
	for _, p := range named {
		if p.Number > 0 && (p.Base.Repo.ID == 0 || p.Base.Repo.ID == e.Repository.ID) {
			own = append(own, &job.Pull{Repository: e.Repository.ID, Number: p.Number})
		}
	}
	return own
}

// rerunPulls makes the jobs of pull requests that a person wants checked again; where none is
// named, that of the commit.
func (e envelope) rerunPulls(named []pull, sha string) (decision, error) {
	bodies := e.pulls(named)
	if len(bodies) == 0 {
		bodies = []job.Body{&job.Commit{Repository: e.Repository.ID, SHA: sha}}
	}
	d := decision{rerunBy: e.Sender.Login}
	for _, b := range bodies {
		j, err := e.rerun(b, sha)
		if err != nil {
			return decision{}, err
		}
		d.jobs = append(d.jobs, j)
	}
	return d, nil
}
