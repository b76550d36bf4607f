package githubtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
)

// world is a server with one repository, one pull request and a client like the App's.
type world struct {
	*githubtest.Server
	inst   *githubtest.Installation
	repo   *githubtest.Repo
	pull   *githubtest.Pull
	client *gh.Client
	ctx    context.Context
}

const list = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func start(t *testing.T, prefix string) *world {
	t.Helper()
	return startWith(t, githubtest.Options{Prefix: prefix, Validate: openapi.Validate})
}

func startWith(t *testing.T, o githubtest.Options) *world {
	t.Helper()
	s, err := githubtest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &world{Server: s, inst: s.Install("acme"), ctx: t.Context()}
	w.repo = s.NewRepo(
		w.inst,
		"widget",
		map[string]string{"list.txt": list, "src/a.py": "", "README.md": "# widget\n"},
	)
	w.pull = s.OpenPull(
		w.repo,
		w.repo,
		"feature",
		s.User("maintainer"),
		map[string]string{"list.txt": strings.Replace(list, "nine", "9", 1)},
	)
	w.client = w.as(t, w.inst)
	return w
}

func (w *world) as(t *testing.T, i *githubtest.Installation) *gh.Client {
	tr, err := ghinstallation.New(http.DefaultTransport, w.AppID, i.ID, []byte(w.PEM()))
	if err != nil {
		t.Fatal(err)
	}
	tr.BaseURL = w.URL()
	c, err := gh.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(w.URL()+"/", w.URL()+"/")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(w.URL(), "/api/v3") { // WithEnterpriseURLs adds it
		c.BaseURL.Path = "/"
	}
	return c
}

func (w *world) clean(t *testing.T) {
	t.Helper()
	for _, v := range w.Violations() {
		t.Error("violation:", v)
	}
}

// violated expects exactly one violation, which contains these words.
func (w *world) violated(t *testing.T, words string) {
	t.Helper()
	if v := w.Violations(); len(v) != 1 || !strings.Contains(v[0], words) {
		t.Errorf("violations %q, want one with %q", v, words)
	}
}

func status(err error) int {
	var e *gh.ErrorResponse
	if errors.As(err, &e) {
		return e.Response.StatusCode
	}
	return 0
}

func TestReads(t *testing.T) {
	for _, prefix := range []string{"", "/api/v3"} {
		w := start(t, prefix)
		repo, _, err := w.client.Repositories.GetByID(w.ctx, w.repo.ID)
		if err != nil || repo.GetFullName() != "acme/widget" {
			t.Fatalf("repository by id: %v, %v", repo.GetFullName(), err)
		}
		file, _, _, err := w.client.Repositories.GetContents(
			w.ctx,
			"acme",
			"widget",
			"list.txt",
			&gh.RepositoryContentGetOptions{Ref: w.pull.HeadSHA},
		)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := file.GetContent(); !strings.Contains(text, "\n9\n") {
			t.Errorf("list.txt at the head is %q", text)
		}
		raw, _, err := w.client.Git.GetBlobRaw(w.ctx, "acme", "widget", file.GetSHA())
		if err != nil || !strings.Contains(string(raw), "\n9\n") {
			t.Errorf("the blob of list.txt is %q, %v", raw, err)
		}
		sha, _, err := w.client.Repositories.GetCommitSHA1(w.ctx, "acme", "widget", "heads/feature", "")
		if err != nil || sha != w.pull.HeadSHA {
			t.Errorf("commit of heads/feature: %q, %v", sha, err)
		}
		_, _, _, err = w.client.Repositories.GetContents(
			w.ctx,
			"acme",
			"widget",
			".github/compat.yml",
			&gh.RepositoryContentGetOptions{Ref: "main"},
		)
		if status(err) != http.StatusNotFound {
			t.Errorf("a file that is not there: %v", err)
		}
		tree, _, err := w.client.Git.GetTree(w.ctx, "acme", "widget", w.pull.HeadSHA, true)
		if err != nil || len(tree.Entries) != 3 {
			t.Errorf("tree: %v, %v", tree, err)
		}
		cmp, _, err := w.client.Repositories.CompareCommits(
			w.ctx,
			"acme",
			"widget",
			"main",
			w.pull.HeadSHA,
			nil,
		)
		if err != nil || cmp.GetMergeBaseCommit().GetSHA() != w.pull.BaseSHA ||
			len(cmp.Files) != 1 ||
			cmp.GetAheadBy() != 1 {
			t.Errorf("compare: %v, %v", cmp, err)
		}
		pulls, _, err := w.client.PullRequests.List(
			w.ctx,
			"acme",
			"widget",
			&gh.PullRequestListOptions{Head: "acme:feature"},
		)
		if err != nil || len(pulls) != 1 || pulls[0].GetHead().GetSHA() != w.pull.HeadSHA {
			t.Errorf("pull requests: %v, %v", pulls, err)
		}
		level, _, err := w.client.Repositories.GetPermissionLevel(w.ctx, "acme", "widget", "maintainer")
		if err != nil || level.GetPermission() != "write" || level.User == nil {
			t.Errorf("permission: %v, %v", level, err)
		}
		w.clean(t)
	}
}

