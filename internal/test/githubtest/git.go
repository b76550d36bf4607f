package githubtest

import (
	"crypto/sha1" //nolint:gosec // git names its objects so
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A git of whole trees: enough for refs, contents, merge bases and diffs of small repositories.

func (s *Server) commit(
	r *Repo,
	parents []string,
	files map[string]string,
	message string,
) *Commit {
	c := &Commit{Parents: parents, Files: files, Message: message, At: time.Now()}
	c.SHA = hash("commit", fmt.Sprint(s.id()), treeSHA(c), strings.Join(parents, " "))
	r.git[c.SHA] = c
	return c
}

func hash(parts ...string) string {
	sum := sha1.Sum([]byte(strings.Join(parts, "\x00"))) //nolint:gosec // git names its objects so
	return hex.EncodeToString(sum[:])
}

func blobSHA(content string) string { return hash(fmt.Sprintf("blob %d", len(content)), content) }

func treeSHA(c *Commit) string {
	var all []string
	for _, path := range sorted(c.Files) {
		all = append(all, path, blobSHA(c.Files[path]))
	}
	return hash(append([]string{"tree"}, all...)...)
}

// resolve turns a branch, a tag, refs/…, a commit or a tree into a commit; "" is the default
// branch. Nil: none.
func (r *Repo) resolve(ref string) *Commit {
	if ref == "" || ref == "HEAD" {
		ref = r.Default
	}
	ref = strings.TrimPrefix(ref, "refs/")
	if sha, ok := r.Branches[strings.TrimPrefix(ref, "heads/")]; ok {
		return r.git[sha]
	}
	if sha, ok := r.Tags[strings.TrimPrefix(ref, "tags/")]; ok {
		return r.git[sha]
	}
	if c := r.git[ref]; c != nil {
		return c
	}
	for _, c := range r.git {
		if treeSHA(c) == ref {
			return c
		}
	}
	return nil
}

// history lists a commit and its ancestors, nearest first.
func (r *Repo) history(sha string) []string {
	var out []string
	for queue := []string{sha}; len(queue) > 0; queue = queue[1:] {
		if c := r.git[queue[0]]; c != nil && !slices.Contains(out, c.SHA) {
			out = append(out, c.SHA)
			queue = append(queue, c.Parents...)
		}
	}
	return out
}

func (r *Repo) mergeBase(a, b string) *Commit {
	other := r.history(b)
	for _, sha := range r.history(a) {
		if slices.Contains(other, sha) {
			return r.git[sha]
		}
	}
	return nil
}

// change is one file of a diff. Left and right say in which hunk (from 1) a line of the old and the
// new file is.
type change struct {
	path, status string // status: "added", "removed" or "modified"
	added, gone  int
	patch        string
	left, right  map[int]int
}

// changes is what a pull request shows: from the merge base to the head.
func (r *Repo) changes(base, head string) []change {
	old, now := map[string]string{}, r.git[head].Files
	if c := r.mergeBase(base, head); c != nil {
		old = c.Files
	}
	paths := sorted(old)
	for path := range now {
		if _, ok := old[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var out []change
	for _, path := range paths {
		a, inOld := old[path]
		b, inNow := now[path]
		if inOld && inNow && a == b {
			continue
		}
		c := diff(lines(a), lines(b))
		c.path, c.status = path, "modified"
		if !inOld {
			c.status = "added"
		} else if !inNow {
			c.status = "removed"
		}
		out = append(out, c)
	}
	return out
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// matchingRefs lists the branches and tags whose full names begin so.
func (s *Server) matchingRefs(r *request) (any, error) {
	out := []any{}
	list := func(kind string, refs map[string]string) {
		for _, name := range sorted(refs) {
			if full := kind + "/" + name; strings.HasPrefix(full, r.PathValue("ref")) {
				out = append(
					out,
					object{
						"ref":     "refs/" + full,
						"node_id": "REF_" + full,
						"url":     s.repoURL(r.repo, "/git/refs/%s", full),
						"object": object{
							"type": "commit",
							"sha":  refs[name],
							"url":  s.repoURL(r.repo, "/git/commits/%s", refs[name]),
						},
					},
				)
			}
		}
	}
	list("heads", r.repo.Branches)
	list("tags", r.repo.Tags)
	return out, nil
}
