package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Repository is where a repository is now; jobs know it by its id, which survives renames and
// transfers.
type Repository struct {
	ID            int64
	Owner, Name   string
	DefaultBranch string
	Private       bool
	Archived      bool // nobody writes to it
}

// RepositoryByID looks a repository up. An error classified as Missing: deleted, or no longer
// visible to the installation.
func (c *Client) RepositoryByID(ctx context.Context, id int64) (*Repository, error) {
	r, _, err := c.Repositories.GetByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("github: repository %d: %w", id, err)
	}
	if r.GetOwner().GetLogin() == "" || r.GetName() == "" {
		return nil, fmt.Errorf(
			"github: repository %d: the answer names no owner or no repository",
			id,
		)
	}
	return &Repository{
		ID:            r.GetID(),
		Owner:         r.GetOwner().GetLogin(),
		Name:          r.GetName(),
		DefaultBranch: r.GetDefaultBranch(),
		Private:       r.GetPrivate(),
		Archived:      r.GetArchived(),
	}, nil
}

// PullsForHead lists the open pull requests from a branch of headOwner (a fork's owner too) into a
// repository. It is how pull requests of forks are found: GitHub's payloads leave pull_requests
// empty for them. Several are possible, one for each base branch.
func (c *Client) PullsForHead(
	ctx context.Context,
	owner, repo, headOwner, branch string,
) ([]*gh.PullRequest, error) {
	if headOwner == "" || branch == "" { // GitHub would ignore the filter and list them all
		return nil, fmt.Errorf(
			"github: pull requests of %s/%s from %q:%q: a head needs an owner and a branch",
			owner,
			repo,
			headOwner,
			branch,
		)
	}
	var out []*gh.PullRequest
	o := &gh.PullRequestListOptions{
		State:       "open",
		Head:        headOwner + ":" + branch,
		ListOptions: gh.ListOptions{PerPage: perPage},
	}
	for range mostPages {
		some, resp, err := c.PullRequests.List(ctx, owner, repo, o)
		if err != nil {
			return nil, fmt.Errorf(
				"github: pull requests of %s/%s from %s:%s: %w",
				owner,
				repo,
				headOwner,
				branch,
				err,
			)
		}
		for _, p := range some {
			if p.GetHead().GetRef() == branch {
				out = append(out, p)
			}
		}
		if resp.NextPage <= o.Page {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}

// PullsForCommit lists the pull requests, open or not, that GitHub knows for a commit. It is empty
// for commits of forks.
func (c *Client) PullsForCommit(
	ctx context.Context,
	owner, repo, sha string,
) ([]*gh.PullRequest, error) {
	list, _, err := c.PullRequests.ListPullRequestsWithCommit(
		ctx,
		owner,
		repo,
		sha,
		&gh.ListOptions{PerPage: perPage},
	)
	if err != nil {
		return nil, fmt.Errorf("github: pull requests of commit %.12s: %w", sha, err)
	}
	return list, nil
}

// Permission is what somebody may do in a repository.
type Permission struct {
	// as GitHub names it: "admin", "maintain", "write", "triage", "read", "none", or a role of the
	// organization's own
	Role  string
	Write bool // may push: write, maintain, admin, and roles based on them; triage may not
}

// Permission asks what a user may do. Somebody whom GitHub doesn't know there (404) may do nothing;
// that is no error.
func (c *Client) Permission(ctx context.Context, owner, repo, user string) (Permission, error) {
	none := Permission{Role: "none"}
	req, err := c.NewRequest(
		http.MethodGet,
		fmt.Sprintf("repos/%v/%v/collaborators/%v/permission", owner, repo, user),
		nil,
	)
	if err != nil {
		return none, fmt.Errorf("github: permission of a user: %w", err)
	}
	var said struct {
		Permission string // legacy names: maintain is "write", triage is "read"
		Role       string `json:"role_name"`
	}
	if _, err = c.Do(ctx, req, &said); err != nil {
		var e *gh.ErrorResponse
		if errors.As(err, &e) && e.Response.StatusCode == http.StatusNotFound {
			return none, nil
		}
		return none, fmt.Errorf("github: permission of %s in %s/%s: %w", user, owner, repo, err)
	}
	p := Permission{Role: said.Role}
	if p.Role == "" { // GitHub Enterprise Server before 3.3
		p.Role = said.Permission
	}
	p.Write = slices.Contains([]string{"admin", "maintain", "write"}, said.Permission) &&
		!slices.Contains([]string{"triage", "read", "none"}, said.Role)
	return p, nil
}

// ReplyInThread answers in a conversation on the diff, whose first comment is given. go-github v60
// does it in a way that GitHub's description does not allow.
func (c *Client) ReplyInThread(
	ctx context.Context,
	owner, repo string,
	number int,
	first int64,
	body string,
) error {
	req, err := c.NewRequest(
		http.MethodPost,
		fmt.Sprintf("repos/%v/%v/pulls/%d/comments/%d/replies", owner, repo, number, first),
		map[string]string{"body": body},
	)
	if err != nil {
		return fmt.Errorf("github: reply in a conversation: %w", err)
	}
	_, err = c.Do(ctx, req, nil)
	return err
}

// repositoryTTL is how long a repository's name and default branch are cached. An event reports a
// change at once; this bounds the effect of a lost event, or of one that another replica received.
const repositoryTTL = 2 * time.Minute

// repositoryCache caches the repositories of one installation.
type repositoryCache struct {
	mu    sync.Mutex
	repos map[int64]cachedRepository
}

type cachedRepository struct {
	repository Repository
	until      time.Time
}

// KnownRepository is RepositoryByID with a cache of a few minutes.
func (c *Client) KnownRepository(ctx context.Context, id int64) (*Repository, error) {
	c.repositories.mu.Lock()
	k, found := c.repositories.repos[id]
	c.repositories.mu.Unlock()
	if found && time.Now().Before(k.until) {
		r := k.repository
		return &r, nil
	}
	r, err := c.RepositoryByID(ctx, id)
	if err != nil {
		c.ForgetRepository(id)
		return nil, err
	}
	c.repositories.mu.Lock()
	defer c.repositories.mu.Unlock()
	if c.repositories.repos == nil {
		c.repositories.repos = map[int64]cachedRepository{}
	}
	c.repositories.repos[id] = cachedRepository{*r, time.Now().Add(repositoryTTL)}
	return r, nil
}

// ForgetRepository drops a cached repository that was renamed, moved or deleted.
func (c *Client) ForgetRepository(id int64) {
	c.repositories.mu.Lock()
	defer c.repositories.mu.Unlock()
	delete(c.repositories.repos, id)
}
