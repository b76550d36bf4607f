package githubtest

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

func (s *Server) getRepo(r *request) (any, error) { return s.repoJSON(r.repo), nil }

// at finds a commit by the ref in a query or path parameter.
func (r *request) at(ref string) (*Commit, error) {
	if c := r.repo.resolve(ref); c != nil {
		return c, nil
	}
	return nil, fail(http.StatusNotFound, "No commit found for the ref %s", ref)
}

// accepts reports whether the App accepts one of GitHub's media types, such as ".raw".
func (r *request) accepts(kind string) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/vnd.github") &&
		strings.Contains(r.Header.Get("Accept"), kind)
}

func plain(text string) *answer {
	return &answer{
		status: http.StatusOK,
		body:   []byte(text),
		header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
	}
}

func (s *Server) getContent(r *request) (any, error) {
	c, err := r.at(r.query("ref"))
	if err != nil {
		return nil, err
	}
	path := strings.Trim(r.PathValue("path"), "/")
	entry := func(path, kind string) object {
		name := path[strings.LastIndex(path, "/")+1:]
		o := object{
			"type":         kind,
			"name":         name,
			"path":         path,
			"sha":          hash(kind, path),
			"size":         0,
			"url":          s.repoURL(r.repo, "/contents/%s", path),
			"download_url": nil,
		}
		if kind == "file" {
			o["sha"], o["size"] = blobSHA(c.Files[path]), len(c.Files[path])
		}
		return o
	}
	if text, ok := c.Files[path]; ok {
		if r.accepts(".raw") {
			return plain(text), nil
		}
		o := entry(path, "file")
		o["encoding"], o["content"] = "base64", base64.StdEncoding.EncodeToString([]byte(text))
		if len(text) > 1<<20 {
			o["encoding"], o["content"] = "none", ""
		}
		return o, nil
	}
	var list []any
	var seen []string
	for _, p := range sorted(c.Files) {
		rest, ok := strings.CutPrefix(p, path+"/")
		if !ok {
			continue
		}
		name, _, isDir := strings.Cut(rest, "/")
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		kind := "file"
		if isDir {
			kind = "dir"
		}
		list = append(list, entry(path+"/"+name, kind))
	}
	if list == nil {
		return nil, notFound()
	}
	return list, nil
}

// Submodule begins the content that stands for a submodule, and is what diffs show of one.
const Submodule = "Subproject commit "

func (s *Server) getTree(r *request) (any, error) {
	c, err := r.at(r.PathValue("tree_sha"))
	if err != nil {
		return nil, err
	}
	tree := []any{}
	for _, path := range sorted(c.Files) {
		if strings.Contains(path, "/") && r.query("recursive") == "" {
			continue
		}
		mode, kind := "100644", "blob"
		if strings.HasPrefix(c.Files[path], Submodule) {
			mode, kind = "160000", "commit"
		}
		tree = append(
			tree,
			object{
				"path": path,
				"mode": mode,
				"type": kind,
				"sha":  blobSHA(c.Files[path]),
				"size": len(c.Files[path]),
				"url":  "",
			},
		)
	}
	return object{"sha": treeSHA(c), "url": "", "truncated": false, "tree": tree}, nil
}

func (s *Server) getBlob(r *request) (any, error) {
	for _, c := range r.repo.git {
		for _, text := range c.Files {
			if blobSHA(text) == r.PathValue("file_sha") {
				if r.accepts(".raw") {
					return plain(text), nil
				}
				return object{
					"sha":      r.PathValue("file_sha"),
					"node_id":  "B",
					"size":     len(text),
					"url":      "",
					"encoding": "base64",
					"content":  base64.StdEncoding.EncodeToString([]byte(text)),
				}, nil
			}
		}
	}
	return nil, notFound()
}

func (s *Server) getRef(r *request) (any, error) {
	ref := r.PathValue("ref")
	name, isTag := strings.CutPrefix(ref, "tags/")
	sha, ok := r.repo.Tags[name]
	if !isTag {
		sha, ok = r.repo.Branches[strings.TrimPrefix(ref, "heads/")]
	}
	if !ok {
		return nil, notFound()
	}
	return object{
		"ref":     "refs/" + ref,
		"node_id": "REF",
		"url":     "",
		"object": object{
			"type": "commit",
			"sha":  sha,
			"url":  s.repoURL(r.repo, "/git/commits/%s", sha),
		},
	}, nil
}

// getTag finds no annotated tags: all tags are lightweight, so their ref is the commit.
func (s *Server) getTag(r *request) (any, error) { return nil, notFound() }

func (s *Server) getBranch(r *request) (any, error) {
	sha, ok := r.repo.Branches[r.PathValue("branch")]
	if !ok {
		return nil, fail(http.StatusNotFound, "Branch not found")
	}
	return object{
		"name":      r.PathValue("branch"),
		"commit":    s.commitJSON(r.repo, r.repo.git[sha]),
		"protected": false,
	}, nil
}

func (s *Server) getCommit(r *request) (any, error) {
	c, err := r.at(r.PathValue("ref"))
	if err != nil {
		return nil, fail(
			http.StatusUnprocessableEntity,
			"No commit found for SHA: %s",
			r.PathValue("ref"),
		)
	}
	if r.accepts(".sha") {
		return plain(c.SHA), nil
	}
	o := s.commitJSON(r.repo, c)
	parent := ""
	if len(c.Parents) > 0 {
		parent = c.Parents[0]
	}
	o["files"] = filesJSON(r.repo.changes(parent, c.SHA), maxComparedFiles)
	return o, nil
}

