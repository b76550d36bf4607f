package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
)

const (
	// reconcileSoon is when the first look of all is made: after a loss of the queue's memory soon, but not while a service that has just
	// come up takes in what GitHub has for it.
	reconcileSoon = 10 * time.Minute

	// reconcileWindow is how long ago a pull request may have changed: older ones wait for nobody, and those that were there before the App
	// was installed are judged at their next push.
	reconcileWindow = 14 * 24 * time.Hour

	// reconcileMost bounds the heads of one installation that GitHub is asked about in one look: a tenth of its hourly budget.
	reconcileMost = 500
)

// reconciledKey is where the time of the last look at all heads stands.
const reconciledKey = "sweeper/reconciled"

// reconcile looks at the open pull requests of every installation, and gives each a job whose head has no concluded check, or one of ours that is
// stuck, though the queue has no job that will see to it: its memory was lost, or an event was and nothing asks for it any more.
//
// It is made once in the time that a check may wait for its artifacts (COMPAT_WAIT), whoever leads; a head that was lost is concluded after twice that.
func (w *Worker) reconcile(ctx context.Context, term *queue.Term) (time.Duration, error) {
	every := w.Config.Wait
	note, err := w.Queue.Get(ctx, reconciledKey)
	if err != nil {
		return 0, err
	}
	last, err := time.Parse(time.RFC3339Nano, string(note))
	if err != nil { // there was none: this is the first
		last = w.Now().Add(min(reconcileSoon, every/4) - every)
	}
	if left := last.Add(every).Sub(w.Now()); left > 0 {
		sleep(ctx, min(left, every))
		if ctx.Err() != nil {
			return 0, nil //nolint:nilerr // the time of the last look was there or not, and now the service ends
		}
	}
	installations, err := w.App.Installations(ctx)
	if err != nil {
		return 0, err
	}
	for _, i := range installations {
		if err := term.Check(ctx); err != nil {
			return 0, err
		}
		// What goes wrong in one installation (a limit, no permission) is no reason to leave the others alone.
		if err := w.reconcileInstallation(ctx, i, term); err != nil && ctx.Err() == nil {
			w.Log.Info("the heads of an installation could not be looked at; the next look will", "installation", i.ID, "error", err)
		}
	}
	return 0, w.Queue.Put(ctx, reconciledKey, []byte(w.Now().UTC().Format(time.RFC3339Nano)), reportTTL)
}

func (w *Worker) reconcileInstallation(ctx context.Context, i github.Installed, term *queue.Term) error {
	client, err := w.App.Installation(i.ID)
	if err != nil {
		return err
	}
	repos, err := client.OpenRepositories(ctx)
	if err != nil {
		return err
	}
	since := w.Now().Add(-reconcileWindow)
	if i.Since.After(since) {
		since = i.Since
	}
	asked := 0
	for _, r := range repos {
		pulls, err := client.OpenPulls(ctx, r.Owner, r.Name, since)
		if err != nil {
			return err
		}
		for _, p := range pulls {
			key := fmt.Sprintf("pull/%d/%d", r.ID, p.GetNumber())
			if known, err := w.attended(ctx, key, p.GetHead().GetSHA()); err != nil || known {
				if err != nil {
					return err
				}
				continue
			}
			if asked++; asked > reconcileMost {
				return fmt.Errorf("worker: more than %d heads are not known", reconcileMost)
			}
			if concluded, err := client.Concluded(ctx, r.Owner, r.Name, p.GetHead().GetSHA(), w.App.ID()); err != nil || concluded {
				if err != nil {
					return err
				}
				continue
			}
			if err := term.Check(ctx); err != nil {
				return err
			}
			if err := w.revive(ctx, i.ID, r.ID, key, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// attended says whether a pull request's head needs no look: a job is about it, or its verdict is known here.
func (w *Worker) attended(ctx context.Context, key, sha string) (bool, error) {
	e, err := w.Queue.Show(ctx, key)
	if err == nil && e.State != queue.Dead {
		return true, nil
	}
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return false, err
	}
	data, err := w.Queue.Get(ctx, standingKey(key))
	if err != nil || data == nil {
		return false, err
	}
	var s standing
	return json.Unmarshal(data, &s) == nil && s.SHA == sha && s.Conclusion != "", nil
}

// revive gives a pull request a job. Nobody waits for it: whoever did has pushed again, or given up.
func (w *Worker) revive(ctx context.Context, installation, repository int64, key string, p *gh.PullRequest) error {
	payload := fmt.Appendf(nil, `{"number":%d}`, p.GetNumber())
	job := queue.Job{
		Key: key, Kind: "pull", Installation: installation, Repository: repository, SHA: p.GetHead().GetSHA(),
		Trigger: "sweeper", Payload: payload, Priority: queue.Background, Received: w.Now().UTC(),
	}
	if _, err := w.Queue.Enqueue(ctx, "", job); err != nil {
		return err
	}
	w.metrics.revived.Inc()
	w.Log.Info("an open head has no concluded check and no job; it gets one", "job", key, "installation", installation, "repository", repository, "sha", job.SHA)
	return nil
}
