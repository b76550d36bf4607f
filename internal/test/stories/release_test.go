package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

func asset(w cases.Wheel) *githubtest.Asset {
	name, content := w.File()
	return githubtest.NewAsset(name, content)
}

// publish tags main and sends the event of the release; it also returns the tag's commit.
func (s *story) publish(assets ...*githubtest.Asset) (*githubtest.Release, string) {
	s.Helper()
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.1.0\n"})
	s.gh.Tag(s.repo, "v1.1.0", sha)
	l := s.gh.AddRelease(s.repo, "v1.1.0", assets...)
	s.Send("release", s.gh.ReleaseEvent(s.repo, l, "published"))
	return l, sha
}

func TestReleaseWithABadAsset(t *testing.T) {
	s := tell(t, world{})
	_, sha := s.publish(asset(cases.Clean("1.1.0")), asset(cases.CaseA("1.5.1")))
	k := s.Concluded(sha)
	s.want(k, "failure")
	s.says(shown(k), "pow", "GLIBC_2.29")
}

// publishedBefore adds a release of an hour ago.
func (s *story) publishedBefore(assets ...*githubtest.Asset) {
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.0.0\n"})
	s.gh.Tag(s.repo, "v1.0.0", sha)
	l := s.gh.AddRelease(s.repo, "v1.0.0", assets...)
	s.gh.Do(func() { l.At = l.At.Add(-time.Hour) })
}

// The wheels of a release for several systems, and what the release before it had.
func TestReleaseForSeveralSystems(t *testing.T) {
	s := tell(t, world{})
	s.publishedBefore(asset(cases.Clean("1.0.0")), asset(cases.MacOS("1.0.0")), asset(cases.Windows("1.0.0")))
	_, sha := s.publish(asset(cases.Clean("1.1.0")), asset(cases.MacOS("1.1.0")))
	k := s.Concluded(sha)
	s.want(k, "failure")
	s.says(shown(k), "libfoo.1.dylib", "delocate-wheel",
		"- clean_ext-1.1.0-cp311-cp311-macosx_11_0_arm64.whl: 1 error", "- 1 other file: no errors",
		"clean-ext has no wheel for Windows (x86-64), but v1.0.0 has")
}

// A library for macOS is read, whether in a wheel or not.
func TestReleaseOfALibraryForMacOS(t *testing.T) {
	s := tell(t, world{})
	_, sha := s.publish(asset(cases.Clean("1.1.0")), githubtest.NewAsset("libclean.dylib",
		cases.MacOS("1.1.0").Files["clean/_clean.cpython-311-darwin.so"]))
	k := s.Concluded(sha)
	s.notPassed(k)
	s.says(shown(k), "libclean.dylib", "libfoo.1.dylib")
}

// An archive that cannot be read does not pass, as an asset of a release or in an artifact.
func TestArchivesThatAreNotRead(t *testing.T) {
	t.Parallel()
	rar := []byte("Rar!\x1a\x07\x01\x00 and so on")
	t.Run("release", func(t *testing.T) {
		s := tell(t, world{})
		_, sha := s.publish(asset(cases.Clean("1.1.0")), githubtest.NewAsset("widget.rar", rar))
		k := s.Concluded(sha)
		s.notPassed(k)
		s.says(shown(k), "widget.rar", "a RAR archive")
	})
	t.Run("artifact", func(t *testing.T) {
		s := tell(t, world{})
		p := s.Open()
		s.Finish(p, artifact("wheels", cases.Zip(map[string][]byte{"widget.rar": rar})))
		k := s.Concluded(p.HeadSHA)
		s.notPassed(k)
		s.says(shown(k), "widget.rar", "a RAR archive")
	})
}

// No finding needs the base, and the wheels of the earlier release are known by their names.
func TestCleanReleaseWithoutASystem(t *testing.T) {
	s := tell(t, world{})
	s.publishedBefore(asset(cases.Clean("1.0.0")), asset(cases.Windows("1.0.0")))
	_, sha := s.publish(asset(cases.Clean("1.1.0")))
	k := s.Concluded(sha)
	s.want(k, "success")
	s.says(shown(k), "clean-ext has no wheel for Windows (x86-64), but v1.0.0 has")
}

func TestCleanRelease(t *testing.T) {
	s := tell(t, world{})
	_, sha := s.publish(
		asset(cases.Clean("1.1.0")),
		githubtest.NewAsset("NOTES.txt", []byte("hello\n")),
	)
	s.want(s.Concluded(sha), "success")
}

func TestReleaseAssetsUploadedLater(t *testing.T) {
	s := tell(t, world{})
	bad := asset(cases.CaseA("1.5.1"))
	bad.State = "open"
	l, sha := s.publish(bad)
	s.Queued(sha)
	s.gh.AddAsset(l, asset(cases.Clean("1.1.0")))
	never(s, 3*time.Second, func() string {
		if s.Verdicts(sha) > 0 {
			return "judged while an asset is being uploaded"
		}
		return ""
	})
	s.gh.Do(func() { bad.State = "uploaded" })
	s.want(s.Concluded(sha), "failure")
}

func TestReleaseWithoutAssets(t *testing.T) {
	s := tell(t, world{wait: 3 * time.Second})
	_, sha := s.publish()
	k := s.Concluded(sha)
	s.want(k, "success", "neutral", "action_required", "failure")
	if said := strings.ToLower(shown(k)); !strings.Contains(said, "nothing to") &&
		!strings.Contains(said, "no asset") {
		s.Errorf("doesn't say that there was nothing to check:\n%s", said)
	}
}

