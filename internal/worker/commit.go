package worker

import (
	"context"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"slices"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// ranTTL is how long it is known that a workflow run of a commit is over; later a head is looked at
// without.
const ranTTL = 3 * 24 * time.Hour

func (t *task) ranKey(sha string) string { return fmt.Sprintf("ran/%d/%s", t.repo.ID, sha) }

// commit finds whose head a commit is, and puts a job for each subject into the queue. Asked are:
// the event, our own notes, our own check runs on it (their external ids name the subject), GitHub,
// the head's owner and branch, and at last the open pull requests.
func (t *task) commit(ctx context.Context, event *job.Commit) (outcome, error) {
	sha := event.SHA
	if event.Ran { // before the jobs: whichever of them looks first has to see it
		if err := t.Queue.Put(ctx, t.ranKey(sha), []byte("1"), ranTTL); err != nil {
			return done, &ownFault{fmt.Errorf("worker: note that %.12s has run: %w", sha, err)}
		}
	}
	noted, err := t.peers(ctx, sha, false)
	if err != nil {
		return done, err
	}
	for _, ask := range []func() ([]string, error){
		func() ([]string, error) { return event.Pulls, nil },
		func() ([]string, error) {
			if event.Ran && len(noted) > 0 {
				return noted, nil // releases and merge groups have runs of their own
			}
			keys, err := t.ownSubjects(ctx, sha)
			for _, key := range noted {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
			return keys, err
		},
		func() ([]string, error) {
			prs, err := t.client.PullsForCommit(ctx, t.repo.Owner, t.repo.Name, sha)
			return t.headed(prs, sha), unknown(err)
		},
		func() ([]string, error) {
			if event.HeadOwner == "" || event.HeadBranch == "" {
				return nil, nil
			}
			prs, err := t.client.PullsForHead(ctx, t.repo.Owner, t.repo.Name, event.HeadOwner, event.HeadBranch)
			return t.headed(prs, sha), unknown(err)
		},
		func() ([]string, error) {
			prs, _, err := t.client.PullRequests.List(ctx, t.repo.Owner, t.repo.Name, &gh.PullRequestListOptions{State: "open", Sort: "updated", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100}})
			return t.headed(prs, sha), err
		},
	} {
		keys, err := ask()
		if err != nil {
			return done, fmt.Errorf("worker: find the pull request of %.12s: %w", sha, err)
		}
		for _, key := range keys {
			b, err := job.Subject(key)
			if err != nil {
				return done, &unfit{err.Error()}
			}
			if err := t.follow(ctx, b, sha, t.job.ForceID); err != nil {
				return done, err
			}
		}
		if len(keys) > 0 {
			return done, nil
		}
	}
	return t.missing(nil)
}

// unknown takes GitHub's answers for a commit it doesn't know (422, 404) as "none".
func unknown(err error) error {
	if refused(err) {
		return nil
	}
	return err
}

// headed are the keys of the open pull requests of this repository whose head is the commit.
func (t *task) headed(prs []*gh.PullRequest, sha string) (keys []string) {
	for _, p := range prs {
		if p.GetState() == "open" && p.GetHead().GetSHA() == sha &&
			(p.GetBase().GetRepo().GetID() == 0 || p.GetBase().GetRepo().GetID() == t.repo.ID) {
			keys = append(keys, t.pullKey(p.GetNumber()))
		}
	}
	return keys
}

// ownSubjects reads the subjects from our check runs on the commit.
func (t *task) ownSubjects(ctx context.Context, sha string) (keys []string, err error) {
	list, _, err := t.client.Checks.ListCheckRunsForRef(
		ctx,
		t.repo.Owner,
		t.repo.Name,
		sha,
		&gh.ListCheckRunsOptions{
			AppID:       gh.Int64(t.App.ID()),
			Filter:      gh.String("all"),
			ListOptions: gh.ListOptions{PerPage: 100},
		},
	)
	if err != nil {
		return nil, unknown(err)
	}
	for _, r := range list.CheckRuns {
		b, ok := job.ParseExternal(r.GetExternalID(), t.repo.ID)
		if ok && !slices.Contains(keys, b.Key()) {
			keys = append(keys, b.Key())
		}
	}
	return keys, nil
}
