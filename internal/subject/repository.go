package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// removed drops the jobs of a repository that the App lost access to. Running jobs lose their
// lease and stop.
func (s *Service) removed(
	ctx context.Context,
	a *worker.Attempt,
	_ *job.RepositoryRemoved,
) (worker.Outcome, error) {
	entries, err := s.Store.Queue.List(ctx, queue.Filter{Installation: a.Job.Installation})
	if err != nil {
		return worker.Done, worker.Internal(fmt.Errorf("list the jobs of a repository: %w", err))
	}
	dropped := 0
	for _, e := range entries {
		if e.Job.Repository != a.Job.Repository || e.Job.Key == a.Job.Key {
			continue
		}
		err := s.Store.Queue.Drop(ctx, e.Job.Key)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return worker.Done, worker.Internal(fmt.Errorf("drop a job: %w", err))
		}
		dropped++
	}
	a.Log.Info("the App lost access to the repository; its jobs are dropped", "jobs", dropped)
	return worker.Done, nil
}

// renamed clears the cached name of the repository.
func (s *Service) renamed(
	_ context.Context,
	a *worker.Attempt,
	_ *job.RepositoryRenamed,
) (worker.Outcome, error) {
	client, err := s.App.Installation(a.Job.Installation)
	if err != nil {
		return worker.Done, worker.Permanent(err.Error())
	}
	client.ForgetRepository(a.Job.Repository)
	return worker.Done, nil
}
