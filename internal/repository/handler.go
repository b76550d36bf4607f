package repository

import (
	"context"
	"errors"
	"net/http"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/worker"
)

// Handle makes the handler of a kind whose jobs are about a repository that is there and not
// archived. Errors of GitHub become worker.Failure.
func Handle[B job.Body](
	o *Opener,
	do func(context.Context, *worker.Attempt, *Repository, B) (worker.Outcome, error),
) worker.Handler {
	return worker.Handle(func(
		ctx context.Context,
		a *worker.Attempt,
		body B,
	) (worker.Outcome, error) {
		r, err := o.open(ctx, a)
		if err != nil {
			return worker.Done, o.failure(a, nil, err)
		}
		if r == nil {
			return o.Missing(a)
		}
		if r.Archived {
			a.Log.Info("nothing to do: the repository is archived")
			return worker.Done, nil
		}
		out, err := do(ctx, a, r, body)
		if err != nil {
			return out, o.failure(a, r, err)
		}
		return out, nil
	})
}

// failure is what an error means for its job. r is nil where the repository could not be opened.
func (o *Opener) failure(a *worker.Attempt, r *Repository, err error) error {
	if f := (*worker.Failure)(nil); errors.As(err, &f) {
		return err
	}
	class := github.Classify(err)
	f := &worker.Failure{Reason: class.Reason, Err: err}
	switch {
	case class.Kind == github.After:
		f.Class, f.After = worker.RateLimited, class.After
		l := (*github.LimitError)(nil)
		// A limit on what is written needs not keep the other jobs from reading.
		f.Park = !errors.As(err, &l) || !l.Content
	case class.Kind == github.Gone &&
		(errors.Is(err, github.ErrForgotten) || r == nil || IsToken(err)):
		f.Class = worker.DropInstallation
		o.App.Forget(a.Job.Installation)
	case class.Kind == github.Invalid, class.Kind == github.Gone,
		class.Kind == github.Forbidden && a.Attempt > 2:
		f.Class = worker.GiveUp
	}
	if class.Kind == github.Forbidden && r != nil {
		r.Client.ForgetRepository(a.Job.Repository) // it may be archived now
	}
	return f
}

// IsToken reports whether an error is that no token can be had.
func IsToken(err error) bool {
	var e *github.TokenError
	return errors.As(err, &e)
}

// NotFound reports whether GitHub answered 404.
func NotFound(err error) bool {
	var e *gh.ErrorResponse
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode == http.StatusNotFound
}

// Refused reports whether GitHub won't take a request, now or later: a write to a locked
// conversation, or a question about something that it doesn't have.
func Refused(err error) bool {
	switch github.Classify(err).Kind {
	case github.Missing, github.Gone, github.Forbidden, github.Invalid:
		return !errors.Is(err, github.ErrForgotten) && !IsToken(err)
	}
	return false
}

// Known is nil where Refused: GitHub's answers for a commit that it doesn't know (422, 404) mean
// "none".
func Known(err error) error {
	if Refused(err) {
		return nil
	}
	return err
}

// Curable returns an error that another attempt may cure, and nil for the others, with a warning in
// the log: where GitHub refuses a part of the work, or this is the last attempt, the job goes on
// without that part.
func Curable(ctx context.Context, a *worker.Attempt, err error, without string) error {
	switch kind := github.Classify(err).Kind; {
	case err == nil:
		return nil
	case ctx.Err() != nil, kind == github.After, kind == github.Retry && !a.Last:
		return err
	}
	a.Log.Warn(without, "error", err)
	return nil
}
