package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
)

// Upload is an artifact that a workflow uploads in each of its runs.
type Upload struct {
	Workflow string `json:"workflow"` // path
	Title    string `json:"title"`    // of the workflow
	Name     string `json:"name"`     // of the artifact in the run
	Stable   string `json:"stable"`   // Name without what differs from run to run
}

// uploadsOf returns the artifacts of a run as uploads of its workflow.
func uploadsOf(r Run, names []string) (out []Upload) {
	for _, name := range names {
		out = append(out, Upload{r.Path, r.Name, name, Stable(name, r)})
	}
	return out
}

// Stable returns the name of an artifact with "*" in place of what differs from run to run of a
// workflow: the commit, the branch, and the number of the run.
func Stable(name string, r Run) string {
	const short = 7 // digits of an abbreviated commit
	for n := len(r.SHA); n >= short; n-- {
		if at := strings.Index(name, r.SHA[:n]); at >= 0 {
			name = name[:at] + "*" + name[at+n:]
			break
		}
	}
	var own []string
	if r.ID > 0 {
		own = append(own, strconv.FormatInt(r.ID, 10))
	}
	if r.Number > 0 {
		own = append(own, strconv.Itoa(r.Number))
	}
	if r.Branch != "" {
		own = append(own, r.Branch, strings.ReplaceAll(r.Branch, "/", "-"))
	}
	isWord := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for _, word := range own {
		at := strings.Index(name, word)
		end := at + len(word)
		if at >= 0 && (at == 0 || !isWord(name[at-1]) && name[at-1] != '.') &&
			(end == len(name) || !isWord(name[end]) && name[end] != '.') {
			name = name[:at] + "*" + name[end:]
		}
	}
	return name
}

// Selected reports whether globs of artifact names, as in .github/compat.yml, select a name; nil
// selects all.
func Selected(want []string, name string) bool { return len(want) == 0 || matches(want, name) }

// mergedPulls limits the merged pull requests whose runs are looked at.
const mergedPulls = 3

// Uploads is what the workflows upload for heads that are merged into a branch.
type Uploads struct {
	// Expected is, for each workflow, what its last successful run for a push to the branch uploaded,
	// without what no run for the last merged pull requests uploaded: a workflow may upload more for a
	// push. Where no run for a pull request is known, it is all of the push, and where none for a push
	// is known, all of the newest one for a merged pull request. Only runs of what is on the branch
	// count, so nobody can change the list without a merge.
	Expected []Upload `json:"expected"`
	// Other means that Expected is empty, but other runs of the branch have artifacts.
	Other bool `json:"other,omitempty"`
}

// Uploads lists what the workflows upload for heads that are merged into a branch.
func (f *Fetcher) Uploads(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref string,
) (all Uploads, _ error) {
	b := &base{c: c, owner: owner, repo: repo, found: &Found{}, any: true}
	if err := b.pushed(ctx, ref); err != nil {
		return all, err
	}
	merged, err := b.merged(ctx, ref)
	if err != nil {
		return all, err
	}
	var out []Upload
	for workflow, pushed := range b.uploads {
		known := merged[workflow]
		delete(merged, workflow)
		both := slices.DeleteFunc(slices.Clone(pushed), func(u Upload) bool {
			return !slices.ContainsFunc(known.all, u.Same)
		})
		switch {
		case len(known.all) == 0:
			out = append(out, pushed...)
		case len(both) == 0: // the names tell the events apart
			out = append(out, known.newest...)
		default:
			out = append(out, both...)
		}
	}
	for _, known := range merged {
		out = append(out, known.newest...)
	}
	slices.SortFunc(out, func(x, y Upload) int {
		return cmp.Or(strings.Compare(x.Workflow, y.Workflow), strings.Compare(x.Name, y.Name))
	})
	if all.Expected = out; len(out) == 0 {
		pushed := baseEvents[:len(baseEvents)-1]
		err = b.search(ctx, github.RunFilter{Pages: 1, Branch: ref, Status: "success"}, pushed)
		all.Other = len(b.uploads) > 0
	}
	return all, err
}

// Pushed finds the artifacts of the runs whose names are in Uploads, of pushes to a branch, as far
// as they have not expired.
func (f *Fetcher) Pushed(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref string,
	want ...string,
) (*Found, error) {
	b := &base{c: c, owner: owner, repo: repo, want: want, found: &Found{}, any: true}
	if err := b.pushed(ctx, ref); err != nil {
		return nil, err
	}
	return b.found.seal(fmt.Sprintf("No artifact of %s is available.", ref)), nil
}

// pushedPages limits the pages of runs that are searched for the last one of each workflow, before
// each workflow is searched alone.
const pushedPages = 5

// pushes selects by the event, because runs of forks may be listed under any branch name.
func pushes(ref string) github.RunFilter {
	return github.RunFilter{Pages: pushedPages, Branch: ref, Event: "push", Status: "success"}
}

