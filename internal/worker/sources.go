package worker

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	gh "github.com/google/go-github/v60/github"
	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/github"
)

const (
	maxSource    = 1 << 20 // bytes of a source file in which a line is looked for
	maxDiffPages = 30      // GitHub lists at most 3,000 files of a pull request
	maxCompared  = 300     // files that GitHub names in a comparison of two commits
)

// blob reads a file by the name that git gives its content.
func (t *task) blob(ctx context.Context, sha string) (string, error) {
	b, _, err := t.client.Git.GetBlob(ctx, t.repo.Owner, t.repo.Name, sha)
	if err != nil {
		return "", err
	}
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", ""))
	if err != nil {
		return "", &unfit{"GitHub's answer for a file can't be decoded."}
	}
	return string(data), nil
}

// content reads a file of a commit or branch. What is no file, or has over a megabyte, is not
// there.
func (t *task) content(ctx context.Context, ref, path string) (string, bool, error) {
	return t.contentOf(ctx, t.client, t.repo.Owner, t.repo.Name, ref, path)
}

// contentOf is content of any repository that a client may read; ref "" is its default branch.
func (t *task) contentOf(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref, path string,
) (string, bool, error) {
	file, _, _, err := c.Repositories.GetContents(
		ctx,
		owner,
		repo,
		path,
		&gh.RepositoryContentGetOptions{Ref: ref},
	)
	if notFound(err) ||
		err == nil && (file == nil || file.GetType() != "file" || file.GetSize() > maxSource) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	text, err := file.GetContent()
	if err != nil {
		return "", false, &unfit{fmt.Sprintf("GitHub's answer for %s can't be decoded.", path)}
	}
	return text, true, nil
}

// lines counts the lines of a file at a commit; 0: it isn't there.
func (t *task) lines(ctx context.Context, sha, path string) (int, error) {
	text, found, err := t.content(ctx, sha, path)
	if err != nil || !found {
		return 0, err
	}
	return max(1, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1), nil
}

// sources fetches the files in which the lines behind findings may stand, and the pull request's
// diff (number 0: none). The head of a fork is read through the base repository, which has its
// objects.
func (t *task) sources(
	ctx context.Context,
	sha string,
	number int,
) (map[string]string, comment.Diff, error) {
	tree, _, err := t.client.Git.GetTree(ctx, t.repo.Owner, t.repo.Name, sha, true)
	if err != nil {
		return nil, nil, fmt.Errorf("worker: list the head's files: %w", err)
	}
	blobs := map[string]string{}
	var paths []string
	for _, e := range tree.Entries {
		if e.GetType() == "blob" && e.GetSize() <= maxSource {
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
			text, err := t.blob(groupCtx, blobs[path])
			if err != nil {
				return fmt.Errorf("worker: read a file of the head: %w", err)
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
	diff, err := t.diff(ctx, number)
	return files, diff, err
}

// diff is what a pull request changes: what the comparison with its base told already, where that
// is all of it.
func (t *task) diff(ctx context.Context, number int) (comment.Diff, error) {
	var changed []comment.DiffFile
	if t.compared != nil && len(t.compared.Files) < maxCompared {
		for _, f := range t.compared.Files {
			changed = append(changed, comment.DiffFile{Path: f.GetFilename(), Patch: f.GetPatch()})
		}
		return comment.ParseDiff(changed), nil
	}
	o := &gh.ListOptions{PerPage: 100}
	for range maxDiffPages {
		page, resp, err := t.client.PullRequests.ListFiles(
			ctx,
			t.repo.Owner,
			t.repo.Name,
			number,
			o,
		)
		if err != nil {
			return nil, fmt.Errorf("worker: list the files of #%d: %w", number, err)
		}
		for _, f := range page {
			changed = append(changed, comment.DiffFile{Path: f.GetFilename(), Patch: f.GetPatch()})
		}
		if resp.NextPage == 0 {
			break
		}
		o.Page = resp.NextPage
	}
	return comment.ParseDiff(changed), nil
}
