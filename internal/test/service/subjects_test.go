package service_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/compat-app/compat/internal/test/githubtest"
)

func (s *service) reactions(c *githubtest.Comment) (out []string) {
	s.gh.Do(func() {
		for _, r := range c.Reactions {
			out = append(out, r.Content)
		}
	})
	return out
}

func (s *service) reacts(c *githubtest.Comment, want string) {
	s.t.Helper()
	s.until(func() string {
		if got := s.reactions(c); len(got) != 2 || got[0] != "eyes" || got[1] != want {
			return "reactions " + strings.Join(got, " ") + ", want " + want
		}
		return ""
	})
}

func TestCommands(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure")
	s.oneSummary(p)

	s.reacts(s.say(p, "outsider", "/compat recheck"), "-1")
	s.reacts(s.say(p, "maintainer", "/compat frobnicate"), "confused")
	s.reacts(s.say(p, "maintainer", "/compat accept pow"), "confused")
	s.reacts(s.say(p, "outsider", "/compat accept pow because I say so"), "-1")
	if n := s.verdicts(p.HeadSHA); n != 1 {
		t.Errorf("%d verdicts after commands that change nothing", n)
	}
	s.say(
		p,
		"maintainer",
		"/compat explain pow\n\n/compat explain symbol-version-too-new\n\n/compat help",
	)
	s.until(func() string {
		cs := s.bot(p)
		for _, word := range []string{"GLIBC_2.29", "symbol-version-too-new", "/compat recheck"} {
			if !strings.Contains(cs[len(cs)-1].Body, word) {
				return "the reply doesn't say " + word + ": " + cs[len(cs)-1].Body
			}
		}
		return ""
	})
	s.reacts(s.say(p, "maintainer", "/compat recheck"), "+1")
	s.until(func() string {
		if s.verdicts(p.HeadSHA) != 2 {
			return "not checked again"
		}
		return ""
	})
	s.want(s.concluded(p.HeadSHA), "failure")
	s.reacts(
		s.say(
			p,
			"maintainer",
			"/compat accept `pow` because only for AlmaLinux 9 until 2999-01-01",
		),
		"+1",
	)
	s.until(func() string {
		if k := s.concluded(p.HeadSHA); k.Conclusion != "success" ||
			!strings.Contains(k.Summary, "accepted `pow`") ||
			!strings.Contains(k.Summary, "maintainer") {
			return "not accepted: " + k.Conclusion + k.Summary
		}
		return ""
	})
	s.oneSummary(p)
}

