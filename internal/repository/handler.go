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

// Handle returns a handler for jobs about a repository. It ends the job if the repository is gone
// or archived. Errors of GitHub become *worker.Failure.
func Handle[B job.Body](
	o *Opener,
	do func(context.Context, *worker.Attempt, *Repository, B) (worker.Outcome, error),
) worker.Handler {
	return worker.Handle(func(ctx context.Context, a *worker.Attempt, body B) (worker.Outcome, error) {
		r, err := o.open(ctx, a)
		if err != nil {
			return worker.Done, o.failure(a, nil, err)
		}
		if r == nil {
			return o.Missing(a, nil)
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

// failure converts an error to a *worker.Failure. r is nil if the repository could not be opened.
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
		// A limit on writes does not affect the reads of other jobs.
		f.Park = !errors.As(err, &l) || !l.Content
	case class.Kind == github.Gone &&
		(errors.Is(err, github.ErrForgotten) || r == nil || IsToken(err)):
		f.Class = worker.DropInstallation
		o.App.Forget(a.Job.Installation)
	case class.Kind == github.Invalid, class.Kind == github.Gone:
		f.Class = worker.GiveUp
	}
	if r != nil && (class.Kind == github.Forbidden || class.Kind == github.Missing) {
		r.Client.ForgetRepository(a.Job.Repository) // it may have been archived or renamed
	}
	return f
}

// IsToken reports whether GitHub issued no token.
func IsToken(err error) bool {
	var e *github.TokenError
	return errors.As(err, &e)
}

// NotFound reports whether GitHub responded with 404.
func NotFound(err error) bool {
	var e *gh.ErrorResponse
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode == http.StatusNotFound
}

// Refused reports whether GitHub rejected a request permanently, such as a write to a locked
// conversation or a read of something that does not exist.
func Refused(err error) bool {
	switch github.Classify(err).Kind {
	case github.Missing, github.Gone, github.Forbidden, github.Invalid:
		return !errors.Is(err, github.ErrForgotten) && !IsToken(err)
	}
	return false
}

// Known returns nil if Refused(err), because GitHub responds with 422 or 404 for an unknown
// commit, and err otherwise.
func Known(err error) error {
	if Refused(err) {
		return nil
	}
	return err
}

// Curable returns err if another attempt may succeed. Otherwise, or on the last attempt, it logs
// a warning and returns nil, so that the job continues without that part.
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
