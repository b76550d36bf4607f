package queue

import (
	"encoding/json"
	"time"
)

// Job is one subject to look at: a pull request, a release, a command. At most one job per Key waits; a newer one takes its place.
type Job struct {
	ID           string          `json:"id"`  // given by Enqueue: Key and generation; opaque to callers
	Key          string          `json:"key"` // the subject: "pull/REPOSITORY/NUMBER", "release/REPOSITORY/ID", …
	Kind         string          `json:"kind"`
	Installation int64           `json:"installation"`
	Repository   int64           `json:"repository"` // GitHub's repository id, of the base repository
	SHA          string          `json:"sha"`        // head as the event had it; a hint, the worker asks GitHub
	Trigger      string          `json:"trigger"`    // "pull_request.opened", "check_run.rerequested", …
	Delivery     string          `json:"delivery"`   // GUID of the delivery, "" for follow-up jobs
	Nonce        string          `json:"nonce"`      // not "": judge again though nothing changed (a person asked); kept when a job without one supersedes this one
	Payload      json.RawMessage `json:"payload"`    // the few fields of the event that the worker needs
	Received     time.Time       `json:"received"`
}
