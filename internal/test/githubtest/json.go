package githubtest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object in a request or response.
type object = map[string]any

func str(o object, key string) string { s, _ := o[key].(string); return s }

func num(o object, key string) int64 { f, _ := o[key].(float64); return int64(f) }

func obj(o object, key string) object { m, _ := o[key].(object); return m }

func arr(o object, key string) []any { a, _ := o[key].([]any); return a }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func node(kind string, id int64) string { return kind + "_" + strconv.FormatInt(id, 10) }

// orNull returns nil for "", for fields that are null on GitHub.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// encode does not escape <, > and &, like GitHub.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only maps, slices and strings are passed
	}
	return bytes.TrimSpace(b.Bytes())
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// page returns the page of a list selected by per_page and page, with a Link header. key "" is
// for lists that are not in an object.
func (s *Server) page(r *request, key string, items []any) (any, error) {
	per, _ := strconv.Atoi(r.query("per_page"))
	if per <= 0 {
		per = 30
	}
	per = min(per, 100)
	n, _ := strconv.Atoi(r.query("page"))
	n = max(n, 1)
	total := len(items)
	from := min((n-1)*per, total)
	to := min(from+per, total)
	part := items[from:to]
	if part == nil {
		part = []any{}
	}
	a := &answer{status: http.StatusOK, body: part, header: http.Header{}}
	if key != "" {
		a.body = object{"total_count": total, key: part}
	}
	if to < total {
		last := (total + per - 1) / per
		a.header.Set(
			"Link",
			fmt.Sprintf(
				`<%s>; rel="next", <%s>; rel="last"`,
				s.again(r, "page", strconv.Itoa(n+1)),
				s.again(r, "page", strconv.Itoa(last)),
			),
		)
	}
	return a, nil
}

// again returns the request's address with another value of a query parameter. Like GitHub's, it
// names the repository by ID.
func (s *Server) again(r *request, key, value string) string {
	path, _, _ := strings.Cut(r.call.Path, "?")
	if r.repo != nil {
		path = strings.Replace(path, "/repos/"+r.call.Repo, fmt.Sprintf("/repositories/%d", r.repo.ID), 1)
	}
	q := r.URL.Query()
	q.Set(key, value)
	return s.URL() + path + "?" + q.Encode()
}

func (u *User) json() object {
	return object{
		"login":      u.Login,
		"id":         u.ID,
		"node_id":    node("U", u.ID),
		"type":       u.Kind,
		"site_admin": false,
		"html_url":   "https://github.test/" + u.Login,
	}
}

func (s *Server) installationJSON(i *Installation) object {
	var suspended any
	if i.Suspended {
		suspended = stamp(time.Now())
	}
	return object{
		"id":                   i.ID,
		"account":              i.Account.json(),
		"app_id":               s.AppID,
		"app_slug":             s.Slug,
		"target_id":            i.Account.ID,
		"target_type":          i.Account.Kind,
		"permissions":          s.permissions,
		"events":               []string{},
		"repository_selection": "all",
		"suspended_at":         suspended,
		"suspended_by":         nil,
		"access_tokens_url":    fmt.Sprintf("%s/app/installations/%d/access_tokens", s.URL(), i.ID),
		"created_at":           stamp(time.Unix(0, 0)),
		"updated_at":           stamp(time.Unix(0, 0)),
	}
}

func (s *Server) repoURL(r *Repo, format string, args ...any) string {
	return s.URL() + "/repos/" + r.FullName() + fmt.Sprintf(format, args...)
}

func (s *Server) repoJSON(r *Repo) object {
	o := object{
		"id":             r.ID,
		"node_id":        node("R", r.ID),
		"name":           r.Name,
		"full_name":      r.FullName(),
		"private":        r.Private,
		"owner":          r.Owner.json(),
		"fork":           r.Parent != nil,
		"default_branch": r.Default,
		"url":            s.repoURL(r, ""),
		"html_url":       "https://github.test/" + r.FullName(),
		"archived":       r.Archived,
		"disabled":       false,
		"description":    nil,
		"visibility":     "public",
	}
	if r.Private {
		o["visibility"] = "private"
		if r.Internal {
			o["visibility"] = "internal"
		}
	}
	return o
}

