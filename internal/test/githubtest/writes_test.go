package githubtest_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
)

func serve(t *testing.T, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func output(annotations ...*gh.CheckRunAnnotation) *gh.CheckRunOutput {
	return &gh.CheckRunOutput{
		Title:       gh.String("pow@GLIBC_2.29"),
		Summary:     gh.String("not in manylinux2014"),
		Annotations: annotations,
	}
}

func annotation(path string, line int) *gh.CheckRunAnnotation {
	return &gh.CheckRunAnnotation{
		Path:            &path,
		StartLine:       &line,
		EndLine:         &line,
		AnnotationLevel: gh.String("failure"),
		Message:         gh.String("needs pow@GLIBC_2.29"),
	}
}

func TestCheckRun(t *testing.T) {
	w := start(t, "")
	k, _, err := w.client.Checks.CreateCheckRun(
		w.ctx,
		"acme",
		"widget",
		gh.CreateCheckRunOptions{
			Name:       "compat",
			HeadSHA:    w.pull.HeadSHA,
			Status:     gh.String("queued"),
			ExternalID: gh.String("x"),
		},
	)
	if err != nil || k.GetStatus() != "queued" || len(k.PullRequests) != 1 {
		t.Fatalf("create: %v, %v", k, err)
	}
	for range 2 {
		_, _, err = w.client.Checks.UpdateCheckRun(
			w.ctx,
			"acme",
			"widget",
			k.GetID(),
			gh.UpdateCheckRunOptions{
				Name:       "compat",
				Conclusion: gh.String("failure"),
				Output:     output(annotation("list.txt", 9)),
			},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	got := w.Checks(w.repo, w.pull.HeadSHA)
	if len(got) != 1 || got[0].Conclusion != "failure" || got[0].Verdicts != 2 ||
		len(got[0].Annotations) != 2 {
		t.Errorf("checks: %+v", got)
	}
	list, _, err := w.client.Checks.ListCheckRunsForRef(
		w.ctx,
		"acme",
		"widget",
		w.pull.HeadSHA,
		&gh.ListCheckRunsOptions{CheckName: gh.String("compat"), AppID: &w.AppID},
	)
	if err != nil || list.GetTotal() != 1 || list.CheckRuns[0].GetExternalID() != "x" {
		t.Errorf("list: %v, %v", list, err)
	}
	w.clean(t)
}

func TestRefusedCheckRuns(t *testing.T) {
	many := make([]*gh.CheckRunAnnotation, 51)
	for i := range many {
		many[i] = annotation("list.txt", 1)
	}
	several := annotation("list.txt", 1)
	several.EndLine, several.StartColumn, several.EndColumn = gh.Int(2), gh.Int(1), gh.Int(2)
	broken := annotation("list.txt", 1)
	broken.AnnotationLevel = gh.String("error")
	long := output()
	long.Summary = gh.String(strings.Repeat("x", 65536))
	for _, c := range []struct {
		o      gh.UpdateCheckRunOptions
		words  string // of a rule in rules.go
		schema bool   // only GitHub's description has the rule
	}{
		{gh.UpdateCheckRunOptions{Name: "compat", Status: gh.String("completed")},
			"without a conclusion", false},
		{gh.UpdateCheckRunOptions{Name: "other"}, "one name", false},
		{gh.UpdateCheckRunOptions{Name: "compat", Status: gh.String("broken")}, "checks/update", true},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: output(many...)}, "51 annotations", false},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: output(several)}, "columns", false},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: output(broken)}, "annotation_level", true},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: output(annotation("list.txt", 11))},
			"10 lines", false},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: output(annotation("absent.txt", 1))},
			"no file", false},
		{gh.UpdateCheckRunOptions{Name: "compat", Output: long}, "65536", false},
		{gh.UpdateCheckRunOptions{Name: "compat", DetailsURL: gh.String("ftp://x")}, "details_url",
			false},
		{gh.UpdateCheckRunOptions{Name: "compat",
			Actions: []*gh.CheckRunAction{{Label: strings.Repeat("x", 21), Description: "x",
				Identifier: "x"}}}, "label", false},
	} {
		t.Run(c.words, func(t *testing.T) {
			var validate func(*http.Request, []byte) error
			if c.schema {
				validate = openapi.Validate
			}
			w := startWith(t, githubtest.Options{Validate: validate})
			k, _, err := w.client.Checks.CreateCheckRun(
				w.ctx,
				"acme",
				"widget",
				gh.CreateCheckRunOptions{Name: "compat", HeadSHA: w.pull.HeadSHA},
			)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = w.client.Checks.UpdateCheckRun(w.ctx, "acme", "widget", k.GetID(), c.o)
			if status(err) != http.StatusUnprocessableEntity {
				t.Errorf("answered %v, want 422", err)
			}
			w.violated(t, c.words)
		})
	}
}