func (s *Server) listCommits(r *request) (any, error) {
	c, err := r.at(r.query("sha"))
	if err != nil {
		return nil, err
	}
	var out []any
	for _, sha := range r.repo.history(c.SHA) {
		out = append(out, s.commitJSON(r.repo, r.repo.git[sha]))
	}
	return s.page(r, "", out)
}

func (s *Server) compare(r *request) (any, error) {
	from, to, ok := strings.Cut(r.PathValue("basehead"), "...")
	if !ok {
		return nil, notFound()
	}
	base, err := r.at(from)
	if err != nil {
		return nil, err
	}
	if owner, branch, ok := strings.Cut(to, ":"); ok { // a branch of a fork
		for _, f := range s.repos {
			if f.Owner.Login == owner && f.Parent == r.repo {
				to = f.Branches[branch]
			}
		}
	}
	head, err := r.at(to)
	if err != nil {
		return nil, err
	}
	common := r.repo.mergeBase(base.SHA, head.SHA)
	if common == nil {
		return nil, fail(http.StatusNotFound, "No common ancestor between %s and %s", from, to)
	}
	count := func(tip string) int { return slices.Index(r.repo.history(tip), common.SHA) }
	ahead, behind := count(head.SHA), count(base.SHA)
	status := "diverged"
	switch {
	case ahead == 0 && behind == 0:
		status = "identical"
	case behind == 0:
		status = "ahead"
	case ahead == 0:
		status = "behind"
	}
	commits := []any{}
	for _, sha := range r.repo.history(head.SHA)[:ahead] {
		commits = append(commits, s.commitJSON(r.repo, r.repo.git[sha]))
	}
	return object{
		"url":               "",
		"html_url":          "",
		"permalink_url":     "",
		"diff_url":          "",
		"patch_url":         "",
		"status":            status,
		"ahead_by":          ahead,
		"behind_by":         behind,
		"total_commits":     ahead,
		"base_commit":       s.commitJSON(r.repo, base),
		"merge_base_commit": s.commitJSON(r.repo, common),
		"commits":           commits,
		"files":             filesJSON(r.repo.changes(base.SHA, head.SHA), maxComparedFiles),
	}, nil
}

// Limits of GitHub's lists of changed files (docs: compare two commits, list pull requests files).
const (
	maxComparedFiles = 300
	maxPullFiles     = 3000
)

func filesJSON(changes []change, most int) []any {
	out := []any{}
	for _, c := range changes[:min(len(changes), most)] {
		out = append(
			out,
			object{
				"filename":     c.path,
				"status":       c.status,
				"additions":    c.added,
				"deletions":    c.gone,
				"changes":      c.added + c.gone,
				"patch":        c.patch,
				"sha":          hash(c.path, c.patch),
				"blob_url":     "",
				"raw_url":      "",
				"contents_url": "",
			},
		)
	}
	return out
}

func (s *Server) getPermission(r *request) (any, error) {
	u := s.users[r.PathValue("username")]
	if u == nil {
		return nil, notFound()
	}
	role := r.repo.Roles[u.Login]
	if role == "" && !r.repo.Private {
		role = "read"
	}
	legacy := map[string]string{"admin": "admin", "maintain": "write", "write": "write",
		"triage": "read", "read": "read", "": "none"}[role]
	return object{"permission": legacy, "role_name": role, "user": u.json()}, nil
}

func (s *Server) getRelease(r *request) (any, error) {
	l, err := r.release()
	if err != nil {
		return nil, err
	}
	return s.releaseJSON(r.repo, l), nil
}

// listReleases lists newest first, including drafts, because the App's token has write
// permission.
func (s *Server) listReleases(r *request) (any, error) {
	var out []any
	for _, l := range slices.Backward(r.repo.Releases) {
		out = append(out, s.releaseJSON(r.repo, l))
	}
	return s.page(r, "", out)
}

func (r *request) release() (*Release, error) {
	for _, l := range r.repo.Releases {
		if l.ID == r.number("release_id") {
			return l, nil
		}
	}
	return nil, notFound()
}

// getReleaseByTag ignores drafts, like GitHub.
func (s *Server) getReleaseByTag(r *request) (any, error) {
	for _, l := range r.repo.Releases {
		if l.Tag == r.PathValue("tag") && !l.Draft {
			return s.releaseJSON(r.repo, l), nil
		}
	}
	return nil, notFound()
}

func (s *Server) listAssets(r *request) (any, error) {
	l, err := r.release()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, a := range l.Assets {
		out = append(out, s.assetJSON(r.repo, a))
	}
	return s.page(r, "", out)
}

// getAsset redirects to the content if the request accepts application/octet-stream.
func (s *Server) getAsset(r *request) (any, error) {
	for _, l := range r.repo.Releases {
		for _, a := range l.Assets {
			if a.ID != r.number("asset_id") {
				continue
			}
			if strings.Contains(r.Header.Get("Accept"), "application/octet-stream") {
				if a.State != "uploaded" {
					return nil, notFound()
				}
				return s.redirect(&a.Blob, "application/octet-stream"), nil
			}
			return s.assetJSON(r.repo, a), nil
		}
	}
	return nil, notFound()
}
