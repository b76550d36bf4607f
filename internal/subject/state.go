package subject

import (
	"context"
	"slices"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/comment/post"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// check is one attempt at the check run of a subject.
type check struct {
	*Service
	attempt *worker.Attempt
	repo    *repository.Repository
	state   *state
	own     store.Standing // the stored verdict of the subject

	// compared is the comparison of a pull request's base and head; nil = not requested yet.
	compared *gh.CommitsComparison
	// expects is what heads of a base branch should have, as it was read first; nil = not yet.
	expects *expected
	// kept is the ID of the stored report of the verdict; "" = none.
	kept string
	// pins is the review of pinned packages, in addition to the artifacts; nil = none.
	pins *comment.Check
}

// state is the state of a subject between jobs. All of it may be lost: then GitHub is read again,
// or work is repeated with the same result. The JSON names are those of earlier releases.
type state struct {
	Head string   `json:"head"`           // the commit that the other fields are about
	Open []string `json:"open,omitempty"` // commits that may have an open check run of this App
	// Runs maps commits in Open to their check run, if it is the only one and was not written to
	// since.
	Runs map[string]int64 `json:"runs,omitempty"`
	// digest of the last text in the conversation
	Talk string `json:"told,omitempty"`
	// the App has written nothing in the conversation
	Silent   bool      `json:"silent,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	Pending  bool      `json:"owed,omitempty"` // a verdict is due, so the check run is open
	// of the last request to check this head again
	ForceID string   `json:"nonce,omitempty"`
	Also    []string `json:"also,omitempty"` // additional platforms of that request
	// Turn counts the changes of the verdict on this head without a person's request.
	Turn      int    `json:"turn,omitempty"`
	Intent    string `json:"intent,omitempty"` // external ID of the verdict that is being posted
	Concluded string `json:"said,omitempty"`   // external ID of the last posted verdict
	Report    string `json:"report,omitempty"` // ID of the report page of Intent
	Base      base   `json:"base,omitzero"`
	// when the base branch was changed; zero = never
	BaseSince time.Time `json:"base_since,omitzero"`
	// time of the last update of a pull request on GitHub
	Updated time.Time `json:"updated,omitzero"`

	Job   string `json:"job,omitempty"`   // the job that polls
	Polls int    `json:"polls,omitempty"` // number of its polls
	// time since which all runs have completed without artifacts
	Empty time.Time `json:"empty,omitzero"`
	// Gap is the time since which a workflow is missing although all runs have completed.
	Gap     time.Time `json:"gap,omitzero"`
	Found   string    `json:"found,omitempty"`   // key of the last list of assets
	FoundAt time.Time `json:"found_at,omitzero"` // time since which that list has not changed

	Shown string `json:"shown,omitempty"` // digest of the review shown by the open check run

	blank bool // there was no stored state
}

// base is what a subject is compared with.
type base struct {
	Ref  string `json:"ref,omitempty"` // branch name
	SHA  string `json:"sha,omitempty"`
	Pull int    `json:"pull,omitempty"` // the pull request of a merge group
}

// newCheck starts an attempt with the stored state of the job's subject.
func (s *Service) newCheck(a *worker.Attempt, r *repository.Repository) *check {
	c := &check{Service: s, attempt: a, repo: r, state: &state{}}
	if !a.Load(c.state) {
		c.state = &state{blank: true}
	}
	if c.state.Job != a.Job.ID {
		c.state.Job, c.state.Polls, c.state.Empty = a.Job.ID, 0, time.Time{}
	}
	a.Postpone = c.postpone
	return c
}

func (c *check) save(ctx context.Context) error { return c.attempt.SaveState(ctx, c.state) }

// see makes sha the current head. It resets the state of another head.
func (s *state) see(sha string) {
	if s.Head == sha {
		return
	}
	*s = state{
		Head:    sha,
		Pending: true,
		Open:    s.Open,
		Runs:    s.Runs,
		Silent:  s.Silent,
		Talk:    s.Talk,
		Base:    s.Base,
		Updated: s.Updated,

		BaseSince: s.BaseSince,
		Job:       s.Job,
		blank:     s.blank,
	}
}

// rebase makes ref the base branch of the head. A verdict on another base does not apply any
// more, so the check run is opened again at once. at is when the change became known.
func (s *state) rebase(ref string, at time.Time) {
	if s.Base.Ref != "" && s.Base.Ref != ref {
		s.BaseSince = at
		s.Pending, s.Intent, s.Talk, s.Deadline, s.Gap = true, "", "", time.Time{}, time.Time{}
		s.Turn++
	}
	s.Base.Ref = ref
}

// force records that a person wants the head checked again, once for each ForceID.
func (c *check) force(ctx context.Context, id string) error {
	s := c.state
	if id == "" || id == s.ForceID {
		return nil
	}
	s.ForceID, s.Pending, s.Intent, s.Talk, s.Deadline = id, true, "", "", time.Time{}
	var err error
	s.Also, err = c.Store.Platforms(ctx, id)
	return err
}

// opened records that there will be a run on the commit. fresh means that there was none.
func (s *state) opened(sha string) (fresh bool) {
	if slices.Contains(s.Open, sha) {
		return false
	}
	s.Open = append(s.Open, sha)
	return true
}

// take returns the run of a commit, to be written to, and removes it from the state. If the write
// is interrupted, the next attempt looks the run up.
func (s *state) take(sha string) post.Run {
	id := s.Runs[sha]
	delete(s.Runs, sha)
	return post.Run{ID: id, Alone: id != 0}
}

func (s *state) closed(sha string) {
	delete(s.Runs, sha)
	s.Open = slices.DeleteFunc(s.Open, func(o string) bool { return o == sha })
}

// postpone extends the deadline by the time that a rate limit lasts.
func (c *check) postpone(ctx context.Context, d time.Duration) {
	if c.state.Deadline.IsZero() {
		return
	}
	c.state.Deadline = c.state.Deadline.Add(d)
	if err := c.save(ctx); err != nil {
		c.attempt.Log.Warn("the deadline could not be moved", "error", err)
	}
}
