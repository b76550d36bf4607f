package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

// justNow is how long after an event GitHub may still answer 404 for what the event is about.
const justNow = time.Minute

// task is one job under way, with what every kind needs.
type task struct {
	*Worker
	Log     *slog.Logger // knows delivery, repository and job
	lease   *queue.Lease
	job     queue.Job
	client  *github.Client
	account *github.Client // reads what all repositories of the installation share
	repo    *github.Repository
	poster  *post.Poster
	// of a subject with a check run; nil otherwise
	state *state
	// of a pull request's base and head, once it was asked for
	compared *gh.CommitsComparison
	own      standing // of a pull request
	// concludes what hangs on the job; nil: nothing does
	giveUp func(ctx context.Context, reason string) error
}

// open gets the installation's client, and the repository where it is now. false: the repository
// isn't there for us.
func (t *task) open(ctx context.Context) (bool, error) {
	purpose := github.Judge
	if job.KindOf(t.job) == job.KindDeployment {
		purpose = github.Gate
	}
	client, err := t.App.Narrow(t.job.Installation, t.job.Repository, purpose)
	if err != nil {
		return false, &unfit{err.Error()}
	}
	account, err := t.App.Narrow(t.job.Installation, 0, github.Browse)
	if err != nil {
		return false, &unfit{err.Error()}
	}
	repo, err := client.KnownRepository(ctx, t.job.Repository)
	if notFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	bot, err := t.App.Bot(ctx)
	if err != nil {
		return false, err
	}
	t.client, t.account, t.repo = client, account, repo
	t.Log = t.Log.With("name", repo.Owner+"/"+repo.Name)
	t.poster = &post.Poster{
		Client: client,
		Owner:  repo.Owner,
		Repo:   repo.Name,
		Bot:    bot,
		AppID:  t.App.ID(),
		Fence:  t.fence,
		Log:    t.Log,
	}
	return true, nil
}

// missing is what becomes of a job whose subject GitHub doesn't show: right after the event it may
// come, later it is gone.
func (t *task) missing(err error) (outcome, error) {
	if err != nil {
		return done, err
	}
	age := t.Now().Sub(t.job.Received)
	if age < justNow {
		if t.client != nil {
			t.client.ForgetRepository(t.job.Repository) // it may have another name
		}
		return later(max(time.Second, age/2), "GitHub doesn't show it yet"), nil
	}
	if t.client != nil {
		t.client.ForgetRepository(t.job.Repository)
	}
	t.Log.Info("nothing to do: GitHub doesn't show what the event was about")
	return done, nil
}

// fence stands before each write: the lease is held and no newer job has come.
func (t *task) fence(ctx context.Context) error {
	superseded, err := t.lease.Extend(ctx)
	switch {
	case err != nil:
		return err
	case superseded:
		return errSuperseded
	}
	return ctx.Err()
}

func notFound(err error) bool {
	var e *gh.ErrorResponse
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode == http.StatusNotFound
}

// refused says that GitHub won't take a write, now or later: a locked conversation, a pull request
// that is gone.
func refused(err error) bool {
	switch github.Classify(err).Kind {
	case github.Missing, github.Gone, github.Forbidden, github.Invalid:
		return !errors.Is(err, github.ErrForgotten) && !isToken(err)
	}
	return false
}

// follow puts a job of another subject into the queue.
func (t *task) follow(ctx context.Context, b job.Body, sha, forceID string) error {
	from := job.OriginOf(t.job)
	from.SHA, from.ForceID = sha, forceID
	j, err := job.New(b, from)
	if err == nil {
		_, err = t.Queue.Enqueue(ctx, "", j)
	}
	if err != nil {
		return &ownFault{fmt.Errorf("worker: follow up with %s: %w", b.Key(), err)}
	}
	return nil
}
