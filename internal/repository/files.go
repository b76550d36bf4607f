package repository

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/worker"
)

// MaxSource limits a source file, in bytes.
const MaxSource = 1 << 20

// maxBaseline is how many bytes a description of an ABI may have. That of libstdc++ has
// 0.8 MB without types.
const maxBaseline = 32 << 20

// Blob reads a file by its git blob hash.
func (r *Repository) Blob(ctx context.Context, sha string) (string, error) {
	b, _, err := r.Client.Git.GetBlob(ctx, r.Owner, r.Name, sha)
	if err != nil {
		return "", err
	}
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", ""))
	if err != nil {
		return "", worker.Permanent("GitHub's response for a file cannot be decoded.")
	}
	return string(data), nil
}

// Content reads a file at a commit or branch. It returns false for a directory, a file larger than
// MaxSource, and if there is none.
func (r *Repository) Content(ctx context.Context, ref, path string) (string, bool, error) {
	return r.contentOf(ctx, r.Client, r.Owner, r.Name, ref, path)
}

// Baseline is like Content, with the limit maxBaseline.
func (r *Repository) Baseline(ctx context.Context, ref, path string) (string, bool, error) {
	file, err := stat(ctx, r.Client, r.Owner, r.Name, ref, path)
	if err != nil || file == nil || file.GetSize() > maxBaseline {
		return "", false, err
	}
	text, err := r.Blob(ctx, file.GetSHA()) // contents have no text over a megabyte
	return text, err == nil, err
}

// contentOf is Content of any repository that a client may read; ref "" is its default branch.
func (r *Repository) contentOf(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref, path string,
) (string, bool, error) {
	file, err := stat(ctx, c, owner, repo, ref, path)
	if err != nil || file == nil || file.GetSize() > MaxSource {
		return "", false, err
	}
	text, err := file.GetContent()
	if err != nil {
		return "", false, worker.Permanent(fmt.Sprintf("GitHub's response for %s cannot be decoded.",
			path))
	}
	return text, true, nil
}

// stat asks for a file of a commit or branch; nil without an error where there is none.
func stat(
	ctx context.Context,
	c *github.Client,
	owner, repo, ref, path string,
) (*gh.RepositoryContent, error) {
	file, _, _, err := c.Repositories.GetContents(
		ctx, owner, repo, path, &gh.RepositoryContentGetOptions{Ref: ref},
	)
	if NotFound(err) || err == nil && file.GetType() != "file" {
		return nil, nil
	}
	return file, err
}

// Lines counts the lines of a file at a commit; 0 = there is no such file.
func (r *Repository) Lines(ctx context.Context, sha, path string) (int, error) {
	text, found, err := r.Content(ctx, sha, path)
	if err != nil || !found {
		return 0, err
	}
	return max(1, strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1), nil
}
