package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/redistest"
)

func TestOpenedPullHasACheckAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, world{}, func(s *story, _ *redistest.Server) {
		p := s.Open()
		k := s.Queued(p.HeadSHA)
		if k.Name != "compat" || k.Conclusion != "" {
			s.Errorf(
				"%s is %s %s, want compat without a conclusion while CI runs",
				k.Name,
				k.Status,
				k.Conclusion,
			)
		}
		never(s, time.Second, func() string {
			if s.Verdicts(p.HeadSHA) > 0 {
				return "concluded before CI has ended"
			}
			return ""
		})
		s.Finish(p, wheels(cases.CaseA("1.5.1")))
		s.want(s.Concluded(p.HeadSHA), "failure")
		s.Once(p, p.HeadSHA)
	})
}

func TestCaseA(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	k := s.Concluded(p.HeadSHA)
	s.says(shown(k), "pow", "GLIBC_2.29", "GLIBCXX_3.4.21", "CXXABI_1.3.8", "warp.so")
	if !strings.Contains(k.Title, "tagged manylinux2014, but needs manylinux_2_31") {
		s.Errorf("the title names nothing of the finding: %s", k.Title)
	}
	s.tells(p, k, "manylinux_2_31")
}

func TestCaseB(t *testing.T) {
	s := tell(t, world{})
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "__nvJitLinkGetErrorLogSize_12_9", "12.8")
	s.says(plain(k.Title), "nvJitLink")
	s.tells(p, k, "nvidia-nvjitlink-cu12>=12.9")

	// The pin is a line of the diff: the fix is a suggestion there, and changes nothing else in the
	// line.
	eventually(s, func() string {
		why := "no review comment on pyproject.toml:8"
		s.gh.Do(func() {
			for _, th := range p.Threads {
				if th.Path == "pyproject.toml" && th.Line == 8 {
					why = ""
					s.says(
						th.Comments[0].Body,
						"```suggestion\n    \"nvidia-nvjitlink-cu12>=12.9\",\n```",
					)
				}
			}
		})
		return why
	})
}

func TestCaseBPinnedByTorch(t *testing.T) {
	s := tell(t, world{})
	s.Configure("python:\n  with:\n    - torch==2.8.0\n")
	p := s.Open()
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.tells(p, k, "__nvJitLinkGetErrorLogSize_12_9", "torch", "2.8.0", "12.8.93")
}