func TestRerunOfAForksHead(t *testing.T) {
	s := start(t, time.Minute)
	fork := s.gh.Fork(s.repo, "contributor")
	p := s.gh.OpenPull(
		s.repo,
		fork,
		"fix",
		s.gh.User("contributor"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.send("pull_request", s.gh.PullEvent(p, "opened"))
	s.finish(p, bad("1.1.0"))
	k := s.concluded(p.HeadSHA)
	s.send("check_run", s.gh.CheckEvent(s.repo, k.ID, "rerequested", "", s.gh.User("maintainer")))
	s.until(func() string {
		if s.verdicts(p.HeadSHA) != 2 {
			return "check_run.rerequested: not checked again"
		}
		return ""
	})
	s.send("check_suite", s.gh.SuiteEvent(s.repo, p.HeadSHA, "rerequested", s.gh.User("maintainer")))
	s.until(func() string {
		if s.verdicts(p.HeadSHA) != 3 {
			return "check_suite.rerequested: not checked again"
		}
		return ""
	})
}

func TestMergeGroup(t *testing.T) {
	s := start(t, 3*time.Second)
	p := s.open("feature")
	sha, _ := s.group(p, bad("1.1.0"))
	s.want(s.concluded(sha), "failure", "pow")

	lonely := s.gh.Commit(s.repo, githubtest.GroupBranch(p)+"x", map[string]string{"b.py": "x = 1\n"})
	s.send("merge_group", s.gh.MergeGroupEvent(p, lonely, "checks_requested"))
	s.want(s.concluded(lonely), "failure", "no artifacts")
}

func TestReleases(t *testing.T) {
	s := start(t, time.Minute)
	for _, tag := range []string{"v1", "v2"} {
		s.gh.Tag(s.repo, tag, s.gh.Commit(s.repo, "main", map[string]string{"version": tag + "\n"}))
	}
	open := githubtest.NewAsset(wheelName("2.0"), wheel("2.0", "pow@GLIBC_2.29"))
	open.State = "open"
	first := s.gh.AddRelease(
		s.repo,
		"v1",
		githubtest.NewAsset(wheelName("1.0"), wheel("1.0", "pow@GLIBC_2.2.5")),
		githubtest.NewAsset("SHA256SUMS.txt", []byte("0  x\n")),
	)
	second := s.gh.AddRelease(s.repo, "v2")
	s.send("release", s.gh.ReleaseEvent(s.repo, first, "published"))
	s.send("release", s.gh.ReleaseEvent(s.repo, second, "published"))
	time.Sleep(500 * time.Millisecond)
	s.gh.AddAsset(second, open)
	time.Sleep(500 * time.Millisecond)
	s.gh.Do(func() { open.State = "uploaded" })
	var v1, v2 string
	s.gh.Do(func() { v1, v2 = s.repo.Tags["v1"], s.repo.Tags["v2"] })
	s.want(s.concluded(v1), "success")
	s.want(s.concluded(v2), "failure", "pow")
}

func TestReleaseWithoutAssets(t *testing.T) {
	s := start(t, 2*time.Second)
	var sha string
	s.gh.Do(func() { sha = s.repo.Branches["main"] })
	s.gh.Tag(s.repo, "v1", sha)
	s.send("release", s.gh.ReleaseEvent(s.repo, s.gh.AddRelease(s.repo, "v1"), "published"))
	s.want(s.concluded(sha), "neutral", "othing to check")
}

func TestGates(t *testing.T) {
	s := start(t, 2*time.Second)
	s.gh.Fault("actions/review-custom-gates-for-run", 3, githubtest.Fault{Status: 502})
	s.gh.BranchRun(s.repo, "main", bad("1.0.0")) // a gate ignores findings of the base
	for _, c := range []struct {
		name, want, word, report string
		artifacts                []*githubtest.Artifact
	}{
		{"clean", "approved", "", "", []*githubtest.Artifact{clean("1.1.0")}},
		{"bad", "rejected", "pow", "Checking the artifacts of the workflow run.",
			[]*githubtest.Artifact{bad("1.1.0")}},
		{"nothing", "rejected", "artifact",
			"Waiting for artifacts. The workflow run uploaded no artifact.", nil},
	} {
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
				Artifacts: c.artifacts,
			},
		)
		g := s.gh.AddGate(w, "pypi")
		s.send(
			"deployment_protection_rule",
			s.gh.GateEvent(
				g,
				"https://evil.example/repos/x/y/actions/runs/"+strconv.FormatInt(
					w.ID,
					10,
				)+"/deployment_protection_rule",
			),
		)
		s.until(func() string {
			state := ""
			if s.gh.Do(func() { state = g.State }); state == "" {
				return c.name + ": never answered"
			}
			return ""
		})
		s.gh.Do(func() {
			text := strings.Join(g.Comments, "\n")
			if g.State != c.want || g.Answers != 1 || !strings.Contains(text, c.word) ||
				utf8.RuneCountInString(text) > 1024 {
				t.Errorf("%s: %s %d times: %s", c.name, g.State, g.Answers, text)
			}
			if strings.Join(g.Reports, "\n") != c.report { // a failed one is not repeated
				t.Errorf("%s: reports %q, want %q", c.name, g.Reports, c.report)
			}
		})
	}
}