func (s *Server) commitJSON(r *Repo, c *Commit) object {
	parents := []any{}
	for _, p := range c.Parents {
		parents = append(parents, object{"sha": p, "url": s.repoURL(r, "/commits/%s", p)})
	}
	who := object{"name": "someone", "email": "someone@example.test", "date": stamp(c.At)}
	return object{
		"sha":      c.SHA,
		"node_id":  "C_" + c.SHA,
		"url":      s.repoURL(r, "/commits/%s", c.SHA),
		"html_url": "https://github.test/" + r.FullName() + "/commit/" + c.SHA,
		"commit": object{
			"message":       c.Message,
			"author":        who,
			"committer":     who,
			"tree":          object{"sha": treeSHA(c), "url": ""},
			"comment_count": 0,
		},
		"parents": parents,
	}
}

func (s *Server) pullJSON(p *Pull) object {
	end := func(r *Repo, ref, sha string) object {
		return object{
			"label": r.Owner.Login + ":" + ref,
			"ref":   ref,
			"sha":   sha,
			"user":  r.Owner.json(),
			"repo":  s.repoJSON(r),
		}
	}
	var merged any
	if p.Merged {
		merged = stamp(p.updated())
	}
	return object{
		"id":                 p.ID,
		"node_id":            node("PR", p.ID),
		"number":             p.Number,
		"state":              p.State,
		"locked":             false,
		"title":              p.Title,
		"body":               nil,
		"user":               p.Author.json(),
		"draft":              p.Draft,
		"merged":             p.Merged,
		"merged_at":          merged,
		"mergeable":          nil,
		"merge_commit_sha":   nil,
		"created_at":         stamp(p.At),
		"updated_at":         stamp(p.updated()),
		"head":               end(p.Head, p.HeadRef, p.HeadSHA),
		"base":               end(p.Repo, p.BaseRef, p.BaseSHA),
		"author_association": "CONTRIBUTOR",
		"url":                s.repoURL(p.Repo, "/pulls/%d", p.Number),
		"html_url":           fmt.Sprintf("https://github.test/%s/pull/%d", p.Repo.FullName(), p.Number),
	}
}

// pullRefs returns the short form of a pull request in runs, suites and check runs. GitHub leaves
// out those from forks.
func (s *Server) pullRefs(p *Pull) []any {
	if p == nil || p.Head != p.Repo || p.State != "open" {
		return []any{}
	}
	repo := func(r *Repo) object { return object{"id": r.ID, "name": r.Name, "url": s.repoURL(r, "")} }
	return []any{
		object{"id": p.ID, "number": p.Number, "url": s.repoURL(p.Repo, "/pulls/%d", p.Number),
			"head": object{
				"ref":  p.HeadRef,
				"sha":  p.HeadSHA,
				"repo": repo(p.Head),
			}, "base": object{"ref": p.BaseRef, "sha": p.BaseSHA, "repo": repo(p.Repo)}},
	}
}

func (s *Server) runJSON(w *Run) object {
	return object{
		"id":              w.ID,
		"node_id":         node("WFR", w.ID),
		"name":            w.Name,
		"display_title":   w.Name,
		"path":            w.Path,
		"workflow_id":     w.Repo.ID + 1,
		"run_number":      w.Number,
		"run_attempt":     w.Attempt,
		"event":           w.Event,
		"status":          w.Status,
		"conclusion":      orNull(w.Conclusion),
		"head_branch":     w.Branch,
		"head_sha":        w.SHA,
		"pull_requests":   s.runPulls(w),
		"repository":      s.repoJSON(w.Repo),
		"head_repository": s.repoJSON(w.Head),
		"actor":           w.Repo.Owner.json(),
		"head_commit": object{
			"id":        w.SHA,
			"message":   "",
			"timestamp": stamp(w.At),
		},
		"check_suite_id": w.ID + 1,
		"created_at":     stamp(w.At),
		"updated_at":     stamp(w.At),
		"run_started_at": stamp(w.At),
		"url":            s.repoURL(w.Repo, "/actions/runs/%d", w.ID),
		"artifacts_url":  s.repoURL(w.Repo, "/actions/runs/%d/artifacts", w.ID),
		"html_url": fmt.Sprintf(
			"https://github.test/%s/actions/runs/%d",
			w.Repo.FullName(),
			w.ID,
		),
	}
}

