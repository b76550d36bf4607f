package stories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// documents is a change of many documents, and of other files.
func documents(n int, others map[string]string) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("docs/%05d.md", i)] = fmt.Sprintf("# Page %d\n", i)
	}
	maps.Copy(all, others)
	return all
}

// passes returns why the newest check of a commit allows the merge; "" if it does not.
func (s *story) passes(sha string) string {
	checks := s.gh.Checks(s.repo, sha)
	if len(checks) == 0 {
		return ""
	}
	k := checks[0]
	for _, other := range checks {
		if other.ID > k.ID {
			k = other
		}
	}
	if c := k.Conclusion; c == "success" || c == "neutral" || c == "skipped" {
		return "the check passes: " + k.Title + "\n" + k.Summary
	}
	return ""
}

// shut waits until the check of a commit is concluded without passing, and for a while after that.
func (s *story) shut(sha string) githubtest.Check {
	s.Helper()
	s.Concluded(sha)
	never(s, 2*time.Second, func() string { return s.passes(sha) })
	k := s.Concluded(sha)
	s.notPassed(k)
	return k
}

// GitHub lists 300 files of a comparison and 3,000 of a pull request. What is behind them counts.
func TestFullListOfFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change map[string]string
		passes bool
	}{
		"documents alone":    {documents(400, map[string]string{"LICENSE": "free\n"}), true},
		"all of a full list": {documents(3001, nil), true},
		"source after 300":   {documents(305, map[string]string{"src/x.c": "int x;\n"}), false},
		"source after 3,000": {documents(3005, map[string]string{"src/x.c": "int x;\n"}), false},
		"a submodule of the documentation": {map[string]string{
			"docs/theme": githubtest.Submodule + "0123456789abcdef0123456789abcdef01234567\n"}, false},
		"a picture":             {map[string]string{"docs/logo.svg": "<svg/>\n"}, true},
		"source named LICENSE_": {map[string]string{"LICENSE_x.c": "int x;\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{})
			p := s.OpenWith("docs", c.change)
			if c.passes {
				s.want(s.Concluded(p.HeadSHA), "success")
				return
			}
			s.Queued(p.HeadSHA)
			s.Free()
			never(s, time.Second, func() string { return s.passes(p.HeadSHA) })
			s.Finish(p, wheels(cases.CaseA("1.5.1")))
			s.want(s.shut(p.HeadSHA), "failure")
		})
	}
}

// Somebody pushes documents alone while GitHub's list of the changed files is read page by page,
// and then the commit with more again.
func TestListOfFilesThatAPushShortens(t *testing.T) {
	s := tell(t, world{})
	s.gh.Commit(s.repo, "decoy", documents(300, nil))
	p := s.gh.OpenPull(s.repo, s.repo, "docs", s.gh.User("maintainer"),
		documents(305, map[string]string{"src/x.c": "int x;\n"}))
	sha := p.HeadSHA
	push := func(sha func() string) func() {
		return func() { s.gh.Do(func() { p.HeadSHA = sha() }) }
	}
	s.gh.Fault("repos/compare-commits-with-basehead", 1, githubtest.Fault{
		Do: push(func() string { return s.repo.Branches["decoy"] }),
	})
	back := githubtest.Fault{Do: push(func() string { return sha })}
	s.gh.FaultAfter("pulls/list-files", 2, 1, back)
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	s.Queued(sha)
	s.Free()
	push(func() string { return sha })()
	never(s, 2*time.Second, func() string { return s.passes(sha) })
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.shut(sha), "failure")
}

// cuda is a second artifact of the workflow wheels.
func cuda(version string) *githubtest.Artifact {
	return artifact("wheels-cuda", cases.Dist(cases.CaseC(version)))
}