// gate makes the newest run of main wait for the environment pypi and sends the event. host is that
// of the callback; "" = GitHub's own.
func (s *story) gate(host string, artifacts ...*githubtest.Artifact) *githubtest.Gate {
	s.Helper()
	s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.1.0\n"})
	w := s.gh.BranchRun(s.repo, "main", artifacts...)
	s.gh.Do(func() { w.Status, w.Conclusion = "waiting", "" })
	g, callback := s.gh.AddGate(w, "pypi"), ""
	if host != "" {
		callback = fmt.Sprintf(
			"%s/repos/acme/widget/actions/runs/%d/deployment_protection_rule",
			host,
			w.ID,
		)
	}
	s.Send("deployment_protection_rule", s.gh.GateEvent(g, callback))
	return g
}

func (s *story) answered(g *githubtest.Gate, want string) string {
	s.Helper()
	state, comment := "", ""
	eventually(s, func() string {
		s.gh.Do(func() {
			if state = g.State; state != "" {
				comment = g.Comments[len(g.Comments)-1]
			}
		})
		if state == "" {
			return "the gate is not answered"
		}
		return ""
	})
	if state != want {
		s.Errorf("the gate is %s, want %s: %s", state, want, comment)
	}
	s.gh.Do(func() {
		if g.Answers != 1 {
			s.Errorf("the gate was answered %d times", g.Answers)
		}
	})
	return plain(comment)
}

func TestGate(t *testing.T) {
	t.Parallel()
	t.Run("clean", func(t *testing.T) {
		s := tell(t, world{})
		s.answered(s.gate("", wheels(cases.Clean("1.1.0"))), "approved")
	})
	t.Run("bad", func(t *testing.T) {
		s := tell(t, world{})
		s.says(s.answered(s.gate("", wheels(cases.CaseA("1.5.1"))), "rejected"), "GLIBC")
	})
	t.Run("existing finding", func(t *testing.T) {
		s := tell(t, world{})
		s.Configure("fail_on: error\n", cases.CaseA("1.5.0"))
		s.answered(s.gate("", wheels(cases.CaseA("1.5.1"))), "rejected")
	})
	t.Run("no artifacts", func(t *testing.T) {
		s := tell(t, world{wait: 3 * time.Second})
		if comment := s.answered(s.gate(""), "rejected"); !strings.Contains(comment, "artifact") {
			s.Errorf("rejected because %q", comment)
		}
	})
	t.Run("the gate's own API fails", func(t *testing.T) {
		s := tell(t, world{})
		s.gh.Fault("actions/review-custom-gates-for-run", 3, githubtest.Fault{Status: 502})
		s.answered(s.gate("", wheels(cases.Clean("1.1.0"))), "approved")
	})
	t.Run("a callback elsewhere", func(t *testing.T) {
		s := tell(t, world{})
		// The storage accepts no Authorization header.
		s.answered(s.gate(s.gh.StorageURL(), wheels(cases.Clean("1.1.0"))), "approved")
	})
}

func TestGateReportsProgress(t *testing.T) {
	// A report is not made again if its first upload was lost with a lease.
	s := tell(t, world{env: map[string]string{"COMPAT_LEASE": "1m"}})
	w := s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.1.0")))
	s.gh.Do(func() { w.Status, w.Conclusion, w.HideLists = "in_progress", "", 4 })
	g := s.gh.AddGate(w, "pypi")
	s.Send("deployment_protection_rule", s.gh.GateEvent(g, ""))
	s.answered(g, "approved")
	s.gh.Do(func() {
		if len(g.Reports) != 2 ||
			!strings.Contains(
				plain(g.Reports[0]),
				"Waiting for artifacts. The workflow run \"wheels\" has not ended",
			) ||
			!strings.Contains(g.Reports[1], "Checking") {
			t.Errorf("reports %q, want one of the wait and one of the analysis", g.Reports)
		}
	})
}

// group creates the commit of a merge group and sends the event.
func (s *story) group() (*githubtest.Pull, string) {
	s.Helper()
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	sha := s.gh.Commit(s.repo, githubtest.GroupBranch(p), requiring("packaging>=24"))
	s.Send("merge_group", s.gh.MergeGroupEvent(p, sha, "checks_requested"))
	return p, sha
}

func TestMergeGroup(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]cases.Wheel{"success": cases.Clean("1.1.0"),
		"failure": cases.CaseA("1.5.1")} {
		t.Run(want, func(t *testing.T) {
			s := tell(t, world{})
			p, sha := s.group()
			s.Queued(sha)
			run := s.gh.AddRun(
				&githubtest.Run{
					Repo:      s.repo,
					Head:      s.repo,
					Branch:    githubtest.GroupBranch(p),
					SHA:       sha,
					Event:     "merge_group",
					Artifacts: []*githubtest.Artifact{wheels(w)},
				},
			)
			s.Send("workflow_run", s.gh.RunEvent(run, "completed"))
			s.want(s.Concluded(sha), want)
		})
	}
	t.Run("without CI", func(t *testing.T) {
		s := tell(t, world{wait: 3 * time.Second})
		_, sha := s.group()
		s.notPassed(s.Concluded(sha))
	})
}
