package subject

import (
	"context"
	"fmt"
	"time"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

const (
	// refreshAtOnce pull requests are checked again, and then as many after refreshEvery, where a
	// push changes the configuration of all: each may begin a comment and a review, and GitHub
	// allows an installation 500 an hour (docs: rate limits for the REST API).
	refreshAtOnce = 20
	refreshEvery  = 5 * time.Minute

	// refreshMost is far above what any repository has open.
	refreshMost = 3000
)

// refresh is how far the pull requests of a default branch follow its configuration.
type refresh struct {
	Digest string    `json:"digest"`          // of the configuration that they follow
	Known  bool      `json:"known,omitempty"` // Digest is one; false before the first push
	Head   string    `json:"head,omitempty"`  // the commit that was pushed last
	Left   []int     `json:"left,omitempty"`  // pull requests that are still to be checked again
	Next   time.Time `json:"next,omitzero"`   // when the next of them may be
}

// defaultBranch follows a push to the default branch. The pull requests look for their base
// whenever they are checked, so most pushes cost none of them a call; one that changes the
// configuration has all of them checked again, a few at a time.
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
	if err := r.ForgetDefaults(ctx); err != nil {
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
