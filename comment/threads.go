package comment

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
)

// thread is a conversation on the diff that our bot began.
type thread struct {
	id          string
	fingerprint string
	resolved    bool
	byUs        bool   // resolved by us, not by a person
	comment     string // node id of its first comment
}

const threadsQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 50, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes { id isResolved resolvedBy { login } comments(first: 1) { nodes { id body author { __typename login } } } } } } } }`

type actor struct {
	Type  string `json:"__typename"`
	Login string `json:"login"`
}

// fingerprintMarker is how the body of a review comment carries its fingerprint: at its beginning, before any name from outside.
var fingerprintMarker = regexp.MustCompile(`^<!-- compat:thread ([0-9a-f]{8,64}) -->`)

// threads lists ours. GraphQL says the login of a bot without "[bot]", and a person may have that name: the type tells.
func (p *Poster) threads(ctx context.Context, number int) ([]thread, error) {
	login, isBot := strings.CutSuffix(p.Bot, "[bot]")
	var out []thread
	var after *string
	for {
		var page struct {
			Repository struct {
				PullRequest struct {
					ReviewThreads struct {
						PageInfo pageInfo `json:"pageInfo"`
						Nodes    []struct {
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
						} `json:"nodes"`
					} `json:"reviewThreads"`
				} `json:"pullRequest"`
			} `json:"repository"`
		}
		err := p.read(fmt.Sprintf("list review threads of #%d", number), func() error {
			return p.Client.GraphQL(ctx, threadsQuery, map[string]any{"owner": p.Owner, "name": p.Repo, "number": number, "after": after}, &page)
		})
		if err != nil {
			return nil, err
		}
		ts := page.Repository.PullRequest.ReviewThreads
		for _, n := range ts.Nodes {
			if len(n.Comments.Nodes) == 0 {
				continue
			}
			c := n.Comments.Nodes[0]
			m := fingerprintMarker.FindStringSubmatch(c.Body)
			if m == nil || c.Author == nil || c.Author.Login != login || isBot && c.Author.Type != "Bot" {
				continue
			}
			out = append(out, thread{id: n.ID, fingerprint: m[1], resolved: n.IsResolved, byUs: n.ResolvedBy != nil && strings.TrimSuffix(n.ResolvedBy.Login, "[bot]") == login, comment: c.ID})
		}
		if !ts.PageInfo.HasNextPage {
			return out, nil
		}
		after = &ts.PageInfo.EndCursor
	}
}

// Review posts the comments as one review (event COMMENT) of the head sha. One whose fingerprint is on a thread of ours is not
// repeated; if we had resolved that thread, because its finding was gone for a while, it is opened again. One that a person
// resolved stays resolved. A review that GitHub calls invalid is logged and dropped: the check run says the same.
func (p *Poster) Review(ctx context.Context, number int, sha string, comments []ReviewComment) error {
	if len(comments) == 0 {
		return nil
	}
	old, err := p.threads(ctx, number)
	if err != nil {
		return err
	}
	var fresh []*gh.DraftReviewComment
	var first string
	for _, c := range comments[:min(len(comments), maxReview)] {
		if i := slices.IndexFunc(old, func(t thread) bool { return t.fingerprint == c.Fingerprint }); i >= 0 {
			if t := old[i]; t.resolved && t.byUs {
				if err := p.mutate(ctx, "open a review thread again", unresolveMutation, map[string]any{"id": t.id}); err != nil {
					return err
				}
			}
			continue
		}
		d := &gh.DraftReviewComment{Path: gh.String(c.Path), Body: gh.String(c.Body), Line: gh.Int(c.Line), Side: gh.String("RIGHT")}
		if c.StartLine > 0 && c.StartLine < c.Line {
			d.StartLine, d.StartSide = gh.Int(c.StartLine), gh.String("RIGHT")
		}
		fresh = append(fresh, d)
		first = c.Fingerprint
	}
	if len(fresh) == 0 {
		return nil
	}
	body := "compat suggests " + count(len(fresh), "edit") + "."
	err = p.write(ctx, fmt.Sprintf("review #%d", number), func() error {
		_, _, err := p.Client.PullRequests.CreateReview(ctx, p.Owner, p.Repo, number, &gh.PullRequestReviewRequest{CommitID: &sha, Event: gh.String("COMMENT"), Body: &body, Comments: fresh})
		return err
	}, func() (bool, error) {
		now, err := p.threads(ctx, number)
		return slices.ContainsFunc(now, func(t thread) bool { return t.fingerprint == first }), err
	})
	if err != nil && github.Classify(err).Kind == github.Invalid {
		p.log().Error("GitHub refuses the review", "number", number, "sha", sha, "error", err)
		return nil
	}
	return err
}

const (
	resolveMutation   = `mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }`
	unresolveMutation = `mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id } } }`
	minimizeMutation  = `mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { minimizedComment { isMinimized } } }`
)

// Resolve closes the threads of ours whose advice is no longer given: keep are the fingerprints that still are. Repositories
// that require resolved conversations would be blocked by them. Where resolving is refused, our comment is minimised. Nothing
// is deleted, and an answer of a person stays where it is.
func (p *Poster) Resolve(ctx context.Context, number int, keep []string) error {
	old, err := p.threads(ctx, number)
	if err != nil {
		return err
	}
	for _, t := range old {
		if t.resolved || slices.Contains(keep, t.fingerprint) {
			continue
		}
		err := p.mutate(ctx, "resolve a review thread", resolveMutation, map[string]any{"id": t.id})
		if refused(err) {
			err = p.mutate(ctx, "minimise a review comment", minimizeMutation, map[string]any{"id": t.comment})
		}
		if refused(err) {
			p.log().Error("a review thread can't be closed", "number", number, "thread", t.id, "error", err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused says that trying again would not help.
func refused(err error) bool {
	switch github.Classify(err).Kind {
	case github.Missing, github.Gone, github.Forbidden, github.Invalid:
		return err != nil
	}
	return false
}

// mutate calls a mutation that may be done twice without harm.
func (p *Poster) mutate(ctx context.Context, what, mutation string, vars map[string]any) error {
	return p.write(ctx, what, func() error { return p.Client.GraphQL(ctx, mutation, vars, nil) }, func() (bool, error) { return false, nil })
}
