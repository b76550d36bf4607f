package subject

import (
	"context"
	"fmt"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// Whoever has a fork can open pull requests by the hundred. Each gets its check run at once; but
// when forkShare analyses were made for a fork within forkWindow, the others are made when no other
// job waits.
const (
	forkShare  = 10
	forkWindow = 10 * time.Minute
)

// yields puts the job after those of others where its fork has used its share. A person's request
// (Re-run, /compat recheck with write access) never yields.
func (c *check) yields(ctx context.Context, s subject) (bool, error) {
	j := c.attempt.Job
	if !s.fork || j.ForceID != "" || j.Priority <= queue.Background {
		return false, nil
	}
	within, err := c.Store.CountFork(ctx, c.repo.ID, s.origin, forkShare, forkWindow)
	if err != nil || within {
		return false, err
	}
	j.Priority = queue.Background
	if _, err := c.Store.Queue.Enqueue(ctx, "", j); err != nil {
		return false, worker.Internal(fmt.Errorf("let other jobs go first: %w", err))
	}
	c.attempt.Log.Info(
		"many analyses were made for this fork; other jobs go first",
		"fork", s.origin,
	)
	return true, nil
}
