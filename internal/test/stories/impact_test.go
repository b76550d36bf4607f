package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

const used = "Used in this organization"

// uploads ends a workflow run of the default branch of a repository, whose artifacts the App then
// analyzes.
func (s *story) uploads(r *githubtest.Repo, ws ...cases.Wheel) {
	s.Helper()
	w := s.gh.BranchRun(r, "main", wheels(ws...))
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
}

// pins pushes lock files to the default branch of a repository.
func (s *story) pins(r *githubtest.Repo, files map[string]string) {
	s.Helper()
	s.gh.Commit(r, "main", files)
	var changed []string
	for name := range files {
		changed = append(changed, name)
	}
	s.Send("push", s.gh.PushEvent(r, "main", changed...))
}

// neighbour adds a repository with a wheel that uses gear.
func (s *story) neighbour(i *githubtest.Installation, w cases.Wheel) *githubtest.Repo {
	s.Helper()
	r := s.gh.NewRepo(i, w.Name, map[string]string{".github/workflows/wheels.yml": workflow})
	s.uploads(r, w)
	return r
}

// analyzed waits until the App has analyzed the builds of the default branches. The pause before
// that of the newest commit is baseAnalysisPause.
func (s *story) analyzed(repos ...*githubtest.Repo) {
	s.Helper()
	eventually(s, func() string {
		log := s.app.log.String()
		for _, r := range repos {
			if !strings.Contains(log, `"msg":"what the default branch uses is stored"`) ||
				!slices.ContainsFunc(strings.Split(log, "\n"), func(line string) bool {
					return strings.Contains(line, `what the default branch uses is stored`) &&
						strings.Contains(line, r.FullName())
				}) {
				return "nothing is stored of " + r.FullName()
			}
		}
		return ""
	})
	s.Free()
}

// rotates opens a pull request of gear 2.0, which lacks a function of 1.0.
func (s *story) rotates() (*githubtest.Pull, githubtest.Check) {
	s.Helper()
	p := s.Open()
	s.Finish(p, wheels(cases.Gear("2.0", "stop")))
	return p, s.Concluded(p.HeadSHA)
}

