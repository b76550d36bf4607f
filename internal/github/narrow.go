package github

import (
	"fmt"

	gh "github.com/google/go-github/v60/github"
)

// Purpose says what a client is for, and so what its tokens may do.
type Purpose string

const (
	Judge  Purpose = "judge"  // look at a repository's runs and files, and write checks, comments and reviews in it
	Gate   Purpose = "gate"   // look at a run, and answer for its deployment
	Browse Purpose = "browse" // read files of any repository of the installation
)

// permissions are the least for a purpose; app.yml says what for.
func (p Purpose) permissions() *gh.InstallationPermissions {
	read, write := gh.String("read"), gh.String("write")
	switch p {
	case Judge:
		return &gh.InstallationPermissions{
			Metadata:     read,
			Contents:     read,
			Actions:      read,
			Checks:       write,
			PullRequests: write,
			Issues:       write,
		}
	case Gate:
		return &gh.InstallationPermissions{
			Metadata:    read,
			Contents:    read,
			Actions:     read,
			Deployments: write,
		}
	}
	return &gh.InstallationPermissions{Metadata: read, Contents: read}
}

// scope is what a token is for.
type scope struct {
	installation, repository int64
	purpose                  Purpose
}

// Narrow is Installation with tokens that are good for one repository (0: all of the installation)
// and one purpose: who gets hold of one while a job of a repository runs can do nothing elsewhere.
// Limits, and what is known of repositories, are shared with the installation's other clients.
func (a *App) Narrow(installation, repository int64, purpose Purpose) (*Client, error) {
	wide, err := a.Installation(installation)
	if err != nil {
		return nil, err
	}
	if repository < 0 {
		return nil, fmt.Errorf("github: repository id %d is negative", repository)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := scope{installation, repository, purpose}
	if c := a.narrow[s]; c != nil {
		return c, nil
	}
	options := &gh.InstallationTokenOptions{Permissions: purpose.permissions()}
	if repository != 0 {
		options.RepositoryIDs = []int64{repository}
	}
	c, err := a.newInstallationClient(installation, options, wide.known)
	if err != nil {
		return nil, err
	}
	a.narrow[s] = c
	return c, nil
}
