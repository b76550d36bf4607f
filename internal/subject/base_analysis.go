package subject

import (
	"context"
	"errors"
	"time"

	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

// baseAnalysisPause is the delay after the end of a run of the default branch, because other runs
// of the same commit often end shortly after.
const baseAnalysisPause = 3 * time.Second

// analyzedBase is the state of the last analysis of a default branch.
type analyzedBase struct {
	SHA string `json:"sha"`
	Run int64  `json:"run,omitempty"` // the newest run of it in an event
	Job string `json:"job"`           // the job that has waited
}

// baseAnalysis analyzes the artifacts of the default branch's newest commit before pull requests
// are compared with them. It has low priority: it writes nothing to GitHub, a newer commit
// replaces it, and if it fails the next pull request analyzes the base.
func (s *Service) baseAnalysis(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	event *job.BaseAnalysis,
) (worker.Outcome, error) {
	if err := s.forgetExpected(ctx, r); err != nil {
		return worker.Done, err
	}
	var last analyzedBase
	if !a.Load(&last) {
		last = analyzedBase{}
	}
	sha := a.Job.SHA
	if sha != last.SHA && event.Run != 0 && event.Run < last.Run {
		a.Log.Debug("an older run of the default branch was re-run; a newer one is already analyzed")
		return worker.Done, nil
	}
	if last.Job != a.Job.ID {
		last = analyzedBase{SHA: sha, Run: max(event.Run, last.Run), Job: a.Job.ID}
		return worker.Later(baseAnalysisPause, "other runs of the commit may end soon"),
			a.SaveState(ctx, last)
	}
	an := &analysis{Service: s, attempt: a, repo: r}
	set, problems, err := r.Configuration(ctx, r.DefaultBranch)
	if err != nil || len(problems) > 0 {
		return worker.Done, an.bearable(ctx, err)
	}
	found, err := s.Fetcher.AtCommit(ctx, r.Client, r.Owner, r.Name, sha, set.Artifacts...)
	if err != nil {
		return worker.Done, an.bearable(ctx, err)
	}
	if found.State != artifact.Ready {
		a.Log.Debug("the default branch is not analyzed before its pull requests", "reason", found.Reason)
		return worker.Done, nil // the missing run will send an event when it completes
	}
	release, otherwise := s.admit(found)
	if release == nil {
		return otherwise, nil
	}
	defer release()
	o, err := an.options(ctx, found, set.Repository)
	if err == nil {
		_, err = an.analyzedFindings(ctx, set.Repository, found, o, false)
	}
	if err == nil {
		err = an.keepUses(ctx, found, set.Repository)
	}
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		return worker.Done, nil // the next pull request reports it
	}
	return worker.Done, an.bearable(ctx, err)
}

// builtBefore analyzes a new commit of the default branch that was the head of a subject: a merge
// queue builds the commit before it is pushed to the branch, and there may be no run of the
// branch.
func (s *Service) builtBefore(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
) error {
	if a.Job.SHA == "" {
		return nil
	}
	heads, err := s.Store.Peers(ctx, r.ID, a.Job.SHA, a.Job.Key)
	if err != nil || len(heads) == 0 {
		return err
	}
	from := job.OriginOf(a.Job)
	from.SHA, from.Priority = a.Job.SHA, queue.Background
	return worker.Enqueue(ctx, s.Store.Queue, &job.BaseAnalysis{Repository: r.ID}, from)
}