func TestCaseC(t *testing.T) {
	s := tell(t, world{})
	s.Configure("python:\n  with:\n    - torch==2.4.0+rocm6.1\n")
	p := s.Open()
	s.Finish(p, wheels(cases.CaseC("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "libc10_cuda.so", "selective_scan_cuda")
	s.tells(p, k, "rocm", "hip")
}

func TestCaseD(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	name, content := cases.CaseD()
	s.Finish(p, artifact("libraries", cases.Zip(map[string][]byte{"build/" + name: content})))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "dlopen", "dlsym", "libcufile.so")
	s.tells(p, k, "-Wl,--no-as-needed -ldl")
}

func TestCleanPasses(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	for _, a := range k.Annotations {
		if a.Level == "failure" {
			s.Errorf("a clean wheel is annotated: %s", a.Message)
		}
	}
	never(s, time.Second, func() string { // no comment is needed if nothing is wrong
		if s.written(p) != "" {
			return "commented on a clean pull request: " + s.written(p)
		}
		return ""
	})
}

func TestExistingFindingPasses(t *testing.T) {
	s := tell(t, world{})
	s.Configure("fail_on: error\n", cases.CaseA("1.5.0"))
	p := s.Open()
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.tells(p, k, "manylinux_2_31", "already on main")

	q := s.OpenWith("second", requiring("packaging>=25"))
	s.Finish(q, wheels(cases.CaseA("1.6.1"), cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k = s.Concluded(q.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "__nvJitLinkGetErrorLogSize_12_9")
}

// githubtest refuses annotations on files and lines that do not exist at the head; this story has
// annotations.
func TestAnnotationsAreOnFilesOfTheHead(t *testing.T) {
	s := tell(t, world{})
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"), cases.CaseA("1.5.1")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	if len(k.Annotations) == 0 {
		s.Error("no annotation")
	}
}

func TestPushDuringAnAnalysis(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	old, slow := p.HeadSHA, wheels(cases.CaseA("1.5.1"))
	slow.Slow = 30 * time.Second // far longer than a newer push takes to supersede it
	s.Finish(p, slow)
	eventually(s, func() string {
		if s.downloads(&slow.Blob) == 0 {
			return "the first head's artifact is not downloaded"
		}
		return ""
	})
	head := s.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(cases.Clean("1.2.0")))
	s.want(s.Concluded(head), "success")
	s.want(s.Concluded(old), "cancelled", "skipped", "neutral")
	never(s, 2*time.Second, func() string {
		if strings.Contains(s.written(p), "GLIBC_2.29") {
			return "a comment speaks of the head that was superseded"
		}
		return ""
	})
	s.want(s.Concluded(old), "cancelled", "skipped", "neutral")
}

func TestBurstOfPushes(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	for i := range 20 {
		s.Push(p, map[string]string{"n.py": fmt.Sprintf("n = %d\n", i)})
	}
	a := wheels(cases.CaseA("1.5.1"))
	s.Finish(p, a)
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Summary(p)
	never(s, 2*time.Second, func() string {
		verdicts := 0
		for _, sha := range p.Heads {
			for _, k := range s.gh.Checks(s.repo, sha) {
				if k.Conclusion == "success" || k.Conclusion == "failure" {
					verdicts += k.Verdicts
				}
			}
		}
		if n := s.downloads(&a.Blob); verdicts > 1 || n > 3 {
			return fmt.Sprintf("%d verdicts and %d downloads for 20 pushes", verdicts, n)
		}
		return ""
	})
	s.Summary(p)
}

func TestFork(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("opened lost %v", lost), func(t *testing.T) {
			s := tell(t, world{})
			fork := s.gh.Fork(s.repo, "contributor")
			p := s.gh.OpenPull(s.repo, fork, "fix", s.gh.User("contributor"), requiring("packaging>=24"))
			if !lost {
				s.Send("pull_request", s.gh.PullEvent(p, "opened"))
			}
			s.Finish(p, wheels(cases.CaseA("1.5.1")))
			k := s.Concluded(p.HeadSHA)
			s.want(k, "failure")
			s.says(shown(k), "GLIBC_2.29")
			s.Summary(p)
		})
	}
}

func TestClosedAndReopened(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	for _, step := range []struct{ state, action string }{{"closed", "closed"}, {"open", "reopened"}} {
		s.gh.Do(func() { p.State = step.state })
		s.Send("pull_request", s.gh.PullEvent(p, step.action))
	}
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
}

func TestOutOfOrder(t *testing.T) {
	s := tell(t, world{})
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	opened := s.gh.PullEvent(p, "opened")
	s.gh.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.Send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.Send("pull_request", opened)
	s.want(s.Concluded(p.HeadSHA), "failure")
	never(s, 2*time.Second, func() string {
		for _, k := range s.gh.Checks(s.repo, p.Heads[0]) {
			if k.Conclusion == "success" || k.Conclusion == "failure" {
				return "the old head got a verdict"
			}
		}
		return ""
	})
}

func TestEnterpriseServer(t *testing.T) {
	s := tell(t, world{prefix: "/api/v3"})
	s.Summary(s.Bad())
}

func TestReportPage(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	k := s.Concluded(p.HeadSHA)
	if !strings.HasPrefix(k.DetailsURL, s.app.url("/reports/")) {
		s.Fatalf("details_url is %q", k.DetailsURL)
	}
	code, page := s.app.get(k.DetailsURL)
	if code != 200 {
		s.Errorf("the report answers %d", code)
	}
	s.says(plain(page), "pow", "GLIBC_2.29")
	last := k.DetailsURL[len(k.DetailsURL)-1]
	other := k.DetailsURL[:len(k.DetailsURL)-1] + string(rune('a'+(last+1)%26))
	for _, url := range []string{other, s.app.url("/reports/nothing")} {
		if code, _ := s.app.get(url); code == 200 {
			s.Errorf("%s answers 200", url)
		}
	}
}
