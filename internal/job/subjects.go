package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Pull is a pull request, whose newest head needs a check run with a verdict.
type Pull struct {
	Repository int64 `json:"-"`
	Number     int   `json:"number"`
	// nil = the worker reads the pull request from GitHub
	Pushed *Push `json:"pushed,omitempty"`
}

// Push is an open pull request as described by the event of a push. The event may be older than
// what the worker knows.
type Push struct {
	SHA     string    `json:"sha"`
	Ref     string    `json:"ref"`
	RepoID  int64     `json:"repo,omitempty"` // ID of the head repository; 0 = deleted
	Repo    string    `json:"name,omitempty"` // full name of the head repository
	Base    string    `json:"base"`
	Updated time.Time `json:"updated"`
}

// Kind implements Body.
func (*Pull) Kind() Kind { return KindPull }

// Key implements Body.
func (p *Pull) Key() string { return fmt.Sprintf("%s/%d/%d", KindPull, p.Repository, p.Number) }

// RepositoryID implements Body.
func (p *Pull) RepositoryID() int64 { return p.Repository }

func (p *Pull) fromKey(repository int64, rest string) error {
	n, err := positive(rest)
	p.Repository, p.Number = repository, int(n)
	return err
}

// MergeGroup is a group of the merge queue that needs a check run on its head.
type MergeGroup struct {
	Repository int64  `json:"-"`
	SHA        string `json:"-"`                  // head of the group
	HeadRef    string `json:"head_ref,omitempty"` // refs/heads/gh-readonly-queue/…
	BaseRef    string `json:"base_ref,omitempty"`
	BaseSHA    string `json:"base_sha,omitempty"`
	Destroyed  bool   `json:"destroyed,omitempty"` // the group does not exist any more
}

// Kind implements Body.
func (*MergeGroup) Kind() Kind { return KindMergeGroup }

// Key implements Body.
func (g *MergeGroup) Key() string {
	return fmt.Sprintf("%s/%d/%s", KindMergeGroup, g.Repository, g.SHA)
}

// RepositoryID implements Body.
func (g *MergeGroup) RepositoryID() int64 { return g.Repository }

func (g *MergeGroup) fromKey(repository int64, rest string) error {
	g.Repository, g.SHA = repository, rest
	return checkSHA(rest)
}

// Release is a release. Its assets are checked together, for the commit of its tag.
type Release struct {
	Repository int64 `json:"-"`
	ID         int64 `json:"release"`
}

// Kind implements Body.
func (*Release) Kind() Kind { return KindRelease }

// Key implements Body.
func (r *Release) Key() string { return fmt.Sprintf("%s/%d/%d", KindRelease, r.Repository, r.ID) }

// RepositoryID implements Body.
func (r *Release) RepositoryID() int64 { return r.Repository }

func (r *Release) fromKey(repository int64, rest string) (err error) {
	r.Repository = repository
	r.ID, err = positive(rest)
	return err
}

// Deployment is a workflow run that waits for a deployment protection rule.
type Deployment struct {
	Repository  int64  `json:"-"`
	Run         int64  `json:"run"`
	Environment string `json:"environment"`
	// ID of the deployment; 0 = not known. A run that is started again has another one.
	ID int64 `json:"deployment,omitempty"`
}

// longestEnvironment keeps the key below the queue's limit.
const longestEnvironment = 200

// Kind implements Body.
func (*Deployment) Kind() Kind { return KindDeployment }

// Key implements Body. A long environment name is replaced by its digest.
func (d *Deployment) Key() string {
	name := url.PathEscape(d.Environment)
	if len(name) > longestEnvironment {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf("%s/%d/%d/%s", KindDeployment, d.Repository, d.Run, name)
}

// RepositoryID implements Body.
func (d *Deployment) RepositoryID() int64 { return d.Repository }

func (d *Deployment) fromKey(repository int64, rest string) (err error) {
	run, _, _ := strings.Cut(rest, "/")
	d.Repository = repository
	d.Run, err = positive(run)
	return err
}

// Commit is a commit whose pull requests the worker has to find.
type Commit struct {
	Repository int64    `json:"-"`
	SHA        string   `json:"-"`
	Ran        bool     `json:"ran,omitempty"`   // a workflow run of the commit has completed
	Pulls      []string `json:"pulls,omitempty"` // keys of the pull requests in the event
	HeadOwner  string   `json:"head_owner,omitempty"`
	HeadBranch string   `json:"head_branch,omitempty"`
}

// Kind implements Body.
func (*Commit) Kind() Kind { return KindCommit }

// Key implements Body.
func (c *Commit) Key() string { return fmt.Sprintf("%s/%d/%s", KindCommit, c.Repository, c.SHA) }

// RepositoryID implements Body.
func (c *Commit) RepositoryID() int64 { return c.Repository }

func (c *Commit) fromKey(repository int64, rest string) error {
	c.Repository, c.SHA = repository, rest
	return checkSHA(rest)
}

func checkSHA(s string) error {
	if !IsSHA(s) {
		return errors.New("not a SHA")
	}
	return nil
}
