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

// A head whose runs are all over may still be without one that it will get: GitHub starts the
// workflows of a push within seconds of each other, but a short one may be over before a long one
// is there. Which there should be is in the configuration (workflows:), or learned from the base
// branch's last runs.

const (
	// runsLag is how long after the newest run of a head another may begin, and how long a finished
	// run's list of artifacts may be late.
	runsLag = 20 * time.Second

	learnedTTL  = 24 * time.Hour
	mostLearned = 30 // workflows of a branch
)

// builder is a workflow that ran on a base branch.
type builder struct {
	Path  string `json:"path"`
	Run   int64  `json:"run"`             // its newest successful run
	Keeps *bool  `json:"keeps,omitempty"` // whether that kept artifacts; nil: not looked
	// whether it runs for pull requests from the repository's own branches; nil: not looked
	Own   *bool `json:"own,omitempty"`
	Forks *bool `json:"forks,omitempty"` // and for those from forks
}

func buildersKey(repository int64, ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return fmt.Sprintf("builders/%d/%s", repository, hex.EncodeToString(sum[:16]))
}

// relearn updates what is known of the default branch's workflows with the runs of a new commit,
// where anything is known.
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
		keeps := slices.ContainsFunc(
			found.Items,
			func(i artifact.Item) bool { return i.Run == run.ID },
		)
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

// builders lists the workflows of the base branch: what was learned, or what one look at its newest
// runs says.
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
		return nil, fmt.Errorf("look for the base's workflows: %w", err)
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

// gaps are the workflows whose artifacts a finished head of a pull request should have and has not.
// late is how much longer they may only be late.
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
		kept := slices.ContainsFunc(
			found.Items,
			func(i artifact.Item) bool { return i.Run == r.ID },
		) ||
			len(found.Skipped) > 0
		switch {
		case kept,
			b.Keeps != nil && !*b.Keeps,
			// whether it ever keeps any is worth no look
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

// unborn is how long a workflow that has no run yet may still get one.
func (c *check) unborn(found *artifact.Found) time.Duration {
	newest := slices.MaxFunc(
		found.Runs,
		func(a, b artifact.Run) int { return a.Created.Compare(b.Created) },
	)
	return min(runsLag, runsLag-c.now().Sub(newest.Created))
}

// builds says whether a workflow keeps artifacts on the base branch and is one that runs for a pull
// request like this. What it has to look up is noted.
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

// keeps says whether a workflow keeps artifacts on the base branch. What it has to look up is
// noted.
func (c *check) keeps(ctx context.Context, b *builder) (bool, error) {
	if b.Keeps == nil {
		list, err := c.repo.Client.Artifacts(ctx, c.repo.Owner, c.repo.Name, b.Run)
		if err != nil && len(list) == 0 && !repository.NotFound(err) {
			return false, fmt.Errorf("look for the base's artifacts: %w", err)
		}
		keeps := len(list) > 0
		b.Keeps = &keeps
	}
	return *b.Keeps, nil
}
