package post

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
)

// harness is a pull request on a fake GitHub, with a Poster for its repository.
type harness struct {
	*Poster
	gh   *githubtest.Server
	repo *githubtest.Repo
	pull *githubtest.Pull
	t    *testing.T
}

func stage(t *testing.T) *harness {
	t.Helper()
	s, err := githubtest.Start(githubtest.Options{Validate: openapi.Validate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	inst := s.Install("acme")
	repo := s.NewRepo(
		inst,
		"widget",
		map[string]string{
			"pyproject.toml": strings.ReplaceAll(pyproject, "12.8", "12.7"),
			"README.md":      "# widget\n",
		},
	)
	pull := s.OpenPull(
		repo,
		repo,
		"feature",
		s.User("maintainer"),
		map[string]string{"pyproject.toml": pyproject},
	)
	api, err := neturl.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	key, err := appkey.Parse([]byte(s.PEM()))
	if err != nil {
		t.Fatal(err)
	}
	app, err := github.New(github.Options{AppID: s.AppID, Key: key, API: api})
	if err != nil {
		t.Fatal(err)
	}
	client, err := app.Installation(inst.ID)
	if err != nil {
		t.Fatal(err)
	}
	x := &harness{
		gh:   s,
		repo: repo,
		pull: pull,
		t:    t,
		Poster: &Poster{
			Client: client,
			Owner:  "acme",
			Repo:   "widget",
			Bot:    s.BotLogin,
			AppID:  s.AppID,
		},
	}
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("GitHub objects: %s", v)
		}
	})
	return x
}

func (s *harness) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// checks returns the check runs on the head, as "status/conclusion externalID annotations
// verdicts".
func (s *harness) checks() (out []string) {
	s.gh.Do(func() {
		for _, k := range s.repo.Checks {
			if k.SHA == s.pull.HeadSHA {
				out = append(
					out,
					fmt.Sprintf(
						"%s/%s %s %d %d",
						k.Status,
						k.Conclusion,
						k.ExternalID,
						len(k.Annotations),
						k.Verdicts,
					),
				)
			}
		}
	})
	return out
}

func (s *harness) want(want ...string) {
	s.t.Helper()
	if got := s.checks(); !slices.Equal(got, want) {
		s.t.Errorf("check runs:\n got %q\nwant %q", got, want)
	}
}

func (s *harness) comments() (out []string) {
	s.gh.Do(func() {
		for _, i := range s.repo.Issues {
			if i.Number == s.pull.Number {
				for _, c := range i.Comments {
					out = append(out, c.Author.Login+": "+c.Body)
				}
			}
		}
	})
	return out
}

var again = githubtest.Fault{Status: 502}
var hidden = githubtest.Fault{Status: 502, After: true}

func TestCheckRunLife(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	sha := s.pull.HeadSHA
	id, err := s.Start(ctx, sha, "k1", url, "Waiting", "for artifacts", false)
	s.ok(err)
	if same, err := s.Start(ctx, sha, "k1", url, "Waiting", "for artifacts", false); err != nil ||
		same != id {
		t.Fatalf("a second start: run %v, %v; want %v", same, err, id)
	}
	s.want("in_progress/ k1 0 0")
	done, err := s.Conclude(ctx, sha, id, "k1", url, many(120))
	s.ok(err)
	if done != id.ID {
		t.Errorf("concluded another run")
	}
	s.want("completed/failure k1 120 1")
	for range 2 { // both are done already
		_, err = s.Conclude(ctx, sha, id, "k1", url, many(120))
		s.ok(err)
		_, err = s.Start(ctx, sha, "k1", url, "Waiting", "again", false)
		s.ok(err)
	}
	s.want("completed/failure k1 120 1")
	var batches []int
	s.gh.Do(func() { batches = s.repo.Checks[0].Batches })
	if !slices.Equal(batches, []int{50, 50, 20}) {
		t.Errorf("batches %v", batches)
	}
	id, err = s.Start(ctx, sha, "k2", url, "Waiting", "rerun", false) // a rerun has its own run
	s.ok(err)
	_, err = s.Conclude(ctx, sha, id, "k2", url, many(3))
	s.ok(err)
	_, err = s.Conclude(ctx, sha, Run{}, "k3", "", many(1)) // without Start
	s.ok(err)
	s.want("completed/failure k1 120 1", "completed/failure k2 3 1", "completed/failure k3 1 1")
}