// runPulls returns the open pull request whose head is that of a run.
func (s *Server) runPulls(w *Run) []any {
	if w.Pull == nil || w.SHA != w.Pull.HeadSHA {
		return s.pullRefs(w.Pull)
	}
	return s.pullsOf(w.Repo, w.SHA)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s *Server) artifactJSON(w *Run, a *Artifact) object {
	o := object{
		"id":                   a.ID,
		"node_id":              node("AR", a.ID),
		"name":                 a.Name,
		"size_in_bytes":        cmp.Or(a.Size, len(a.Data)),
		"expired":              a.Expired,
		"created_at":           stamp(a.At),
		"updated_at":           stamp(a.At),
		"expires_at":           stamp(a.At.AddDate(0, 0, 90)),
		"url":                  s.repoURL(w.Repo, "/actions/artifacts/%d", a.ID),
		"archive_download_url": s.repoURL(w.Repo, "/actions/artifacts/%d/zip", a.ID),
		"workflow_run": object{
			"id":                 w.ID,
			"repository_id":      w.Repo.ID,
			"head_repository_id": w.Head.ID,
			"head_branch":        w.Branch,
			"head_sha":           w.SHA,
		},
	}
	switch a.Digest {
	case "":
		o["digest"] = digest(a.Data)
	case "-":
		o["digest"] = nil
	default:
		o["digest"] = a.Digest
	}
	return o
}

func (s *Server) checkJSON(r *Repo, k *Check) object {
	var done any
	if !k.Completed.IsZero() {
		done = stamp(k.Completed)
	}
	return object{
		"id":           k.ID,
		"node_id":      node("CR", k.ID),
		"name":         k.Name,
		"head_sha":     k.SHA,
		"external_id":  k.ExternalID,
		"status":       k.Status,
		"conclusion":   orNull(k.Conclusion),
		"details_url":  k.DetailsURL,
		"started_at":   stamp(k.Created),
		"completed_at": done,
		"url":          s.repoURL(r, "/check-runs/%d", k.ID),
		"html_url":     fmt.Sprintf("https://github.test/%s/runs/%d", r.FullName(), k.ID),
		"output": object{
			"title":             orNull(k.Title),
			"summary":           orNull(k.Summary),
			"text":              orNull(k.Text),
			"annotations_count": len(k.Annotations),
			"annotations_url":   s.repoURL(r, "/check-runs/%d/annotations", k.ID),
		},
		"check_suite": object{
			"id": r.suites[k.SHA],
		},
		"app":           s.appRef(k.App),
		"pull_requests": s.pullsOf(r, k.SHA),
	}
}

// appRef returns the App, or another one by its slug.
func (s *Server) appRef(other string) object {
	if other != "" {
		return object{
			"id":      15368,
			"slug":    other,
			"name":    other,
			"node_id": node("A", 15368),
			"owner":   s.bot.json(),
		}
	}
	return object{
		"id":      s.AppID,
		"slug":    s.Slug,
		"name":    "compat test",
		"node_id": node("A", s.AppID),
		"owner":   s.bot.json(),
	}
}

func (s *Server) suiteJSON(r *Repo, sha string) object {
	branch := any(nil)
	for _, p := range r.Pulls {
		if p.HeadSHA == sha && p.Head == r {
			branch = p.HeadRef
		}
	}
	return object{
		"id":                      r.suites[sha],
		"node_id":                 node("CS", r.suites[sha]),
		"head_sha":                sha,
		"head_branch":             branch,
		"status":                  "completed",
		"conclusion":              nil,
		"before":                  nil,
		"after":                   sha,
		"app":                     s.appRef(""),
		"pull_requests":           s.pullsOf(r, sha),
		"repository":              s.repoJSON(r),
		"latest_check_runs_count": 1,
		"created_at":              stamp(time.Now()),
		"updated_at":              stamp(time.Now()),
		"url":                     s.repoURL(r, "/check-suites/%d", r.suites[sha]),
	}
}

func (s *Server) pullsOf(r *Repo, sha string) []any {
	out := []any{}
	for _, p := range r.Pulls {
		if p.HeadSHA == sha {
			out = append(out, s.pullRefs(p)...)
		}
	}
	return out
}

func (s *Server) commentJSON(r *Repo, number int, c *Comment) object {
	return object{
		"id":                       c.ID,
		"node_id":                  node("IC", c.ID),
		"body":                     c.Body,
		"user":                     c.Author.json(),
		"created_at":               stamp(c.At),
		"updated_at":               stamp(c.At),
		"author_association":       "NONE",
		"performed_via_github_app": s.via(c.Author),
		"url":                      s.repoURL(r, "/issues/comments/%d", c.ID),
		"issue_url":                s.repoURL(r, "/issues/%d", number),
		"html_url": fmt.Sprintf(
			"https://github.test/%s/pull/%d#issuecomment-%d",
			r.FullName(),
			number,
			c.ID,
		),
	}
}

