package github

import (
	"context"
	"sync"
	"time"
)

// knownFor is how long a repository's name and default branch are believed. An event tells of a
// change at once; this bounds what a lost event costs, and another replica that did not get it.
const knownFor = 2 * time.Minute

// known holds the repositories of one installation.
type known struct {
	mu    sync.Mutex
	repos map[int64]knownRepository
}

type knownRepository struct {
	repository Repository
	until      time.Time
}

// KnownRepository is RepositoryByID, asked at most every few minutes.
func (c *Client) KnownRepository(ctx context.Context, id int64) (*Repository, error) {
	c.known.mu.Lock()
	k, found := c.known.repos[id]
	c.known.mu.Unlock()
	if found && time.Now().Before(k.until) {
		r := k.repository
		return &r, nil
	}
	r, err := c.RepositoryByID(ctx, id)
	if err != nil {
		c.ForgetRepository(id)
		return nil, err
	}
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	if c.known.repos == nil {
		c.known.repos = map[int64]knownRepository{}
	}
	c.known.repos[id] = knownRepository{*r, time.Now().Add(knownFor)}
	return r, nil
}

// ForgetRepository has the next KnownRepository ask GitHub: the repository was renamed, moved, or
// is not where it was.
func (c *Client) ForgetRepository(id int64) {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	delete(c.known.repos, id)
}
