package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"time"

	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/queue"
)

// aheadPause is how long a run of the default branch is left alone after its end: others of the
// same commit often end with it, and one look is enough for all.
const aheadPause = 3 * time.Second

// looked is what was judged last of a default branch.
type looked struct {
	SHA string `json:"sha"`
	Run int64  `json:"run,omitempty"` // the newest run of it that an event has told of
	Job string `json:"job"`           // the job that has made its pause
}

// ahead judges the artifacts of the default branch's newest commit before a pull request is
// compared with them. Nobody waits for it: it writes nothing on GitHub, a newer commit takes its
// place, and where it fails the next pull request judges the base itself.
func (t *task) ahead(ctx context.Context, event *job.BaseAnalysis) (outcome, error) {
	l := *stored[looked](t)
	sha := t.job.SHA
	if sha != l.SHA && event.Run != 0 && event.Run < l.Run {
		t.Log.Debug("an older run of the default branch was run again; a newer one is judged")
		return done, nil
	}
	if l.Job != t.job.ID {
		l = looked{SHA: sha, Run: max(event.Run, l.Run), Job: t.job.ID}
		data, err := json.Marshal(l)
		if err != nil {
			return done, fmt.Errorf("worker: %w", err)
		}
		return later(aheadPause, "other runs of the commit may end too"), t.lease.Save(ctx, data)
	}
	set, problems, err := t.configured(ctx, t.repo.DefaultBranch)
	if err != nil || len(problems) > 0 {
		return done, t.bearable(ctx, err)
	}
	found, ran, err := t.Fetcher.Ahead(
		ctx,
		t.client,
		t.repo.Owner,
		t.repo.Name,
		sha,
		set.repository.Artifacts...)
	if err != nil {
		return done, t.bearable(ctx, err)
	}
	if err := t.relearn(ctx, t.repo.DefaultBranch, ran, found); err != nil {
		return done, err
	}
	if found.State != artifact.Ready {
		t.Log.Debug("nothing of the default branch is judged ahead", "reason", found.Reason)
		return done, nil // the end of the run that is missing comes with an event of its own
	}
	o, err := t.options(ctx, found, set.repository)
	if err == nil {
		_, err = t.judgedBase(ctx, found, o)
	}
	if bad := (*badOptions)(nil); errors.As(err, &bad) {
		return done, nil // which the next pull request is told
	}
	return done, t.bearable(ctx, err)
}

// builtBefore has the default branch's new commit judged ahead when it was the head of something
// that was judged: a merge queue builds a commit before it becomes the branch's, and no run of the
// branch may follow.
func (t *task) builtBefore(ctx context.Context, sha string) error {
	if sha == "" {
		return nil
	}
	heads, err := t.peers(ctx, sha, false)
	if err != nil || len(heads) == 0 {
		return err
	}
	from := job.OriginOf(t.job)
	from.SHA, from.Priority = sha, queue.Background
	j, err := job.New(&job.BaseAnalysis{Repository: t.repo.ID}, from)
	if err == nil {
		_, err = t.Queue.Enqueue(ctx, "", j)
	}
	if err != nil {
		return &ownFault{fmt.Errorf("worker: have the base judged ahead: %w", err)}
	}
	return nil
}
