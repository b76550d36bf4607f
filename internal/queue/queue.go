// Package queue stores the jobs between the webhook and the workers. It is keyed by subject and
// implemented by Lua scripts on Redis. It knows nothing of GitHub.
//
// Guarantees:
//
//   - Enqueue stores all jobs of a delivery and marks the delivery atomically. When it returns,
//     they are stored.
//   - At most one job of a key waits. A newer job replaces a waiting, delayed or dead one, and
//     waits for a running one, whose worker is notified.
//   - A job is done at least once, by one worker at a time. A lease has a token; all methods of a
//     lost lease return ErrLost. When a worker dies, its jobs are claimed by others after the
//     lease expires.
//   - More urgent jobs are claimed first. Among these, installations take turns, with a limit of
//     concurrent jobs each, except parked ones. Every fourth claim ignores the priority.
//   - All times are those of the server.
//
// Without a Redis URL the same scripts run in transactions of a file; see engine.go.
//
//	q, err := queue.Open(ctx, queue.Options{URL: "redis://localhost:6379/0"})
//	result, err := q.Enqueue(ctx, guid, queue.Job{Key: "pull/4711/12", Installation: 7, Kind: "pull"})
//	lease, err := q.Claim(ctx, time.Second)
//	rerun, err := lease.Done(ctx)
package queue

import (
	"encoding/json"
	"time"
)

// Job is a subject to process: a pull request, a release, a command. At most one job per Key
// waits; a newer one replaces it.
type Job struct {
	ID string `json:"id"` // set by Enqueue: Key and generation; opaque to callers
	// the subject: "pull/REPOSITORY/NUMBER", "release/REPOSITORY/ID", …
	Key          string `json:"key"`
	Kind         string `json:"kind"`
	Installation int64  `json:"installation"`
	Repository   int64  `json:"repository"` // GitHub's ID of the base repository
	// head commit in the event; a hint, the worker reads it from GitHub
	SHA      string `json:"sha"`
	Trigger  string `json:"trigger"`  // "pull_request.opened", "check_run.rerequested", …
	Delivery string `json:"delivery"` // GUID of the delivery; "" = none
	// ForceID makes the worker check the subject again even if nothing has changed, because a
	// person requested it; "" = not forced. It is kept when a job without ForceID replaces this
	// one.
	ForceID  string          `json:"force_id"`
	Payload  json.RawMessage `json:"payload"`          // the fields of the event that the worker needs
	Schema   int             `json:"schema,omitempty"` // version of Kind and Payload
	Priority Priority        `json:"priority"`         // 0 = the value of Options.Priorities for the Kind
	Received time.Time       `json:"received"`
	// Requested is when a person made the request; zero = it is none, or not known.
	Requested time.Time `json:"requested,omitzero"`
}

// Priority is the urgency of a job. Of two jobs with one key the higher priority applies.
type Priority int

// Priorities of jobs.
const (
	Background Priority = -1 // nobody waits for the result
	Normal     Priority = 0
	Urgent     Priority = 1
)

// Pool selects the jobs that the workers of a process claim.
type Pool string

// Pools of workers. A job is in the large pool after Lease.Large, and in the small one otherwise.
const (
	SmallPool Pool = "small"
	LargePool Pool = "large"
)

// State is the state of a job.
type State string

// States of a job.
const (
	Waiting State = "waiting" // can be claimed
	Running State = "running" // under a lease
	Delayed State = "delayed" // snoozed or failed, and claimed when the delay has passed
	Dead    State = "dead"    // given up; Enqueue of the key, a redelivery or RetryDead revives it
)

// States returns all states, in the order in which List sorts.
func States() []State { return []State{Waiting, Running, Delayed, Dead} }
