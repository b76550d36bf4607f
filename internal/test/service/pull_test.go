package service_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

func TestBadWheelFails(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.until(func() string {
		if ks := s.gh.Checks(s.repo, p.HeadSHA); len(ks) != 1 || ks[0].Status != "in_progress" {
			return "no open check run while CI runs"
		}
		return ""
	})
	s.finish(p, bad("1.1.0"))
	k := s.concluded(p.HeadSHA)
	s.want(k, "failure", "pow", "GLIBC_2.29")
	s.oneSummary(p)
	s.once(p.HeadSHA)

	for address, want := range map[string]int{k.DetailsURL: 200, k.DetailsURL[:len(k.DetailsURL)-1] +
		"x": 404, strings.ToUpper(k.DetailsURL[len(s.front.URL):]): 404, s.front.URL +
		"/reports/style.css": 200} {
		if !strings.HasPrefix(address, "http") {
			address = s.front.URL + "/reports/" + address[len("/REPORTS/"):]
			if address == k.DetailsURL { // an id without letters
				continue
			}
		}
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want ||
			address == k.DetailsURL && !strings.Contains(string(body), "GLIBC_2.29") {
			t.Errorf("GET %s: %d, want %d", address, res.StatusCode, want)
		}
	}
}

func TestCleanWheelPassesWithoutComment(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, clean("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success")
	if cs := s.bot(p); len(cs) > 0 {
		t.Errorf("comments on a clean pull request: %+v", cs)
	}
}

func TestFindingsOfTheBaseDoNotFail(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.BranchRun(s.repo, "main", bad("1.0.1"))
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success", "already on", "pow")
}

// What could not be read of the base is named if it matters for the verdict.
func TestDamagedBase(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.BranchRun(s.repo, "main",
		githubtest.NewArtifact("wheels", zipped(wheelName("1.0.1"), []byte("no archive"))))
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "findings of main may count as new", wheelName("1.0.1"))
	p = s.open("repair")
	s.finish(p, clean("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success")
}

func TestNewHeadSupersedes(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	old, slow := p.HeadSHA, bad("1.1.0")
	slow.Slow = 30 * time.Second // far longer than a newer push takes to supersede it
	s.finish(p, slow)
	s.until(func() string {
		n := 0
		if s.gh.Do(func() { n = slow.Downloads }); n == 0 {
			return "not fetched"
		}
		return ""
	})
	s.gh.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.finish(p, clean("1.2.0"))
	s.want(s.concluded(p.HeadSHA), "success")
	s.until(func() string {
		for _, k := range s.gh.Checks(s.repo, old) {
			if k.Conclusion != "cancelled" {
				return "the superseded head: " + k.Status + " " + k.Conclusion
			}
		}
		return ""
	})
}

