package post

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// thread is a review conversation that the App started.
type thread struct {
	id          string
	fingerprint string
	resolved    bool
	byUs        bool   // resolved by the App, not by a person
	comment     string // GraphQL ID of its first comment
}

// threadNode is a thread in GraphQL.
type threadNode struct {
	ID         string `json:"id"`
	IsResolved bool   `json:"isResolved"`
	ResolvedBy *actor `json:"resolvedBy"`
	Comments   struct {
		Nodes []struct {
			ID     string `json:"id"`
			Body   string `json:"body"`
			Author *actor `json:"author"`
		} `json:"nodes"`
	} `json:"comments"`
}

// fingerprintMarker matches the fingerprint at the start of a review comment, before any
// untrusted name.
var fingerprintMarker = lazyregexp.New(`^<!-- compat:thread ([0-9a-f]{8,64}) -->`)

// ours returns the thread if the App started it, or else nil.
func (n threadNode) ours(p *Poster) *thread {
	if len(n.Comments.Nodes) == 0 {
		return nil
	}
	c := n.Comments.Nodes[0]
	m := fingerprintMarker.FindStringSubmatch(c.Body)
	if m == nil || !c.Author.is(p) {
		return nil
	}
	login := strings.TrimSuffix(p.Bot, "[bot]")
	return &thread{
		id:          n.ID,
		fingerprint: m[1],
		resolved:    n.IsResolved,
		byUs: n.ResolvedBy != nil &&
			strings.TrimSuffix(n.ResolvedBy.Login, "[bot]") == login,
		comment: c.ID,
	}
}

// Review posts the comments as one review (event COMMENT) of the head sha. A comment whose
// fingerprint is on a thread of the App is not repeated; if the App resolved that thread, it is
// opened again, but not if a person resolved it. A review that GitHub calls invalid is logged and
// dropped, because the check run has the same content.
func (t *Conversation) Review(ctx context.Context, sha string,
	comments []comment.ReviewComment) error {
	if len(comments) == 0 {
		return nil
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	var fresh []*gh.DraftReviewComment
	var first string
	for _, c := range comments {
		if i := slices.IndexFunc(t.threads, func(o thread) bool {
			return o.fingerprint == c.Fingerprint
		}); i >= 0 {
			if o := t.threads[i]; o.resolved && o.byUs {
				if err := t.p.mutate(ctx, "unresolve a review thread", unresolveMutation,
					map[string]any{"id": o.id}); err != nil {
					return err
				}
			}
			continue
		}
		d := &gh.DraftReviewComment{
			Path: gh.String(c.Path),
			Body: gh.String(c.Body),
			Line: gh.Int(c.Line),
			Side: gh.String("RIGHT"),
		}
		if c.StartLine > 0 && c.StartLine < c.Line {
			d.StartLine, d.StartSide = gh.Int(c.StartLine), gh.String("RIGHT")
		}
		fresh = append(fresh, d)
		first = c.Fingerprint
	}
	if len(fresh) == 0 {
		return nil
	}
	body := "compat suggests 1 edit."
	if n := len(fresh); n > 1 {
		body = fmt.Sprintf("compat suggests %d edits.", n)
	}
	err := t.p.write(ctx, fmt.Sprintf("review #%d", t.number), func() error {
		_, _, err := t.p.Client.PullRequests.CreateReview(
			ctx,
			t.p.Owner,
			t.p.Repo,
			t.number,
			&gh.PullRequestReviewRequest{
				CommitID: &sha,
				Event:    gh.String("COMMENT"),
				Body:     &body,
				Comments: fresh,
			},
		)
		return err
	}, func() (bool, error) {
		err := t.reread(ctx)
		return slices.ContainsFunc(t.threads, func(o thread) bool { return o.fingerprint == first }), err
	})
	if err != nil && github.Classify(err).Kind == github.Invalid {
		t.p.log().Error("GitHub refuses the review", "number", t.number, "sha", sha, "error", err)
		return nil
	}
	return err
}

const (
	resolveMutation   = `mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }`
	unresolveMutation = `mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id } } }`
	minimizeMutation  = `mutation($id: ID!, $why: ReportedContentClassifiers!) { minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } } }`
)

// Resolve resolves the threads of the App whose fingerprint is not in keep, because repositories
// that require resolved conversations would be blocked by them. If that is refused, the comment
// is minimized. Nothing is deleted.
func (t *Conversation) Resolve(ctx context.Context, keep []string) error {
	if err := t.read(ctx); err != nil {
		return err
	}
	for _, o := range t.threads {
		if o.resolved || slices.Contains(keep, o.fingerprint) {
			continue
		}
		err := t.p.mutate(ctx, "resolve a review thread", resolveMutation, map[string]any{"id": o.id})
		if refused(err) {
			err = t.p.mutate(
				ctx,
				"minimize a review comment",
				minimizeMutation,
				map[string]any{"id": o.comment, "why": "RESOLVED"},
			)
		}
		if refused(err) {
			t.p.log().
				Error("a review thread can't be closed", "number", t.number, "thread", o.id, "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether a retry would not help.
func refused(err error) bool {
	switch github.Classify(err).Kind {
	case github.Missing, github.Gone, github.Forbidden, github.Invalid:
		return err != nil
	}
	return false
}

// mutate calls a mutation that can be repeated without harm.
func (p *Poster) mutate(ctx context.Context, what, mutation string, vars map[string]any) error {
	return p.write(
		ctx,
		what,
		func() error { return p.Client.GraphQL(ctx, mutation, vars, nil) },
		func() (bool, error) { return false, nil },
	)
}
