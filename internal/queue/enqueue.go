package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// markTTL is how long a delivery is remembered: GitHub redelivers for 3 days, GitHub Enterprise
// Server for 7.
const markTTL = 8 * 24 * time.Hour

const (
	maxName = 512     // bytes of a key, a force id or a delivery GUID
	maxJob  = 1 << 18 // bytes of a job as JSON: a payload is a few fields, never the event
)

// Result says what Enqueue did.
type Result struct {
	Duplicate  bool     // the delivery is known and none of its jobs is dead: nothing was stored
	IDs        []string // of the jobs stored, in the order given
	Superseded int      // how many of them took the place of a job that waited, slept or runs
}

// Enqueue stores the jobs of one delivery and marks its GUID, all or nothing; when it returns
// without an error they are stored (Redis) or on disk (embedded). A delivery without jobs is marked
// too. delivery "": a follow-up of our own, no mark.
//
// A known delivery is a duplicate. But those of its jobs that are dead are taken again: somebody
// asked for it with a redelivery.
//
// It returns an error, and stores nothing, when:
//   - a priority is none of the three; a key is empty, over 512 bytes, or holds control characters;
//     ErrTooLarge for a job over 256 KiB
//   - the store does not answer. It may have stored them all the same; then a second call answers
//     Duplicate
func (q *Queue) Enqueue(ctx context.Context, delivery string, jobs ...Job) (Result, error) {
	args := []any{delivery, int(markTTL.Seconds())}
	if err := checkName(delivery); delivery != "" && err != nil {
		return Result{}, fmt.Errorf("queue: enqueue: delivery %w", err)
	}
	for _, j := range jobs {
		if err := checkName(j.Key); err != nil {
			return Result{}, fmt.Errorf("queue: enqueue: key %w", err)
		}
		if j.Priority < Background || j.Priority > Urgent {
			return Result{}, fmt.Errorf(
				"queue: enqueue %s: there is no priority %d",
				j.Key,
				j.Priority,
			)
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
		j.ID, j.ForceID = "", "" // both are the queue's to change
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
		args = append(args, j.Key, j.Installation, forceID, int(j.Priority), data)
	}

	answer, err := q.run(ctx, "enqueue", args...)
	if err != nil {
		return Result{}, err
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 {
		return Result{}, fmt.Errorf("queue: enqueue: the script answered %v", answer)
	}
	r := Result{Duplicate: list[0] == int64(1)}
	if n, ok := list[1].(int64); ok {
		r.Superseded = int(n)
	}
	for i, gen := range list[2:] {
		if n, ok := gen.(int64); ok && n > 0 {
			r.IDs = append(r.IDs, fmt.Sprintf("%s#%d", jobs[i].Key, n))
		}
	}
	return r, nil
}

// Arrived says whether a delivery was stored; it is remembered for 8 days.
func (q *Queue) Arrived(ctx context.Context, delivery string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := q.rdb.Exists(ctx, prefix+"guid:"+delivery).Result()
	if err != nil {
		return false, fmt.Errorf("queue: arrived: %w", err)
	}
	return n > 0, nil
}

// checkName refuses what could not be part of a Redis key or of a line.
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