// The last run of the base had wheels and wheels-cuda. Whatever else a head has, it does not pass
// without them.
func TestMissingArtifacts(t *testing.T) {
	t.Parallel()
	text := func() *githubtest.Artifact { // each simulated GitHub has its own
		return artifact("wheels", cases.Zip(map[string][]byte{"README.txt": []byte("no wheel\n")}))
	}
	pure := cases.Wheel{
		Name: "clean-ext", Version: "1.1.0", Tags: []string{"py3-none-any"},
		Files: map[string][]byte{"clean/__init__.py": []byte("x = 1\n")},
	}
	emptied, decoy := cases.Clean("1.1.0"), cases.Clean("1.1.0").Files
	emptied.Files = pure.Files
	delete(decoy, "clean/__init__.py")
	for name, c := range map[string]struct {
		path, conclusion string
		has              []*githubtest.Artifact
		says             string
	}{
		"one of two": {"", "success", []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
			"wheels-cuda"},
		"another workflow": {other, "success",
			[]*githubtest.Artifact{artifact("coverage", []byte("90 %"))}, "has not run"},
		"canceled": {"", "cancelled", []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
			"was cancelled"},
		"a text": {"", "success", []*githubtest.Artifact{text(), cuda("1.1.0")}, "no native code"},
		"a pure wheel": {"", "success", []*githubtest.Artifact{wheels(pure), cuda("1.1.0")},
			"no native code"},
		"a wheel without its library, and the library": {"", "success", []*githubtest.Artifact{
			artifact("wheels", cases.Zip(emptied.Under(""), decoy)), cuda("1.1.0")},
			"the artifact of wheels.yml has no wheel with native code"},
		"a wheel without its library, and one with": {"", "success", []*githubtest.Artifact{
			wheels(emptied, cases.CaseC("1.1.0")), cuda("1.1.0")},
			"the wheel in wheels of wheels.yml contains no native code"},
		"another system": {"", "success",
			[]*githubtest.Artifact{wheels(cases.Windows("1.1.0")), cuda("1.1.0")},
			"clean_ext-cp311-cp311-manylinux_x86_64"},
		"another name": {"", "success", []*githubtest.Artifact{artifact("whl",
			cases.Dist(cases.Clean("1.1.0"))), text(), cuda("1.1.0")}, "no native code"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{wait: 30 * time.Second})
			s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"))
			p := s.Open()
			w := s.gh.AddRun(&githubtest.Run{
				Repo: s.repo, Head: s.repo, Branch: p.HeadRef, SHA: p.HeadSHA, Event: "pull_request",
				Pull: p, Name: "wheels", Path: cmp.Or(c.path, ".github/workflows/wheels.yml"),
				Conclusion: c.conclusion, Artifacts: c.has,
			})
			s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
			k := s.shut(p.HeadSHA)
			s.says(shown(k), "Missing", c.says, "/compat accept missing")
		})
	}
}

// A workflow that builds every pushed branch starts for pull requests of the repository, so what it
// does not upload is missing.
func TestMissingArtifactsOfPushedBranches(t *testing.T) {
	t.Parallel()
	for filter, missing := range map[string]bool{
		`["**"]`: true, `["**", "!change-*"]`: false, `[main]`: false,
	} {
		t.Run(filter, func(t *testing.T) {
			s := tell(t, world{wait: 30 * time.Second})
			s.gh.Commit(s.repo, "main", map[string]string{
				".github/workflows/wheels.yml": "on:\n  push:\n    branches: " + filter + "\njobs: {}\n",
			})
			s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")))
			p := s.OpenWith("change-1", requiring("packaging>=23"))
			s.gh.AddRun(&githubtest.Run{
				Repo: s.repo, Head: s.repo, Branch: p.HeadRef, SHA: p.HeadSHA, Event: "push",
				Name: "wheels", Path: ".github/workflows/wheels.yml", Conclusion: "cancelled",
			})
			w := s.gh.AddRun(&githubtest.Run{
				Repo: s.repo, Head: s.repo, Branch: p.HeadRef, SHA: p.HeadSHA, Event: "pull_request",
				Pull: p, Name: "other", Path: other, Conclusion: "success",
				Artifacts: []*githubtest.Artifact{artifact("coverage",
					cases.Zip(map[string][]byte{"coverage.txt": []byte("90 %")}))},
			})
			s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
			if !missing {
				s.want(s.Concluded(p.HeadSHA), "success")
				return
			}
			s.says(shown(s.shut(p.HeadSHA)), "Missing", "wheels", "was cancelled")
		})
	}
}

// A person accepts what is missing, for this pull request; what else is missing still fails.
func TestAcceptMissing(t *testing.T) {
	s := tell(t, world{})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"),
		artifact("wheels-arm", []byte("x")))
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "wheels-cuda", "wheels-arm")
	s.Free()
	before := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat accept missing wheels-cuda because CUDA has its own package")
	k = s.Again(p.HeadSHA, before)
	s.notPassed(k)
	s.says(shown(k), "accepted that wheels-cuda is missing because CUDA has its own package")
	s.Free()
	c := s.Say(p.Number, "outsider", "/compat accept missing wheels-arm because I say so")
	s.Free()
	s.notPassed(s.Concluded(p.HeadSHA))
	before = s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat accept missing wheels-* because both are gone")
	s.want(s.Again(p.HeadSHA, before), "success")
	if got := s.reactions(c); slices.Contains(got, "+1") {
		t.Errorf("reactions to an outsider: %q", got)
	}
	// It also counts for the next head.
	sha := s.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(cases.Clean("1.1.1")))
	s.want(s.Concluded(sha), "success")
	s.Free()
	before = s.Verdicts(sha)
	s.Say(p.Number, "maintainer", "/compat unaccept missing wheels-arm")
	s.notPassed(s.Again(sha, before))
}

