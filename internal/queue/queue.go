// Package queue holds the jobs between the webhook that receives them and the worker that does
// them: one queue keyed by subject, in Lua scripts on Redis.
//
// It knows jobs, keys, installations and time, and nothing of GitHub. What it promises:
//
//   - Enqueue stores all jobs of a delivery and marks the delivery, or does neither. When it
//     returns, they are stored.
//   - At most one job of a key waits. A newer one takes the place of one that waits, wakes one that
//     sleeps, revives one that is dead, and
//     waits its turn behind one that runs, whose worker is told.
//   - A job is done at least once, by one worker at a time. A lease has a token; whoever lost it
//     gets ErrLost from every method. A worker that
//     dies is replaced when its lease ends.
//   - The more urgent jobs are served first, and among them installations in turn, a few jobs of
//     each at once, none of one that is parked. Each fourth
//     claim goes by turn alone.
//   - All times are those of the server, never a worker's.
//
// Without a Redis URL the same scripts run on a Redis within the process, and a journal in a file
// keeps what it holds; see journal.go.
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

// Job is one subject to look at: a pull request, a release, a command. At most one job per Key
// waits; a newer one takes its place.
type Job struct {
	ID string `json:"id"` // given by Enqueue: Key and generation; opaque to callers
	// the subject: "pull/REPOSITORY/NUMBER", "release/REPOSITORY/ID", …
	Key          string `json:"key"`
	Kind         string `json:"kind"`
	Installation int64  `json:"installation"`
	Repository   int64  `json:"repository"` // GitHub's repository id, of the base repository
	SHA          string `json:"sha"`        // head as the event had it; a hint, the worker asks GitHub
	Trigger      string `json:"trigger"`    // "pull_request.opened", "check_run.rerequested", …
	Delivery     string `json:"delivery"`   // GUID of the delivery that led to it, "" for none
	// ForceID, when not "", makes the worker check the subject again though nothing has changed: a
	// person requested it. It is kept when a job without one supersedes this one.
	ForceID  string          `json:"force_id"`
	Payload  json.RawMessage `json:"payload"`  // the few fields of the event that the worker needs
	Priority Priority        `json:"priority"` // 0: what Options.Priorities has for the Kind
	Received time.Time       `json:"received"`
}

// Priority says how urgent a job is. Of two jobs of one key the higher counts.
type Priority int

// The priorities.
const (
	Background Priority = -1 // nobody waits for it
	Normal     Priority = 0
	Urgent     Priority = 1
)

// State says where a job is.
type State string

// The states of a job.
const (
	Waiting State = "waiting" // claimable in its turn
	Running State = "running" // under a lease
	Delayed State = "delayed" // snoozed, or failed and to be tried again, when the time comes
	Dead    State = "dead"    // given up; an Enqueue of the key, a redelivery or RetryDead revives it
)

// States lists every state, in the order in which List answers.
func States() []State { return []State{Waiting, Running, Delayed, Dead} }
