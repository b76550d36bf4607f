package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	// bytes that Save takes: names and ids of what is open on GitHub, not a report
	maxState  = 1 << 20
	maxReason = 1000 // bytes of a reason that are kept
)

// Lease is a job that this worker, and no other, may work on until the lease runs out; Extend
// renews it. Every method returns ErrLost when that has happened or the job was dropped, and
// another error when the store didn't answer: then the lease may well be held, and the call be
// repeated. One of Done, Retry, Snooze, Release and Kill ends it.
type Lease struct {
	Job     Job
	Attempt int // 1 for the first; counts Retry only
	// how often in a row before this lease the worker was lost while the job was at risk (Risk)
	Crashes int
	Losses  int // how often in a row before this lease the worker was lost at all
	// when the worker is lost once more the job is dead: don't try, conclude whatever hangs on it
	FinalLoss bool
	// when this one fails with Retry, or falls silent, the job is dead: whatever hangs on it should
	// be concluded now
	Last  bool
	State []byte // what Save stored for this Key, also under earlier jobs; nil nothing

	q     *Queue
	token string
}

// Extend gives the lease its full length again; call it every third of the length. superseded: a
// newer job of the Key has come; what this one finds is of no use any more, so stop and call Done.
func (l *Lease) Extend(ctx context.Context) (superseded bool, err error) {
	n, err := l.run(ctx, "extend", l.q.o.Lease.Milliseconds())
	return n == 1, err
}

// Check returns nil while the lease is held. Call it before each write to the outside.
func (l *Lease) Check(ctx context.Context) error {
	_, err := l.run(ctx, "extend", 0)
	return err
}

// Risk says that the job now does what may end the process it runs in (it takes much memory, say),
// or does so no longer. A worker that is lost meanwhile has crashed by the job, which makes it dead
// after MaxCrashes; one that is lost at any other time was most likely lost by something else, and
// four times as many may be.
func (l *Lease) Risk(ctx context.Context, at bool) error {
	n := 0
	if at {
		n = 1
	}
	_, err := l.run(ctx, "risk", n)
	return err
}

// Save stores what the next Claim of the Key shall find in State, until 30 days after its last job;
// empty forgets. ErrTooLarge over 1 MiB.
func (l *Lease) Save(ctx context.Context, state []byte) error {
	if len(state) > maxState {
		return fmt.Errorf(
			"queue: save %s: a state of %d bytes is %w, which takes %d",
			l.Job.Key,
			len(state),
			ErrTooLarge,
			maxState,
		)
	}
	if _, err := l.run(ctx, "save", state); err != nil {
		return err
	}
	l.State = state
	return nil
}

// Done ends the lease: the job is finished. rerun: a newer job of the Key came meanwhile and waits
// now.
func (l *Lease) Done(ctx context.Context) (rerun bool, err error) {
	n, err := l.run(ctx, "done")
	return n == 1, err
}

// Retry ends the lease: the job failed. It is tried again after a pause that grows with each
// attempt, and is dead after MaxAttempts; see Last. Where a newer job of the Key has come, that one
// waits instead.
func (l *Lease) Retry(ctx context.Context, reason string) error {
	_, err := l.run(
		ctx,
		"retry",
		clean(reason),
		backoff(l.Attempt).Milliseconds(),
		l.q.o.MaxAttempts,
	)
	return err
}

// Snooze ends the lease: there is nothing to do before after has passed. No attempt is counted; a
// new Enqueue of the Key wakes it at once. Where a newer job of the Key has come, that one waits
// instead.
func (l *Lease) Snooze(ctx context.Context, after time.Duration, reason string) error {
	_, err := l.run(ctx, "snooze", clean(reason), max(0, after).Milliseconds())
	return err
}

// Release ends the lease: this worker stops, another may go on at once. Nothing is counted.
func (l *Lease) Release(ctx context.Context) error {
	_, err := l.run(ctx, "release")
	return err
}

// Kill ends the lease: the job can't succeed, whoever tries. It is dead, unless a newer job of the
// Key has come, which then waits.
func (l *Lease) Kill(ctx context.Context, reason string) error {
	_, err := l.run(ctx, "kill", clean(reason))
	return err
}

func (l *Lease) run(ctx context.Context, name string, args ...any) (int64, error) {
	n, err := l.q.number(ctx, name, append([]any{l.Job.Key, l.token}, args...)...)
	if err == nil && n < 0 {
		return 0, fmt.Errorf("queue: %s %s: %w", name, l.Job.Key, ErrLost)
	}
	return n, err
}

// backoff is the pause after the given attempt: 1 s, 3 s, 9 s … 15 min. The first is short, because
// most failures are a GitHub that answered before all of it knew; a fifth of chance keeps jobs that
// failed together from coming back together.
func backoff(attempt int) time.Duration {
	d := time.Second
	for i := 1; i < attempt && d < 15*time.Minute; i++ {
		d *= 3
	}
	d = min(d, 15*time.Minute)
	return d - d/10 + rand.N(d/5)
}

// clean makes a reason that may quote the outside fit to be kept: valid, and short.
func clean(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return strings.ToValidUTF8(reason, "")
}