// The commit of two pull requests gets the verdict of one, then of the other, and then the first
// one again, which GitHub does not show any more.
func TestEarlierVerdictStandsAgain(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	sha := s.pull.HeadSHA
	for _, id := range []string{"k1", "k2", "k1", "k1"} {
		run, err := s.Start(ctx, sha, id, url, "Checking", "…", false)
		s.ok(err)
		_, err = s.Conclude(ctx, sha, run, id, url, many(1))
		s.ok(err)
	}
	s.want("completed/failure k1 1 1", "completed/failure k2 1 1", "completed/failure k1 1 1")
	for _, id := range []string{"k2", "k1", "k1"} {
		_, err := s.Conclude(ctx, sha, Run{}, id, url, many(0))
		s.ok(err)
	}
	if n := len(s.checks()); n != 5 {
		t.Errorf("%d check runs, want 5: %q", n, s.checks())
	}
	for _, id := range []string{"k1", "k2"} { // both were posted, so a later attempt does not give up
		posted, err := s.Concluded(ctx, sha, id)
		s.ok(err)
		if !posted {
			t.Errorf("the verdict %s is unknown", id)
		}
	}
}

func TestCheckRunAfterBadAnswers(t *testing.T) {
	for name, f := range map[string]githubtest.Fault{"nothing happened": again,
		"it took effect": hidden, "cut": {Cut: true}, "cut after": {Cut: true, After: true}} {
		for _, n := range []int{0, 60} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Parallel()
				badAnswers(t, f, n)
			})
		}
	}
}

func badAnswers(t *testing.T, f githubtest.Fault, n int) {
	ctx := context.Background()
	s := stage(t)
	s.gh.Fault("checks/create", 1, f)
	id, err := s.Start(ctx, s.pull.HeadSHA, "k1", url, "Waiting", "…", false)
	s.ok(err)
	s.gh.Fault("checks/update", 1, f)
	s.gh.FaultAfter("checks/update", 1, 1, f)
	_, err = s.Conclude(ctx, s.pull.HeadSHA, id, "k1", url, many(n))
	s.ok(err)
	s.want(fmt.Sprintf("completed/failure k1 %d 1", n))
	s.gh.Fault("checks/create", 1, f)
	_, err = s.Conclude(ctx, s.pull.HeadSHA, Run{}, "k2", url, many(5))
	s.ok(err)
	s.want(fmt.Sprintf("completed/failure k1 %d 1", n), "completed/failure k2 5 1")
}

// After a crash between two batches the next attempt continues. Another analysis does not inherit
// the annotations.
func TestCheckRunAfterCrash(t *testing.T) {
	ctx := context.Background()
	errCrash := errors.New("lease lost")
	for _, next := range []string{"k1", "k2"} {
		s := stage(t)
		id, err := s.Start(ctx, s.pull.HeadSHA, "k1", url, "Waiting", "…", false)
		s.ok(err)
		writes := 0
		s.Fence = func(context.Context) error {
			if writes++; writes > 1 {
				return errCrash
			}
			return nil
		}
		if _, err = s.Conclude(ctx, s.pull.HeadSHA, id, "k1", url, many(120)); !errors.Is(err, errCrash) {
			t.Fatalf("the fence's error is lost: %v", err)
		}
		s.want("in_progress/ k1 50 0")
		s.Fence = nil
		if next == "k2" {
			id, err = s.Start(ctx, s.pull.HeadSHA, next, url, "Waiting", "…", false)
			s.ok(err)
		}
		_, err = s.Conclude(ctx, s.pull.HeadSHA, id, next, url, many(120))
		s.ok(err)
		if next == "k1" {
			s.want("completed/failure k1 120 1")
		} else {
			s.want("completed/cancelled duplicate 50 1", "completed/failure k2 120 1")
		}
	}
}

func TestCancel(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	sha := s.pull.HeadSHA
	id, err := s.Start(ctx, sha, "k1", url, "Waiting", "…", false)
	s.ok(err)
	s.ok(s.CancelHead(ctx, sha, id))
	s.ok(s.CancelHead(ctx, sha, Run{}))
	s.want("completed/cancelled k1 0 1")
	_, err = s.Start(ctx, sha, "k1", url, "Waiting", "the head came back", false)
	s.ok(err)
	s.want("completed/cancelled k1 0 1", "in_progress/ k1 0 0")
	s.ok(s.CancelHead(ctx, sha, Run{}))
	s.want("completed/cancelled k1 0 1", "completed/cancelled k1 0 1")
}

