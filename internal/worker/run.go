package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

const (
	// heartbeat is the longest between two looks at the lease: a suspended installation must hear
	// no more of us within 1.5 s.
	heartbeat = time.Second

	// longest is far above what downloading and judging the largest allowed artifacts takes; beyond
	// it something hangs.
	longest = 30 * time.Minute
)

// run handles one claimed job and ends its lease.
func (w *Worker) run(ctx context.Context, lease *queue.Lease) {
	start := w.Now()
	j := lease.Job
	log := w.Log.With(
		"job",
		j.ID,
		"delivery",
		j.Delivery,
		"trigger",
		j.Trigger,
		"installation",
		j.Installation,
		"repository",
		j.Repository,
		"attempt",
		lease.Attempt,
		"sha",
		j.SHA,
	)
	t := &task{Worker: w, lease: lease, job: j, Log: log}
	log.Debug("job claimed")

	// The job outlives neither the lease nor the service, but a stopping service ends it with a
	// cause of its own.
	jobCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errShutdown) })
	timeout := time.AfterFunc(longest, func() { cancel(errTooLong) })
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		w.beat(jobCtx, lease, cancel)
	}()
	out, err := t.handle(jobCtx)
	cause := context.Cause(jobCtx)
	cancel(nil)
	stop()
	timeout.Stop()
	<-beating

	how, endErr := w.end(
		context.WithoutCancel(ctx),
		t,
		out,
		err,
		cause,
	) // each call of the queue has a time limit of its own
	if endErr != nil && !errors.Is(endErr, queue.ErrLost) {
		log.Warn(
			"the end of a job could not be stored; its lease will run out",
			"outcome",
			how,
			"error",
			endErr,
		)
	}
	w.metrics.ended(job.KindOf(j), how, w.Now().Sub(start))
	log.Debug("job ended", "outcome", how, "took", w.Now().Sub(start).Round(time.Millisecond))
}

// beat renews the lease until ctx ends, and ends the job when the lease is lost or the job
// superseded.
func (w *Worker) beat(ctx context.Context, lease *queue.Lease, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(min(w.Config.Lease/3, heartbeat))
	defer tick.Stop()
	held := w.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		superseded, err := lease.Extend(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, queue.ErrLost), err != nil && w.Now().Sub(held) > w.Config.Lease:
			cancel(errLost)
			return
		case superseded:
			cancel(errSuperseded)
			return
		case err == nil:
			held = w.Now()
		}
	}
}

// end stores what becomes of the job. how is a word for the log and the metrics.
func (w *Worker) end(
	ctx context.Context,
	t *task,
	out outcome,
	err, cause error,
) (how string, _ error) {
	lease := t.lease
	for _, e := range []error{err, cause} {
		switch {
		case errors.Is(e, errLost), errors.Is(e, queue.ErrLost):
			return "lost", nil
		case errors.Is(e, errSuperseded):
			_, err := lease.Done(ctx)
			return "superseded", err
		}
	}
	if errors.Is(cause, errShutdown) && err != nil {
		return "released", lease.Release(ctx)
	}
	if errors.Is(cause, errTooLong) && err != nil {
		err = &unfit{errTooLong.Error()}
	}
	if err == nil && out.after > 0 {
		t.Log.Info(
			"job waits",
			"reason",
			out.reason,
			"for",
			out.after.Round(time.Millisecond).String(),
		)
		return "snoozed", lease.Snooze(ctx, out.after, out.reason)
	}
	if err == nil {
		_, err := lease.Done(ctx)
		return "done", err
	}
	return w.failed(ctx, t, err)
}

