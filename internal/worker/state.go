package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/compat-app/compat/comment/post"
)

// state is what is kept of a subject with a check run between its jobs. Everything in it can be
// missing: then GitHub is asked, or work is done again to the same end.
type state struct {
	Head     string           `json:"head"`             // the commit that the rest is about
	Open     []string         `json:"open,omitempty"`   // commits that may have an open check run of ours
	Runs     map[string]int64 `json:"runs,omitempty"`   // the run of a commit in Open, where it is alone there and nothing was written on it since
	Told     string           `json:"told,omitempty"`   // digest of what was said last in the conversation
	Silent   bool             `json:"silent,omitempty"` // nothing of ours is in the conversation
	Deadline time.Time        `json:"deadline,omitzero"`
	Owed     bool             `json:"owed,omitempty"`   // a verdict is due: its check run is open
	ForceID  string           `json:"nonce,omitempty"`  // of the last person who asked for this head to be judged again
	Also     []string         `json:"also,omitempty"`   // platforms that this person named: the head is judged against these as well
	Turn     int              `json:"turn,omitempty"`   // how often the verdict on this head has changed without anybody asking
	Intent   string           `json:"intent,omitempty"` // external id of the verdict that is being posted
	Said     string           `json:"said,omitempty"`   // external id of the last verdict that is posted completely
	Report   string           `json:"report,omitempty"` // id of the report page of Intent
	Base     base             `json:"base,omitzero"`    // of a merge group
	Updated  time.Time        `json:"updated,omitzero"` // of a pull request: when it had changed last, as GitHub says

	Job     string    `json:"job,omitempty"`     // the job that polls
	Polls   int       `json:"polls,omitempty"`   // how often it has looked
	Empty   time.Time `json:"empty,omitzero"`    // since when all runs are over and there is nothing
	Gap     time.Time `json:"gap,omitzero"`      // since when a workflow is missing though all runs are over
	Found   string    `json:"found,omitempty"`   // key of the last list of assets
	FoundAt time.Time `json:"found_at,omitzero"` // since when it stands still

	blank bool // nothing was kept
}

type base struct {
	Ref  string `json:"ref,omitempty"` // branch name
	SHA  string `json:"sha,omitempty"`
	Pull int    `json:"pull,omitempty"` // of a merge group: the pull request that it merges
}

// stored reads the state of a default branch. One that can't be read is none.
func stored[T any](t *task) *T {
	s := new(T)
	if len(t.lease.State) > 0 {
		if err := json.Unmarshal(t.lease.State, s); err != nil {
			t.Log.Warn("the stored state of the default branch is damaged", "error", err)
			return new(T)
		}
	}
	return s
}

// load reads the state of the job's subject. A state that can't be read is none.
func (t *task) load() *state {
	s := &state{blank: true}
	if len(t.lease.State) > 0 {
		s.blank = false
		if err := json.Unmarshal(t.lease.State, s); err != nil {
			t.Log.Warn("the stored state of the subject is damaged", "error", err)
			s = &state{blank: true}
		}
	}
	if s.Job != t.job.ID {
		s.Job, s.Polls, s.Empty = t.job.ID, 0, time.Time{}
	}
	t.state = s
	return s
}

func (t *task) save(ctx context.Context) error {
	data, err := json.Marshal(t.state)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return t.lease.Save(ctx, data)
}

// see makes sha the head that the state is about.
func (s *state) see(sha string) {
	if s.Head == sha {
		return
	}
	*s = state{
		Head:    sha,
		Owed:    true,
		Open:    s.Open,
		Runs:    s.Runs,
		Silent:  s.Silent,
		Told:    s.Told,
		Base:    s.Base,
		Updated: s.Updated,
		Job:     s.Job,
		blank:   s.blank,
	}
}

// ask notes that a person wants the head judged again, once for each force id.
func (t *task) ask(ctx context.Context, id string) error {
	s := t.state
	if id == "" || id == s.ForceID {
		return nil
	}
	s.ForceID, s.Owed, s.Intent, s.Told, s.Deadline, s.Also = id, true, "", "", time.Time{}, nil
	return t.recall(ctx, alsoKey(id), &s.Also)
}

// alsoKey is where the platforms stand that a person named who asked for a head to be judged again.
func alsoKey(forceID string) string { return "also/" + forceID }

// opened notes that there will be a run on the commit. fresh: there is none yet.
func (s *state) opened(sha string) (fresh bool) {
	if slices.Contains(s.Open, sha) {
		return false
	}
	s.Open = append(s.Open, sha)
	return true
}

// take gives the run of a commit, to be written on. What is saved after it no longer has it: if
// that write is cut short, the next try looks.
func (s *state) take(sha string) post.Run {
	id := s.Runs[sha]
	delete(s.Runs, sha)
	return post.Run{ID: id, Alone: id != 0}
}

func (s *state) closed(sha string) {
	delete(s.Runs, sha)
	s.Open = slices.DeleteFunc(s.Open, func(o string) bool { return o == sha })
}

// postpone moves the deadline: waiting for a limit doesn't count against it.
func (t *task) postpone(ctx context.Context, d time.Duration) {
	if t.state == nil || t.state.Deadline.IsZero() {
		return
	}
	t.state.Deadline = t.state.Deadline.Add(d)
	if err := t.save(ctx); err != nil {
		t.Log.Warn("the deadline could not be moved", "error", err)
	}
}
