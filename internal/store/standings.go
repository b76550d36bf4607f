package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/job"
)

// A commit has one check run, but can be the head of several open pull requests with different
// bases, and of a merge group or release. The check run shows the strictest of their verdicts,
// because otherwise a pull request to an unprotected branch could make the check of a protected
// branch pass.

// Standing is the verdict on one subject, stored for other subjects with the same commit.
type Standing struct {
	SHA        string `json:"sha"`
	Name       string `json:"name,omitempty"`       // display name: "#12", "release v1.2"
	Base       string `json:"base,omitempty"`       // the branch that it was compared with
	Conclusion string `json:"conclusion,omitempty"` // "" = none yet
	Title      string `json:"title,omitempty"`
	Names      string `json:"names,omitempty"` // see comment.Check
	Page       string `json:"page,omitempty"`
	Fork       bool   `json:"fork,omitempty"` // the head is in another repository
	// Checked means that artifacts or pins were analyzed, and Absent that the verdict is about their
	// absence. Other verdicts, such as that of an invalid configuration, are neither.
	Checked bool `json:"checked,omitempty"`
	Absent  bool `json:"absent,omitempty"`
	// Closed means that the pull request is closed, or that the release or group does not exist
	// any more. The verdict is ignored.
	Closed bool `json:"closed,omitempty"`
	// Unannounced means that the verdict changed and the other subjects have no job for that yet.
	// The JSON name is that of earlier releases.
	Unannounced bool `json:"untold,omitempty"`
}

// Blocks reports whether branch protection rejects a conclusion.
func Blocks(conclusion string) bool {
	return conclusion == "failure" || conclusion == "action_required"
}

func standingKey(subject string) string { return "standing/" + subject }

func headsKey(repository int64, sha string) string {
	return fmt.Sprintf("heads/%d/%s", repository, sha)
}

// Standing returns the verdict on a subject; the zero value if none is stored.
func (s *Store) Standing(ctx context.Context, subject string) (Standing, error) {
	var st Standing
	err := s.Get(ctx, standingKey(subject), &st)
	return st, err
}

// PutStanding stores the verdict on a subject.
func (s *Store) PutStanding(ctx context.Context, subject string, st Standing) error {
	return s.Put(ctx, standingKey(subject), st, TTL)
}

// Peers lists the other subjects that have or had a commit as their head.
func (s *Store) Peers(
	ctx context.Context,
	repository int64,
	sha, subject string,
) ([]string, error) {
	keys, err := s.subjects(ctx, repository, sha)
	return slices.DeleteFunc(keys, func(k string) bool { return k == subject }), err
}

// Join records that a subject has a commit as its head.
func (s *Store) Join(ctx context.Context, repository int64, sha, subject string) error {
	change := func(keys []string) ([]string, bool, error) {
		return append(keys, subject), !slices.Contains(keys, subject), nil
	}
	return update(ctx, s, headsKey(repository, sha), TTL, change)
}

func (s *Store) subjects(ctx context.Context, repository int64, sha string) ([]string, error) {
	var keys []string
	err := s.Get(ctx, headsKey(repository, sha), &keys)
	return keys, err
}

// standings returns the verdicts on the other open subjects with a commit as their head, by key.
func (s *Store) standings(
	ctx context.Context,
	repository int64,
	sha, subject string,
) (map[string]Standing, error) {
	peers, err := s.Peers(ctx, repository, sha, subject)
	if err != nil {
		return nil, err
	}
	out := map[string]Standing{}
	for _, key := range peers {
		st, err := s.Standing(ctx, key)
		if err != nil {
			return nil, err
		}
		if !st.Closed && (st.SHA == sha || st.SHA == "") {
			out[key] = st
		}
	}
	return out, nil
}

// SharedByPulls reports whether another open pull request has a commit as its head.
func (s *Store) SharedByPulls(
	ctx context.Context,
	repository int64,
	sha, subject string,
) (bool, error) {
	all, err := s.standings(ctx, repository, sha, subject)
	for key := range all {
		if b, err := job.Subject(key); err == nil && b.Kind() == job.KindPull {
			return true, nil
		}
	}
	return false, err
}

// Stricter returns the verdict of another subject that blocks a commit if the given one does not;
// nil if there is none. That a fork has no artifacts says nothing about those that were checked:
// anybody can open a pull request with a commit of the repository.
func (s *Store) Stricter(
	ctx context.Context,
	repository int64,
	subject string,
	own Standing,
) (*comment.Peer, error) {
	if Blocks(own.Conclusion) {
		return nil, nil
	}
	all, err := s.standings(ctx, repository, own.SHA, subject)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if st := all[key]; Blocks(st.Conclusion) && !own.answersFor(st) {
			return st.peer(), nil
		}
	}
	return nil, nil
}

// Checked returns the verdict of another subject that answers for the absence of artifacts of the
// given one, one that blocks if there is any; nil if there is none.
func (s *Store) Checked(
	ctx context.Context,
	repository int64,
	subject string,
	own Standing,
) (found *comment.Peer, _ error) {
	all, err := s.standings(ctx, repository, own.SHA, subject)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if st := all[key]; st.answersFor(own) && (found == nil || Blocks(st.Conclusion)) {
			found = st.peer()
		}
	}
	return found, err
}

// answersFor reports whether a verdict on a commit also counts for another subject, a fork without
// artifacts. What a fork has for another branch does not, because that branch may require less.
func (st Standing) answersFor(other Standing) bool {
	return other.Fork && other.Absent && st.Checked && st.Conclusion != "" &&
		(!st.Fork || st.Base == other.Base)
}

func (st Standing) peer() *comment.Peer {
	return &comment.Peer{
		Name:       st.Name,
		Conclusion: st.Conclusion,
		Title:      st.Title,
		Names:      st.Names,
		DetailsURL: st.Page,
	}
}

// HasVerdict reports whether a verdict on a subject's head is stored. sha "" means any head.
func (s *Store) HasVerdict(ctx context.Context, subject, sha string) (bool, error) {
	data, err := s.Queue.Get(ctx, standingKey(subject))
	if err != nil || data == nil {
		return false, err
	}
	var st Standing
	ok := json.Unmarshal(data, &st) == nil
	return ok && (sha == "" || st.SHA == sha) && st.Conclusion != "", nil
}
