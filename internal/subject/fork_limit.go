package subject

import (
	"context"
	"fmt"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// Anyone with a fork can open hundreds of pull requests. Each gets its check run at once, but
// after forkShare analyses for a fork within forkWindow, further ones get the lowest priority.
const (
	forkShare  = 10
	forkWindow = 10 * time.Minute
)

// yields lowers the priority of the job if its fork has used its share. It never does so for a
// request by a person (Re-run, or /compat recheck with write access).
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
		return false, worker.Internal(fmt.Errorf("yield to other jobs: %w", err))
	}
	c.attempt.Log.Info("many analyses were made for this fork; other jobs go first", "fork", s.origin)
	return true, nil
}