func TestForkWhosePullRequestEventWasLost(t *testing.T) {
	s := start(t, time.Minute)
	fork := s.gh.Fork(s.repo, "contributor")
	p := s.gh.OpenPull(
		s.repo,
		fork,
		"fix",
		s.gh.User("contributor"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.oneSummary(p)
}

func TestDeadline(t *testing.T) {
	s := start(t, 1500*time.Millisecond)
	p := s.open("feature")
	s.want(s.concluded(p.HeadSHA), "failure", "no artifacts")
	s.finish(p, clean("1.1.0")) // a run that ends later is checked all the same
	s.until(func() string {
		if ks := s.gh.Checks(s.repo, p.HeadSHA); ks[len(ks)-1].Conclusion != "success" {
			return "the late artifacts are not judged"
		}
		return ""
	})
}

func TestNoArtifacts(t *testing.T) {
	s := start(t, 2*time.Second)
	p := s.open("feature")
	s.finish(p)
	s.want(s.concluded(p.HeadSHA), "failure", "artifact")
}

func TestArtifactsAreListedLate(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	w := s.gh.PullRun(p, bad("1.1.0"))
	s.gh.Do(func() { w.HideLists = 2 })
	s.send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.gh.Do(func() {
		if w.Lists > 5 {
			t.Errorf("%d looks at the list", w.Lists)
		}
	})
}

func TestUnavailableArtifacts(t *testing.T) {
	s := start(t, time.Minute)
	expired, wrong := bad("1.1.0"), bad("1.1.0")
	expired.Expired = true
	wrong.Digest = "sha256:" + strings.Repeat("0", 64)
	for word, a := range map[string]*githubtest.Artifact{"expired": expired, "digest": wrong} {
		p := s.open(word)
		s.finish(p, a)
		k := s.concluded(p.HeadSHA)
		if k.Conclusion == "success" || k.Conclusion == "neutral" ||
			!strings.Contains(strings.ToLower(k.Title+k.Summary), word) {
			t.Errorf("%s: %s %s\n%s", word, k.Conclusion, k.Title, k.Summary)
		}
	}
}

func TestClosedAndReopened(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.until(func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	s.gh.Do(func() { p.State = "closed" })
	s.send("pull_request", s.gh.PullEvent(p, "closed"))
	s.until(func() string {
		if k := s.gh.Checks(s.repo, p.HeadSHA)[0]; k.Conclusion != "cancelled" {
			return "the check of a closed pull request is " + k.Status + k.Conclusion
		}
		return ""
	})
	s.gh.Do(func() { p.State = "open" })
	s.send("pull_request", s.gh.PullEvent(p, "reopened"))
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
}

func TestLockFile(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Commit(
		s.repo,
		"main",
		map[string]string{".github/compat.yml": "python:\n  lock: [requirements.txt]\n"},
	)
	s.gh.BranchRun(s.repo, "main", clean("1.0.1"))
	p := s.open("feature")
	s.finish(p, clean("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "action_required", "requirements.txt")
	s.gh.Push(
		p,
		map[string]string{
			"requirements.txt": "# pins\ntorch==2.7.0 \\\n    --hash=sha256:00\nsetuptools\n",
		},
	)
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.finish(p, clean("1.1.1"))
	s.want(s.concluded(p.HeadSHA), "success", "torch==2.7.0")
}

func TestReleaseSwitchedOff(t *testing.T) {
	s := start(t, time.Minute)
	sha := s.gh.Commit(s.repo, "main", map[string]string{".github/compat.yml": "release: off\n"})
	s.gh.Tag(s.repo, "v1", sha)
	s.send(
		"release",
		s.gh.ReleaseEvent(
			s.repo,
			s.gh.AddRelease(
				s.repo,
				"v1",
				githubtest.NewAsset(wheelName("1.0"), wheel("1.0", "pow@GLIBC_2.29")),
			),
			"published",
		),
	)
	time.Sleep(2 * time.Second)
	if ks := s.gh.Checks(s.repo, sha); len(ks) > 0 {
		t.Errorf("checks of a release although they are switched off: %+v", ks)
	}
}

func TestInvalidConfiguration(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Commit(
		s.repo,
		"main",
		map[string]string{".github/compat.yml": "fail_on: error\npython:\n  wiht: [torch]\n"},
	)
	s.gh.BranchRun(s.repo, "main", clean("1.0.1"))
	p := s.open("feature")
	k := s.concluded(p.HeadSHA)
	s.want(k, "action_required", "compat.yml", "wiht")
	if len(k.Annotations) != 1 || k.Annotations[0].Start != 3 ||
		k.Annotations[0].Path != ".github/compat.yml" {
		t.Errorf("annotations: %+v", k.Annotations)
	}
	s.gh.Commit(s.repo, "main", map[string]string{".github/compat.yml": "platforms: [beos5]\n"})
	s.send("check_run", s.gh.CheckEvent(s.repo, k.ID, "rerequested", "", s.gh.User("maintainer")))
	s.finish(p, clean("1.1.0"))
	s.until(func() string {
		if ks := s.gh.Checks(s.repo, p.HeadSHA); !strings.Contains(ks[len(ks)-1].Summary, "beos5") {
			return "an unknown platform is not reported"
		}
		return ""
	})
}
