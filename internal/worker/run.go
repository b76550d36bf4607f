package worker

import (
	"context"
	"errors"
	"time"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

const (
	// heartbeat is the maximum time between two renewals of the lease: 1.5 s after an
	// installation is suspended, no more calls may be made.
	heartbeat = time.Second

	// A job that this release does not understand is left to processes of a newer release: during an
	// upgrade both run. After a rollback there is none.
	leaveToOthers = time.Minute
	leavePause    = 5 * time.Second

	// longest is the timeout of a job, much longer than checking the largest allowed artifacts
	// takes.
	longest = 30 * time.Minute
)

// run handles a claimed job and ends its lease.
func (w *Worker) run(ctx context.Context, lease *queue.Lease) {
	start := w.Now()
	j := &lease.Job
	log := w.Log.With(
		"job", j.ID, "delivery", j.Delivery, "trigger", j.Trigger, "installation", j.Installation,
		"repository", j.Repository, "attempt", lease.Attempt, "sha", j.SHA,
	)
	a := &Attempt{Lease: lease, Log: log}
	log.Debug("job claimed")

	// The job ends with the lease or the service. A stopping service cancels it with a specific
	// cause.
	jobCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(errShutdown) })
	timeout := time.AfterFunc(longest, func() { cancel(errTooLong) })
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		w.beat(jobCtx, lease, cancel)
	}()
	out, err := w.handle(jobCtx, a)
	cause := context.Cause(jobCtx)
	cancel(nil)
	stop()
	timeout.Stop()
	<-beating

	// Each call of the queue has a timeout.
	how, endErr := w.end(context.WithoutCancel(ctx), a, out, err, cause)
	if endErr != nil && !errors.Is(endErr, queue.ErrLost) {
		log.Warn(
			"the end of a job could not be stored; its lease will run out",
			"outcome", how, "error", endErr,
		)
	}
	took := w.Now().Sub(start)
	w.metrics.ended(job.KindOf(*j), how, took)
	log.Debug("job ended", "outcome", how, "took", took.Round(time.Millisecond))
}

// handle calls the handler of the job's kind. A panic becomes an error of the job.
func (w *Worker) handle(ctx context.Context, a *Attempt) (out Outcome, err error) {
	defer func() {
		if e := Recovered(a.Log, recover()); e != nil {
			out, err = Done, e
		}
	}()
	body, err := job.Decode(a.Job)
	switch newer := errors.Is(err, job.ErrNewer); {
	case newer && w.Now().Sub(a.Job.Received) < leaveToOthers:
		return Later(leavePause, err.Error()), nil
	case newer && body != nil:
		// Its subject is known, and the worker asks GitHub for the state of that.
		a.Log.Warn("no newer release has taken the job", "error", err)
	case err != nil:
		return Done, Permanent(err.Error())
	}
	return w.Handlers[body.Kind()](ctx, a, body)
}

// beat renews the lease until ctx ends, and cancels the job when the lease is lost or the job
// superseded.
func (w *Worker) beat(ctx context.Context, lease *queue.Lease, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(min(w.Lease/3, heartbeat))
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
		case errors.Is(err, queue.ErrLost), err != nil && w.Now().Sub(held) > w.Lease:
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

// end stores the outcome of the job. how is a word for the log and the metrics.
func (w *Worker) end(
	ctx context.Context,
	a *Attempt,
	out Outcome,
	err, cause error,
) (how string, _ error) {
	for _, e := range []error{err, cause} {
		switch {
		case errors.Is(e, errLost), errors.Is(e, queue.ErrLost):
			return "lost", nil
		case errors.Is(e, errSuperseded):
			_, err := a.Done(ctx)
			return "superseded", err
		}
	}
	if errors.Is(cause, errShutdown) && err != nil {
		return "released", a.Release(ctx)
	}
	if errors.Is(cause, errTooLong) && err != nil {
		err = Permanent(errTooLong.Error())
	}
	if err == nil && out.large {
		a.Log.Info("job is for the large pool")
		return "large", a.Large(ctx)
	}
	if err == nil && out.after > 0 {
		a.Log.Info("job waits", "reason", out.reason, "for", out.after.Round(time.Millisecond).String())
		return "snoozed", a.Snooze(ctx, out.after, out.reason)
	}
	if err == nil {
		_, err := a.Done(ctx)
		return "done", err
	}
	return w.failed(ctx, a, failureOf(err))
}

// failed ends a job by the class of its error.
func (w *Worker) failed(ctx context.Context, a *Attempt, f *Failure) (how string, _ error) {
	switch f.Class {
	case RateLimited:
		until := w.Now().Add(f.After)
		a.Log.Warn("rate limit", "until", until, "reason", f.Reason)
		if a.Postpone != nil {
			a.Postpone(ctx, f.After)
		}
		if f.Park {
			if err := w.Queue.Park(ctx, a.Job.Installation, until); err != nil {
				a.Log.Warn("the installation could not be parked", "error", err)
			}
		}
		return "limited", a.Snooze(ctx, f.After, f.Reason)
	case DropInstallation:
		a.Log.Info("the installation is gone; its jobs are dropped", "error", f)
		return "dropped", w.Queue.DropInstallation(ctx, a.Job.Installation)
	case GiveUp:
		a.Log.Error("job can't succeed", "error", f)
		w.giveUp(ctx, a, f.Reason)
		return "dead", a.Kill(ctx, f.Reason)
	}
	if a.Last {
		a.Log.Error("job failed for the last time", "error", f)
		w.giveUp(ctx, a, f.Reason)
	} else {
		a.Log.Warn("job failed", "error", f)
	}
	return "failed", a.Retry(ctx, f.Reason)
}

// giveUp concludes what depends on a job that will not be retried, as far as possible.
func (w *Worker) giveUp(ctx context.Context, a *Attempt, reason string) {
	if a.GiveUp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		w.beat(ctx, a.Lease, end)
	}()
	err := func() (err error) {
		defer func() {
			if e := Recovered(a.Log, recover()); e != nil {
				err = e
			}
		}()
		return a.GiveUp(ctx, reason)
	}()
	end(nil)
	<-beating
	if err != nil {
		a.Log.Error("a job that was given up could not be concluded", "error", err)
	}
}
