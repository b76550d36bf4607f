package subject

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/repository"
)

const (
	// runsLag is how long after the newest run of a head another may start, and how long the list
	// of artifacts of a completed run may be late. GitHub starts the workflows of a push within
	// seconds, but a short one may complete before a long one starts.
	runsLag = 20 * time.Second

	// What a base branch has is read again after each push and run of the default branch. For other
	// branches the service gets no event.
	expectedTTL      = time.Hour
	expectedTTLOther = 10 * time.Minute
)

// expected is what heads of a base branch should have.
type expected struct {
	artifact.Uploads
	// Triggers has, for each workflow of Expected, the part of its text that says when it starts.
	Triggers map[string]string `json:"triggers"`
	ID       string            `json:"id"` // of this reading

	ref string // the base branch
}

func expectedKey(repository int64, ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return fmt.Sprintf("expected/%d/%s", repository, hex.EncodeToString(sum[:16]))
}

// forgetExpected makes the next check read what heads of the default branch should have.
func (s *Service) forgetExpected(ctx context.Context, r *repository.Repository) error {
	return s.Store.Put(ctx, expectedKey(r.ID, r.DefaultBranch), nil, time.Second)
}

// expected returns what heads of the base branch should have, as far as the configuration selects
// it: always the same for one check.
func (c *check) expected(
	ctx context.Context,
	ref string,
	set repository.Configuration,
) (all expected, _ error) {
	if c.expects != nil && c.expects.ref == ref {
		return *c.expects, nil
	}
	key := expectedKey(c.repo.ID, ref)
	var known *expected
	if err := c.Store.Get(ctx, key, &known); err != nil {
		return all, err
	}
	if known == nil {
		uploads, err := c.Fetcher.Uploads(ctx, c.repo.Client, c.repo.Owner, c.repo.Name, ref)
		if err != nil {
			return all, fmt.Errorf("find the base's artifacts: %w", err)
		}
		known = &expected{Uploads: uploads, Triggers: map[string]string{}, ID: rand.Text()}
		for _, u := range uploads.Expected {
			if _, read := known.Triggers[u.Workflow]; read {
				continue
			}
			text, _, err := c.repo.Content(ctx, ref, u.Workflow)
			if err != nil { // that a file can't be read is no proof that the workflow does not start
				return all, fmt.Errorf("read a workflow of the base: %w", err)
			}
			known.Triggers[u.Workflow] = artifact.Triggers(text)
		}
		ttl := expectedTTLOther
		if ref == c.repo.DefaultBranch {
			ttl = expectedTTL
		}
		if err := c.Store.Put(ctx, key, known, ttl); err != nil {
			return all, err
		}
	}
	all = *known
	all.ref = ref
	all.Expected = slices.DeleteFunc(slices.Clone(all.Expected), func(u artifact.Upload) bool {
		of := artifact.Run{Path: u.Workflow, Name: u.Title}
		return !artifact.Selected(set.Artifacts, u.Name) || len(set.Workflows) > 0 &&
			!slices.ContainsFunc(set.Workflows, func(glob string) bool {
				return artifact.Selects(glob, of)
			})
	})
	c.expects = &all
	return all, nil
}

// filtered reports whether filters of paths are the reason why GitHub starts none of the workflows
// for a subject.
func (e expected) filtered(s subject, changed *change) bool {
	return len(e.starting(s, changed)) == 0 && len(e.starting(s, nil)) > 0
}

// starting removes what workflows upload that GitHub does not start for a subject.
func (e expected) starting(s subject, changed *change) []artifact.Upload {
	start := artifact.Change{Base: s.base.Ref, Head: s.branch, Own: !s.fork, Group: s.number == 0}
	if changed != nil && changed.whole && !slices.ContainsFunc(changed.paths, artifact.Builds) {
		start.Paths = changed.paths
	}
	return slices.DeleteFunc(slices.Clone(e.Expected), func(u artifact.Upload) bool {
		return !start.Starts(e.Triggers[u.Workflow])
	})
}
