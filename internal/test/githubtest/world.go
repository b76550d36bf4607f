package githubtest

import (
	"maps"
	"time"
)

// Events on GitHub without the App: accounts, pushes, pull requests, workflow runs. They send no
// webhooks.

// User returns the account with a login, which is created as a person if needed.
func (s *Server) User(login string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user(login)
}

func (s *Server) user(login string) *User {
	u := s.users[login]
	if u == nil {
		u = &User{ID: s.id(), Login: login, Kind: "User"}
		if login == s.BotLogin {
			u.Kind = "Bot"
		}
		s.users[login] = u
	}
	return u
}

// Bot returns the App's own account.
func (s *Server) Bot() *User { return s.bot }

// Install installs the App on an organization.
func (s *Server) Install(organization string) *Installation {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(organization)
	u.Kind = "Organization"
	i := &Installation{ID: s.id(), Account: u}
	s.installs[i.ID] = i
	return i
}

// NewRepo creates a public repository with one commit on main. The user "maintainer" has write
// permission.
func (s *Server) NewRepo(i *Installation, name string, files map[string]string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Repo{ID: s.id(), Owner: i.Account, Name: name, Default: "main", Installation: i,
		Branches: map[string]string{}, Tags: map[string]string{},
		Roles: map[string]string{"maintainer": "maintain"}, suites: map[string]int64{},
		git: map[string]*Commit{}}
	r.Branches["main"] = s.commit(r, nil, maps.Clone(files), "first").SHA
	s.repos[r.ID] = r
	return r
}

// Fork creates a contributor's fork, without the App.
func (s *Server) Fork(parent *Repo, owner string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Repo{
		ID:       s.id(),
		Owner:    s.user(owner),
		Name:     parent.Name,
		Default:  parent.Default,
		Parent:   parent,
		Branches: maps.Clone(parent.Branches),
		Tags:     map[string]string{},
		Roles:    map[string]string{owner: "admin"},
		suites:   map[string]int64{},
		git:      parent.git,
	}
	s.repos[r.ID] = r
	return r
}

// Commit adds a commit to a branch, which is created from the default branch if needed; content
// "" removes a file. It returns the SHA.
func (s *Server) Commit(r *Repo, branch string, files map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(r, branch, files)
}

func (s *Server) push(r *Repo, branch string, files map[string]string) string {
	sha, ok := r.Branches[branch]
	if !ok {
		sha = r.Branches[r.Default]
	}
	tree := maps.Clone(r.git[sha].Files)
	for path, content := range files {
		if content == "" {
			delete(tree, path)
		} else {
			tree[path] = content
		}
	}
	r.Branches[branch] = s.commit(r, []string{sha}, tree, "change "+branch).SHA
	return r.Branches[branch]
}

// Tag tags a commit.
func (s *Server) Tag(r *Repo, name, sha string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Tags[name] = sha
}

// OpenPull pushes files to a branch of head (the repository or a fork) and opens a pull request
// to r's default branch.
func (s *Server) OpenPull(
	r, head *Repo,
	branch string,
	author *User,
	files map[string]string,
) *Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	sha := s.push(head, branch, files)
	r.number++
	p := &Pull{
		ID:      s.id(),
		Number:  r.number,
		Repo:    r,
		Head:    head,
		HeadRef: branch,
		HeadSHA: sha,
		BaseRef: r.Default,
		BaseSHA: r.Branches[r.Default],
		Title:   "Change " + branch,
		Author:  author,
		State:   "open",
		Heads:   []string{sha},
		At:      time.Now(),
	}
	r.Pulls = append(r.Pulls, p)
	r.Issues = append(
		r.Issues,
		&Issue{ID: p.ID + 1, Number: p.Number, Title: p.Title, Author: author, Pull: true},
	)
	return p
}

// OpenSame opens another pull request with the same head, to another branch of the repository.
func (s *Server) OpenSame(p *Pull, base string) *Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := p.Repo
	r.number++
	q := &Pull{
		ID:      s.id(),
		Number:  r.number,
		Repo:    r,
		Head:    p.Head,
		HeadRef: p.HeadRef,
		HeadSHA: p.HeadSHA,
		BaseRef: base,
		BaseSHA: r.Branches[base],
		Title:   "Change " + p.HeadRef + " on " + base,
		Author:  p.Author,
		State:   "open",
		Heads:   []string{p.HeadSHA},
		At:      time.Now(),
	}
	r.Pulls = append(r.Pulls, q)
	r.Issues = append(
		r.Issues,
		&Issue{ID: q.ID + 1, Number: q.Number, Title: q.Title, Author: q.Author, Pull: true},
	)
	return q
}

// OpenIssue opens an issue.
func (s *Server) OpenIssue(r *Repo, title string, author *User) *Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.number++
	i := &Issue{ID: s.id(), Number: r.number, Title: title, Author: author}
	r.Issues = append(r.Issues, i)
	return i
}