func TestReviewCommentsHitTheDiff(t *testing.T) {
	suggestion := "raise it\n```suggestion\n9\n```\n"
	for _, c := range []struct {
		name    string
		comment gh.DraftReviewComment
		words   string // "" = accepted
	}{
		{"changed line", gh.DraftReviewComment{Line: gh.Int(9), Side: gh.String("RIGHT"),
			Body: &suggestion}, ""},
		{"context", gh.DraftReviewComment{Line: gh.Int(8), StartLine: gh.Int(6),
			Side: gh.String("RIGHT"), Body: &suggestion}, ""},
		{"outside", gh.DraftReviewComment{Line: gh.Int(2), Side: gh.String("RIGHT"), Body: &suggestion},
			"part of the diff"},
		{"backwards", gh.DraftReviewComment{Line: gh.Int(8), StartLine: gh.Int(9),
			Side: gh.String("RIGHT"), Body: &suggestion}, "precede"},
		{"position", gh.DraftReviewComment{Position: gh.Int(1), Body: &suggestion}, "position"},
		{"open fence", gh.DraftReviewComment{Line: gh.Int(9), Side: gh.String("RIGHT"),
			Body: gh.String("```suggestion\n9\n")}, "never closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, "")
			c.comment.Path = gh.String("list.txt")
			_, _, err := w.client.PullRequests.CreateReview(
				w.ctx,
				"acme",
				"widget",
				1,
				&gh.PullRequestReviewRequest{
					CommitID: &w.pull.HeadSHA,
					Event:    gh.String("COMMENT"),
					Comments: []*gh.DraftReviewComment{&c.comment},
				},
			)
			if c.words == "" {
				if err != nil || len(w.pull.Threads) != 1 {
					t.Errorf("%v, %d threads", err, len(w.pull.Threads))
				}
				w.clean(t)
				return
			}
			if status(err) != http.StatusUnprocessableEntity {
				t.Errorf("answered %v, want 422", err)
			}
			w.violated(t, c.words)
		})
	}
}

func TestReviewsOnlyComment(t *testing.T) {
	w := start(t, "")
	_, _, err := w.client.PullRequests.CreateReview(
		w.ctx,
		"acme",
		"widget",
		1,
		&gh.PullRequestReviewRequest{
			CommitID: &w.pull.HeadSHA,
			Event:    gh.String("APPROVE"),
			Body:     gh.String("x"),
		},
	)
	if status(err) != http.StatusUnprocessableEntity {
		t.Errorf("answered %v", err)
	}
	w.violated(t, "only comments")
}

