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

// Repository is the current name and state of a repository. Jobs contain only its ID, which does
// not change with renames and transfers.
type Repository struct {
	ID            int64
	Owner, Name   string
	DefaultBranch string
	Private       bool
	Visibility    string // public, internal or private
	Archived      bool   // read-only
	URL           string // of its web page; "" = unknown
}

// RepositoryByID returns a repository. An error of class Missing means that it was deleted or is
// not visible to the installation.
func (c *Client) RepositoryByID(ctx context.Context, id int64) (*Repository, error) {
	r, _, err := c.Repositories.GetByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("github: repository %d: %w", id, err)
	}
	if r.GetOwner().GetLogin() == "" || r.GetName() == "" {
		return nil, fmt.Errorf("github: repository %d: the response has no owner or no repository", id)
	}
	return &Repository{
		ID:            r.GetID(),
		Owner:         r.GetOwner().GetLogin(),
		Name:          r.GetName(),
		DefaultBranch: r.GetDefaultBranch(),
		Private:       r.GetPrivate(),
		Visibility:    visibility(r),
		Archived:      r.GetArchived(),
		URL:           r.GetHTMLURL(),
	}, nil
}

// visibility returns who can read a repository. Without the field, as on old servers, one that is
// not public may be internal, which counts as private.
func visibility(r *gh.Repository) string {
	switch v := r.GetVisibility(); {
	case r.GetPrivate() && v == "internal":
		return v
	case r.GetPrivate() || v == "private":
		return "private"
	case v == "" || v == "public":
		return "public"
	}
	return r.GetVisibility()
}

// PullsForHead lists the open pull requests from a branch of headOwner. It finds the pull
// requests of forks, for which pull_requests is empty in GitHub's payloads. There can be one for
// each base branch.
func (c *Client) PullsForHead(
	ctx context.Context,
	owner, repo, headOwner, branch string,
) ([]*gh.PullRequest, error) {
	if headOwner == "" || branch == "" { // GitHub would ignore the filter
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

// PullsForCommit lists the open and closed pull requests that GitHub knows for a commit. It is
// empty for commits of forks.
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

// Permission is the permission of a user in a repository.
type Permission struct {
	// GitHub's name: "admin", "maintain", "write", "triage", "read", "none", or a custom role of
	// the organization
	Role  string
	Write bool // may push: write, maintain, admin, and custom roles based on them, but not triage
}

// Permission returns the permission of a user. A 404 is Role "none" and not an error.
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

// ReplyInThread replies in the review conversation with the given first comment. go-github v60
// uses a request that GitHub does not document.
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

// repositoryTTL is how long the name and default branch of a repository are cached. Events clear
// the cache on a change; the TTL covers events that were lost or received by another replica.
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

// KnownRepository is like RepositoryByID, but cached for repositoryTTL.
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

// ForgetRepository removes a repository from the cache.
func (c *Client) ForgetRepository(id int64) {
	c.repositories.mu.Lock()
	defer c.repositories.mu.Unlock()
	delete(c.repositories.repos, id)
}
