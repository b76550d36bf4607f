package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

// Attempt is one attempt at a job, under a lease.
type Attempt struct {
	*queue.Lease
	Log *slog.Logger // has delivery, job, installation and repository

	// GiveUp concludes what depends on the job when it will not be retried; reason is a sentence
	// for people. The handler sets it; nil = nothing depends on the job.
	GiveUp func(ctx context.Context, reason string) error
	// Postpone is called when a rate limit delays the job, because this time does not count
	// against a deadline. The handler sets it; nil = there is no deadline.
	Postpone func(ctx context.Context, by time.Duration)
}

// Fence returns nil while the lease is held and no newer job of the subject waits. Call it before
// each write to GitHub.
func (a *Attempt) Fence(ctx context.Context) error {
	superseded, err := a.Extend(ctx)
	switch {
	case err != nil:
		return err
	case superseded:
		return errSuperseded
	}
	return ctx.Err()
}

// Load decodes the state stored for the job's key. It returns false if there is none or it is
// damaged.
func (a *Attempt) Load(state any) bool {
	if len(a.State) == 0 {
		return false
	}
	if err := json.Unmarshal(a.State, state); err != nil {
		a.Log.Warn("the stored state of the job's subject is damaged", "error", err)
		return false
	}
	return true
}

// SaveState stores a state as JSON for later jobs of the key.
func (a *Attempt) SaveState(ctx context.Context, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("worker: encode the state of %s: %w", a.Job.Key, err)
	}
	return a.Save(ctx, data)
}

// Follow enqueues a follow-up job about another subject. sha is its commit and forceID its
// queue.Job.ForceID; both may be "".
func Follow(ctx context.Context, q *queue.Queue, j queue.Job, b job.Body, sha,
	forceID string) error {
	o := job.OriginOf(j)
	o.SHA, o.ForceID = sha, forceID
	return Enqueue(ctx, q, b, o)
}

// Enqueue enqueues a job that belongs to no delivery.
func Enqueue(ctx context.Context, q *queue.Queue, b job.Body, o job.Origin) error {
	j, err := job.New(b, o)
	if err == nil {
		_, err = q.Enqueue(ctx, "", j)
	}
	if err != nil {
		return Internal(fmt.Errorf("worker: put %s into the queue: %w", b.Key(), err))
	}
	return nil
}
