package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/internal/github"
)

// mostBaseRuns limits the runs of one workflow that are searched for artifacts that have not
// expired.
const mostBaseRuns = 3

// baseEvents are the triggers of runs that build a commit of the repository's own branches. Pull
// requests of forks can use any branch name, "main" included, so the head repository is compared
// too.
var baseEvents = []string{
	"push",
	"merge_group",
	"schedule",
	"workflow_dispatch",
	"release",
	"pull_request",
}

// Base finds the artifacts to compare a head with. For each workflow in like (the Found of the
// head; nil = any workflow) it takes the newest successful run with artifacts of commit sha (the
// merge base; "" = unknown), or else of branch ref. Runs with only expired artifacts are skipped.
// The state is never Waiting. If it is Empty, Reason says why everything in the head counts as
// new.
func (f *Fetcher) Base(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref, sha string,
	like *Found,
	want ...string,
) (*Found, error) {
	b := &base{c: c, owner: owner, repo: repo, want: want, found: &Found{}, open: map[string]bool{}}
	if like != nil {
		for _, r := range like.Runs {
			b.open[r.Path] = true
		}
	}
	b.any = len(b.open) == 0
	if sha != "" {
		if err := b.search(ctx, github.RunFilter{Pages: 2, SHA: sha, Status: "success"},
			baseEvents); err != nil {
			return nil, err
		}
	}
	if ref != "" && !b.done() {
		// a pull request can come from a branch with this name
		pushed := baseEvents[:len(baseEvents)-1]
		if err := b.search(ctx, github.RunFilter{Pages: 2, Branch: ref, Status: "success"},
			pushed); err != nil {
			return nil, err
		}
	}
	why := fmt.Sprintf("No successful run of the same workflow on %s uploaded artifacts.", ref)
	if b.expired {
		why = fmt.Sprintf("The artifacts of %s have expired.", ref)
	}
	return b.found.seal(why), nil
}

// AtCommit finds what Base will find for pull requests whose merge base is sha. The state is
// Waiting if there is no run of the commit or one has not ended, and Empty if no successful run
// uploaded artifacts.
func (f *Fetcher) AtCommit(
	ctx context.Context,
	c *github.Client,
	owner, repo, sha string,
	want ...string,
) (*Found, error) {
	b := &base{c: c, owner: owner, repo: repo, want: want, found: &Found{}, any: true}
	filter := github.RunFilter{Pages: 2, SHA: sha}
	all, err := b.list(ctx, filter)
	if err != nil {
		return nil, err
	}
	b.found.State, b.found.Reason = Waiting, "No workflow run of this commit yet."
	for _, r := range all {
		if r.SHA != sha || !own(r) || !slices.Contains(baseEvents, r.Event) {
			continue
		}
		if why := pending(r); why != "" {
			b.found.State, b.found.Reason = Waiting, why
			return b.found.seal(""), nil
		}
		b.found.State, b.found.Reason = "", ""
	}
	if b.found.State == "" {
		if err := b.take(ctx, all, filter, baseEvents); err != nil {
			return nil, err
		}
	}
	return b.found.seal("No successful run of this commit uploaded artifacts."), nil
}

// own reports whether the head of a run is in the run's own repository and not in a fork.
func own(r Run) bool { return r.Repository != 0 && r.HeadRepository == r.Repository }

type base struct {
	c           *github.Client
	owner, repo string
	want        []string
	found       *Found
	open        map[string]bool // paths of workflows without artifacts so far
	any         bool            // take all workflows
	expired     bool
	cut         bool // there are more runs than the last list has
	// uploads are the names of the artifacts, expired ones too, of the newest run of each workflow
	// that has any
	uploads map[string][]Upload
}

func (b *base) done() bool { return b.any && len(b.found.Items) > 0 || !b.any && len(b.open) == 0 }

// search takes artifacts of the workflows in open from one list of runs, newest first.
func (b *base) search(ctx context.Context, filter github.RunFilter, events []string) error {
	all, err := b.list(ctx, filter)
	if err != nil {
		return err
	}
	return b.take(ctx, all, filter, events)
}

// list returns runs, newest first.
func (b *base) list(ctx context.Context, filter github.RunFilter) ([]Run, error) {
	all, err := b.c.Runs(ctx, b.owner, b.repo, filter)
	b.cut = errors.Is(err, github.ErrTooMany)
	if err != nil && !b.cut && !missing(err) {
		return nil, wrap("find the base's runs", err)
	}
	slices.SortStableFunc(all, func(x, y Run) int { return cmp.Compare(y.ID, x.ID) })
	return all, nil
}

func (b *base) take(
	ctx context.Context,
	all []Run,
	filter github.RunFilter,
	events []string,
) error {
	looked, closed := map[string]int{}, map[string]bool{}
	for _, r := range all {
		switch {
		case !own(r),
			r.Status != "completed",
			r.Conclusion != "success",
			filter.SHA != "" && r.SHA != filter.SHA,
			filter.Branch != "" && r.Branch != filter.Branch:
			continue
		case !slices.Contains(events, r.Event),
			!b.any && !b.open[r.Path],
			closed[r.Path],
			looked[r.Path] == mostBaseRuns:
			continue
		}
		looked[r.Path]++
		got := &Found{}
		if err := got.artifacts(ctx, b.c, b.owner, b.repo, r, r.HeadRepository, b.want); err != nil {
			return err
		}
		if names := got.names(); len(names) > 0 && b.uploads[r.Path] == nil {
			if b.uploads == nil {
				b.uploads = map[string][]Upload{}
			}
			b.uploads[r.Path] = uploadsOf(r, names)
		}
		before := len(got.Items)
		got.Items = slices.DeleteFunc(got.Items, func(i Item) bool { return i.Expired })
		b.expired = b.expired || len(got.Items) < before
		if len(got.Items) > 0 {
			b.found.Runs = append(b.found.Runs, r)
			b.found.Items = append(b.found.Items, got.Items...)
			closed[r.Path] = true
			delete(b.open, r.Path)
		}
	}
	return nil
}