// pushed takes the artifacts of the last runs of each workflow for pushes to a branch. If there
// are more runs than one list has, a workflow that it lacks may have run before, so it has a list
// of its own.
func (b *base) pushed(ctx context.Context, ref string) error {
	filter := pushes(ref)
	all, err := b.list(ctx, filter)
	if err != nil {
		return err
	}
	if b.cut {
		workflows, err := b.c.Workflows(ctx, b.owner, b.repo)
		if err != nil && !missing(err) && !errors.Is(err, github.ErrTooMany) {
			return wrap("list the workflows", err)
		}
		filter.Pages = 1
		for _, w := range workflows {
			if slices.ContainsFunc(all, func(r Run) bool { return r.Path == w.Path }) {
				continue
			}
			filter.Workflow = w.ID
			older, err := b.list(ctx, filter)
			if err != nil {
				return err
			}
			all = append(all, older...)
		}
	}
	return b.take(ctx, all, filter, []string{"push"})
}

// Same reports whether two runs of a workflow uploaded the same artifact.
func (u Upload) Same(other Upload) bool { return u.Name == other.Name || u.Stable == other.Stable }

// Counterparts returns the artifact that a head has in place of each expected one. The same name
// comes first, and each artifact stands in for one: the branch of a pull request may have any name,
// also one with which Stable is that of another artifact.
func Counterparts(expected, has []Upload) map[Upload]Upload {
	out, left := map[Upload]Upload{}, slices.Clone(has)
	for _, same := range []func(x, y Upload) bool{
		func(x, y Upload) bool { return x.Name == y.Name },
		func(x, y Upload) bool { return x.Stable == y.Stable },
	} {
		for _, e := range expected {
			i := slices.IndexFunc(left, func(h Upload) bool {
				return h.Workflow == e.Workflow && same(h, e)
			})
			if _, found := out[e]; i >= 0 && !found {
				out[e] = left[i]
				left = slices.Delete(left, i, i+1)
			}
		}
	}
	return out
}

// uploaded is what the runs of a workflow uploaded, and what the newest of them did.
type uploaded struct{ all, newest []Upload }

// merged returns, by workflow, what runs for the last pull requests uploaded that were merged into
// a branch.
func (b *base) merged(ctx context.Context, ref string) (map[string]uploaded, error) {
	prs, _, err := b.c.PullRequests.List(ctx, b.owner, b.repo, &gh.PullRequestListOptions{
		State: "closed", Base: ref, Sort: "updated", Direction: "desc",
		ListOptions: gh.ListOptions{PerPage: 30},
	})
	if err != nil && !missing(err) {
		return nil, wrap("list the merged pull requests", err)
	}
	prs = slices.DeleteFunc(prs, func(p *gh.PullRequest) bool { return p.MergedAt == nil })
	slices.SortFunc(prs, func(x, y *gh.PullRequest) int {
		return y.GetMergedAt().Compare(x.GetMergedAt().Time)
	})
	heads := []*gh.PullRequestBranch{{}} // {} = the branch itself, into another one
	for _, p := range prs[:min(len(prs), mergedPulls)] {
		heads = append(heads, p.GetHead())
	}
	out := map[string]uploaded{}
	for _, head := range heads {
		filter := github.RunFilter{
			SHA: head.GetSHA(), Event: "pull_request", Status: "success", Pages: 1,
		}
		if filter.SHA == "" {
			filter.Branch = ref
		}
		runs, err := b.list(ctx, filter)
		if err != nil {
			return nil, err
		}
		runs = slices.DeleteFunc(runs, func(r Run) bool {
			if filter.SHA == "" {
				return filter.Branch != r.Branch || !own(r)
			}
			// anybody can open a pull request from a fork with a commit that was merged
			return filter.SHA != r.SHA || !from(r, head.GetRepo().GetID(), "")
		})
		for _, r := range newest(runs, events) {
			got := &Found{}
			if err := got.artifacts(ctx, b.c, b.owner, b.repo, r, r.HeadRepository, nil); err != nil {
				return nil, err
			}
			some, sofar := uploadsOf(r, got.names()), out[r.Path]
			if len(sofar.all) == 0 {
				sofar.newest = some
			}
			sofar.all = append(sofar.all, some...)
			out[r.Path] = sofar
		}
	}
	return out, nil
}

// Uploads returns the artifacts as uploads of their workflows.
func (f *Found) Uploads() (out []Upload) {
	for _, r := range f.Runs {
		for _, i := range f.Items {
			if i.Run == r.ID {
				out = append(out, uploadsOf(r, []string{i.Name})...)
			}
		}
	}
	return out
}

// names returns the names of all artifacts, also of those that are not selected.
func (f *Found) names() (names []string) {
	for _, i := range f.Items {
		names = append(names, i.Name)
	}
	for _, p := range f.Skipped {
		names = append(names, p.Name)
	}
	return names
}
