package githubtest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// GitHub's limits, from the text of its descriptions of "create a check run" and of comments; the
// schema has only some of them.
const (
	maxAnnotations = 50    // per request
	maxOutput      = 65535 // bytes of a summary or text
	maxTitle       = 255
	maxMessage     = 64 << 10
	maxComment     = 65536 // characters
	maxActions     = 3
	maxGateComment = 1024
	maxGateReports = 10
)

// checkName is the name of compat's check runs, which branch protection requires.
const checkName = "compat"

// checkRun returns the reason why a write of a check run is rejected; "" = accepted.
func (s *Server) checkRun(r *request, k *Check) string {
	b := r.body
	status, conclusion := str(b, "status"), str(b, "conclusion")
	details, err := url.Parse(str(b, "details_url"))
	switch {
	case str(b, "name") != checkName && (k.ID == 0 || b["name"] != nil):
		return fmt.Sprintf("a check run named %q, compat's one name is %q", str(b, "name"), checkName)
	case status == "completed" && conclusion == "":
		return "completed without a conclusion"
	case status != "" && status != "completed" && conclusion != "":
		return fmt.Sprintf("status %s with the conclusion %s", status, conclusion)
	case conclusion == "stale":
		return "the conclusion stale is GitHub's own"
	case err != nil || b["details_url"] != nil && details.Scheme != "http" &&
		details.Scheme != "https":
		return fmt.Sprintf("details_url %q is not http or https", str(b, "details_url"))
	case len(arr(b, "actions")) > maxActions:
		return fmt.Sprintf("%d actions, at most %d", len(arr(b, "actions")), maxActions)
	}
	for _, a := range arr(b, "actions") {
		o, _ := a.(object)
		for key, most := range map[string]int{"label": 20, "description": 40, "identifier": 20} {
			if n := utf8.RuneCountInString(str(o, key)); n == 0 || n > most {
				return fmt.Sprintf("an action's %s of %d characters, 1 to %d", key, n, most)
			}
		}
	}
	out := obj(b, "output")
	if out == nil {
		return ""
	}
	switch {
	case str(out, "title") == "" || str(out, "summary") == "":
		return "output without title or summary"
	case utf8.RuneCountInString(str(out, "title")) > maxTitle:
		return fmt.Sprintf(
			"a title of %d characters, at most %d",
			utf8.RuneCountInString(str(out, "title")),
			maxTitle,
		)
	case len(str(out, "summary")) > maxOutput || len(str(out, "text")) > maxOutput:
		return fmt.Sprintf(
			"a summary of %d and a text of %d bytes, at most %d",
			len(str(out, "summary")),
			len(str(out, "text")),
			maxOutput,
		)
	case len(arr(out, "annotations")) > maxAnnotations:
		return fmt.Sprintf(
			"%d annotations, at most %d a request",
			len(arr(out, "annotations")),
			maxAnnotations,
		)
	}
	for i, a := range arr(out, "annotations") {
		o, _ := a.(object)
		if why := checkAnnotation(r.repo.git[k.SHA], o); why != "" {
			return fmt.Sprintf("annotation %d: %s", i, why)
		}
	}
	return ""
}

// checkAnnotation also requires that the line exists at the head: GitHub accepts any line, but
// does not show the annotation.
func checkAnnotation(c *Commit, a object) string {
	start, end := num(a, "start_line"), num(a, "end_line")
	text, exists := c.Files[str(a, "path")]
	switch {
	case start < 1 || end < start:
		return fmt.Sprintf("lines %d to %d", start, end)
	case (a["start_column"] != nil || a["end_column"] != nil) && start != end:
		return "columns on several lines"
	case str(a, "message") == "" || len(str(a, "message")) > maxMessage ||
		len(str(a, "raw_details")) > maxMessage:
		return fmt.Sprintf(
			"a message of %d and details of %d bytes, at most %d",
			len(str(a, "message")),
			len(str(a, "raw_details")),
			maxMessage,
		)
	case utf8.RuneCountInString(str(a, "title")) > maxTitle:
		return fmt.Sprintf(
			"a title of %d characters, at most %d",
			utf8.RuneCountInString(str(a, "title")),
			maxTitle,
		)
	case !exists:
		return fmt.Sprintf("the head has no file %q", str(a, "path"))
	case int(end) > max(1, len(lines(text))):
		return fmt.Sprintf("%s has %d lines at the head, not %d", str(a, "path"), len(lines(text)), end)
	}
	return ""
}

// checkComment returns the reason why the body of a comment is rejected.
func checkComment(body string) string {
	switch n := utf8.RuneCountInString(body); {
	case strings.TrimSpace(body) == "":
		return "the comment is empty"
	case n > maxComment:
		return fmt.Sprintf("a comment of %d characters, at most %d", n, maxComment)
	}
	return ""
}

// checkAnchor returns the reason why a review comment is rejected: it must be on lines in one
// hunk of the pull request's diff.
func (s *Server) checkAnchor(p *Pull, sha string, c object) string {
	path, side, start := str(c, "path"), str(c, "side"), int(num(c, "start_line"))
	line := int(num(c, "line"))
	changes := p.Repo.changes(p.BaseSHA, sha)
	i := slices.IndexFunc(changes, func(f change) bool { return f.path == path })
	if c["position"] != nil {
		return "position is closing down: line and side say where"
	}
	if i < 0 {
		return fmt.Sprintf("%s is not in the diff", path)
	}
	hunks := changes[i].right
	if side == "LEFT" {
		hunks = changes[i].left
	}
	switch {
	case hunks[line] == 0:
		return fmt.Sprintf("%s:%d must be part of the diff", path, line)
	case c["start_side"] != nil && str(c, "start_side") != side:
		return "start_side is not side: a comment over both sides is not for suggestions"
	case c["start_line"] != nil && start >= line:
		return fmt.Sprintf("start_line %d must precede line %d", start, line)
	case c["start_line"] != nil && hunks[start] != hunks[line]:
		return fmt.Sprintf("%s:%d-%d must be part of the same hunk", path, start, line)
	case side == "LEFT" && strings.Contains(str(c, "body"), "```suggestion"):
		return "a suggestion for a line that is gone"
	}
	if why := checkComment(str(c, "body")); why != "" {
		return why
	}
	return checkSuggestions(str(c, "body"))
}

var fence = lazyregexp.New("^ {0,3}(`{3,})([^`]*)$")

// checkSuggestions requires that every suggestion is a closed fenced block; otherwise it would
// show as text, or include the following text.
func checkSuggestions(body string) string {
	open := ""
	for i, l := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n") {
		m := fence.FindStringSubmatch(l)
		switch {
		case m == nil:
			if open == "" && strings.Contains(l, "```suggestion") {
				return fmt.Sprintf("line %d: a suggestion that is no fence", i+1)
			}
		case open == "":
			open = m[1]
		case len(m[1]) >= len(open) && strings.TrimSpace(m[2]) == "":
			open = ""
		}
	}
	if open != "" {
		return "a fence that is never closed"
	}
	return ""
}