func (s *Server) via(u *User) any {
	if u != s.bot {
		return nil
	}
	return s.appRef("")
}

func (s *Server) reviewCommentJSON(p *Pull, t *Thread, c *Comment) object {
	o := object{
		"id":                     c.ID,
		"node_id":                node("PRRC", c.ID),
		"body":                   c.Body,
		"user":                   c.Author.json(),
		"path":                   t.Path,
		"line":                   t.Line,
		"side":                   t.Side,
		"start_line":             nil,
		"start_side":             nil,
		"commit_id":              t.SHA,
		"original_commit_id":     t.SHA,
		"original_line":          t.Line,
		"diff_hunk":              "",
		"pull_request_review_id": t.Review,
		"subject_type":           "line",
		"created_at":             stamp(c.At),
		"updated_at":             stamp(c.At),
		"author_association":     "NONE",
		"url":                    s.repoURL(p.Repo, "/pulls/comments/%d", c.ID),
		"pull_request_url":       s.repoURL(p.Repo, "/pulls/%d", p.Number),
		"html_url": fmt.Sprintf(
			"https://github.test/%s/pull/%d#discussion_r%d",
			p.Repo.FullName(),
			p.Number,
			c.ID,
		),
	}
	if t.Start > 0 {
		o["start_line"], o["start_side"] = t.Start, t.Side
	}
	if t.SHA != p.HeadSHA { // GitHub calls the comment outdated
		o["line"] = nil
	}
	if c != t.Comments[0] {
		o["in_reply_to_id"] = t.Comments[0].ID
	}
	return o
}

func (s *Server) reviewJSON(p *Pull, v *Review) object {
	return object{
		"id":                 v.ID,
		"node_id":            node("PRR", v.ID),
		"user":               v.Author.json(),
		"body":               v.Body,
		"state":              v.State,
		"commit_id":          v.SHA,
		"submitted_at":       stamp(v.At),
		"author_association": "NONE",
		"html_url": fmt.Sprintf(
			"https://github.test/%s/pull/%d#pullrequestreview-%d",
			p.Repo.FullName(),
			p.Number,
			v.ID,
		),
		"pull_request_url": s.repoURL(p.Repo, "/pulls/%d", p.Number),
	}
}

func (s *Server) releaseJSON(r *Repo, l *Release) object {
	assets := []any{}
	for _, a := range l.Assets {
		assets = append(assets, s.assetJSON(r, a))
	}
	target, published := cmp.Or(l.Target, r.Default), any(nil)
	if !l.Draft {
		published = stamp(l.At)
	}
	return object{
		"id":               l.ID,
		"node_id":          node("RE", l.ID),
		"tag_name":         l.Tag,
		"target_commitish": target,
		"name":             l.Tag,
		"draft":            l.Draft,
		"prerelease":       false,
		"immutable":        l.Immutable,
		"body":             "",
		"author":           r.Owner.json(),
		"created_at":       stamp(l.At),
		"published_at":     published,
		"assets":           assets,
		"assets_url":       s.repoURL(r, "/releases/%d/assets", l.ID),
		"url":              s.repoURL(r, "/releases/%d", l.ID),
		"html_url":         fmt.Sprintf("https://github.test/%s/releases/tag/%s", r.FullName(), l.Tag),
	}
}

func (s *Server) assetJSON(r *Repo, a *Asset) object {
	o := object{
		"id":             a.ID,
		"node_id":        node("RA", a.ID),
		"name":           a.Name,
		"label":          nil,
		"state":          a.State,
		"content_type":   "application/octet-stream",
		"size":           len(a.Data),
		"download_count": a.Downloads,
		"digest":         nil,
		"created_at":     stamp(a.At),
		"updated_at":     stamp(a.At),
		"uploader":       r.Owner.json(),
		"url":            s.repoURL(r, "/releases/assets/%d", a.ID),
		"browser_download_url": fmt.Sprintf(
			"https://github.test/%s/releases/download/x/%s",
			r.FullName(),
			a.Name,
		),
	}
	if a.State == "uploaded" {
		o["digest"] = digest(a.Data)
	}
	return o
}
