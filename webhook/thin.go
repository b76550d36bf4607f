package webhook

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// fields are the members of an object that are read; those that have none themselves are read
// whole. Lists in between don't count.
type fields map[string]fields

// used are all members that the events read: a payload has 25 KB, and they are a few hundred bytes
// of it. What an event's function decodes and isn't here stays zero.
var used = members(
	"action",
	"number",
	"installation.id",
	"repository.id",
	"repository.default_branch",
	"sender.login",
	"sender.type",
	"pull_request.number",
	"pull_request.head.sha",
	"pull_request.head.ref",
	"pull_request.head.repo.id",
	"pull_request.head.repo.full_name",
	"pull_request.base.ref",
	"pull_request.state",
	"pull_request.updated_at",
	"changes.base",
	"changes.default_branch",
	"ref",
	"deleted",
	"after",
	"commits.added",
	"commits.modified",
	"commits.removed",
	"workflow_run.id",
	"workflow_run.head_sha",
	"workflow_run.head_branch",
	"workflow_run.event",
	"workflow_run.head_repository.id",
	"workflow_run.head_repository.owner.login",
	"workflow_run.pull_requests.number",
	"workflow_run.pull_requests.head.sha",
	"workflow_run.pull_requests.base.repo.id",
	"check_run.head_sha",
	"check_run.external_id",
	"check_run.name",
	"check_run.conclusion",
	"check_run.app.id",
	"check_run.app.slug",
	"repository.full_name",
	"requested_action.identifier",
	"check_run.pull_requests.number",
	"check_run.pull_requests.head.sha",
	"check_run.pull_requests.base.repo.id",
	"check_suite.head_sha",
	"check_suite.app.id",
	"check_suite.pull_requests.number",
	"check_suite.pull_requests.head.sha",
	"check_suite.pull_requests.base.repo.id",
	"environment",
	"deployment_callback_url",
	"deployment.sha",
	"issue.number",
	"issue.pull_request",
	"comment.id",
	"comment.in_reply_to_id",
	"comment.body",
	"comment.user.login",
	"comment.user.type",
	"comment.performed_via_github_app",
	"merge_group.head_sha",
	"merge_group.head_ref",
	"merge_group.base_sha",
	"merge_group.base_ref",
	"release.id",
	"release.draft",
	"repositories_removed.id",
)

func members(paths ...string) fields {
	root := fields{}
	for _, path := range paths {
		at := root
		for part := range strings.SplitSeq(path, ".") {
			if at[part] == nil {
				at[part] = fields{}
			}
			at = at[part]
		}
	}
	return root
}

// deepest is more than any payload nests, and as much as a reader keeps track of.
const deepest = 256

var errNotJSON = errors.New("the body is not JSON")

// thin copies a JSON object without the members that nobody reads, at the speed of a search for
// quotes: to decode all of a payload would cost several times as much as all the rest of an answer.
// What is left out is only followed to its end; what is kept is for the decoder to judge.
func thin(body []byte, want fields) ([]byte, error) {
	t := thinner{in: body, out: make([]byte, 0, 1024)}
	t.space()
	if !t.value(want, deepest) {
		return nil, errNotJSON
	}
	if t.space(); t.at != len(t.in) {
		return nil, errNotJSON
	}
	return t.out, nil
}

type thinner struct {
	in  []byte
	at  int
	out []byte
}

// value copies what is wanted of the value that begins here; false: it does not end.
func (t *thinner) value(want fields, depth int) bool {
	start := t.at
	if start == len(t.in) || depth == 0 {
		return false
	}
	if c := t.in[start]; len(want) == 0 || c != '{' && c != '[' {
		if !t.skip() {
			return false
		}
		t.out = append(t.out, t.in[start:t.at]...)
		return true
	}
	if t.in[start] == '[' {
		return t.list('[', ']', func(bool) bool { return t.value(want, depth-1) })
	}
	return t.list('{', '}', func(first bool) bool { return t.member(want, first, depth) })
}

// list walks over what stands between two brackets. each is told whether it is the first of what is
// kept, and writes the comma itself for members.
func (t *thinner) list(from, to byte, each func(first bool) bool) bool {
	t.at++
	t.out = append(t.out, from)
	empty := len(t.out)
	for t.space(); t.at < len(t.in); t.space() {
		if t.in[t.at] == to {
			t.at++
			t.out = append(t.out, to)
			return true
		}
		if from == '[' && len(t.out) > empty {
			t.out = append(t.out, ',')
		}
		if !each(len(t.out) == empty) {
			return false
		}
		if t.space(); t.at < len(t.in) && t.in[t.at] == ',' {
			t.at++
			if t.space(); t.at < len(t.in) && t.in[t.at] == to {
				return false
			}
		} else if t.at < len(t.in) && t.in[t.at] != to {
			return false
		}
	}
	return false
}

// member copies a member of an object when it is wanted, and passes over it otherwise.
func (t *thinner) member(want fields, first bool, depth int) bool {
	start := t.at
	if t.in[start] != '"' || !t.text() {
		return false
	}
	name := t.in[start+1 : t.at-1]
	quoted := t.in[start:t.at]
	if t.space(); t.at == len(t.in) || t.in[t.at] != ':' {
		return false
	}
	t.at++
	t.space()
	inner, wanted := want[string(name)]
	// GitHub escapes no name; one that is escaped is kept, so that nobody can hide a member from
	// the decoder.
	if !wanted && bytes.IndexByte(name, '\\') < 0 {
		return t.skip()
	}
	if !first {
		t.out = append(t.out, ',')
	}
	t.out = append(append(t.out, quoted...), ':')
	return t.value(inner, depth-1)
}

// skip goes to the end of a value.
func (t *thinner) skip() bool {
	var open []byte
	for t.at < len(t.in) {
		switch c := t.in[t.at]; c {
		case '"':
			if !t.text() {
				return false
			}
		case '{', '[':
			if len(open) == deepest {
				return false
			}
			open = append(open, c+2) // the closing one
			t.at++
			continue
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
			t.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			if len(open) == 0 {
				return false
			}
			t.at++
			continue
		default:
			if !t.word() {
				return false
			}
		}
		if len(open) == 0 {
			return true
		}
	}
	return false
}

// text goes behind the end of a string.
func (t *thinner) text() bool {
	for at := t.at + 1; ; {
		n := bytes.IndexByte(t.in[at:], '"')
		if n < 0 {
			return false
		}
		at += n + 1
		slashes := 0
		for t.in[at-2-slashes] == '\\' { // the string's first quote stops it
			slashes++
		}
		if slashes%2 == 0 {
			t.at = at
			return true
		}
	}
}

// words are what a value can be that has no quote or bracket.
var words = [][]byte{[]byte("true"), []byte("false"), []byte("null")}

// word goes behind a number, true, false or null.
func (t *thinner) word() bool {
	start := t.at
	for t.at < len(t.in) && (t.in[t.at] >= 'a' && t.in[t.at] <= 'z' || t.in[t.at] >= '0' && t.in[t.at] <= '9' || t.in[t.at] == '-' || t.in[t.at] == '+' || t.in[t.at] == '.' || t.in[t.at] == 'E') {
		t.at++
	}
	w := t.in[start:t.at]
	if len(w) == 0 {
		return false
	}
	return w[0] == '-' || w[0] <= '9' ||
		slices.ContainsFunc(words, func(known []byte) bool { return bytes.Equal(known, w) })
}

func (t *thinner) space() {
	for t.at < len(t.in) && (t.in[t.at] == ' ' || t.in[t.at] == '\n' || t.in[t.at] == '\r' || t.in[t.at] == '\t') {
		t.at++
	}
}