func TestCommentsAndReactions(t *testing.T) {
	w := start(t, "")
	theirs := w.AddComment(w.repo, 1, w.User("someone"), "/compat recheck")
	if _, _, err := w.client.Reactions.CreateIssueCommentReaction(w.ctx, "acme", "widget", theirs.ID,
		"+1"); err != nil ||
		len(theirs.Reactions) != 1 {
		t.Errorf("reaction: %v, %v", theirs.Reactions, err)
	}
	mine, _, err := w.client.Issues.CreateComment(
		w.ctx,
		"acme",
		"widget",
		1,
		&gh.IssueComment{Body: gh.String("hello")},
	)
	if err != nil || mine.GetUser().GetLogin() != w.BotLogin {
		t.Fatalf("comment: %v, %v", mine, err)
	}
	if _, _, err := w.client.Issues.EditComment(w.ctx, "acme", "widget", mine.GetID(),
		&gh.IssueComment{Body: gh.String("edited")}); err != nil {
		t.Error(err)
	}
	w.clean(t)
	if _, _, err := w.client.Issues.EditComment(w.ctx, "acme", "widget", theirs.ID,
		&gh.IssueComment{Body: gh.String("edited")}); status(
		err,
	) != 422 {
		t.Errorf("another's comment: %v", err)
	}
	w.violated(t, "someone")
}

