package service_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/redistest"
)

// asked returns what the App's requests for tokens contain: "REPOSITORIES PERMISSIONS".
func (s *service) asked() map[string]int {
	out := map[string]int{}
	for _, c := range s.gh.Calls() {
		if c.Op != "apps/create-installation-access-token" {
			continue
		}
		var body struct {
			Repositories []int64           `json:"repository_ids"`
			Permissions  map[string]string `json:"permissions"`
		}
		if c.Body != "" {
			if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
				s.t.Error(err)
			}
		}
		out[fmt.Sprint(body.Repositories, body.Permissions)]++
	}
	return out
}

// A job's token is valid for its repository only, with the permissions that its kind needs.
func TestTokensAreNarrow(t *testing.T) {
	s := start(t, time.Hour)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	var sha string
	s.gh.Do(func() { sha = s.repo.Branches["main"] })
	w := s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    "main",
			SHA:       sha,
			Event:     "push",
			Status:    "waiting",
			Artifacts: []*githubtest.Artifact{clean("1.1.0")},
		},
	)
	g := s.gh.AddGate(w, "pypi")
	s.send("deployment_protection_rule", s.gh.GateEvent(g, ""))
	s.until(func() string {
		state := ""
		if s.gh.Do(func() { state = g.State }); state != "approved" {
			return "the gate is " + state
		}
		return ""
	})
	asked := s.asked()
	for _, want := range []string{
		fmt.Sprintf("[%d] map[actions:read checks:write contents:read issues:write metadata:read "+
			"pull_requests:write]", s.repo.ID),
		fmt.Sprintf("[%d] map[actions:read contents:read deployments:write metadata:read]", s.repo.ID),
		"[] map[contents:read metadata:read]", // the configuration of the account
	} {
		if asked[want] != 1 {
			t.Errorf("%d tokens for %s", asked[want], want)
		}
		delete(asked, want)
	}
	if len(asked) > 0 {
		t.Errorf("tokens for more: %v", asked)
	}
}

// An installation that granted fewer permissions than the App requests, or other repositories, is
// served too.
func TestNarrowTokensAreRefused(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Fault("apps/create-installation-access-token", 2, githubtest.Fault{Status: 422})
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	if !strings.Contains(fmt.Sprint(s.asked()), "[] map[]") {
		t.Errorf("tokens for %v", s.asked())
	}
}

// GitHub refuses one narrow token: that job continues, and the next one gets narrow tokens again.
func TestRefusalWidensOneJobOnly(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Fault("apps/create-installation-access-token", 1, githubtest.Fault{Status: 422})
	p := s.open("feature")
	s.idle()
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	narrow := fmt.Sprintf("[%d] map[actions:read checks:write", s.repo.ID)
	requests := 0 // the refused one, and that of the next job
	for asked, n := range s.asked() {
		if strings.HasPrefix(asked, narrow) {
			requests += n
		}
	}
	if s.asked()["[] map[]"] != 1 || requests != 2 {
		t.Errorf("tokens for %v", s.asked())
	}
}

// Two processes with one Redis request one token, and GitHub refuses one call of both in a limit.
func TestReplicasShareWhatGitHubResponds(t *testing.T) {
	t.Parallel()
	gh, err := githubtest.Start(githubtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer gh.Close()
	inst := gh.Install("acme")
	repo := gh.NewRepo(inst, "widget", map[string]string{"README.md": "# widget\n"})
	api, err := url.Parse(gh.URL())
	if err != nil {
		t.Fatal(err)
	}
	key, err := appkey.Parse([]byte(gh.PEM()))
	if err != nil {
		t.Fatal(err)
	}
	redis := redistest.Start(t)
	var clients [2]*github.Client
	for i := range clients {
		q, err := queue.Open(t.Context(), queue.Options{URL: redis.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		app, err := github.New(github.Options{
			AppID: gh.AppID, Key: key, API: api, Shared: q, Secret: []byte(gh.Secret),
		})
		if err != nil {
			t.Fatal(err)
		}
		if clients[i], err = app.Narrow(inst.ID, repo.ID, github.Review); err != nil {
			t.Fatal(err)
		}
	}
	get := func(c *github.Client) error {
		_, _, err := c.Repositories.Get(t.Context(), "acme", "widget")
		return err
	}
	for i, c := range clients {
		if err := get(c); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
	gh.Fault("repos/get", 1, githubtest.Fault{Status: 429, Limit: time.Hour, RetryAfter: true})
	for i, c := range clients {
		if class := github.Classify(get(c)); class.Kind != github.After {
			t.Errorf("replica %d in a rate limit: %+v", i, class)
		}
	}
	calls := map[string]int{}
	for _, c := range gh.Calls() {
		calls[c.Op]++
	}
	if n := calls["apps/create-installation-access-token"]; n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
	if n := calls["repos/get"]; n != 3 {
		t.Errorf("%d calls, want 3: two successes and one refusal", n)
	}
}
