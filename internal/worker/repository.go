package worker

import (
	"context"
	"errors"
	"fmt"
	"github.com/compat-app/compat/internal/job"

	"github.com/compat-app/compat/internal/queue"
)

// removed drops the jobs of a repository that the App was taken away from. Those under way lose
// their lease and stop.
func (t *task) removed(ctx context.Context, _ *job.RepositoryRemoved) (outcome, error) {
	entries, err := t.Queue.List(ctx, queue.Filter{Installation: t.job.Installation})
	if err != nil {
		return done, &ownFault{fmt.Errorf("worker: list the jobs of a repository: %w", err)}
	}
	dropped := 0
	for _, e := range entries {
		if e.Job.Repository != t.job.Repository || e.Job.Key == t.job.Key {
			continue
		}
		if err := t.Queue.Drop(ctx, e.Job.Key); err != nil && !errors.Is(err, queue.ErrNotFound) {
			return done, &ownFault{fmt.Errorf("worker: drop a job: %w", err)}
		}
		dropped++
	}
	t.Log.Info("the repository was taken away; its jobs are dropped", "jobs", dropped)
	return done, nil
}

// renamed forgets where the repository was.
func (t *task) renamed(context.Context, *job.RepositoryRenamed) (outcome, error) {
	client, err := t.App.Installation(t.job.Installation)
	if err != nil {
		return done, &unfit{err.Error()}
	}
	client.ForgetRepository(t.job.Repository)
	return done, nil
}