// A workflow may upload more for pushes than for pull requests. The runs of the last merged pull
// requests show that; a pull request that was not merged does not.
func TestArtifactsOfPushesAlone(t *testing.T) {
	t.Parallel()
	for merged, want := range map[bool]string{true: "success", false: "action_required"} {
		t.Run(want, func(t *testing.T) {
			s := tell(t, world{})
			s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"))
			last := s.OpenWith("last", requiring("packaging>=23"))
			s.gh.PullRun(last, wheels(cases.Clean("1.0.1")))
			s.gh.Do(func() { last.State, last.Merged = "closed", merged })
			p := s.Open()
			s.Finish(p, wheels(cases.Clean("1.1.0")))
			s.want(s.Concluded(p.HeadSHA), want)
		})
	}
}

// Anybody can open a pull request from a fork with the commit of a merged one. Its runs do not show
// what the workflows upload.
func TestRunOfAForkWithAMergedCommit(t *testing.T) {
	s := tell(t, world{})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"))
	last := s.OpenWith("last", requiring("packaging>=23"))
	s.gh.PullRun(last, wheels(cases.Clean("1.0.1")), cuda("1.0.1"))
	s.gh.Do(func() { last.State, last.Merged = "closed", true })
	q := s.gh.OpenSame(last, "main")
	fork := s.gh.Fork(s.repo, "outsider")
	s.gh.Do(func() { q.Head, q.HeadRef, q.Author = fork, "mine", fork.Owner })
	s.gh.PullRun(q, wheels(cases.Clean("1.0.1")))
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	s.says(shown(s.shut(p.HeadSHA)), "wheels-cuda")
}

// What the base's configuration does not select is not expected, and is named if a head has it.
func TestUnselectedArtifacts(t *testing.T) {
	s := tell(t, world{})
	s.gh.Commit(s.repo, "main", map[string]string{settings: "artifacts: [wheels]\n"})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"))
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")), artifact("whl", cases.Dist(cases.CaseA("1.5.1"))))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "not selected by artifacts", "whl")
}

// Merge groups are compared with the base too.
func TestMissingArtifactsOfAMergeGroup(t *testing.T) {
	s := tell(t, world{})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")), cuda("1.0.0"))
	p, sha := s.group()
	run := s.gh.AddRun(&githubtest.Run{
		Repo: s.repo, Head: s.repo, Branch: githubtest.GroupBranch(p), SHA: sha, Event: "merge_group",
		Artifacts: []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
	})
	s.Send("workflow_run", s.gh.RunEvent(run, "completed"))
	k := s.Concluded(sha)
	s.notPassed(k)
	s.says(shown(k), "wheels-cuda")
}

// One commit is the head of pull requests to two branches. A run for one says nothing about the
// other; a run whose pull request GitHub does not tell counts for both, if it is not the newest too.
func TestRunsOfAnotherPull(t *testing.T) {
	t.Parallel()
	for _, fork := range []bool{false, true} {
		t.Run(fmt.Sprint("fork ", fork), func(t *testing.T) {
			s := tell(t, world{})
			s.gh.Commit(s.repo, "release-1.x", map[string]string{"CHANGES": "1.x\n"})
			s.gh.BranchRun(s.repo, "release-1.x", wheels(cases.Clean("1.0.0")))
			head := s.repo
			if fork {
				head = s.gh.Fork(s.repo, "outsider")
			}
			p := s.gh.OpenPull(s.repo, head, "feature", s.gh.User("outsider"), requiring("packaging>=24"))
			q := s.gh.OpenSame(p, "release-1.x")
			s.Send("pull_request", s.gh.PullEvent(p, "opened"))
			s.Send("pull_request", s.gh.PullEvent(q, "opened"))
			s.Queued(p.HeadSHA)
			s.Free()
			bad := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
			good := s.gh.PullRun(q, wheels(cases.Clean("1.1.0")))
			s.Send("workflow_run", s.gh.RunEvent(bad, "completed"))
			s.Send("workflow_run", s.gh.RunEvent(good, "completed"))
			s.stands(p.HeadSHA, "failure")
			s.Free()
			s.stands(p.HeadSHA, "failure")
		})
	}
}

