package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

// Whoever has a fork can open pull requests by the hundred. Each gets its check run at once; but
// when a fork has had crowd analyses within crowdWindow, its others are made when nobody else in
// the queue waits.
const (
	crowd       = 10
	crowdWindow = 10 * time.Minute
)

// yields puts the job behind those of others where its fork has had its share. A person's wish
// (Re-run, /compat recheck by a writer) never yields.
func (t *task) yields(ctx context.Context, s subject) (bool, error) {
	if !s.fork || t.job.ForceID != "" || t.job.Priority <= queue.Background {
		return false, nil
	}
	key := fmt.Sprintf("crowd/%d/%d", t.repo.ID, s.origin)
	t.shared.Lock()
	defer t.shared.Unlock()
	var lately []time.Time
	if err := t.recall(ctx, key, &lately); err != nil {
		return false, err
	}
	now := t.Now()
	lately = slices.DeleteFunc(
		lately,
		func(at time.Time) bool { return now.Sub(at) >= crowdWindow },
	)
	if len(lately) < crowd {
		return false, t.keepFor(ctx, key, append(lately, now.UTC()), crowdWindow)
	}
	again := t.job
	again.Priority = queue.Background
	if _, err := t.Queue.Enqueue(ctx, "", again); err != nil {
		return false, &ownFault{fmt.Errorf("worker: let others go first: %w", err)}
	}
	t.Log.Info("its fork has had many analyses lately; those of others go first", "fork", s.origin)
	return true, nil
}
