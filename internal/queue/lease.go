package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	// bytes of a state: names and IDs of what is open on GitHub, not a report
	maxState  = 1 << 20
	maxReason = 1000 // bytes to which a reason is truncated

	// stateObjectTTL is the lifetime of a state in the bucket. Each job of the key extends that of the
	// state in Redis, but not that of the object.
	stateObjectTTL = 365 * 24 * time.Hour
)

// Lease is a job that only this worker may process until the lease expires. Extend renews it.
// Every method returns ErrLost if the lease has expired or the job was dropped, and another error
// if the store does not respond; then the lease may still be held, and the call may be repeated.
// Done, Retry, Snooze, Release, Large and Kill end the lease.
type Lease struct {
	Job     Job
	Attempt int // from 1; only Retry counts
	// number of previous consecutive leases that expired while the job was at risk (Risk)
	Crashes int
	Losses  int // number of previous consecutive leases that expired
	// if this lease expires too, the job is dead: do not process it, but conclude its check run
	FinalLoss bool
	// if this lease expires or ends with Retry, the job is dead: conclude its check run now
	Last  bool
	State []byte // stored by Save for this Key, also by earlier jobs; nil = nothing

	q     *Queue
	part  partition
	token string
	more  bool // another job can be claimed from the partition
}

// Extend renews the lease for its full length. Call it three times per length. superseded means
// that a newer job with the same Key waits: stop, because the result would be outdated, and call
// Done.
func (l *Lease) Extend(ctx context.Context) (superseded bool, err error) {
	n, err := l.run(ctx, "extend", l.q.o.Lease.Milliseconds())
	return n == 1, err
}

// Check returns nil while the lease is held. Call it before each write to GitHub.
func (l *Lease) Check(ctx context.Context) error {
	_, err := l.run(ctx, "extend", 0)
	return err
}

// Risk records that the job begins or ends an operation that may kill its process, such as one
// with much memory. A lease that expires meanwhile counts as a crash, and MaxCrashes of these
// make the job dead. At other times the cause is probably another one, and four times as many are
// allowed.
func (l *Lease) Risk(ctx context.Context, at bool) error {
	n := 0
	if at {
		n = 1
	}
	_, err := l.run(ctx, "risk", n)
	return err
}

// Save stores a state for the Key, which later Claims return in State, until 30 days after the
// last job of the Key. An empty state deletes it. It returns ErrTooLarge above 1 MiB.
//
// With Options.Bucket a large state is an object of the bucket. It is lost if the bucket does not
// respond when the job is claimed, or if no state of the Key was saved for a year.
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
	stored, _ := l.q.objects.move(ctx, state, stateObjectTTL)
	if _, err := l.run(ctx, "save", stored); err != nil {
		return err
	}
	l.State = state
	return nil
}

// restore sets State from what is stored. Handlers repeat work without a state, so a bucket that
// does not respond does not delay the job.
func (l *Lease) restore(ctx context.Context, stored string) {
	if stored == "" {
		return
	}
	state, err := l.q.objects.resolve(ctx, []byte(stored))
	if err != nil {
		l.q.log.Warn("the saved state of a job can't be read", "key", l.Job.Key, "error", err)
	}
	l.State = state
}

// Done ends the lease of a finished job. rerun means that a newer job with the same Key waits.
func (l *Lease) Done(ctx context.Context) (rerun bool, err error) {
	n, err := l.run(ctx, "done")
	return n == 1, err
}

// Retry ends the lease of a failed job. The job is retried after a pause that grows with each
// attempt, and is dead after MaxAttempts; see Last. A newer job with the same Key replaces it.
func (l *Lease) Retry(ctx context.Context, reason string) error {
	_, err := l.run(ctx, "retry", clean(reason), backoff(l.Attempt).Milliseconds(), l.q.o.MaxAttempts)
	return err
}

// Snooze ends the lease and delays the job. No attempt is counted. Enqueue of the same Key ends
// the delay. A newer job with the same Key replaces it.
func (l *Lease) Snooze(ctx context.Context, after time.Duration, reason string) error {
	_, err := l.run(ctx, "snooze", clean(reason), max(0, after).Milliseconds())
	return err
}

// Release ends the lease, so that another worker can claim the job at once. Nothing is counted.
func (l *Lease) Release(ctx context.Context) error {
	_, err := l.run(ctx, "release")
	return err
}

// Large ends the lease of a job that only workers of the large pool should do, so that one of them
// can claim it. Nothing is counted. The job of the key stays in that pool until it is done.
func (l *Lease) Large(ctx context.Context) error {
	_, err := l.run(ctx, "large")
	return err
}

// Kill ends the lease of a job that cannot succeed. It is dead, unless a newer job with the same
// Key waits, which replaces it.
func (l *Lease) Kill(ctx context.Context, reason string) error {
	_, err := l.run(ctx, "kill", clean(reason))
	return err
}

func (l *Lease) run(ctx context.Context, name string, args ...any) (int64, error) {
	n, err := l.q.number(ctx, l.part, name, append([]any{l.Job.Key, l.token}, args...)...)
	if err == nil && n < 0 {
		return 0, fmt.Errorf("queue: %s %s: %w", name, l.Job.Key, ErrLost)
	}
	return n, err
}

// backoff returns the pause after an attempt: 1 s, 3 s, 9 s … 15 min, with a jitter of 20 % that
// separates jobs which failed together. The first pause is short, because most failures are reads
// of GitHub directly after an event.
func backoff(attempt int) time.Duration {
	d := time.Second
	for i := 1; i < attempt && d < 15*time.Minute; i++ {
		d *= 3
	}
	d = min(d, 15*time.Minute)
	return d - d/10 + rand.N(d/5)
}

// clean truncates a reason and makes it valid UTF-8.
func clean(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return strings.ToValidUTF8(reason, "")
}
