package subject

import (
	"context"
	"fmt"
	"sync"

	gh "github.com/google/go-github/v60/github"
	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/repository"
)

const (
	maxListed   = 3000 // limit of the files that GitHub lists of a pull request
	maxCompared = 300  // limit of files in a comparison of two commits
)

// sources downloads the files that may contain the causes of findings, and the diff of a pull
// request (number 0 = none). The head of a fork is read from the base repository, which has its
// objects.
func (c *check) sources(
	ctx context.Context,
	sha string,
	number int,
) (map[string]string, comment.Diff, error) {
	tree, _, err := c.repo.Client.Git.GetTree(ctx, c.repo.Owner, c.repo.Name, sha, true)
	if err != nil {
		return nil, nil, fmt.Errorf("list the head's files: %w", err)
	}
	blobs := map[string]string{}
	var paths []string
	for _, e := range tree.Entries {
		if e.GetType() == "blob" && e.GetSize() <= repository.MaxSource {
			blobs[e.GetPath()] = e.GetSHA()
			paths = append(paths, e.GetPath())
		}
	}
	files := map[string]string{}
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, path := range comment.Candidates(paths) {
		group.Go(func() error {
			text, err := c.repo.Blob(groupCtx, blobs[path])
			if err != nil {
				return fmt.Errorf("read a file of the head: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			files[path] = text
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	if number == 0 {
		return files, nil, nil
	}
	diff, err := c.diff(ctx, number)
	return files, diff, err
}

// diff returns the diff of a pull request, from the comparison with its base if that is complete.
func (c *check) diff(ctx context.Context, number int) (comment.Diff, error) {
	var changed []comment.DiffFile
	if c.compared != nil && len(c.compared.Files) < maxCompared {
		for _, f := range c.compared.Files {
			changed = append(changed, comment.DiffFile{Path: f.GetFilename(), Patch: f.GetPatch()})
		}
		return comment.ParseDiff(changed), nil
	}
	files, err := c.listFiles(ctx, number)
	for _, f := range files {
		changed = append(changed, comment.DiffFile{Path: f.GetFilename(), Patch: f.GetPatch()})
	}
	return comment.ParseDiff(changed), err
}

// listFiles lists the files of a pull request.
func (c *check) listFiles(ctx context.Context, number int) ([]*gh.CommitFile, error) {
	var out []*gh.CommitFile
	o := &gh.ListOptions{PerPage: 100}
	for range maxListed / o.PerPage {
		page, resp, err := c.repo.Client.PullRequests.ListFiles(ctx, c.repo.Owner, c.repo.Name, number, o)
		if err != nil {
			return nil, fmt.Errorf("list the files of #%d: %w", number, err)
		}
		out = append(out, page...)
		if resp.NextPage == 0 {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}
