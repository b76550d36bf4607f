package service_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A check without a result has a page too, which does not replace the last report.
func TestProblemsHaveAPage(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Commit(s.repo, "wrong", map[string]string{settings: "fail_onn: error\n"})
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	s.gh.Do(func() { p.BaseRef, p.BaseSHA = "wrong", s.repo.Branches["wrong"] })
	sha := s.push(p, bad("1.2.0"))
	s.judged(sha, "action_required", "fail_onn")
	k := s.concluded(sha)
	if !strings.HasPrefix(k.DetailsURL, s.front.URL+"/reports/") {
		t.Fatalf("details_url %q", k.DetailsURL)
	}
	res, err := http.Get(k.DetailsURL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(page), "fail_onn") ||
		!strings.Contains(string(page), "unchecked") {
		t.Errorf("%d %v: %s", res.StatusCode, err, page)
	}
	c := s.say(p, "maintainer", "/compat explain pow")
	s.answered(p, c, "GLIBC_2.29")
}
