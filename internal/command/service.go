// Package command runs what people request in a pull request: "/compat …" commands in comments,
// and clicks on the App's buttons on a check run. There is a file per command.
//
// Permissions are read from GitHub, not from the event, whose author association does not say
// what a person may do in the repository. Commands may run twice: reactions and replies that
// exist already are not repeated.
package command

import (
	"context"
	"errors"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// Options configures New. All fields are required.
type Options struct {
	App      *github.App
	Store    *store.Store
	Fetcher  *artifact.Fetcher
	Analyzer *analyzer.Analyzer // for the list of rules
}

// Service handles the job kinds of this package.
type Service struct {
	Options
	opener *repository.Opener
}

// New returns an error if an option is missing.
func New(o Options) (*Service, error) {
	if o.App == nil || o.Store == nil || o.Fetcher == nil || o.Analyzer == nil {
		return nil, errors.New("command: app, store, fetcher and analyzer are required")
	}
	s := &Service{Options: o}
	s.opener = &repository.Opener{App: o.App, Store: o.Store, Rules: s.ruleIDs()}
	return s, nil
}

// Handlers returns the handler of each job kind of this package.
func (s *Service) Handlers() map[job.Kind]worker.Handler {
	return map[job.Kind]worker.Handler{
		job.KindCommand:     repository.Handle(s.opener, once(s, s.comment)),
		job.KindCheckAction: repository.Handle(s.opener, once(s, s.checkAction)),
	}
}

// once returns a handler that does nothing for a request that was carried out before: a comment and
// a click are requests with one effect each, whatever delivery has them.
func once[B job.Body](
	s *Service,
	do func(context.Context, *worker.Attempt, *repository.Repository, B) (worker.Outcome, error),
) func(context.Context, *worker.Attempt, *repository.Repository, B) (worker.Outcome, error) {
	return func(
		ctx context.Context,
		a *worker.Attempt,
		r *repository.Repository,
		body B,
	) (worker.Outcome, error) {
		done, err := s.Store.IsDone(ctx, a.Job.Key)
		if err != nil || done {
			return worker.Done, err
		}
		out, err := do(ctx, a, r, body)
		if err != nil || out != worker.Done {
			return out, err
		}
		return out, s.Store.MarkDone(ctx, a.Job.Key)
	}
}

func (s *Service) ruleIDs() []string {
	var ids []string
	for _, r := range s.Analyzer.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// request is what one person requests in one pull request.
type request struct {
	*Service
	attempt *worker.Attempt
	repo    *repository.Repository
	number  int       // of the pull request; 0 = another subject
	author  string    // login
	at      time.Time // of the request
	writer  *bool     // whether the author has write access; nil = not looked up yet
}

// key returns the key of the pull request.
func (r *request) key() string { return r.repo.Pull(r.number).Key() }

// mayWrite looks up whether the author has write access.
func (r *request) mayWrite(ctx context.Context) (bool, error) {
	if r.writer == nil {
		p, err := r.repo.Client.Permission(ctx, r.repo.Owner, r.repo.Name, r.author)
		if err != nil {
			return false, err
		}
		r.writer = &p.Write
	}
	return *r.writer, nil
}

// recheckPull checks the pull request again even if nothing has changed.
func (r *request) recheckPull(ctx context.Context) error {
	j := r.attempt.Job
	return worker.Follow(ctx, r.Store.Queue, j, r.repo.Pull(r.number), "", j.Key)
}
