package githubtest

import (
	"maps"
	"strconv"
)

// The payloads of the webhooks that compat handles, with GitHub's fields.

func (s *Server) event(action string, r *Repo, sender *User, more object) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base(action, r, sender, more)
}

func (s *Server) base(action string, r *Repo, sender *User, more object) map[string]any {
	o := object{"repository": s.repoJSON(r), "sender": sender.json()}
	if action != "" {
		o["action"] = action
	}
	if r.Owner.Kind == "Organization" {
		o["organization"] = r.Owner.json()
	}
	if i := r.Installation; i != nil {
		o["installation"] = object{"id": i.ID, "node_id": node("I", i.ID)}
	}
	maps.Copy(o, more)
	return o
}

// PullEvent returns pull_request: opened, synchronize, reopened, closed, edited, …
func (s *Server) PullEvent(p *Pull, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.base(action, p.Repo, p.Author, object{"number": p.Number, "pull_request": s.pullJSON(p)})
	if action == "synchronize" && len(p.Heads) > 1 {
		o["before"], o["after"] = p.Heads[len(p.Heads)-2], p.HeadSHA
	}
	return o
}

// RunEvent returns workflow_run: requested, in_progress or completed.
func (s *Server) RunEvent(w *Run, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	workflow := object{"id": w.Repo.ID + 1, "name": w.Name, "path": w.Path, "state": "active"}
	return s.base(
		action,
		w.Repo,
		w.Head.Owner,
		object{"workflow_run": s.runJSON(w), "workflow": workflow},
	)
}

// RepositoryEvent returns repository: renamed, transferred, archived, edited, …
func (s *Server) RepositoryEvent(r *Repo, action string) map[string]any {
	return s.event(action, r, r.Owner, nil)
}

// ReleaseEvent returns release: published, edited, created, deleted, …
func (s *Server) ReleaseEvent(r *Repo, l *Release, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base(action, r, r.Owner, object{"release": s.releaseJSON(r, l)})
}

// CommentEvent returns issue_comment: created, edited or deleted. The issue of a pull request has
// pull_request.
func (s *Server) CommentEvent(r *Repo, number int, c *Comment, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := r.issue(int64(number))
	issue := object{
		"id":       i.ID,
		"number":   i.Number,
		"title":    i.Title,
		"state":    "open",
		"user":     i.Author.json(),
		"locked":   false,
		"comments": len(i.Comments),
		"url":      s.repoURL(r, "/issues/%d", i.Number),
	}
	if i.Pull {
		issue["pull_request"] = object{"url": s.repoURL(r, "/pulls/%d", i.Number)}
	}
	return s.base(
		action,
		r,
		c.Author,
		object{"issue": issue, "comment": s.commentJSON(r, i.Number, c)},
	)
}

// ReviewCommentEvent returns pull_request_review_comment: created, edited or deleted.
func (s *Server) ReviewCommentEvent(p *Pull, t *Thread, c *Comment, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base(
		action,
		p.Repo,
		c.Author,
		object{"pull_request": s.pullJSON(p), "comment": s.reviewCommentJSON(p, t, c)},
	)
}

// PushEvent returns push for the newest commit of a branch, which changed these files.
func (s *Server) PushEvent(r *Repo, branch string, changed ...string) map[string]any {
	return s.event(
		"",
		r,
		r.Owner,
		object{
			"ref":     "refs/heads/" + branch,
			"deleted": false,
			"after":   r.Branches[branch],
			"commits": []any{
				object{
					"id":       r.Branches[branch],
					"added":    []any{},
					"removed":  []any{},
					"modified": changed,
				},
			},
		},
	)
}

// CheckEvent returns check_run: created, completed, rerequested, or requested_action with the
// identifier of the button.
func (s *Server) CheckEvent(
	r *Repo,
	id int64,
	action, identifier string,
	sender *User,
) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := object{}
	for _, k := range r.Checks {
		if k.ID == id {
			check := s.checkJSON(r, k)
			check["check_suite"] = s.suiteJSON(r, k.SHA)
			more["check_run"] = check
		}
	}
	if identifier != "" {
		more["requested_action"] = object{"identifier": identifier}
	}
	return s.base(action, r, sender, more)
}

// SuiteEvent returns check_suite: requested or rerequested for a commit.
func (s *Server) SuiteEvent(r *Repo, sha, action string, sender *User) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.suites[sha] == 0 {
		r.suites[sha] = s.id()
	}
	return s.base(action, r, sender, object{"check_suite": s.suiteJSON(r, sha)})
}

// MergeGroupEvent returns merge_group: checks_requested or destroyed for the head of a pull
// request's merge group.
func (s *Server) MergeGroupEvent(p *Pull, headSHA, action string) map[string]any {
	return s.event(
		action,
		p.Repo,
		p.Author,
		object{
			"merge_group": object{
				"head_sha":    headSHA,
				"head_ref":    "refs/heads/" + GroupBranch(p),
				"base_sha":    p.BaseSHA,
				"base_ref":    "refs/heads/" + p.BaseRef,
				"head_commit": object{"id": headSHA, "message": p.Title, "tree_id": headSHA},
			},
		},
	)
}

// GateEvent returns deployment_protection_rule.requested. callback "" is GitHub's own address.
func (s *Server) GateEvent(g *Gate, callback string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := g.Run
	if callback == "" {
		callback = s.repoURL(w.Repo, "/actions/runs/%d/deployment_protection_rule", w.ID)
	}
	pulls := []any{}
	if w.Pull != nil {
		pulls = append(pulls, s.pullJSON(w.Pull))
	}
	return s.base(
		"requested",
		w.Repo,
		w.Repo.Owner,
		object{
			"environment":             g.Environment,
			"event":                   w.Event,
			"deployment_callback_url": callback,
			"pull_requests":           pulls,
			"deployment": object{
				"id":          g.Deployment,
				"sha":         w.SHA,
				"ref":         w.Branch,
				"environment": g.Environment,
				"task":        "deploy",
				"url":         s.repoURL(w.Repo, "/deployments/%d", g.Deployment),
			},
		},
	)
}

// InstallationEvent returns installation: created, suspend, unsuspend or deleted, and changes the
// installation accordingly.
func (s *Server) InstallationEvent(i *Installation, action string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch action {
	case "suspend":
		i.Suspended = true
	case "unsuspend":
		i.Suspended = false
	case "deleted":
		i.Deleted = true
	}
	repos := []any{}
	for _, id := range sorted(s.repos) {
		if r := s.repos[id]; r.Installation == i {
			repos = append(
				repos,
				object{"id": r.ID, "name": r.Name, "full_name": r.FullName(), "private": r.Private},
			)
		}
	}
	return object{
		"action":       action,
		"installation": s.installationJSON(i),
		"repositories": repos,
		"sender":       i.Account.json(),
	}
}

// PingEvent returns ping, which GitHub sends for a new webhook.
func (s *Server) PingEvent() map[string]any {
	return object{
		"zen":     "Keep it logically awesome.",
		"hook_id": 99,
		"hook": object{
			"type":   "App",
			"id":     99,
			"app_id": s.AppID,
			"active": true,
			"events": []string{},
		},
	}
}

// GroupBranch returns the branch of a pull request's merge group.
func GroupBranch(p *Pull) string {
	return "gh-readonly-queue/" + p.BaseRef + "/pr-" + strconv.Itoa(p.Number) + "-" + p.BaseSHA
}