func TestGraphQL(t *testing.T) {
	w := start(t, "/api/v3")
	body := "x"
	if _, _, err := w.client.PullRequests.CreateReview(w.ctx, "acme", "widget", 1,
		&gh.PullRequestReviewRequest{CommitID: &w.pull.HeadSHA, Event: gh.String("COMMENT"),
			Comments: []*gh.DraftReviewComment{{Path: gh.String("list.txt"), Line: gh.Int(9),
				Side: gh.String("RIGHT"), Body: &body}}}); err != nil {
		t.Fatal(err)
	}
	ask := func(query string, variables map[string]any, out any) {
		t.Helper()
		req, err := w.client.NewRequest(
			"POST",
			strings.TrimSuffix(w.URL(), "/v3")+"/graphql",
			map[string]any{"query": query, "variables": variables},
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.Do(w.ctx, req, out); err != nil {
			t.Fatal(err)
		}
	}
	var threads struct {
		Data struct {
			Repository struct {
				PullRequest struct {
					ReviewThreads struct {
						Nodes []struct {
							ID         string
							IsResolved bool
							Comments   struct{ Nodes []struct{ ID string } }
						}
					}
				}
			}
		}
	}
	const query = `query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 100) { nodes { id isResolved comments(first: 1) { nodes { id } } } } } } }`
	ask(query, map[string]any{"owner": "acme", "name": "widget", "number": 1}, &threads)
	nodes := threads.Data.Repository.PullRequest.ReviewThreads.Nodes
	if len(nodes) != 1 || nodes[0].IsResolved {
		t.Fatalf("threads: %+v", nodes)
	}
	ask(
		`mutation($threadId: ID!) { resolveReviewThread(input: {threadId: $threadId}) { thread { isResolved } } }`,
		map[string]any{"threadId": nodes[0].ID},
		nil,
	)
	ask(
		`mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { minimizedComment { isMinimized } } }`,
		map[string]any{"id": nodes[0].Comments.Nodes[0].ID},
		nil,
	)
	if th := w.pull.Threads[0]; !th.Resolved || th.Comments[0].Minimized != "RESOLVED" {
		t.Errorf("thread: %+v", th)
	}
	w.clean(t)
	var failed struct{ Errors []struct{ Message string } }
	ask(
		`mutation { minimizeComment(input: {subjectId: "IC_1", classifier: OUTDATED}) { clientMutationId } }`,
		nil,
		&failed,
	)
	if len(failed.Errors) != 1 {
		t.Errorf("errors: %+v", failed)
	}
}

func TestGate(t *testing.T) {
	w := start(t, "")
	run := w.BranchRun(w.repo, "main")
	g := w.AddGate(run, "pypi")
	answer := func(state, comment string) error {
		req, err := w.client.NewRequest(
			"POST",
			"repos/acme/widget/actions/runs/"+strconv.FormatInt(run.ID, 10)+"/deployment_protection_rule",
			map[string]string{"environment_name": "pypi", "state": state, "comment": comment},
		)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.client.Do(w.ctx, req, nil)
		return err
	}
	if err := answer("rejected", "pow@GLIBC_2.29"); err != nil || g.State != "rejected" {
		t.Errorf("%v, %+v", err, g)
	}
	w.clean(t)
	if err := answer("approved", "x"); status(err) != 422 {
		t.Errorf("a second answer: %v", err)
	}
	w.violated(t, "answered before")
}

func TestFaults(t *testing.T) {
	w := start(t, "")
	get := func() error {
		_, _, err := w.client.PullRequests.Get(w.ctx, "acme", "widget", 1)
		return err
	}
	w.Fault("pulls/get", 2, githubtest.Fault{Status: 502})
	for i, want := range []int{502, 502, 0} {
		if got := status(get()); got != want {
			t.Errorf("call %d: %d, want %d", i, got, want)
		}
	}
	w.Fault("pulls/*", 2, githubtest.Fault{Cut: true}) // net/http retries once on a reused connection
	if err := get(); err == nil || status(err) != 0 {
		t.Errorf("a cut connection: %v", err)
	}
	w.Fault("issues/create-comment", 1, githubtest.Fault{Status: 502, After: true})
	_, _, err := w.client.Issues.CreateComment(
		w.ctx,
		"acme",
		"widget",
		1,
		&gh.IssueComment{Body: gh.String("x")},
	)
	if status(err) != 502 || len(w.CommentsBy(w.Bot(), w.repo, 1)) != 1 {
		t.Errorf("an answer that was lost: %v, %d comments", err, len(w.CommentsBy(w.Bot(), w.repo, 1)))
	}
	w.clean(t)
}

func TestLimitForbidsCalls(t *testing.T) {
	w := start(t, "")
	get := func() int {
		req, _ := w.client.NewRequest("GET", "repos/acme/widget/pulls/1", nil)
		res, err := w.client.BareDo(w.ctx, req)
		if res == nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	w.Fault("pulls/get", 1, githubtest.Fault{Status: 429, Limit: time.Millisecond, RetryAfter: true})
	if got := get(); got != 429 {
		t.Errorf("limited: %d", got)
	}
	time.Sleep(2 * time.Millisecond)
	if got := get(); got != 200 {
		t.Errorf("after the limit: %d", got)
	}
	w.Fault("pulls/get", 1, githubtest.Fault{Status: 429, Limit: time.Hour, RetryAfter: true})
	if got := get(); got != 429 {
		t.Errorf("limited: %d", got)
	}
	w.clean(t)
	time.Sleep(2200 * time.Millisecond)
	if got := get(); got != 429 {
		t.Errorf("in the limit: %d", got)
	}
	w.violated(t, "after the limit")
}

func TestStory(t *testing.T) {
	w := start(t, "")
	if _, _, err := w.client.Checks.CreateCheckRun(w.ctx, "acme", "widget",
		gh.CreateCheckRunOptions{Name: "compat", HeadSHA: w.pull.HeadSHA,
			Conclusion: gh.String("failure"), Output: output(annotation("list.txt", 9))}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.client.Issues.CreateComment(w.ctx, "acme", "widget", 1,
		&gh.IssueComment{Body: gh.String("**1 finding**\n\npow")}); err != nil {
		t.Fatal(err)
	}
	const want = `acme/widget#1 Change feature (open)

check compat: failure: pow@GLIBC_2.29
    not in manylinux2014
  list.txt:9: failure: ` + `
    needs pow@GLIBC_2.29

comment by compat-test[bot]
    **1 finding**

    pow
`
	if got := w.Story(w.pull); got != want {
		t.Errorf("story:\n%s\nwant:\n%s", got, want)
	}
}

// Open connections are closed and new ones refused, because another test may get the port.
func TestCloseEndsConnections(t *testing.T) {
	w := start(t, "")
	open, err := net.Dial("tcp", strings.TrimPrefix(w.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, _, err := w.client.Repositories.Get(w.ctx, "acme", "widget"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_ = open.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := open.Read(make([]byte, 1)); n != 0 || err == nil ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes on a connection that was to be cut, %v", n, err)
	}
	if r, _, err := w.client.Repositories.Get(w.ctx, "acme", "widget"); err == nil &&
		r.GetID() == w.repo.ID {
		t.Error("it still answers")
	}
}
