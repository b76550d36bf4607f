package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

const (
	// refreshAtOnce pull requests are looked at anew, and then as many after refreshEvery, where a
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
	Left   []int     `json:"left,omitempty"`  // pull requests that have yet to be looked at
	Next   time.Time `json:"next,omitzero"`   // when the next of them may be
}

// base follows a push to the default branch. The pull requests look for their base anew whenever
// they are looked at, so most pushes cost none of them a call; one that changes the configuration
// has all of them judged by the new one, a few at a time.
func (t *task) base(ctx context.Context, event *job.DefaultBranch) (outcome, error) {
	r := stored[refresh](t)
	if slices.ContainsFunc(
		defaults,
		func(name string) bool { return strings.EqualFold(name, t.repo.Name) },
	) { // the configuration of the whole account may be another
		if err := t.keepFor(ctx, inheritKey(t.job.Installation, t.repo.Owner), nil, time.Second); err != nil {
			return done, err
		}
	}
	set, _, err := t.configured(ctx, t.repo.DefaultBranch)
	if err != nil {
		return done, err
	}
	if changed := r.Known && r.Digest != set.digest || !r.Known && event.Settings; changed {
		pulls, err := t.client.OpenPulls(ctx, t.repo.Owner, t.repo.Name, time.Time{})
		if err != nil {
			return done, err
		}
		r.Left = nil
		for _, p := range pulls[:min(len(pulls), refreshMost)] {
			if p.GetBase().GetRef() == t.repo.DefaultBranch {
				r.Left = append(r.Left, p.GetNumber())
			}
		}
	}
	if !r.Known || r.Head != t.job.SHA {
		if err := t.builtBefore(ctx, t.job.SHA); err != nil {
			return done, err
		}
	}
	r.Digest, r.Known, r.Head = set.digest, true, t.job.SHA
	if wait := r.Next.Sub(t.Now()); len(r.Left) > 0 && wait > 0 {
		return t.refreshLater(ctx, r, wait)
	}
	some := r.Left[:min(len(r.Left), refreshAtOnce)]
	var jobs []queue.Job
	for _, number := range some {
		from := job.OriginOf(t.job)
		from.Priority = queue.Background
		j, err := job.New(&job.Pull{Repository: t.repo.ID, Number: number}, from)
		if err != nil {
			return done, fmt.Errorf("worker: %w", err)
		}
		jobs = append(jobs, j)
	}
	if len(jobs) > 0 {
		if _, err := t.Queue.Enqueue(ctx, "", jobs...); err != nil {
			return done, &ownFault{fmt.Errorf("worker: have pull requests looked at anew: %w", err)}
		}
	}
	if len(some) > 0 {
		r.Next = t.Now().Add(refreshEvery)
	}
	if r.Left = r.Left[len(some):]; len(r.Left) > 0 {
		return t.refreshLater(ctx, r, refreshEvery)
	}
	return done, t.saveRefresh(ctx, r)
}

func (t *task) refreshLater(ctx context.Context, r *refresh, after time.Duration) (outcome, error) {
	return later(
			after,
			fmt.Sprintf(
				"%d pull requests have yet to be judged by the new configuration",
				len(r.Left),
			),
		), t.saveRefresh(
			ctx,
			r,
		)
}

func (t *task) saveRefresh(ctx context.Context, r *refresh) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return t.lease.Save(ctx, data)
}
