package artifact

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/compat-app/compat/internal/github"
)

// mostBaseRuns is how many runs of one workflow are looked at for artifacts that are still there.
const mostBaseRuns = 3

// Runs that build a commit of the repository's own branches. The pull requests of forks run under
// any branch name, "main" included, so the head repository is checked too.
var baseEvents = []string{
	"push",
	"merge_group",
	"schedule",
	"workflow_dispatch",
	"release",
	"pull_request",
}

// Base finds what to compare a head with: for each workflow of like (the head's Found; nil: any
// workflow) the artifacts of its newest successful run of sha (the merge base; "" unknown), else of
// branch ref. Artifacts that have expired don't count, and a run that kept none is passed over. The
// state is never Waiting; Empty says in Reason why everything in the head counts as new.
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
		// a pull request may come from a branch of that name
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

// Ahead finds what Base will find for a head that leaves its branch at the commit sha. Waiting:
// there is no run of it yet, or one that isn't over. Empty: none that succeeded kept artifacts. ran
// are the newest successful runs of all workflows, whether they kept any or not.
func (f *Fetcher) Ahead(
	ctx context.Context,
	c *github.Client,
	owner, repo, sha string,
	want ...string,
) (found *Found, ran []Run, err error) {
	b := &base{c: c, owner: owner, repo: repo, want: want, found: &Found{}, any: true}
	filter := github.RunFilter{Pages: 2, SHA: sha}
	all, err := b.list(ctx, filter)
	if err != nil {
		return nil, nil, err
	}
	b.found.State, b.found.Reason = Waiting, "No workflow run of this commit yet."
	for _, r := range all {
		if r.SHA != sha || !own(r) || !slices.Contains(baseEvents, r.Event) {
			continue
		}
		if why := pending(r); why != "" {
			b.found.State, b.found.Reason = Waiting, why
			return b.found.seal(""), nil, nil
		}
		b.found.State, b.found.Reason = "", ""
		if r.Conclusion == "success" &&
			!slices.ContainsFunc(ran, func(o Run) bool { return o.Path == r.Path }) {
			ran = append(ran, r)
		}
	}
	if b.found.State == "" {
		if err := b.take(ctx, all, filter, baseEvents); err != nil {
			return nil, nil, err
		}
	}
	return b.found.seal("No successful run of this commit uploaded artifacts."), ran, nil
}

// own says that the head of a run is of the repository that it runs in, and not of a fork.
func own(r Run) bool { return r.Repository != 0 && r.HeadRepository == r.Repository }

type base struct {
	c           *github.Client
	owner, repo string
	want        []string
	found       *Found
	open        map[string]bool // workflow files still without artifacts
	any         bool            // every workflow file counts
	expired     bool
}

func (b *base) done() bool { return b.any && len(b.found.Items) > 0 || !b.any && len(b.open) == 0 }

// search takes from one list of runs, newest first, what the open workflows lack.
func (b *base) search(ctx context.Context, filter github.RunFilter, events []string) error {
	all, err := b.list(ctx, filter)
	if err != nil {
		return err
	}
	return b.take(ctx, all, filter, events)
}

// list reads a list of runs, the newest first.
func (b *base) list(ctx context.Context, filter github.RunFilter) ([]Run, error) {
	all, err := b.c.Runs(ctx, b.owner, b.repo, filter)
	if err != nil && !missing(err) {
		return nil, wrap("look for the base's runs", err)
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
		before := len(got.Items)
		got.Items = slices.DeleteFunc(got.Items, func(i Item) bool { return i.Expired })
		b.expired = b.expired || len(got.Items) < before
		if len(got.Items) > 0 {
			b.found.Runs, b.found.Items = append(
				b.found.Runs,
				r,
			), append(
				b.found.Items,
				got.Items...)
			closed[r.Path] = true
			delete(b.open, r.Path)
		}
	}
	return nil
}
