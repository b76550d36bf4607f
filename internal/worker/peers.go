package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"slices"
	"time"

	"github.com/compat-app/compat/comment"
)

// A commit has one check, but it may be the head of several open pull requests, each judged with
// its own base, and that of a merge group or a release too. The strictest of their verdicts stands
// on the commit: otherwise a pull request to an unprotected branch could make the check of a
// protected one pass.

// standing is the verdict on one subject by itself, kept for its peers: those with the same commit.
type standing struct {
	SHA        string `json:"sha"`
	Name       string `json:"name,omitempty"`       // for people: "#12", "release v1.2"
	Conclusion string `json:"conclusion,omitempty"` // "": none yet
	Title      string `json:"title,omitempty"`
	Page       string `json:"page,omitempty"`
	Closed     bool   `json:"closed,omitempty"` // the pull request is closed, the release or group is gone: it counts for nothing
	Untold     bool   `json:"untold,omitempty"` // it changed, and the peers have yet to be told
}

func standingKey(subject string) string { return "standing/" + subject }

func (t *task) headsKey(sha string) string { return fmt.Sprintf("heads/%d/%s", t.repo.ID, sha) }

// blocks says whether branch protection takes a conclusion for a pass.
func blocks(conclusion string) bool {
	return conclusion == "failure" || conclusion == "action_required"
}

// recall reads a value that a job kept for others. What can't be decoded counts as nothing.
func (t *task) recall(ctx context.Context, key string, to any) error {
	data, err := t.Queue.Get(ctx, key)
	if err != nil {
		return &ownFault{fmt.Errorf("worker: read %s: %w", key, err)}
	}
	if len(data) > 0 && json.Unmarshal(data, to) != nil {
		t.Log.Warn("a stored value is damaged", "key", key)
	}
	return nil
}

// keep is the opposite of recall.
func (t *task) keep(ctx context.Context, key string, value any) error {
	return t.keepFor(ctx, key, value, reportTTL)
}

func (t *task) keepFor(ctx context.Context, key string, value any, ttl time.Duration) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = t.Queue.Put(ctx, key, data, ttl)
	}
	if err != nil {
		return &ownFault{fmt.Errorf("worker: keep %s: %w", key, err)}
	}
	return nil
}

// gather notes that the job's subject is there with this commit, or not, and reads what stands
// about it.
func (t *task) gather(ctx context.Context, sha string, open bool) error {
	if err := t.recall(ctx, standingKey(t.job.Key), &t.own); err != nil {
		return err
	}
	moved := t.own.SHA != sha && t.own.Conclusion != ""
	if moved {
		t.own = standing{SHA: t.own.SHA}
	}
	if t.own.Untold || moved || t.own.Closed == open && t.own.SHA != "" {
		t.own.Closed = !open
		if err := t.stand(ctx, t.own); err != nil {
			return err
		}
	}
	if !open {
		return nil
	}
	_, err := t.peers(ctx, sha, true)
	return err
}

// peers lists the other subjects that had this commit as their head; join adds the job's own to the
// list.
func (t *task) peers(ctx context.Context, sha string, join bool) ([]string, error) {
	t.shared.Lock()
	defer t.shared.Unlock()
	var keys []string
	if err := t.recall(ctx, t.headsKey(sha), &keys); err != nil {
		return nil, err
	}
	if join && !slices.Contains(keys, t.job.Key) {
		if err := t.keep(ctx, t.headsKey(sha), append(slices.Clone(keys), t.job.Key)); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(keys, func(k string) bool { return k == t.job.Key }), nil
}

// stand keeps what stands about the job's subject, and has its peers look again when that may
// change their check.
func (t *task) stand(ctx context.Context, now standing) error {
	now.Untold = true
	if err := t.keep(ctx, standingKey(t.job.Key), now); err != nil {
		return err
	}
	peers, err := t.peers(ctx, now.SHA, false)
	if err != nil {
		return err
	}
	for _, key := range peers {
		b, err := job.Subject(key)
		if err != nil {
			return &unfit{err.Error()}
		}
		if err := t.follow(ctx, b, "", ""); err != nil {
			return err
		}
	}
	now.Untold = false
	t.own = now
	return t.keep(ctx, standingKey(t.job.Key), now)
}

// stricter is the peer whose verdict blocks a head that passes by itself; nil: none does.
func (t *task) stricter(ctx context.Context, sha, own string) (*comment.Peer, error) {
	if blocks(own) {
		return nil, nil
	}
	peers, err := t.peers(ctx, sha, false)
	if err != nil {
		return nil, err
	}
	for _, key := range peers {
		var s standing
		if err := t.recall(ctx, standingKey(key), &s); err != nil {
			return nil, err
		}
		if s.SHA == sha && !s.Closed && blocks(s.Conclusion) {
			return &comment.Peer{
				Name:       s.Name,
				Conclusion: s.Conclusion,
				Title:      s.Title,
				DetailsURL: s.Page,
			}, nil
		}
	}
	return nil, nil
}

// overruled is what a peer adds to the external id of a verdict; "" when none is stricter.
func overruled(by *comment.Peer) string {
	if by == nil {
		return ""
	}
	return "+" + by.Name
}
