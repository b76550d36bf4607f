package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/queue"
)

// decision is the result of handling a delivery: jobs to enqueue, or a reason to ignore it.
type decision struct {
	jobs []queue.Job
	// once means that the event is a request of a person, or ends an installation. Its body has one
	// effect, under any GUID. Jobs of other events compare a subject with its state, so they may run
	// any number of times, and two of these events within a second may have the same body.
	once     bool
	digest   string // SHA-256 of the body in hex, if once
	ignored  string
	namesake bool   // ignored, but another App has a check run with this App's name
	rerunBy  string // login of the person who requested a re-run; "" = none
}

func ignore(format string, a ...any) (decision, error) {
	return decision{ignored: fmt.Sprintf(format, a...)}, nil
}

// envelope contains the members that all payloads have.
type envelope struct {
	Action       string
	Installation struct{ ID int64 }
	Repository   struct {
		ID            int64
		DefaultBranch string `json:"default_branch"`
	}
	Sender struct{ Login, Type string }

	name string // name of the event
	guid string
	app  int64 // ID of this App
	// digest returns the SHA-256 of the body, as it was signed, in hex.
	digest func() string
}

// event handles one kind of event.
type event struct {
	decide func(e envelope, body []byte) (decision, error)
	fields func() fields // the members of the payload that decide reads
}

// on returns an event whose payload is decoded into a P. Only the members of P and of envelope
// are read from the payload.
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

// events contains the handler of each event that the App subscribes to.
var events = lazy.Value[map[string]event]{New: func() map[string]event {
	return map[string]event{
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
}}

// decide turns a payload into a decision. It is pure. An error means that the payload is
// malformed, and is answered with status 400.
func decide(name, guid string, body []byte, app int64) (decision, error) {
	e := envelope{name: name, guid: guid, app: app}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return decision{}, errors.New(
			"the body is not a JSON object; set the webhook's content type to application/json",
		)
	}
	ev, known := events.Get()[name]
	if !known {
		ev.fields = fieldsOf[envelope]
	}
	e.digest = sync.OnceValue(func() string {
		sum := sha256.Sum256(body)
		return hex.EncodeToString(sum[:])
	})
	kept, members, err := ev.fields().keep(body)
	if err != nil {
		return decision{}, err
	}
	if known {
		if err := fits(name, members); err != nil {
			return decision{}, err
		}
	}
	if err := read(kept, &e); err != nil {
		return decision{}, err
	}
	if !known {
		return ignore("the event %s is not used", name)
	}
	d, err := ev.decide(e, kept)
	if d.once {
		d.digest = e.digest()
	}
	return d, err
}

func read(body []byte, to any) error {
	if err := json.Unmarshal(body, to); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			// A field without a tag has its Go name here; GitHub's names are in lower case.
			return fmt.Errorf("the payload's %s has an unexpected type", strings.ToLower(wrong.Field))
		}
		return errNotJSON
	}
	return nil
}

func (e envelope) unused() (decision, error) {
	return ignore("%s.%.60s is not used", e.name, e.Action)
}

// job makes a job with this body. sha is the commit that the event names, or "".
func (e envelope) job(b job.Body, sha string) (queue.Job, error) {
	return job.New(b, job.Origin{
		Installation: e.Installation.ID,
		SHA:          sha,
		Trigger:      e.name + "." + e.Action,
		Delivery:     e.guid,
	})
}

// rerun makes a job for a subject that a person wants to check again. The request is identified by
// what was signed, so that it has one effect.
func (e envelope) rerun(b job.Body, sha string) (queue.Job, error) {
	j, err := e.job(b, sha)
	j.ForceID = e.request()
	return j, err
}

// request identifies what a person requested with the event, under any GUID.
func (e envelope) request() string { return e.digest()[:32] }

// request returns a decision with a single job of a request.
func request(j queue.Job, err error) (decision, error) {
	d, err := one(j, err)
	d.once = true
	return d, err
}

// one returns a decision with a single job.
func one(j queue.Job, err error) (decision, error) {
	if err != nil {
		return decision{}, err
	}
	return decision{jobs: []queue.Job{j}}, nil
}

// pull is the short form of a pull request in check runs, check suites and workflow runs.
type pull struct {
	Number int
	Base   struct{ Repo struct{ ID int64 } }
}

// pulls returns the pull requests of the event's own repository. A workflow run may also list
// pull requests of other repositories in the fork network.
func (e envelope) pulls(named []pull) (own []job.Body) {
	for _, p := range named {
		if p.Number > 0 && (p.Base.Repo.ID == 0 || p.Base.Repo.ID == e.Repository.ID) {
			own = append(own, &job.Pull{Repository: e.Repository.ID, Number: p.Number})
		}
	}
	return own
}

// rerunPulls makes jobs that check pull requests again, or the commit if no pull request is
// listed.
func (e envelope) rerunPulls(named []pull, sha string) (decision, error) {
	bodies := e.pulls(named)
	if len(bodies) == 0 {
		bodies = []job.Body{&job.Commit{Repository: e.Repository.ID, SHA: sha}}
	}
	d := decision{rerunBy: e.Sender.Login, once: true}
	for _, b := range bodies {
		j, err := e.rerun(b, sha)
		if err != nil {
			return decision{}, err
		}
		d.jobs = append(d.jobs, j)
	}
	return d, nil
}