// Somebody opens a pull request from a fork with the commit of another one, and has no artifacts.
func TestPeerWithoutArtifacts(t *testing.T) {
	s := tell(t, world{wait: 3 * time.Second})
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	s.want(s.Concluded(p.HeadSHA), "success")
	q := s.gh.OpenSame(p, "main")
	fork := s.gh.Fork(s.repo, "outsider")
	s.gh.Do(func() { q.Head, q.HeadRef, q.Author = fork, "mine", fork.Owner })
	s.Send("pull_request", s.gh.PullEvent(q, "opened"))
	never(s, 6*time.Second, func() string {
		for _, k := range s.gh.Checks(s.repo, p.HeadSHA) {
			if k.Conclusion != "success" {
				return "a check is " + k.Status + " " + k.Conclusion + ": " + k.Title
			}
		}
		return ""
	})
	// Without the other one there is nothing that was checked.
	s.gh.Do(func() { p.State = "closed" })
	s.Send("pull_request", s.gh.PullEvent(p, "closed"))
	s.stands(p.HeadSHA, "failure")
}

// A fork lacks the artifacts that main requires. What passes for a branch that requires less, with
// the same commit, does not stand in for them.
func TestPeerForAnotherBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings  string
		artifacts []*githubtest.Artifact
	}{
		"nothing checked": {settings: "documentation: ['src/**']\n"},
		"artifacts checked": {
			settings: "fail_on: never\n", artifacts: []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{wait: 3 * time.Second})
			s.gh.Commit(s.repo, "lenient", map[string]string{settings: c.settings})
			s.gh.BranchRun(s.repo, "lenient", wheels(cases.Clean("1.0.0")))
			author := s.gh.User("outsider")
			strict := s.gh.OpenPull(s.repo, s.gh.Fork(s.repo, "outsider"), "mine", author,
				map[string]string{"src/a.c": "int a;\n"})
			lenient := s.gh.OpenSame(strict, "lenient")
			s.gh.Do(func() { strict.State = "closed" })
			s.Send("pull_request", s.gh.PullEvent(lenient, "opened"))
			if c.artifacts != nil {
				s.Finish(lenient, c.artifacts...)
			}
			s.stands(strict.HeadSHA, "success")
			second := s.gh.Fork(s.repo, "another")
			s.gh.Do(func() { strict.State, strict.Head, strict.Author = "open", second, second.Owner })
			s.Send("pull_request", s.gh.PullEvent(strict, "reopened"))
			s.stands(strict.HeadSHA, "failure")
			s.Free()
			s.stands(strict.HeadSHA, "failure")
		})
	}
}

// Another job of the run still builds when the deployment asks.
func TestGateWaitsForJobs(t *testing.T) {
	s := tell(t, world{})
	w := s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.1.0")))
	job := &githubtest.Job{ID: 2, Name: "build-cuda", Status: "in_progress"}
	s.gh.Do(func() {
		w.Status, w.Conclusion = "in_progress", ""
		w.Jobs = []*githubtest.Job{
			{ID: 1, Name: "build", Conclusion: "success"}, job,
			{ID: 3, Name: "publish", Status: "waiting"},
		}
	})
	g := s.gh.AddGate(w, "pypi")
	s.Send("deployment_protection_rule", s.gh.GateEvent(g, ""))
	never(s, 3*time.Second, func() (why string) {
		s.gh.Do(func() { why = g.State })
		return why
	})
	s.gh.Do(func() {
		job.Status, job.Conclusion = "", "success"
		w.Artifacts = append(w.Artifacts, artifact("wheels-cuda", cases.Dist(cases.CaseA("1.5.1"))))
		w.Artifacts[1].ID = w.Artifacts[0].ID + 1_000_000
	})
	s.says(s.answered(g, "rejected"), "GLIBC")
}

