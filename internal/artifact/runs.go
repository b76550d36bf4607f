package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
)

// events are the triggers of runs that build a head, the preferred first: if two runs of a
// workflow have artifacts of the same name, those of the earlier event in the list are used.
var events = []string{
	"pull_request",
	"merge_group",
	"push",
	"pull_request_target",
	"workflow_dispatch",
}

// missing reports whether err is a 404. Directly after an event GitHub may not know a commit, run
// or release yet, so callers treat it as "none yet".
func missing(err error) bool {
	var e *gh.ErrorResponse
	return errors.As(err, &e) && e.Response.StatusCode == http.StatusNotFound
}

// from reports whether a run comes from the given head repository; it prevents artifact
// poisoning. A deleted head repository has ID 0 in the pull request and none in the run; these
// match.
func from(r Run, repoID int64, full string) bool {
	if repoID == 0 && full != "" {
		return strings.EqualFold(r.HeadName, full)
	}
	return r.HeadRepository == repoID
}

// selected reports whether a workflow matches one of the configured globs of file name, path or
// name. All match an empty list.
func selected(r Run, workflows []string) bool {
	return len(workflows) == 0 || matches(workflows, r.Path, fileName(r.Path), r.Name)
}

// Selects reports whether a glob of workflows: in .github/compat.yml matches the workflow of a
// run.
func Selects(glob string, r Run) bool { return selected(r, []string{glob}) }

// matches reports whether any glob matches any of the names. An invalid glob is compared as text;
// the configuration parser reports it.
func matches(globs []string, names ...string) bool {
	for _, g := range globs {
		for _, n := range names {
			if ok, err := path.Match(g, n); ok || err != nil && g == n {
				return true
			}
		}
	}
	return false
}

// newest returns the run with the highest ID of each workflow and event, ordered by event. GitHub
// lists a run once, as its newest attempt.
func newest(runs []Run, order []string) []Run {
	type kind struct{ workflow, event string }
	last := map[kind]Run{}
	for _, r := range runs {
		k := kind{cmp.Or(r.Path, r.Name), r.Event}
		if old, ok := last[k]; !ok || r.ID > old.ID {
			last[k] = r
		}
	}
	out := make([]Run, 0, len(last))
	for _, r := range last {
		out = append(out, r)
	}
	rank := func(r Run) int { return slices.Index(order, r.Event) }
	slices.SortFunc(out, func(a, b Run) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Path+a.Name, b.Path+b.Name))
	})
	return out
}

// pending explains why a run has not ended; "" if it has.
func pending(r Run) string {
	switch {
	case r.Status == "completed" && r.Conclusion == "action_required":
		return fmt.Sprintf("The workflow run %q waits for a maintainer's approval.", r.Name)
	case r.Status == "completed":
		return ""
	case r.Status == "waiting":
		return fmt.Sprintf("The workflow run %q waits for a deployment to be approved.", r.Name)
	}
	return fmt.Sprintf(
		"The workflow run %q has not ended: %s.",
		r.Name,
		strings.ReplaceAll(r.Status, "_", " "),
	)
}

// artifacts adds the artifacts of a run. Of equal names in one run the newest is used (those of
// earlier attempts stay listed); of equal names in runs of a workflow for two events, that of the
// run added first.
func (f *Found) artifacts(
	ctx context.Context,
	c *github.Client,
	owner, repo string,
	r Run,
	repoID int64,
	want []string,
) error {
	all, err := c.Artifacts(ctx, owner, repo, r.ID)
	switch {
	case missing(err):
		return nil
	case errors.Is(err, github.ErrTooMany):
		f.Problems = append(
			f.Problems,
			Problem{
				r.Name,
				fmt.Sprintf("The workflow run keeps more artifacts than compat reads (%d).", len(all)),
			},
		)
	case err != nil:
		return fmt.Errorf("artifact: %w", err)
	}
	last := map[string]github.Artifact{}
	for _, a := range all {
		if a.HeadSHA != "" && a.HeadSHA != r.SHA ||
			a.HeadRepository != 0 && repoID != 0 && a.HeadRepository != repoID {
			// The artifact belongs to another head. GitHub should not list it; it must not be
			// checked as part of this head.
			continue
		}
		if old, ok := last[a.Name]; !ok || a.ID > old.ID {
			last[a.Name] = a
		}
	}
	for _, a := range last {
		i := itemOf(a, r)
		if slices.ContainsFunc(
			f.Items,
			func(o Item) bool { return o.Name == i.Name && o.from == i.from && o.event != i.event },
		) {
			continue
		}
		if len(want) > 0 && !matches(want, a.Name) {
			f.Skipped = append(
				f.Skipped,
				Problem{a.Name, "not selected by \"artifacts\" in .github/compat.yml"},
			)
			continue
		}
		f.Items = append(f.Items, i)
	}
	slices.SortFunc(f.Skipped, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return nil
}
