// Package command does what people request: the commands "/compat …" in the comments of a pull
// request, and the App's actions on a check run. A file per command.
//
// Who may request what is asked of GitHub, not of the event: membership says nothing of the
// repository. Commands may run twice; reactions and replies look first whether they are there.
package command

import (
	"context"
	"errors"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// Options is what New needs. All fields are required.
type Options struct {
	App      *github.App
	Store    *store.Store
	Fetcher  *artifact.Fetcher
	Analyzer *analyzer.Analyzer // for its rules
}

// Service handles the jobs of all commands.
type Service struct {
	Options
	opener *repository.Opener
}

// New checks the options.
func New(o Options) (*Service, error) {
	if o.App == nil || o.Store == nil || o.Fetcher == nil || o.Analyzer == nil {
		return nil, errors.New("command: app, store, fetcher and analyzer are required")
	}
	s := &Service{Options: o}
	s.opener = &repository.Opener{App: o.App, Store: o.Store, Rules: s.ruleIDs()}
	return s, nil
}

// Handlers has the handler of each kind of job that this package does.
func (s *Service) Handlers() map[job.Kind]worker.Handler {
	return map[job.Kind]worker.Handler{
		job.KindCommand:     repository.Handle(s.opener, s.comment),
		job.KindCheckAction: repository.Handle(s.opener, s.checkAction),
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
	number  int    // of the pull request; 0: it is about another subject
	author  string // login
	writer  *bool  // whether the author has write access; nil: not looked up yet
}

// key is the pull request's.
func (r *request) key() string { return r.repo.Pull(r.number).Key() }

// mayWrite asks GitHub for the author's permission.
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

// recheckPull has the pull request checked again though nothing has changed.
func (r *request) recheckPull(ctx context.Context) error {
	j := r.attempt.Job
	return worker.Follow(ctx, r.Store.Queue, j, r.repo.Pull(r.number), "", j.Delivery)
}
