// Package repository is the GitHub repository of a job: its clients, its files, its configuration,
// and what writes to it. It also says what errors of GitHub mean for a job.
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

// JustNow is how long after an event GitHub may still answer 404 for what the event is about.
const JustNow = time.Minute

// Repository is the repository of a job, where it is now, as one attempt at the job sees it.
type Repository struct {
	*github.Repository
	Client *github.Client // for this repository and what the job does there
	Poster *post.Poster   // writes, if the job still may
	Log    *slog.Logger

	installation int64
	account      *github.Client // reads what all repositories of the installation share
	store        *store.Store
	rules        []string
	attempt      *worker.Attempt
}

// Opener opens the repositories of jobs. All fields are required.
type Opener struct {
	App   *github.App
	Store *store.Store
	Rules []string // ids of the rules that a configuration may name
}

// open gets the installation's client, and the repository where it is now; nil: the repository is
// not visible to the App.
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
		client.ForgetRepository(a.Job.Repository) // it may have another name
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

// Pull is the body of a job about one of the repository's pull requests.
func (r *Repository) Pull(number int) *job.Pull {
	return &job.Pull{Repository: r.ID, Number: number}
}

// Missing is what becomes of a job whose subject GitHub doesn't show: right after the event it may
// still appear, later it is gone.
func (o *Opener) Missing(a *worker.Attempt) (worker.Outcome, error) {
	age := o.Store.Now().Sub(a.Job.Received)
	if age < JustNow {
		return worker.Later(max(time.Second, age/2), "GitHub's API does not show it yet"), nil
	}
	a.Log.Info("nothing to do: GitHub's API does not show the object of the event")
	return worker.Done, nil
}

// HeadOf names the head of a pull request.
func HeadOf(r *Repository, pr *gh.PullRequest, workflows []string) artifact.Head {
	h := pr.GetHead()
	return artifact.Head{
		Owner:      r.Owner,
		Repo:       r.Name,
		SHA:        h.GetSHA(),
		HeadRepo:   h.GetRepo().GetFullName(),
		HeadRepoID: h.GetRepo().GetID(),
		Branch:     h.GetRef(),
		Workflows:  workflows,
	}
}
