// Package repository represents the GitHub repository of a job: its clients, files and
// configuration. It also decides what errors of GitHub mean for a job.
package repository

import (
	"context"
	"log/slog"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// JustNow is how long GitHub may respond with 404 for the object of an event.
const JustNow = time.Minute

// Repository is the repository of a job during one attempt.
type Repository struct {
	*github.Repository
	Client *github.Client // limited to this repository and the permissions of the job
	Poster *post.Poster   // writes only while the lease is held
	Log    *slog.Logger

	installation int64
	account      *github.Client // reads files shared by the repositories of the installation
	store        *store.Store
	rules        []string
	attempt      *worker.Attempt
}

// Opener opens the repositories of jobs. All fields are required.
type Opener struct {
	App   *github.App
	Store *store.Store
	Rules []string // IDs of the rules that a configuration may name
}

// open returns the repository of a job under its current name; nil if it is not visible to the
// App.
func (o *Opener) open(ctx context.Context, a *worker.Attempt) (*Repository, error) {
	purpose := github.Review
	if job.KindOf(a.Job) == job.KindDeployment {
		purpose = github.Deployment
	}
	client, err := o.App.Narrow(a.Job.Installation, a.Job.Repository, purpose)
	if err != nil {
		return nil, worker.Permanent(err.Error())
	}
	account, err := o.App.Narrow(a.Job.Installation, 0, github.Browse)
	if err != nil {
		return nil, worker.Permanent(err.Error())
	}
	r := &Repository{
		Client:       client,
		installation: a.Job.Installation,
		account:      account,
		store:        o.Store,
		rules:        o.Rules,
		attempt:      a,
	}
	r.Repository, err = client.KnownRepository(ctx, a.Job.Repository)
	if NotFound(err) {
		client.ForgetRepository(a.Job.Repository) // it may have been renamed
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bot, err := o.App.Bot(ctx)
	if err != nil {
		return nil, err
	}
	a.Log = a.Log.With("name", r.Owner+"/"+r.Name)
	r.Log = a.Log
	r.Poster = &post.Poster{
		Client: client,
		Owner:  r.Owner,
		Repo:   r.Name,
		Bot:    bot,
		AppID:  o.App.ID(),
		Fence:  a.Fence,
		Log:    a.Log,
	}
	return r, nil
}

// Pull returns the job body of a pull request in the repository.
func (r *Repository) Pull(number int) *job.Pull {
	return &job.Pull{Repository: r.ID, Number: number}
}

// Missing returns the outcome of a job whose subject GitHub does not show: retry shortly after
// the event, done later. r is the repository under whose name GitHub responded with 404, nil if it
// did not.
func (o *Opener) Missing(a *worker.Attempt, r *Repository) (worker.Outcome, error) {
	if r != nil {
		r.Client.ForgetRepository(a.Job.Repository) // it may have been renamed
	}
	age := o.Store.Now().Sub(a.Job.Received)
	if age < JustNow {
		return worker.Later(max(time.Second, age/2), "GitHub's API does not show it yet"), nil
	}
	a.Log.Info("nothing to do: GitHub's API does not show the object of the event")
	return worker.Done, nil
}

// HeadOf returns the head of a pull request.
func HeadOf(r *Repository, pr *gh.PullRequest, workflows []string) artifact.Head {
	h := pr.GetHead()
	return artifact.Head{
		Owner:      r.Owner,
		Repo:       r.Name,
		SHA:        h.GetSHA(),
		HeadRepo:   h.GetRepo().GetFullName(),
		HeadRepoID: h.GetRepo().GetID(),
		Branch:     h.GetRef(),
		Number:     pr.GetNumber(),
		Workflows:  workflows,
	}
}