func TestUsedInThisOrganisation(t *testing.T) {
	s := tell(t, world{})
	s.Configure("", cases.Gear("1.0", "stop", "spin"))
	mill := s.neighbour(s.inst, cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	calm := s.neighbour(s.inst, cases.UserOfGear("calm", "1.0", "gear", "stop"))
	s.neighbour(s.inst, cases.UserOfGear("late", "1.0", "gear<2", "spin"))
	lock := s.gh.NewRepo(s.inst, "deploy", map[string]string{"README.md": "x"})
	farm := s.gh.NewRepo(s.inst, "farm", map[string]string{"README.md": "x"})
	s.gh.NewRepo(s.inst, "empty", map[string]string{"README.md": "x"}) // without artifacts
	s.pins(lock, map[string]string{"prod/requirements.txt": "gear==1.0\nmill==3.0\n"})
	s.pins(farm, map[string]string{"uv/requirements.txt": "Mill==3.1\n"})
	s.pins(mill, map[string]string{"requirements.txt": "gear==1.0\n"})
	s.analyzed(mill, calm)
	_, k := s.rotates()
	s.want(k, "success") // a note does not fail the check
	text := shown(k)
	s.says(text, used, "5 other repositories of this installation use", "2 break",
		"acme/mill](https://github.test/acme/mill) breaks", "mill 3.1",
		"imports spin, which gear 2.0 no longer exports", "Pinned: 1.0 in requirements.txt",
		"Require gear<2.0", "acme/calm](https://github.test/acme/calm) works",
		"acme/late](https://github.test/acme/late) excludes it",
		"acme/deploy](https://github.test/acme/deploy) keeps the version", "1.0 in prod/requirements.txt",
		"acme/farm](https://github.test/acme/farm) breaks**: mill 3.1, pinned in "+
			"uv/requirements.txt and built by acme/mill: ", "There: Install gear<2.0",
		"breaks acme/farm")
	if strings.Contains(text, "acme/empty") {
		t.Error(text)
	}
}

// What others use is a reason to fail only if the configuration says so, and until somebody accepts
// it.
func TestImpactFailsTheCheck(t *testing.T) {
	s := tell(t, world{})
	s.Configure("impact: {fail_on: error}\n", cases.Gear("1.0", "stop", "spin"))
	mill := s.neighbour(s.inst, cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	s.analyzed(mill)
	p, k := s.rotates()
	s.want(k, "failure")
	s.says(k.Title, "acme/mill breaks", "imports spin")
	s.says(s.Summary(p).Body, used, "acme/mill")
	before := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat accept acme/mill because its next release is ready")
	k = s.Again(p.HeadSHA, before)
	s.want(k, "success")
	s.says(shown(k), "breaks, accepted", "its next release is ready", "maintainer")
	before = s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat unaccept acme/mill")
	s.want(s.Again(p.HeadSHA, before), "failure")
	before = s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat impact")
	s.want(s.Again(p.HeadSHA, before), "failure")
}

// The configuration accepts what breaks in one package.
func TestImpactAcceptedInTheConfig(t *testing.T) {
	s := tell(t, world{})
	s.Configure("impact: {fail_on: error}\naccept: [{package: mill, because: it is retired}]\n",
		cases.Gear("1.0", "stop", "spin"))
	mill := s.neighbour(s.inst, cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	s.analyzed(mill)
	_, k := s.rotates()
	s.want(k, "success")
	s.says(shown(k), "breaks, accepted", "it is retired")
}

// TestImpactOfPrivateRepositories has a repository of each visibility for each visibility of the one
// that is reviewed. What not every reader may see is neither named nor counted, and fails nothing.
func TestImpactOfPrivateRepositories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reader, shown string }{
		{"public", "openmill"},
		{"internal", "openmill innermill"},
		{"private", "openmill"},
	} {
		t.Run(c.reader, func(t *testing.T) {
			s := tell(t, world{})
			s.Configure("impact: {fail_on: error, repositories: [agreed, oneway]}\n",
				cases.Gear("1.0", "stop", "spin"))
			var all []*githubtest.Repo
			for _, name := range []string{"openmill", "innermill", "hiddenmill", "agreed", "oneway"} {
				r := s.gh.NewRepo(s.inst, name, map[string]string{".github/workflows/wheels.yml": workflow})
				if name == "agreed" { // oneway does not name the reader
					s.gh.Commit(r, "main", map[string]string{settings: "impact: {repositories: [acme/widget]}\n"})
				}
				s.gh.Do(func() {
					r.Private = name != "openmill"
					r.Internal = name == "innermill"
				})
				s.uploads(r, cases.UserOfGear(name, "1.0", "gear", "spin"))
				all = append(all, r)
			}
			s.gh.Do(func() {
				s.repo.Private = c.reader != "public"
				s.repo.Internal = c.reader == "internal"
			})
			s.analyzed(all...)
			p, k := s.rotates()
			s.want(k, "failure")
			want := c.shown
			if c.reader != "public" {
				want += " agreed"
			}
			n := len(strings.Fields(want))
			s.says(shown(k), fmt.Sprintf("%d other repositor", n), fmt.Sprintf("%d break", n))
			texts := shown(k) + plain(s.Summary(p).Body)
			for _, name := range []string{"openmill", "innermill", "hiddenmill", "agreed", "oneway"} {
				if got, want := strings.Contains(texts, name), strings.Contains(want, name); got != want {
					t.Errorf("%s is shown: %v, want %v:\n%s", name, got, want, texts)
				}
			}
		})
	}
}

// arrow is a package that the built-in list has a dependent of, palletjack.
func arrow(version string, exports ...string) cases.Wheel {
	w := cases.Gear(version, exports...)
	w.Name = "pyarrow"
	return w
}

// TestImpactThroughPins has repositories that pin releases of the index which use the package. Only
// names of the built-in list are looked up, each release once, and what not every reader may see is
// not shown.
func TestImpactThroughPins(t *testing.T) {
	hidden := cases.UserOfGear("hidden", "1.0", "pyarrow", "spin")
	x := index(t, cases.UserOfGear("palletjack", "90.1", "pyarrow>=1", "spin"),
		cases.UserOfGear("palletjack", "90.2", "pyarrow>=1", "stop"),
		cases.UserOfGear("palletjack", "90.3", "pyarrow<2", "spin"), hidden)
	s := tell(t, world{env: map[string]string{"PIP_INDEX_URL": x.url}})
	s.Configure("impact: {fail_on: error}\n", arrow("1.0", "stop", "spin"))
	for name, file := range map[string]string{
		"broken": "palletjack==90.1\npyarrow==1.0\nhidden==1.0\n",
		"again":  "PalletJack==90.1\n",
		"fine":   "palletjack==90.2\npyarrow==1.0\n",
		"bound":  "palletjack==90.3\n",
		"lost":   "palletjack==90.4\n",
		"other":  "hidden==1.0\n",
		"secret": "palletjack==90.1\n",
	} {
		r := s.gh.NewRepo(s.inst, name, map[string]string{"README.md": "x"})
		s.gh.Do(func() { r.Private = name == "secret" })
		s.pins(r, map[string]string{"requirements.txt": file})
	}
	// A private repository builds what a public one pins.
	den := s.gh.NewRepo(s.inst, "den", map[string]string{".github/workflows/wheels.yml": workflow})
	s.gh.Do(func() { den.Private = true })
	s.uploads(den, hidden)
	s.analyzed(den)
	p := s.Open()
	s.Finish(p, wheels(arrow("2.0", "stop")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	text := shown(k)
	s.says(text, used, "5 other repositories of this installation use", "2 break",
		"acme/broken](https://github.test/acme/broken) breaks**: palletjack 90.1, pinned in "+
			"requirements.txt: ", "imports spin, which pyarrow 2.0 no longer exports. Pinned: 1.0 in",
		"There: Install pyarrow<2.0", "acme/again](https://github.test/acme/again) breaks**",
		"acme/fine](https://github.test/acme/fine) works: palletjack 90.2, pinned in "+
			"requirements.txt, with pyarrow 2.0",
		"acme/bound](https://github.test/acme/bound) excludes it: palletjack 90.3, pinned in",
		"acme/lost](https://github.test/acme/lost) is undecided: palletjack 90.4")
	for _, name := range []string{"secret", "hidden", "den", "acme/other"} {
		if strings.Contains(text, name) {
			t.Errorf("%s is shown:\n%s", name, text)
		}
	}
	for _, page := range x.asked("/simple/") {
		if page != "/simple/palletjack/" && page != "/simple/pyarrow/" {
			t.Errorf("%s was requested from the index", page)
		}
	}
	two, one := x.asked("/files/palletjack-90.1"), x.asked("/files/palletjack-90.2")
	if len(one) == 0 || len(two) != len(one) {
		t.Errorf("what two repositories pin was read with the requests %q, and what one pins with %q",
			two, one)
	}
	for _, name := range []string{"broken", "again"} {
		before := s.Verdicts(p.HeadSHA)
		s.Say(p.Number, "maintainer", "/compat accept acme/"+name+" because it is retired")
		k = s.Again(p.HeadSHA, before)
	}
	s.want(k, "success")
	s.says(shown(k), "acme/broken", "breaks, accepted: palletjack 90.1")
}

// TestReleaseBreaksAPin has a repository that pins what a release breaks. Its reviews say so until
// the pin is another one.
func TestReleaseBreaksAPin(t *testing.T) {
	x := index(t, cases.UserOfGear("palletjack", "90.1", "pyarrow>=1", "spin"),
		cases.UserOfGear("palletjack", "90.2", "pyarrow>=1", "stop"))
	s := tell(t, world{env: map[string]string{"PIP_INDEX_URL": x.url}})
	s.Configure("", arrow("1.0", "stop", "spin"))
	deploy := s.gh.NewRepo(s.inst, "deploy", map[string]string{"README.md": "x"})
	s.pins(deploy, map[string]string{"requirements.txt": "palletjack==90.1\npyarrow==1.0\n"})
	s.Free()
	s.publishedBefore(asset(arrow("1.0", "stop", "spin")))
	_, sha := s.publish(asset(arrow("1.1.0", "stop")))
	s.says(shown(s.Concluded(sha)), used, "acme/deploy", "breaks**: palletjack 90.1")
	review := func(branch string) string {
		t.Helper()
		p := s.gh.OpenPull(deploy, deploy, branch, s.gh.User("maintainer"),
			map[string]string{branch: "x"})
		s.Send("pull_request", s.gh.PullEvent(p, "opened"))
		var k githubtest.Check
		eventually(s, func() string {
			for _, k = range s.gh.Checks(deploy, p.HeadSHA) {
				if k.Status == "completed" {
					return ""
				}
			}
			return "not concluded"
		})
		return shown(k)
	}
	s.says(review("one.md"), "Releases that this repository does not work with",
		"pyarrow 1.1.0: palletjack 90.1: ", "imports spin, which pyarrow 1.1.0 no longer exports",
		"The next update of 1.0 in requirements.txt would install it")
	s.pins(deploy, map[string]string{"requirements.txt": "palletjack==90.2\npyarrow==1.0\n"})
	s.Free()
	if text := review("two.md"); strings.Contains(text, "does not work with") {
		t.Error(text)
	}
}

// TestImpactOfOtherInstallations has a repository of another account that uses the package.
func TestImpactOfOtherInstallations(t *testing.T) {
	s := tell(t, world{})
	s.Configure("impact: {fail_on: error}\n", cases.Gear("1.0", "stop", "spin"))
	other := s.neighbour(s.gh.Install("zeta"), cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	s.analyzed(other)
	_, k := s.rotates()
	s.want(k, "success")
	if text := shown(k); strings.Contains(text, used) || strings.Contains(text, "zeta") {
		t.Error(text)
	}
}

// TestImpactOfChangedRepositories renames a repository, makes it private, and removes it.
func TestImpactOfChangedRepositories(t *testing.T) {
	s := tell(t, world{})
	s.Configure("", cases.Gear("1.0", "stop", "spin"))
	mill := s.neighbour(s.inst, cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	gone := s.neighbour(s.inst, cases.UserOfGear("gone", "1.0", "gear>=1", "spin"))
	s.analyzed(mill, gone)
	p, k := s.rotates()
	s.says(shown(k), "acme/mill", "acme/gone")
	again := func() string {
		t.Helper()
		s.Free()
		before := s.Verdicts(p.HeadSHA)
		s.Say(p.Number, "maintainer", "/compat impact")
		return shown(s.Again(p.HeadSHA, before))
	}
	s.gh.Do(func() { mill.Name = "windmill" })
	s.Send("repository", s.gh.RepositoryEvent(mill, "renamed"))
	if text := again(); !strings.Contains(text, "acme/windmill") || strings.Contains(text, "acme/mill") {
		t.Error(text)
	}
	s.gh.Do(func() { mill.Private = true })
	s.Send("repository", s.gh.RepositoryEvent(mill, "privatized"))
	if text := again(); strings.Contains(text, "windmill") || !strings.Contains(text, "acme/gone") {
		t.Error(text)
	}
	s.gh.Do(func() { gone.Installation = nil })
	s.Send("installation_repositories", map[string]any{
		"action": "removed", "installation": map[string]any{"id": s.inst.ID},
		"repositories_removed": []any{map[string]any{"id": gone.ID}},
		"sender":               map[string]any{"login": "maintainer", "type": "User"},
	})
	if text := again(); strings.Contains(text, "gone") || strings.Contains(text, used) {
		t.Error(text)
	}
	// What was stored of it is not used when the App gets access again.
	s.gh.Do(func() { gone.Installation = s.inst })
	s.Send("repository", s.gh.RepositoryEvent(gone, "renamed"))
	if text := again(); strings.Contains(text, "gone") {
		t.Error(text)
	}
}

// A release that breaks a repository is mentioned in the next review there, until its wheel is
// another one.
func TestNextReviewAfterARelease(t *testing.T) {
	s := tell(t, world{})
	s.Configure("", cases.Gear("1.0", "stop", "spin"))
	mill := s.neighbour(s.inst, cases.UserOfGear("mill", "3.1", "gear>=1", "spin"))
	s.pins(mill, map[string]string{"requirements.txt": "gear==1.0\n"})
	s.analyzed(mill)
	s.publishedBefore(asset(cases.Gear("1.0", "stop", "spin")))
	_, sha := s.publish(asset(cases.Gear("1.1.0", "stop")))
	s.says(shown(s.Concluded(sha)), used, "acme/mill")

	review := func(branch string) githubtest.Check {
		t.Helper()
		p := s.gh.OpenPull(mill, mill, branch, s.gh.User("maintainer"), map[string]string{branch: "x"})
		s.Send("pull_request", s.gh.PullEvent(p, "opened"))
		s.Finish(p, wheels(cases.UserOfGear("mill", "3.2", "gear>=1", "spin")))
		var k githubtest.Check
		eventually(s, func() string {
			for _, k = range s.gh.Checks(mill, p.HeadSHA) {
				if k.Status == "completed" {
					return ""
				}
			}
			return "not concluded"
		})
		return k
	}
	s.says(shown(review("one.c")), "Releases that this repository does not work with",
		"acme/widget](https://github.test/acme/widget/releases/tag/v1.1.0)",
		"gear 1.1.0", "imports spin, which gear 1.1.0 no longer exports", "1.0 in requirements.txt")

	s.uploads(mill, cases.UserOfGear("mill", "3.3", "gear>=1", "stop"))
	time.Sleep(4 * time.Second) // baseAnalysisPause
	s.Free()
	if text := shown(review("two.c")); strings.Contains(text, "does not work with") {
		t.Error(text)
	}
}

// TestBisect merges two pull requests, of which the second one removes a function.
func TestBisect(t *testing.T) {
	s := tell(t, world{})
	merge := func(branch, title string, functions ...string) *githubtest.Pull {
		t.Helper()
		p := s.gh.OpenPull(s.repo, s.repo, branch, s.gh.User("maintainer"),
			map[string]string{branch: "x"})
		s.gh.Do(func() {
			p.Title, p.Merged, p.State = title, true, "closed"
			s.repo.Branches["main"] = p.HeadSHA
		})
		s.uploads(s.repo, cases.Gear("1.0", functions...))
		eventually(s, func() string {
			for line := range strings.Lines(s.app.log.String()) {
				if strings.Contains(line, "what the default branch uses is stored") &&
					strings.Contains(line, p.HeadSHA) {
					return ""
				}
			}
			return "the build of " + title + " is not stored"
		})
		s.Free()
		return p
	}
	merge("one.c", "Add gears", "spin", "stop", "turn")
	lost := merge("two.c", "Remove a function", "stop", "turn")
	merge("three.c", "Remove nothing", "stop", "turn")
	p := s.Open()
	reply := func(command string) string {
		t.Helper()
		return s.replied(p, s.Say(p.Number, "maintainer", command))
	}
	for _, command := range []string{"/compat bisect spin", "/compat bisect"} {
		s.says(reply(command), fmt.Sprintf("#%d", lost.Number), "spin", lost.HeadSHA[:12],
			"Remove a function")
	}
	s.says(reply("/compat bisect turn"), "No build of the default branch", "turn")
}