func TestPatchHasOneHunkWithContext(t *testing.T) {
	w := start(t, "")
	files, _, err := w.client.PullRequests.ListFiles(w.ctx, "acme", "widget", 1, nil)
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
	const want = "@@ -6,5 +6,5 @@\n six\n seven\n eight\n-nine\n+9\n ten"
	if got := files[0].GetPatch(); got != want {
		t.Errorf("patch:\n%s\nwant:\n%s", got, want)
	}
}

func TestFork(t *testing.T) {
	w := start(t, "")
	fork := w.Fork(w.repo, "contributor")
	p := w.OpenPull(w.repo, fork, "fix", w.User("contributor"), map[string]string{"x": "y\n"})
	run := w.PullRun(p)
	got, _, err := w.client.Actions.GetWorkflowRunByID(w.ctx, "acme", "widget", run.ID)
	if err != nil || len(got.PullRequests) != 0 ||
		got.GetHeadRepository().GetFullName() != "contributor/widget" {
		t.Errorf("run: %v, %v", got, err)
	}
	of, _, err := w.client.PullRequests.ListPullRequestsWithCommit(
		w.ctx,
		"acme",
		"widget",
		p.HeadSHA,
		nil,
	)
	if err != nil || len(of) != 0 {
		t.Errorf("pull requests of the fork's commit: %v, %v", of, err)
	}
	pulls, _, err := w.client.PullRequests.List(
		w.ctx,
		"acme",
		"widget",
		&gh.PullRequestListOptions{Head: "contributor:fix"},
	)
	if err != nil || len(pulls) != 1 || pulls[0].GetNumber() != p.Number {
		t.Errorf("pull requests by head: %v, %v", pulls, err)
	}
	w.clean(t)
}

func TestDownloadsGoToStorage(t *testing.T) {
	w := start(t, "")
	a := githubtest.NewArtifact("wheels", []byte("zip"))
	old := githubtest.NewArtifact("old", nil)
	old.Expired = true
	run := w.PullRun(w.pull, a, old)
	list, _, err := w.client.Actions.ListWorkflowRunArtifacts(w.ctx, "acme", "widget", run.ID, nil)
	if err != nil || list.GetTotalCount() != 2 ||
		list.Artifacts[0].GetWorkflowRun().GetHeadSHA() != w.pull.HeadSHA {
		t.Fatalf("artifacts: %v, %v", list, err)
	}
	link, _, err := w.client.Actions.DownloadArtifact(w.ctx, "acme", "widget", a.ID, 0)
	if err != nil || !strings.HasPrefix(link.String(), w.StorageURL()) {
		t.Fatalf("download: %v, %v", link, err)
	}
	res, err := http.Get(link.String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); string(b) != "zip" {
		t.Errorf("downloaded %q", b)
	}
	if _, _, err := w.client.Actions.DownloadArtifact(w.ctx, "acme", "widget", old.ID,
		0); err == nil ||
		!strings.Contains(err.Error(), "410") {
		t.Errorf("an expired artifact: %v", err)
	}
	w.clean(t)
	req, _ := http.NewRequest("GET", link.String(), nil)
	req.Header.Set("Authorization", "token leaked")
	if res, err := http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	} else {
		res.Body.Close()
	}
	w.violated(t, "Authorization")
}

func TestReleaseAssets(t *testing.T) {
	w := start(t, "")
	w.Tag(w.repo, "v1", w.pull.BaseSHA)
	l := w.AddRelease(w.repo, "v1", githubtest.NewAsset("a.whl", []byte("a")))
	w.AddAsset(l, &githubtest.Asset{Name: "b.whl", State: "open"})
	got, _, err := w.client.Repositories.GetReleaseByTag(w.ctx, "acme", "widget", "v1")
	if err != nil || got.GetID() != l.ID {
		t.Fatalf("release: %v, %v", got, err)
	}
	assets, _, err := w.client.Repositories.ListReleaseAssets(w.ctx, "acme", "widget", l.ID, nil)
	if err != nil || len(assets) != 2 || assets[1].GetState() != "open" {
		t.Errorf("assets: %v, %v", assets, err)
	}
	_, link, err := w.client.Repositories.DownloadReleaseAsset(
		w.ctx,
		"acme",
		"widget",
		assets[0].GetID(),
		nil,
	)
	if err != nil || !strings.HasPrefix(link, w.StorageURL()) {
		t.Errorf("download: %q, %v", link, err)
	}
	ref, _, err := w.client.Git.GetRef(w.ctx, "acme", "widget", "tags/v1")
	if err != nil || ref.GetObject().GetSHA() != w.pull.BaseSHA {
		t.Errorf("tag: %v, %v", ref, err)
	}
	w.clean(t)
}

