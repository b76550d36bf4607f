package subject

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/repository"
)

// When all runs of a head have completed, another workflow may still be about to start: GitHub
// starts the workflows of a push within seconds, but a short one may complete before a long one
// starts. Which workflows to expect is configured (workflows:), or learned from the last runs of
// the base branch.

const (
	// runsLag is how long after the newest run of a head another may start, and how long the list
	// of artifacts of a completed run may be late.
	runsLag = 20 * time.Second

	learnedTTL  = 24 * time.Hour
	mostLearned = 30 // workflows of a branch
)

// builder is a workflow that ran on a base branch.
type builder struct {
	Path  string `json:"path"`
	Run   int64  `json:"run"`             // the newest successful run
	Keeps *bool  `json:"keeps,omitempty"` // the run uploaded artifacts; nil = unknown
	// it runs for pull requests from branches of the repository; nil = unknown
	Own   *bool `json:"own,omitempty"`
	Forks *bool `json:"forks,omitempty"` // it runs for pull requests from forks; nil = unknown
}

func buildersKey(repository int64, ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return fmt.Sprintf("builders/%d/%s", repository, hex.EncodeToString(sum[:16]))
}

// relearn updates the learned workflows of the default branch with the runs of a new commit, if
// there are any.
func (s *Service) relearn(
	ctx context.Context,
	r *repository.Repository,
	ran []artifact.Run,
	found *artifact.Found,
) error {
	var known []builder
	if err := s.Store.Get(ctx, buildersKey(r.ID, r.DefaultBranch), &known); err != nil ||
		known == nil {
		return err
	}
	for _, run := range ran {
		known = slices.DeleteFunc(known, func(b builder) bool { return b.Path == run.Path })
		keeps := slices.ContainsFunc(found.Items, func(i artifact.Item) bool { return i.Run == run.ID })
		known = append(known, builder{Path: run.Path, Run: run.ID, Keeps: &keeps})
	}
	return s.learned(ctx, r, r.DefaultBranch, known)
}

func (s *Service) learned(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	known []builder,
) error {
	known = known[:min(len(known), mostLearned)]
	return s.Store.Put(ctx, buildersKey(r.ID, ref), known, learnedTTL)
}

// builders returns the learned workflows of the base branch, or learns them from its newest runs.
func (c *check) builders(ctx context.Context, ref string) ([]builder, error) {
	var known []builder
	if err := c.Store.Get(ctx, buildersKey(c.repo.ID, ref), &known); err != nil || known != nil {
		return known, err
	}
	runs, err := c.repo.Client.Runs(
		ctx,
		c.repo.Owner,
		c.repo.Name,
		github.RunFilter{Branch: ref, Status: "success", Pages: 1},
	)
	if err != nil && !repository.NotFound(err) {
		return nil, fmt.Errorf("find the base's workflows: %w", err)
	}
	slices.SortFunc(runs, func(a, b github.Run) int { return cmp.Compare(b.ID, a.ID) })
	known = []builder{}
	for _, r := range runs {
		if r.HeadRepository == r.Repository && r.Event != "pull_request" &&
			!slices.ContainsFunc(known, func(b builder) bool { return b.Path == r.Path }) {
			known = append(known, builder{Path: r.Path, Run: r.ID})
		}
	}
	return known, c.learned(ctx, c.repo, ref, known)
}

// gaps returns the workflows whose artifacts a completed head of a pull request should have but
// does not. late is how long they may still be late.
func (c *check) gaps(
	ctx context.Context,
	s subject,
	set repository.Configuration,
	found *artifact.Found,
) (gaps []comment.Gap, late time.Duration, err error) {
	if s.number == 0 || len(found.Runs) == 0 {
		return nil, 0, nil
	}
	if len(set.Workflows) > 0 {
		for _, glob := range set.Workflows {
			if !slices.ContainsFunc(
				found.Runs,
				func(r artifact.Run) bool { return artifact.Selects(glob, r) },
			) {
				gaps = append(gaps, comment.Gap{Workflow: glob, Why: "has not run for this commit"})
				late = max(late, c.unborn(found))
			}
		}
		return gaps, late, nil
	}
	known, err := c.builders(ctx, s.base.Ref)
	if err != nil {
		return nil, 0, err
	}
	before := slices.Clone(known)
	for i := range known {
		b := &known[i]
		at := slices.IndexFunc(found.Runs, func(r artifact.Run) bool { return r.Path == b.Path })
		if at < 0 {
			if there, err := c.builds(ctx, s, b); err != nil {
				return nil, 0, err
			} else if there {
				gaps = append(gaps, comment.Gap{Workflow: path.Base(b.Path),
					Why: "has not run for this commit"})
				late = max(late, c.unborn(found))
			}
			continue
		}
		r := found.Runs[at]
		kept := slices.ContainsFunc(found.Items, func(i artifact.Item) bool { return i.Run == r.ID }) ||
			len(found.Skipped) > 0
		switch {
		case kept,
			b.Keeps != nil && !*b.Keeps,
			// not worth a request
			b.Keeps == nil && r.Conclusion == "success":
			continue
		case r.Conclusion == "success":
			late = max(late, runsLag)
		}
		if there, err := c.builds(ctx, s, b); err != nil {
			return nil, 0, err
		} else if there {
			gaps = append(gaps, comment.Gap{Workflow: path.Base(b.Path), Why: "ended with " +
				cmp.Or(r.Conclusion, r.Status) + " and uploaded no artifact"})
		}
	}
	if !slices.Equal(before, known) {
		err = c.learned(ctx, c.repo, s.base.Ref, known)
	}
	return gaps, late, err
}

// unborn returns how long a workflow without a run may still start.
func (c *check) unborn(found *artifact.Found) time.Duration {
	newest := slices.MaxFunc(
		found.Runs,
		func(a, b artifact.Run) int { return a.Created.Compare(b.Created) },
	)
	return min(runsLag, runsLag-c.now().Sub(newest.Created))
}

// builds reports whether a workflow uploads artifacts on the base branch and runs for pull
// requests like this one. It stores what it looks up in b.
func (c *check) builds(ctx context.Context, s subject, b *builder) (bool, error) {
	if keeps, err := c.keeps(ctx, b); err != nil || !keeps {
		return false, err
	}
	if b.Own == nil {
		text, _, err := c.repo.Content(ctx, s.base.Ref, b.Path)
		if err != nil && !repository.Refused(err) {
			return false, fmt.Errorf("read a workflow of the base: %w", err)
		}
		own, forks := artifact.RunsForPulls(text, true), artifact.RunsForPulls(text, false)
		b.Own, b.Forks = &own, &forks
	}
	if s.fork {
		return *b.Forks, nil
	}
	return *b.Own, nil
}

// keeps reports whether a workflow uploads artifacts on the base branch. It stores what it looks
// up in b.
func (c *check) keeps(ctx context.Context, b *builder) (bool, error) {
	if b.Keeps == nil {
		list, err := c.repo.Client.Artifacts(ctx, c.repo.Owner, c.repo.Name, b.Run)
		if err != nil && len(list) == 0 && !repository.NotFound(err) {
			return false, fmt.Errorf("find the base's artifacts: %w", err)
		}
		keeps := len(list) > 0
		b.Keeps = &keeps
	}
	return *b.Keeps, nil
}
