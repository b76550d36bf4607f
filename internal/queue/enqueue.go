package queue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// markTTL is how long a delivery is marked at most; the least is 8 days, because GitHub redelivers
// for 3 days, GitHub Enterprise Server for 7. See lib.lua.
const markTTL = 12 * 24 * time.Hour

const (
	maxName = 512     // bytes of a key, a ForceID or a delivery GUID
	maxJob  = 1 << 18 // bytes of a job as JSON: a payload has a few fields, not the event
)

// Result is the result of Enqueue.
type Result struct {
	Duplicate  bool     // the delivery is known and none of its jobs is dead, so nothing was stored
	IDs        []string // IDs of the stored jobs, in the order of the arguments
	Superseded int      // number of them that replaced or follow a job with the same key
}

// Enqueue stores the jobs of a delivery and marks its GUID atomically. When it returns without an
// error they are stored in Redis, or on disk if the queue is embedded. A delivery without jobs is
// marked too. delivery is "" for a follow-up job, and then nothing is marked.
//
// A marked delivery is a duplicate. However, those of its jobs that are dead are stored again,
// because a redelivery asks for it.
//
// It returns an error, and stores nothing, if:
//   - a priority is invalid, a key is empty, longer than 512 bytes or contains control
//     characters, or a job has more than 256 KiB (ErrTooLarge)
//   - the store does not respond. In this case the jobs may be stored after all; a second call
//     then returns Duplicate.
func (q *Queue) Enqueue(ctx context.Context, delivery string, jobs ...Job) (Result, error) {
	return q.EnqueueOnce(ctx, delivery, "", jobs...)
}

// EnqueueOnce is like Enqueue, and also marks the body of the delivery, by any digest of it; "" =
// do not. A delivery with the body of another one is a duplicate, under any GUID and of any event,
// because only the body of a delivery is signed.
func (q *Queue) EnqueueOnce(
	ctx context.Context,
	delivery, body string,
	jobs ...Job,
) (Result, error) {
	e := &enqueueing{q: q, delivery: delivery, body: body, jobs: make([]enqueued, len(jobs))}
	if err := checkName(delivery); delivery != "" && err != nil {
		return Result{}, fmt.Errorf("queue: enqueue: delivery %w", err)
	}
	for i, j := range jobs {
		if err := checkName(j.Key); err != nil {
			return Result{}, fmt.Errorf("queue: enqueue: key %w", err)
		}
		if j.Priority < Background || j.Priority > Urgent {
			return Result{}, fmt.Errorf("queue: enqueue %s: there is no priority %d", j.Key, j.Priority)
		}
		if len(j.ForceID) > maxName {
			return Result{}, fmt.Errorf(
				"queue: enqueue %s: a force id of %d bytes is %w, which takes %d",
				j.Key,
				len(j.ForceID),
				ErrTooLarge,
				maxName,
			)
		}
		forceID := j.ForceID
		j.ID, j.ForceID = "", "" // both are set by the queue
		j.Priority = q.priority(j)
		data, err := json.Marshal(j)
		if err != nil {
			return Result{}, fmt.Errorf("queue: enqueue %s: %w", j.Key, err)
		}
		if len(data) > maxJob {
			return Result{}, fmt.Errorf(
				"queue: enqueue %s: a job of %d bytes is %w, which takes %d: give it fewer fields of the event",
				j.Key,
				len(data),
				ErrTooLarge,
				maxJob,
			)
		}
		e.jobs[i] = enqueued{
			installation: j.Installation,
			repository:   j.Repository,
			key:          j.Key,
			args:         []any{j.Key, j.Installation, forceID, int(j.Priority), data},
		}
	}
	if err := q.follow(ctx, func(p *plan) error { return e.store(ctx, p) }); err != nil {
		return Result{}, err
	}
	r := Result{Duplicate: e.duplicate, Superseded: e.superseded}
	for _, j := range e.jobs {
		if j.generation > 0 {
			r.IDs = append(r.IDs, fmt.Sprintf("%s#%d", j.key, j.generation))
		}
	}
	return r, nil
}

// Arrived reports whether a delivery about an installation was stored in the last 8 days.
// installation 0 = about none.
func (q *Queue) Arrived(ctx context.Context, installation int64, delivery string) (bool, error) {
	p, err := q.plan(ctx)
	if err != nil {
		return false, err
	}
	for _, parts := range append([][]partition{p.parts}, p.marked...) {
		// The second is for deliveries that have no job.
		for _, part := range []partition{of(parts, installation), ofDelivery(parts, delivery)} {
			n, err := q.number(ctx, part, "arrived", delivery, fingerprint(delivery))
			if err != nil || n == 1 {
				return n == 1, err
			}
		}
	}
	return false, nil
}

// fingerprint identifies a delivery in the marks, with eight bytes.
func fingerprint(delivery string) []byte {
	sum := sha256.Sum256([]byte(delivery))
	return sum[:8]
}

// checkName rejects strings that cannot be part of a Redis key.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxName:
		return fmt.Errorf("of %d bytes is %w, which takes %d", len(s), ErrTooLarge, maxName)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%q holds control characters or isn't UTF-8", s)
	}
	return nil
}