// failed ends a job by what its error means.
func (w *Worker) failed(ctx context.Context, t *task, err error) (how string, _ error) {
	lease, j := t.lease, t.job
	fate := github.Classify(err)
	if no := (*unfit)(nil); errors.As(err, &no) {
		fate = github.ErrorClass{Kind: github.Invalid, Reason: no.reason}
	}
	if own := (*ownFault)(nil); errors.As(err, &own) {
		fate = github.ErrorClass{Kind: github.Retry, Reason: "compat itself failed; its log says why."}
	}
	switch {
	case fate.Kind == github.After:
		until := w.Now().Add(fate.After)
		t.Log.Warn("rate limit", "until", until, "reason", fate.Reason)
		t.postpone(ctx, fate.After)
		if l := (*github.LimitError)(nil); !errors.As(err, &l) ||
			!l.Content { // what others have to say needs no comment, perhaps
			if err := w.Queue.Park(ctx, j.Installation, until); err != nil {
				t.Log.Warn("the installation could not be parked", "error", err)
			}
		}
		return "limited", lease.Snooze(ctx, fate.After, fate.Reason)
	case fate.Kind == github.Gone && errors.Is(err, github.ErrForgotten),
		fate.Kind == github.Gone && t.client == nil,
		isToken(err) && fate.Kind == github.Gone:
		t.Log.Info("the installation is gone; its jobs are dropped", "error", err)
		w.App.Forget(j.Installation)
		return "dropped", w.Queue.DropInstallation(ctx, j.Installation)
	case fate.Kind == github.Forbidden && t.client != nil:
		t.client.ForgetRepository(j.Repository) // it may be archived by now
	}
	switch {
	case fate.Kind == github.Invalid,
		fate.Kind == github.Gone,
		fate.Kind == github.Forbidden && lease.Attempt > 2:
		t.Log.Error("job can't succeed", "error", err)
		w.abandon(ctx, t, fate.Reason)
		return "dead", lease.Kill(ctx, fate.Reason)
	}
	if lease.Last {
		t.Log.Error("job failed for the last time", "error", err)
		w.abandon(ctx, t, fate.Reason)
	} else {
		t.Log.Warn("job failed", "error", err)
	}
	return "failed", lease.Retry(ctx, fate.Reason)
}

func isToken(err error) bool {
	var e *github.TokenError
	return errors.As(err, &e)
}

// abandon concludes what hangs on a job that nobody will try again, as far as that is possible.
func (w *Worker) abandon(ctx context.Context, t *task, reason string) {
	if t.giveUp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		w.beat(ctx, t.lease, end)
	}()
	err := func() (err error) {
		defer func() {
			if e := recovered(t.Log, recover()); e != nil {
				err = e
			}
		}()
		return t.giveUp(ctx, reason)
	}()
	end(nil)
	<-beating
	if err != nil {
		t.Log.Error("an abandoned job could not be concluded", "error", err)
	}
}

// recovered is the error that a panic is to the one job, or look, in which it happened, with its
// place in the log; nil for none. What the panic was about stays out of everything but the log.
func recovered(log *slog.Logger, r any) error {
	if r == nil {
		return nil
	}
	log.Error("panic in a job", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	return &ownFault{errors.New("worker: panic; the log has its place")}
}

// handle runs the job's kind; a panic is an error of that one job.
func (t *task) handle(ctx context.Context) (out outcome, err error) {
	defer func() {
		if e := recovered(t.Log, recover()); e != nil {
			out, err = done, e
		}
	}()
	body, err := job.Decode(t.job)
	if err != nil {
		return done, &unfit{err.Error()}
	}
	h := handlers[body.Kind()]
	if h.local {
		return h.do(t, ctx, body)
	}
	if ok, err := t.open(ctx); err != nil || !ok {
		return t.missing(err)
	}
	if t.repo.Archived {
		t.Log.Info("nothing to do: the repository is archived")
		return done, nil
	}
	return h.do(t, ctx, body)
}

// handler does the jobs of one kind.
type handler struct {
	do    func(*task, context.Context, job.Body) (outcome, error)
	local bool // needs nothing of GitHub
}

// on makes a handler of a kind whose body is a B.
func on[B job.Body](do func(*task, context.Context, B) (outcome, error)) handler {
	return handler{do: func(t *task, ctx context.Context, b job.Body) (outcome, error) {
		body, ok := b.(B)
		if !ok {
			return done, &unfit{fmt.Sprintf("a job of kind %s has another body", b.Kind())}
		}
		return do(t, ctx, body)
	}}
}

func local(h handler) handler {
	h.local = true
	return h
}

// handlers holds the handler of each kind of job.
var handlers = map[job.Kind]handler{
	job.KindPull:              on((*task).pull),
	job.KindCommit:            on((*task).commit),
	job.KindMergeGroup:        on((*task).mergeGroup),
	job.KindRelease:           on((*task).release),
	job.KindDeployment:        on((*task).deployment),
	job.KindCommand:           on((*task).command),
	job.KindCheckAction:       on((*task).button),
	job.KindDefaultBranch:     on((*task).base),
	job.KindBaseAnalysis:      on((*task).ahead),
	job.KindRepositoryRemoved: local(on((*task).removed)),
	job.KindRepositoryRenamed: local(on((*task).renamed)),
}