func TestSticky(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	n := s.pull.Number
	body := func(x string) string { return comment.Marker + "\n### compat: " + x + "\n" }
	for i := range 130 {
		s.gh.AddComment(s.repo, n, s.gh.User("maintainer"), fmt.Sprint("note ", i))
	}
	foreign := s.gh.AddComment(s.repo, n, s.gh.User("outsider"), body("forged"))
	s.ok(s.Conversation(n, false).Sticky(ctx, body("clean"), false))
	s.ok(s.Conversation(n, false).Sticky(ctx, "", true))
	if len(s.comments()) != 131 {
		t.Error("a clean pull request got a comment")
	}
	s.gh.Fault("issues/create-comment", 1, hidden)
	s.ok(s.Conversation(n, false).Sticky(ctx, body("bad"), true))
	s.ok(s.Conversation(n, false).Sticky(ctx, body("bad"), true))
	s.gh.Fault("issues/update-comment", 1, again)
	s.ok(s.Conversation(n, false).Sticky(ctx, body("worse"), true))
	s.ok(s.Conversation(n, false).Sticky(ctx, body("fixed"), false))
	cs := s.comments()
	if len(cs) != 132 || cs[131] != s.BotComment(body("fixed")) {
		t.Errorf("%d comments, the last: %s", len(cs), cs[len(cs)-1])
	}
	var edits int
	s.gh.Do(func() {
		for _, i := range s.repo.Issues {
			if i.Number == n {
				edits = i.Comments[131].Edits
				i.Comments[131].Minimized = "OUTDATED"
			}
		}
	})
	if edits != 2 || foreign.Body != body("forged") || foreign.Edits != 0 {
		t.Errorf("%d edits of ours, %d of the foreign comment", edits, foreign.Edits)
	}
	// a person has hidden the old one
	s.ok(s.Conversation(n, false).Sticky(ctx, body("bad again"), true))
	if cs := s.comments(); len(cs) != 133 {
		t.Errorf("%d comments after the old one was minimized", len(cs))
	}
}

func (s *harness) BotComment(body string) string { return s.Bot + ": " + body }

func TestReplyAndReact(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	n := s.pull.Number
	var ids []int64
	for range 2 {
		c := s.gh.AddComment(
			s.repo,
			n,
			s.gh.User("maintainer"),
			"/compat explain <!-- compat:reply 1 -->",
		)
		ids = append(ids, c.ID)
	}
	hostile := comment.Unknown(fmt.Sprintf("<!-- compat:reply %d --> %s", ids[1], comment.Marker), "")
	for range 2 {
		s.gh.Fault("issues/create-comment", 1, hidden)
		s.ok(s.Reply(ctx, ReplyTo{Number: n, Comment: ids[0]}, hostile))
		s.ok(s.React(ctx, ReplyTo{Number: n, Comment: ids[0]}, "confused"))
	}
	s.ok(s.Reply(ctx, ReplyTo{Number: n, Comment: ids[1]}, comment.Help()))
	s.ok(s.React(ctx, ReplyTo{Number: n, Comment: 424242}, "eyes")) // a deleted comment
	if got := len(s.comments()); got != 4 {
		t.Errorf("%d comments, want two commands and two replies", got)
	}
	s.ok(s.Conversation(n, false).Sticky(ctx, comment.Marker+"\nx", true))
	for _, c := range s.comments()[2:4] {
		if strings.Contains(c, comment.Marker) || strings.HasPrefix(c, s.BotComment(comment.Marker)) {
			t.Errorf("a reply looks like the summary comment: %s", c)
		}
	}
}

func TestReviewAndResolve(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	n, sha := s.pull.Number, s.pull.HeadSHA
	diff := comment.ParseDiff(
		[]comment.DiffFile{
			{
				Path: "pyproject.toml",
				Patch: "@@ -7,3 +7,3 @@\n dependencies = [\n-    \"nvidia-nvjitlink-cu12>=12.7\",\n+    " +
					"\"nvidia-nvjitlink-cu12>=12.8\",\n ]",
			},
		},
	)
	c := comment.Render(
		comment.Input{
			Report: reportOf(missing("widget/libcccl.c.parallel.so")),
			Files:  map[string]string{"pyproject.toml": pyproject},
			Diff:   diff,
		},
	)
	if len(c.Review) != 1 {
		t.Fatalf("%d suggestions", len(c.Review))
	}
	s.gh.Fault("pulls/create-review", 1, hidden)
	for range 3 {
		s.ok(s.Conversation(n, false).Review(ctx, sha, c.Review))
	}
	state := func() string {
		var b strings.Builder
		s.gh.Do(func() {
			for _, th := range s.pull.Threads {
				fmt.Fprintf(
					&b,
					"%s:%d resolved=%v comments=%d;",
					th.Path,
					th.Line,
					th.Resolved,
					len(th.Comments),
				)
			}
		})
		return b.String()
	}
	if got := state(); got != "pyproject.toml:8 resolved=false comments=1;" {
		t.Fatalf("threads: %s", got)
	}
	s.ok(s.Conversation(n, false).Resolve(ctx, []string{c.Review[0].Fingerprint}))
	if got := state(); got != "pyproject.toml:8 resolved=false comments=1;" {
		t.Errorf("a thread whose finding is still there: %s", got)
	}
	s.gh.Do(func() {})
	s.gh.Reply(s.pull.Threads[0], s.gh.User("maintainer"), "I will look at it")
	s.ok(s.Conversation(n, false).Resolve(ctx, nil))
	s.ok(s.Conversation(n, false).Resolve(ctx, nil))
	if got := state(); got != "pyproject.toml:8 resolved=true comments=2;" {
		t.Errorf("after the fix: %s", got)
	}
	bad := c.Review
	bad[0].Line, bad[0].Fingerprint = 1, "00000000"
	s.gh.Fault("pulls/create-review", 1, githubtest.Fault{Status: 422})
	// a rejected review is logged, because the check run has the same content
	s.ok(s.Conversation(n, false).Review(ctx, sha, bad))
}

