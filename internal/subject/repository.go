package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// installationEnded drops the jobs of an installation that is deleted or suspended. Running jobs
// lose their lease and stop.
func (s *Service) installationEnded(
	ctx context.Context,
	a *worker.Attempt,
	event *job.InstallationEnded,
) (worker.Outcome, error) {
	active, err := s.App.Active(ctx, event.ID)
	if err != nil {
		return worker.Done, err
	}
	if active {
		a.Log.Warn("an event says that the installation has ended, but it is active; nothing is dropped")
		return worker.Done, nil
	}
	s.App.Forget(event.ID)
	if err := s.Store.ForgetInstallation(ctx, event.ID); err != nil {
		return worker.Done, err
	}
	return worker.Done, &worker.Failure{
		Class: worker.DropInstallation, Reason: "The App was uninstalled or suspended.",
	}
}

// removed drops the jobs of a repository that the App lost access to. Running jobs lose their
// lease and stop.
func (s *Service) removed(
	ctx context.Context,
	a *worker.Attempt,
	event *job.RepositoryRemoved,
) (worker.Outcome, error) {
	has, err := s.App.Has(ctx, a.Job.Installation, event.Repository)
	if err != nil {
		return worker.Done, err
	}
	if has {
		a.Log.Warn("an event says that the repository was removed, but the App has access to it")
		return worker.Done, nil
	}
	if err := errors.Join(
		s.Store.ForgetUses(ctx, a.Job.Installation, event.Repository),
		s.Store.ForgetListed(ctx, a.Job.Installation),
	); err != nil {
		return worker.Done, err
	}
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

// renamed clears the cached name of the repository, and the list of the repositories of the
// installation.
func (s *Service) renamed(
	ctx context.Context,
	a *worker.Attempt,
	_ *job.RepositoryRenamed,
) (worker.Outcome, error) {
	client, err := s.App.Installation(a.Job.Installation)
	if err != nil {
		return worker.Done, worker.Permanent(err.Error())
	}
	client.ForgetRepository(a.Job.Repository)
	return worker.Done, s.Store.ForgetListed(ctx, a.Job.Installation)
}