// A run that is started again waits again, and uploads its artifacts again: each deployment is
// answered, by what its own attempt has. The event of an earlier one changes nothing.
func TestGateOfARunThatIsStartedAgain(t *testing.T) {
	s := tell(t, world{})
	first := s.gate("", wheels(cases.Clean("1.1.0")))
	s.answered(first, "approved")
	s.Free()
	w := first.Run
	again := func(a *githubtest.Artifact) *githubtest.Gate {
		s.gh.Do(func() {
			a.ID = w.Artifacts[0].ID + 1_000_000
			w.Artifacts = []*githubtest.Artifact{a}
			w.Status, w.Conclusion = "waiting", ""
			w.Attempt++
		})
		g := s.gh.AddGate(w, "pypi")
		s.Send("deployment_protection_rule", s.gh.GateEvent(g, ""))
		return g
	}
	s.says(s.answered(again(wheels(cases.CaseA("1.5.1"))), "rejected"), "GLIBC")
	s.Free()
	last := again(wheels(cases.Clean("1.1.0")))
	s.answered(last, "approved")
	s.Free()
	s.Send("deployment_protection_rule", s.gh.GateEvent(first, ""))
	s.Free()
	s.answered(last, "approved")
}

// A run that is started again while its artifacts are checked is not answered by the earlier ones.
func TestGateOfARunThatChangesMeanwhile(t *testing.T) {
	s := tell(t, world{})
	s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.1.0\n"})
	w := s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.1.0")))
	s.gh.Do(func() { w.Status, w.Conclusion = "waiting", "" })
	g := s.gh.AddGate(w, "pypi")
	later := wheels(cases.CaseA("1.5.1"))
	s.gh.Fault("actions/download-artifact", 1, githubtest.Fault{Do: func() {
		s.gh.Do(func() {
			later.ID = w.Artifacts[0].ID + 1_000_000
			w.Artifacts = append(w.Artifacts, later)
			w.Attempt++
		})
	}})
	s.Send("deployment_protection_rule", s.gh.GateEvent(g, ""))
	s.says(s.answered(g, "rejected"), "GLIBC")
}

// What the configuration does not select is named where a deployment is approved too.
func TestGateNamesUnselectedArtifacts(t *testing.T) {
	s := tell(t, world{})
	s.gh.Commit(s.repo, "main", map[string]string{settings: "artifacts: [wheels]\n"})
	g := s.gate("", wheels(cases.Clean("1.1.0")), artifact("whl", cases.Dist(cases.CaseA("1.5.1"))))
	s.says(s.answered(g, "approved"), "not checked: whl", "not selected by")
}

// An acceptance is about the report that was there when it was written, whenever it arrives.
func TestAcceptIsAboutWhatWasRead(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Free()
	time.Sleep(3 * time.Second) // GitHub's times are in seconds
	c := s.gh.AddComment(s.repo, p.Number, s.gh.User("maintainer"),
		"/compat accept symbol-version-too-new because only for AlmaLinux 9")
	event := s.gh.CommentEvent(s.repo, p.Number, c, "created")
	time.Sleep(3 * time.Second)
	sha := s.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(unseen("1.5.2")))
	s.want(s.Concluded(sha), "failure")
	s.Free()
	s.Send("issue_comment", event)
	s.Free()
	s.stands(sha, "failure")
	s.says(s.written(p), "was accepted as in the check of "+p.Heads[0][:12])
}

// The button is on a check run with a report. It is about that one, also if the commit was built
// again and has another report before the click arrives.
func TestButtonIsAboutItsReport(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Free()
	k := s.Concluded(p.HeadSHA)
	i := slices.IndexFunc(k.Actions, func(a githubtest.Action) bool {
		return strings.Contains(a.Identifier, "accept")
	})
	if i < 0 {
		t.Fatalf("no action to accept in %+v", k.Actions)
	}
	event := s.gh.CheckEvent(s.repo, k.ID, "requested_action", k.Actions[i].Identifier,
		s.gh.User("maintainer"))
	before := s.Verdicts(p.HeadSHA)
	s.Finish(p, wheels(unseen("1.5.2")))
	s.want(s.Again(p.HeadSHA, before), "failure")
	s.Free()
	s.Send("check_run", event)
	s.Free()
	s.says(shown(s.stands(p.HeadSHA, "failure")), "unseen/")
	s.Finish(p, wheels(cases.CaseA("1.5.3")))
	s.says(shown(s.stands(p.HeadSHA, "success")), "accepted")
}

// unseen is case A with its library at another place, so that its findings are others.
func unseen(version string) cases.Wheel {
	moved := cases.CaseA(version)
	files := map[string][]byte{}
	for name, content := range moved.Files {
		files["unseen/"+name] = content
	}
	moved.Files = files
	return moved
}
