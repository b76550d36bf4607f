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
	own     store.Standing // the verdict that is kept of the subject

	// compared is the comparison of a pull request's base and head; nil until it is requested.
	compared *gh.CommitsComparison
	// pins is the review of the pinned packages beside the artifacts; nil: none.
	pins *comment.Check
}

// state is what is kept of a subject with a check run between its jobs. Everything in it can be
// missing: then GitHub is asked, or work is done again with the same result. The names in JSON are
// those of earlier releases.
type state struct {
	Head string   `json:"head"`           // the commit that the rest is about
	Open []string `json:"open,omitempty"` // commits that may have an open check run of this App
	// Runs has the check run of a commit in Open, where it is the only one and nothing was written
	// to it since.
	Runs     map[string]int64 `json:"runs,omitempty"`
	Talk     string           `json:"told,omitempty"`   // digest of the last text in the conversation
	Silent   bool             `json:"silent,omitempty"` // nothing of this App is in the conversation
	Deadline time.Time        `json:"deadline,omitzero"`
	Pending  bool             `json:"owed,omitempty"` // a verdict is due: its check run is open
	// of the last person who had this head checked again
	ForceID string   `json:"nonce,omitempty"`
	Also    []string `json:"also,omitempty"` // platforms that this person named
	// Turn is how often the verdict on this head has changed without a person's request.
	Turn      int       `json:"turn,omitempty"`
	Intent    string    `json:"intent,omitempty"` // external id of the verdict that is being posted
	Concluded string    `json:"said,omitempty"`   // external id of the last verdict that was posted
	Report    string    `json:"report,omitempty"` // id of the report page of Intent
	Base      base      `json:"base,omitzero"`
	BaseSince time.Time `json:"base_since,omitzero"` // when the base branch was changed; zero: never
	// of a pull request: its last change, as GitHub has it
	Updated time.Time `json:"updated,omitzero"`

	Job   string    `json:"job,omitempty"`   // the job that polls
	Polls int       `json:"polls,omitempty"` // how often it has looked
	Empty time.Time `json:"empty,omitzero"`  // since when all runs have ended without artifacts
	// Gap is since when a workflow is missing though all runs have ended.
	Gap     time.Time `json:"gap,omitzero"`
	Found   string    `json:"found,omitempty"`   // key of the last list of assets
	FoundAt time.Time `json:"found_at,omitzero"` // since when that list has not changed

	Shown string `json:"shown,omitempty"` // digest of what the open check run shows of a review

	blank bool // nothing was kept
}

// base is what a subject is compared with.
type base struct {
	Ref  string `json:"ref,omitempty"` // branch name
	SHA  string `json:"sha,omitempty"`
	Pull int    `json:"pull,omitempty"` // of a merge group: the pull request that it merges
}

// newCheck begins an attempt with the state of the job's subject.
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

// see makes sha the head that the state is about.
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

// rebase makes ref the base branch of the head. A verdict on another base no longer counts: the
// check run is opened again at once, before anything else is looked at. at is when that became
// known.
func (s *state) rebase(ref string, at time.Time) {
	if s.Base.Ref != "" && s.Base.Ref != ref {
		s.BaseSince = at
		s.Pending, s.Intent, s.Talk, s.Deadline, s.Gap = true, "", "", time.Time{}, time.Time{}
		s.Turn++
	}
	s.Base.Ref = ref
}

// force notes that a person wants the head checked again, once for each force id.
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

// opened notes that there will be a run on the commit. fresh: there is none yet.
func (s *state) opened(sha string) (fresh bool) {
	if slices.Contains(s.Open, sha) {
		return false
	}
	s.Open = append(s.Open, sha)
	return true
}

// take returns the run of a commit, to be written to. What is saved after it no longer has it: if
// that write is cut short, the next attempt looks for the run.
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
func (c *check) postpone(ctx context.Context, d time.Duration) {
	if c.state.Deadline.IsZero() {
		return
	}
	c.state.Deadline = c.state.Deadline.Add(d)
	if err := c.save(ctx); err != nil {
		c.attempt.Log.Warn("the deadline could not be moved", "error", err)
	}
}