func TestPages(t *testing.T) {
	w := start(t, "/api/v3")
	for range 130 {
		w.AddComment(w.repo, 1, w.User("someone"), "hello")
	}
	n, o := 0, &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		cs, res, err := w.client.Issues.ListComments(w.ctx, "acme", "widget", 1, o)
		if err != nil {
			t.Fatal(err)
		}
		n += len(cs)
		if res.NextPage == 0 {
			break
		}
		o.Page = res.NextPage
	}
	if n != 130 || len(w.Calls()) != 3 { // a token and two pages
		t.Errorf("%d comments in %d calls", n, len(w.Calls()))
	}
	w.clean(t)
}

func TestTokens(t *testing.T) {
	w := start(t, "")
	get := func(c *gh.Client, owner string) int {
		_, res, _ := c.Repositories.Get(w.ctx, owner, "widget")
		return res.StatusCode
	}
	other := w.Install("umbrella")
	private := w.NewRepo(other, "widget", nil)
	w.Do(func() { private.Private = true })
	if got := get(w.client, "acme"); got != 200 {
		t.Errorf("own repository: %d", got)
	}
	w.RevokeTokens()
	if got := get(w.client, "acme"); got != 401 {
		t.Errorf("with a revoked token: %d", got)
	}
	w.clean(t)
	if got := get(w.as(t, w.inst), "umbrella"); got != 404 {
		t.Errorf("another installation's private repository: %d", got)
	}
	w.violated(t, "another installation")
	w.InstallationEvent(other, "suspend")
	if _, _, err := w.as(t, other).Repositories.Get(w.ctx, "umbrella", "widget"); err == nil ||
		!strings.Contains(err.Error(), "403") {
		t.Errorf("a suspended installation gave a token: %v", err)
	}
}

func TestDeliveries(t *testing.T) {
	w := start(t, "")
	var got []*http.Request
	var bodies []string
	answer := http.StatusAccepted
	app := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, bodies = append(got, r), append(bodies, string(b))
		rw.WriteHeader(answer)
		io.WriteString(rw, `{"status":"queued"}`)
	})
	w.Hook = app + "/webhook"
	d := w.Send("pull_request", w.PullEvent(w.pull, "opened"))
	if d.Code != 202 || d.Text("status") != "queued" ||
		got[0].Header.Get("X-GitHub-Delivery") != d.GUID {
		t.Fatalf("delivery: %+v", d)
	}
	if want := githubtest.Sign(w.Secret, []byte(bodies[0])); got[0].Header.Get(
		"X-Hub-Signature-256",
	) != want {
		t.Errorf("signature %q, want %q", got[0].Header.Get("X-Hub-Signature-256"), want)
	}
	if _, err := gh.ParseWebHook("pull_request", []byte(bodies[0])); err != nil {
		t.Error(err)
	}
	lost := w.Lose("pull_request", w.PullEvent(w.pull, "synchronize"))
	tr, err := ghinstallation.NewAppsTransport(http.DefaultTransport, w.AppID, []byte(w.PEM()))
	if err != nil {
		t.Fatal(err)
	}
	c := gh.NewClient(&http.Client{Transport: tr})
	c.BaseURL.Host, c.BaseURL.Scheme = strings.TrimPrefix(w.URL(), "http://"), "http"
	all, _, err := c.Apps.ListHookDeliveries(w.ctx, nil)
	if err != nil || len(all) != 2 || all[0].GetGUID() != lost.GUID ||
		all[0].GetStatusCode() != 502 {
		t.Fatalf("deliveries: %v, %v", all, err)
	}
	_, _, err = c.Apps.RedeliverHookDelivery(w.ctx, lost.ID)
	var accepted *gh.AcceptedError
	if !errors.As(err, &accepted) {
		t.Errorf("redelivery: %v", err)
	}
	for end := time.Now().Add(time.Minute); len(w.Deliveries()) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was delivered again")
		}
	}
	if last := w.Deliveries()[2]; !last.Redelivery || last.GUID != lost.GUID || last.Code != 202 {
		t.Errorf("redelivered: %+v", last)
	}
	w.clean(t)
	c.Apps.RedeliverHookDelivery(w.ctx, d.ID)
	w.violated(t, "answered 202")
}