// Push adds a commit to a pull request's head and returns its SHA.
func (s *Server) Push(p *Pull, files map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.HeadSHA = s.push(p.Head, p.HeadRef, files)
	p.Heads = append(p.Heads, p.HeadSHA)
	p.Updated = p.updated().
		Add(time.Second)
		// GitHub's timestamps have seconds, and pushes in tests may be closer
	if now := time.Now(); now.After(p.Updated) {
		p.Updated = now
	}
	return p.HeadSHA
}

func (p *Pull) updated() time.Time {
	if p.Updated.IsZero() {
		return p.At
	}
	return p.Updated
}

// PullRun adds a successful workflow run on a pull request's head, with these artifacts.
func (s *Server) PullRun(p *Pull, artifacts ...*Artifact) *Run {
	return s.AddRun(
		&Run{
			Repo:      p.Repo,
			Head:      p.Head,
			Branch:    p.HeadRef,
			SHA:       p.HeadSHA,
			Event:     "pull_request",
			Pull:      p,
			Artifacts: artifacts,
		},
	)
}

// BranchRun adds a successful workflow run on a branch's newest commit, with these artifacts.
func (s *Server) BranchRun(r *Repo, branch string, artifacts ...*Artifact) *Run {
	var sha string
	s.Do(func() { sha = r.Branches[branch] })
	return s.AddRun(
		&Run{Repo: r, Head: r, Branch: branch, SHA: sha, Event: "push", Artifacts: artifacts},
	)
}

// AddRun adds a workflow run. Empty fields get defaults: IDs, the workflow's name, completed and
// success.
func (s *Server) AddRun(w *Run) *Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.ID, w.Attempt, w.At = s.id(), max(w.Attempt, 1), time.Now()
	w.Number = len(w.Repo.Runs) + 1
	if w.Name == "" {
		w.Name, w.Path = "wheels", ".github/workflows/wheels.yml"
	}
	if w.Status == "" {
		w.Status = "completed"
	}
	if w.Conclusion == "" && w.Status == "completed" {
		w.Conclusion = "success"
	}
	for _, a := range w.Artifacts {
		a.ID, a.At = s.id(), time.Now()
	}
	for _, j := range w.Jobs {
		j.ID = s.id()
	}
	w.Repo.Runs = append(w.Repo.Runs, w)
	return w
}

// NewArtifact returns an artifact for a run.
func NewArtifact(name string, data []byte) *Artifact {
	return &Artifact{Name: name, Blob: Blob{Data: data}}
}

// AddRelease publishes a release of an existing tag with assets.
func (s *Server) AddRelease(r *Repo, tag string, assets ...*Asset) *Release {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Release{ID: s.id(), Tag: tag, At: time.Now()}
	for _, a := range assets {
		l.Assets = append(l.Assets, s.asset(a))
	}
	r.Releases = append(r.Releases, l)
	return l
}

// AddAsset uploads another asset to a release.
func (s *Server) AddAsset(l *Release, a *Asset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Assets = append(l.Assets, s.asset(a))
}

func (s *Server) asset(a *Asset) *Asset {
	a.ID, a.At = s.id(), time.Now()
	if a.State == "" {
		a.State = "uploaded"
	}
	return a
}

// NewAsset returns an uploaded asset for a release.
func NewAsset(name string, data []byte) *Asset { return &Asset{Name: name, Blob: Blob{Data: data}} }

// AddGate makes a workflow run wait for the App before it deploys to an environment.
func (s *Server) AddGate(w *Run, environment string) *Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &Gate{Run: w, Environment: environment, Deployment: s.id()}
	w.Repo.Gates = append(w.Repo.Gates, g)
	return g
}

// AddComment adds a comment to an issue or pull request.
func (s *Server) AddComment(r *Repo, number int, author *User, body string) *Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Comment{ID: s.id(), Author: author, Body: body, At: time.Now()}
	i := r.issue(int64(number))
	i.Comments = append(i.Comments, c)
	return c
}

// Discuss starts a conversation on a line of the diff.
func (s *Server) Discuss(
	p *Pull,
	path string,
	line int,
	author *User,
	body string,
) (*Thread, *Comment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Comment{ID: s.id(), Author: author, Body: body, At: time.Now()}
	t := &Thread{
		ID:       s.id(),
		Path:     path,
		Line:     line,
		Side:     "RIGHT",
		SHA:      p.HeadSHA,
		Comments: []*Comment{c},
	}
	p.Threads = append(p.Threads, t)
	return t, c
}

// Reply replies in a review thread.
func (s *Server) Reply(t *Thread, author *User, body string) *Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Comment{ID: s.id(), Author: author, Body: body, At: time.Now()}
	t.Comments = append(t.Comments, c)
	return c
}

func (s *Server) find(owner, name string) *Repo {
	for _, r := range s.repos {
		if r.Owner.Login == owner && r.Name == name {
			return r
		}
	}
	return nil
}

func (r *Repo) issue(number int64) *Issue {
	for _, i := range r.Issues {
		if int64(i.Number) == number {
			return i
		}
	}
	return nil
}

func (r *Repo) pull(number int64) *Pull {
	for _, p := range r.Pulls {
		if int64(p.Number) == number {
			return p
		}
	}
	return nil
}