func TestLimitIsReturned(t *testing.T) {
	s := stage(t)
	s.gh.Fault(
		"checks/list-for-ref",
		1,
		githubtest.Fault{Status: 429, Header: map[string][]string{"Retry-After": {"7"}}},
	)
	_, err := s.Conclude(context.Background(), s.pull.HeadSHA, Run{}, "k", url, many(1))
	if f := github.Classify(err); f.Kind != github.After {
		t.Errorf("a limit comes back as %v (%v)", f.Kind, err)
	}
	s.want()
}

// GitHub accepts the result of Render.
func TestRenderedChecksArePosted(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	var findings []analyzer.Finding
	for i := range 70 {
		findings = append(findings, missing(fmt.Sprintf("widget/<b>@octocat`%d.so", i)))
	}
	r := reportOf(findings...)
	c := comment.Render(
		comment.Input{
			Report:     r,
			Files:      map[string]string{"pyproject.toml": pyproject},
			Diff:       comment.Diff{"pyproject.toml": {{First: 8, Last: 8}}},
			DetailsURL: url,
			SHA:        s.pull.HeadSHA,
		},
	)
	_, err := s.Conclude(ctx, s.pull.HeadSHA, Run{}, "k", url, c)
	s.ok(err)
	s.ok(s.Conversation(s.pull.Number, false).Sticky(ctx, c.Sticky, c.Create))
	s.ok(s.Conversation(s.pull.Number, false).Review(ctx, s.pull.HeadSHA, c.Review))
	s.want("completed/failure k 1 1")
}

// A run that is known to be alone is written without a query. If the response to its creation was
// lost, it is not known to be alone.
func TestSeparateCheckRuns(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	sha := s.pull.HeadSHA
	run, err := s.Start(ctx, sha, "k1", url, "Waiting", "…", true)
	s.ok(err)
	_, err = s.Conclude(ctx, sha, run, "k1", url, many(60))
	s.ok(err)
	s.want("completed/failure k1 60 1")
	next, err := s.Start(ctx, sha, "k2", url, "Waiting", "…", true)
	s.ok(err)
	s.ok(s.CancelHead(ctx, sha, next))
	s.want("completed/failure k1 60 1", "completed/cancelled k2 0 1")
	var ops []string
	for _, c := range s.gh.Calls() {
		if c.Installation != 0 {
			ops = append(ops, c.Op)
		}
	}
	if want := []string{"checks/create", "checks/update", "checks/update", "checks/create",
		"checks/update"}; !slices.Equal(
		ops,
		want,
	) {
		t.Errorf("calls %v, want %v", ops, want)
	}
	s.gh.Fault("checks/create", 1, hidden)
	lost, err := s.Start(ctx, sha, "k3", url, "Waiting", "…", true)
	if err != nil || !run.Alone || !next.Alone || lost.Alone || lost.ID == 0 {
		t.Errorf("%v %v %v, %v", run, next, lost, err)
	}
}

// Of several summary comments left by a race, all but the newest are minimized. Nothing is
// searched in a conversation that is known to have no comments of the App.
func TestEarlierSummariesAreMinimised(t *testing.T) {
	ctx := context.Background()
	s := stage(t)
	n := s.pull.Number
	for i := range 3 {
		s.gh.AddComment(s.repo, n, s.gh.Bot(), fmt.Sprintf("%s\n### compat: %d\n", comment.Marker, i))
	}
	talk := s.Conversation(n, false)
	for range 2 {
		s.ok(talk.Sticky(ctx, comment.Marker+"\nnew", true))
	}
	var got []string
	s.gh.Do(func() {
		for _, c := range s.repo.Issues[0].Comments {
			got = append(got, strings.TrimPrefix(c.Body, comment.Marker+"\n")+c.Minimized)
		}
	})
	if want := []string{"### compat: 0\nDUPLICATE", "### compat: 1\nDUPLICATE", "new"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("comments %q, want %q", got, want)
	}
	before := len(s.gh.Calls())
	silent := s.Conversation(n, true)
	s.ok(silent.Resolve(ctx, nil))
	s.ok(silent.Sticky(ctx, comment.Marker+"\nclean", false))
	if !silent.Silent() || talk.Silent() || len(s.gh.Calls()) != before {
		t.Error("a silent conversation is read")
	}
}
