package subject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

const (
	// When a push changes the configuration, refreshAtOnce pull requests are checked again, and
	// as many again after each refreshEvery. Each may create a comment and a review, and GitHub
	// allows an installation 500 an hour (docs: rate limits for the REST API).
	refreshAtOnce = 20
	refreshEvery  = 5 * time.Minute

	// refreshMost limits the number of pull requests; no repository has as many open.
	refreshMost = 3000
)

// refresh is the progress of checking pull requests with a new configuration.
type refresh struct {
	Digest string    `json:"digest"`          // digest of the configuration that is applied
	Known  bool      `json:"known,omitempty"` // false before the first push, when Digest is unknown
	Head   string    `json:"head,omitempty"`  // the last pushed commit
	Left   []int     `json:"left,omitempty"`  // numbers of pull requests to check again
	Next   time.Time `json:"next,omitzero"`   // earliest time for the next of them
}

// defaultBranch handles a push to the default branch. Pull requests look up their base when they
// are checked, so only a push that changes the configuration checks all of them again, a few at a
// time.
func (s *Service) defaultBranch(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	event *job.DefaultBranch,
) (worker.Outcome, error) {
	var f refresh
	if !a.Load(&f) {
		f = refresh{}
	}
	if err := errors.Join(r.ForgetDefaults(ctx), s.forgetExpected(ctx, r)); err != nil {
		return worker.Done, err
	}
	set, _, err := r.Configuration(ctx, r.DefaultBranch)
	if err != nil {
		return worker.Done, err
	}
	if changed := f.Known && f.Digest != set.Digest || !f.Known && event.Settings; changed {
		pulls, err := r.Client.OpenPulls(ctx, r.Owner, r.Name, time.Time{})
		if err != nil {
			return worker.Done, err
		}
		f.Left = nil
		for _, p := range pulls[:min(len(pulls), refreshMost)] {
			if p.GetBase().GetRef() == r.DefaultBranch {
				f.Left = append(f.Left, p.GetNumber())
			}
		}
	}
	if !f.Known || f.Head != a.Job.SHA {
		if err := s.builtBefore(ctx, a, r); err != nil {
			return worker.Done, err
		}
	}
	if f.Head != a.Job.SHA {
		err := s.pushedPins(ctx, a.Job.Installation, r, event, a.Job.SHA, f.Head, set.Repository)
		if err != nil {
			return worker.Done, err
		}
	}
	f.Digest, f.Known, f.Head = set.Digest, true, a.Job.SHA
	if wait := f.Next.Sub(s.now()); len(f.Left) > 0 && wait > 0 {
		return f.later(wait), a.SaveState(ctx, f)
	}
	some := f.Left[:min(len(f.Left), refreshAtOnce)]
	for _, number := range some {
		from := job.OriginOf(a.Job)
		from.Priority = queue.Background
		if err := worker.Enqueue(ctx, s.Store.Queue, r.Pull(number), from); err != nil {
			return worker.Done, err
		}
	}
	if len(some) > 0 {
		f.Next = s.now().Add(refreshEvery)
	}
	if f.Left = f.Left[len(some):]; len(f.Left) > 0 {
		return f.later(refreshEvery), a.SaveState(ctx, f)
	}
	return worker.Done, a.SaveState(ctx, f)
}

func (f *refresh) later(after time.Duration) worker.Outcome {
	return worker.Later(after, fmt.Sprintf(
		"%d pull requests are still to be checked with the new configuration",
		len(f.Left),
	))
}
