package githubtest

import (
	"crypto/sha1" //nolint:gosec // git names its objects so
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A git of complete trees, sufficient for refs, contents, merge bases and diffs of small
// repositories.

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
	sum := sha1.Sum([]byte(strings.Join(parts, "\x00"))) //nolint:gosec // the hash of git objects
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

// resolve returns the commit of a branch, tag, refs/…, commit or tree; "" is the default branch.
// nil = none.
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

// change is one file of a diff. left and right map the lines of the old and the new file to the
// number of their hunk, from 1.
type change struct {
	path, status string // status: "added", "removed" or "modified"
	added, gone  int
	patch        string
	left, right  map[int]int
}

// changes returns the diff of a pull request, from the merge base to the head.
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

// matchingRefs lists the branches and tags whose full names start with a prefix.
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

// around is the number of context lines in a diff.
const around = 3

type step struct {
	kind     byte // ' ', '-' or '+', as in a patch
	text     string
	old, new int // line numbers in both files, of the line or of the one before it
}

// diff compares two small files by their longest common subsequence, and returns the patch in
// GitHub's format: hunks without a file header.
func diff(old, new []string) change {
	c := change{left: map[int]int{}, right: map[int]int{}}
	steps := script(old, new)
	var patch strings.Builder
	hunk := 0
	for i := 0; i < len(steps); {
		first, last, ok := nextHunk(steps, i)
		if !ok {
			break
		}
		hunk++
		part := steps[first:last]
		i = last
		var body strings.Builder
		olds, news := 0, 0
		for _, s := range part {
			fmt.Fprintf(&body, "\n%c%s", s.kind, s.text)
			if s.kind != '+' {
				olds++
				c.left[s.old] = hunk
			}
			if s.kind != '-' {
				news++
				c.right[s.new] = hunk
			}
			switch s.kind {
			case '+':
				c.added++
			case '-':
				c.gone++
			}
		}
		if hunk > 1 {
			patch.WriteByte('\n')
		}
		fmt.Fprintf(
			&patch,
			"@@ -%s +%s @@%s",
			span(start(part, '+'), olds),
			span(start(part, '-'), news),
			body.String(),
		)
	}
	c.patch = patch.String()
	return c
}

// start returns the first line of a hunk in the file that does not have lines of the kind other;
// 0 if it has none.
func start(part []step, other byte) int {
	for _, s := range part {
		if s.kind != other {
			if other == '+' {
				return s.old
			}
			return s.new
		}
	}
	if other == '+' {
		return part[0].old
	}
	return part[0].new
}

func span(from, count int) string {
	if count == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, count)
}

// nextHunk finds the next steps that contain a change, with their context. Near changes share a
// hunk.
func nextHunk(steps []step, from int) (first, last int, ok bool) {
	i := from
	for i < len(steps) && steps[i].kind == ' ' {
		i++
	}
	if i == len(steps) {
		return 0, 0, false
	}
	first, last = max(from, i-around), i
	for same := 0; i < len(steps) && same <= 2*around; i++ {
		if steps[i].kind == ' ' {
			same++
			continue
		}
		same, last = 0, i+1
	}
	return first, min(last+around, len(steps)), true
}

// script returns the shortest edit script from old to new, removals before additions.
func script(old, new []string) []step {
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []step
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		switch {
		case i < len(old) && j < len(new) && old[i] == new[j]:
			i, j = i+1, j+1
			out = append(out, step{' ', old[i-1], i, j})
		case j == len(new) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			i++
			out = append(out, step{'-', old[i-1], i, j})
		default:
			j++
			out = append(out, step{'+', new[j-1], i, j})
		}
	}
	return out
}
