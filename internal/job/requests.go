package job

import (
	"errors"
	"fmt"
	"strings"
)

// Command is a comment with "/compat …" lines.
type Command struct {
	Repository int64 `json:"-"`
	Number     int   `json:"number"` // number of the pull request
	Comment    int64 `json:"comment"`
	// Thread is the ID of the first comment of the review conversation; 0 = the comment is on the
	// pull request itself.
	Thread int64         `json:"thread,omitempty"`
	Author string        `json:"author"` // login
	Lines  []CommandLine `json:"commands"`
}

// CommandLine is one line "/compat NAME ARGUMENTS" of a comment.
type CommandLine struct {
	Name      string `json:"name"`      // lower case, never ""
	Arguments string `json:"arguments"` // the rest of the line, trimmed; Markdown as written
}

// Kind implements Body.
func (*Command) Kind() Kind { return KindCommand }

// Key implements Body. GitHub numbers review comments and other comments separately.
func (c *Command) Key() string {
	if c.Thread > 0 {
		return fmt.Sprintf("%s/%d/review/%d", KindCommand, c.Repository, c.Comment)
	}
	return fmt.Sprintf("%s/%d/%d", KindCommand, c.Repository, c.Comment)
}

// RepositoryID implements Body.
func (c *Command) RepositoryID() int64 { return c.Repository }

func (c *Command) fromKey(repository int64, rest string) (err error) {
	c.Repository = repository
	c.Comment, err = positive(strings.TrimPrefix(rest, "review/"))
	return err
}

// CheckAction is a click on one of the App's buttons on a check run.
type CheckAction struct {
	Repository int64  `json:"-"`
	Request    string `json:"-"`      // identifies the click
	Action     string `json:"action"` // recheck, accept or explain
	Of         Kind   `json:"kind"`   // kind of the check run's subject
	Subject    string `json:"key"`    // key of the check run's subject
	SHA        string `json:"sha"`
	Author     string `json:"author"` // login of the person who clicked
	// External is the external ID of the check run, which has a digest of what was checked; "" = an
	// earlier release stored the job.
	External string `json:"external,omitempty"`
}

// Kind implements Body.
func (*CheckAction) Kind() Kind { return KindCheckAction }

// Key implements Body.
func (a *CheckAction) Key() string {
	return fmt.Sprintf("%s/%d/%s", KindCheckAction, a.Repository, a.Request)
}

// RepositoryID implements Body.
func (a *CheckAction) RepositoryID() int64 { return a.Repository }

func (a *CheckAction) fromKey(repository int64, rest string) error {
	a.Repository, a.Request = repository, rest
	if rest == "" {
		return errors.New("no request")
	}
	return nil
}

// DefaultBranch is a push to the default branch, which may change the configuration.
type DefaultBranch struct {
	Repository int64 `json:"-"`
	Settings   bool  `json:"settings,omitempty"` // the push changes .github/compat.yml
	// Before is the commit that the branch had before the push; "" = unknown.
	Before string `json:"before,omitempty"`
	// Paths are those that the push changes, at most MaxPaths; More means that there are others.
	Paths []string `json:"paths,omitempty"`
	More  bool     `json:"more,omitempty"`
}

// MaxPaths limits DefaultBranch.Paths.
const MaxPaths = 200

// Kind implements Body.
func (*DefaultBranch) Kind() Kind { return KindDefaultBranch }

// Key implements Body.
func (d *DefaultBranch) Key() string {
	return fmt.Sprintf("%s/%d", KindDefaultBranch,
		d.Repository)
}

// RepositoryID implements Body.
func (d *DefaultBranch) RepositoryID() int64 { return d.Repository }

func (d *DefaultBranch) fromKey(repository int64, rest string) error {
	d.Repository = repository
	return empty(rest)
}

// BaseAnalysis analyzes the artifacts of the default branch before pull requests are compared
// with them.
type BaseAnalysis struct {
	Repository int64 `json:"-"`
	Run        int64 `json:"run,omitempty"` // the workflow run that has completed; 0 = unknown
}

// Kind implements Body.
func (*BaseAnalysis) Kind() Kind { return KindBaseAnalysis }

// Key implements Body.
func (b *BaseAnalysis) Key() string { return fmt.Sprintf("%s/%d", KindBaseAnalysis, b.Repository) }

// RepositoryID implements Body.
func (b *BaseAnalysis) RepositoryID() int64 { return b.Repository }

func (b *BaseAnalysis) fromKey(repository int64, rest string) error {
	b.Repository = repository
	return empty(rest)
}

// RepositoryRemoved is a repository that the App lost access to. Its jobs are removed.
type RepositoryRemoved struct {
	Repository int64 `json:"-"`
}

// Kind implements Body.
func (*RepositoryRemoved) Kind() Kind { return KindRepositoryRemoved }

// Key implements Body.
func (r *RepositoryRemoved) Key() string {
	return fmt.Sprintf("%s/%d", KindRepositoryRemoved, r.Repository)
}

// RepositoryID implements Body.
func (r *RepositoryRemoved) RepositoryID() int64 { return r.Repository }

func (r *RepositoryRemoved) fromKey(repository int64, rest string) error {
	r.Repository = repository
	return empty(rest)
}

// RepositoryRenamed is a repository with a new name, owner or default branch, or one that was
// archived or unarchived. Its cached data is removed.
type RepositoryRenamed struct {
	Repository int64 `json:"-"`
}

// Kind implements Body.
func (*RepositoryRenamed) Kind() Kind { return KindRepositoryRenamed }

// Key implements Body.
func (r *RepositoryRenamed) Key() string {
	return fmt.Sprintf("%s/%d", KindRepositoryRenamed, r.Repository)
}

// RepositoryID implements Body.
func (r *RepositoryRenamed) RepositoryID() int64 { return r.Repository }

func (r *RepositoryRenamed) fromKey(repository int64, rest string) error {
	r.Repository = repository
	return empty(rest)
}

// InstallationEnded is an installation that was deleted or suspended. Its jobs are removed.
type InstallationEnded struct {
	ID int64 `json:"-"`
}

// Kind implements Body.
func (*InstallationEnded) Kind() Kind { return KindInstallationEnded }

// Key implements Body.
func (i *InstallationEnded) Key() string {
	return fmt.Sprintf("%s/%d", KindInstallationEnded, i.ID)
}

// RepositoryID implements Body. The ID of the installation takes its place.
func (i *InstallationEnded) RepositoryID() int64 { return i.ID }

func (i *InstallationEnded) fromKey(installation int64, rest string) error {
	i.ID = installation
	return empty(rest)
}

func empty(rest string) error {
	if rest != "" {
		return errors.New("the key has more parts than its kind")
	}
	return nil
}
