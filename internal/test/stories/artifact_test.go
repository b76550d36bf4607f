package stories

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/hostiletest"
)

// with is a wheel with one more file.
func with(w cases.Wheel, path string, content []byte) cases.Wheel {
	w.Files[path] = content
	return w
}

// An artifact that could not be read never passes, and the check says why.
func TestUnreadableArtifacts(t *testing.T) {
	t.Parallel()
	bad := func(change func(*githubtest.Artifact)) *githubtest.Artifact {
		a := wheels(cases.Clean("1.1.0"))
		change(a)
		return a
	}
	library := cases.CaseA("1.5.0").Files["warp/bin/warp.so"]
	for _, c := range []struct {
		name     string
		artifact *githubtest.Artifact
		words    string
	}{
		{"half of it", bad(func(a *githubtest.Artifact) { a.Half = true }), "truncated"},
		{"wrong digest", bad(func(a *githubtest.Artifact) {
			a.Digest = "sha256:" + strings.Repeat("0", 64)
		}), "digest"},
		{"expired", bad(func(a *githubtest.Artifact) { a.Expired = true }), "expired"},
		{"not a zip", artifact("wheels", bytes.Repeat([]byte("x"), 1000)), "wheels"},
		{"not an ELF file", wheels(with(cases.Clean("1.1.0"), "clean/libbroken.so",
			[]byte("this is no library at all\n"))), "libbroken.so"},
		{"an ELF file cut in the middle", wheels(with(cases.Clean("1.1.0"), "clean/libcut.so",
			library[:len(library)/2])), "libcut.so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tell(t, world{wait: 5 * time.Second})
			p := s.Open()
			s.Finish(p, c.artifact)
			k := s.Concluded(p.HeadSHA)
			s.notPassed(k)
			s.says(shown(k), c.words)
			s.says(shown(k), "wheels")
		})
	}
}

func TestZipBomb(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Finish(p, artifact("bomb", cases.Bomb("zeros.so", 8<<10)))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "limit")
	if mib := s.app.peak(); mib > 1536 {
		s.Errorf("the service took %d MiB", mib)
	}
}

// The bad wheel is found among hundreds of thousands of empty entries, or the check names a limit.
func TestManyEntries(t *testing.T) {
	files := cases.CaseA("1.5.1").Under("dist/")
	for i := range 300_000 {
		files[fmt.Sprintf("a/%06d", i)] = nil
	}
	packed := artifact("wheels", cases.Zip(files))
	s := tell(t, world{})
	p := s.Open()
	s.Finish(p, packed)
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	if text := shown(k); !strings.Contains(text, "pow") && !strings.Contains(text, "limit") {
		s.Errorf("names neither the symbol nor a limit:\n%s", text)
	}
	if mib := s.app.peak(); mib > 1536 {
		s.Errorf("the service took %d MiB", mib)
	}
}

func TestNoArtifacts(t *testing.T) {
	t.Parallel()
	t.Run("a run without any", func(t *testing.T) {
		s := tell(t, world{wait: 3 * time.Second})
		p := s.Open()
		s.Finish(p)
		s.notPassed(s.Concluded(p.HeadSHA))
	})
	t.Run("no run but one after the deadline", func(t *testing.T) {
		s := tell(t, world{wait: 2 * time.Second})
		p := s.Open()
		s.notPassed(s.Concluded(p.HeadSHA))
		before := s.Verdicts(p.HeadSHA)
		s.Finish(p, wheels(cases.Clean("1.1.0")))
		s.want(s.Again(p.HeadSHA, before), "success")
	})
}

func TestArtifactsListedLate(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	s.gh.Do(func() { w.HideLists = 3 })
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.gh.Do(func() {
		if w.Lists > 20 {
			s.Errorf("asked %d times for a list that was late", w.Lists)
		}
	})
}

func TestInterruptedDownloadIsContinued(t *testing.T) {
	a := wheels(cases.CaseA("1.5.1"))
	a.Cuts = 2
	checkedAllTheSame(t, a)
}

// checkedAllTheSame opens a pull request whose artifact, of case A, cannot be downloaded at the
// first try.
func checkedAllTheSame(t *testing.T, a *githubtest.Artifact) {
	t.Helper()
	s := tell(t, world{})
	p := s.Open()
	s.Finish(p, a)
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "pow")
}

// The link to an artifact is valid for a minute; after that a new one is requested.
func TestExpiredDownloadLinks(t *testing.T) {
	a := wheels(cases.CaseA("1.5.1"))
	a.Stale = 2
	checkedAllTheSame(t, a)
}

func TestSeveralArtifacts(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	var all []*githubtest.Artifact
	for i := range 119 {
		all = append(
			all,
			artifact(fmt.Sprintf("log-%d", i), cases.Zip(map[string][]byte{"log.txt": []byte("fine\n")})),
		)
	}
	all[3] = artifact("clean", cases.Dist(cases.Clean("1.1.0")))
	s.Finish(p, append(all, wheels(cases.CaseA("1.5.1")))...)
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "pow")
}

func TestZipSlip(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	outside := filepath.Join(t.TempDir(), "evil.so")
	files := map[string][]byte{
		"../../evil.so": []byte("x"),
		outside:         []byte("x"),
		"../evil.whl":   []byte("x"),
	}
	s.Finish(p, artifact("wheels", cases.Zip(files, cases.CaseA("1.5.1").Under("dist/"))))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "pow")
	if _, err := os.Stat(outside); err == nil {
		s.Error("an entry was written outside")
	}
	filepath.WalkDir(s.app.dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.Contains(path, "evil") {
			s.Errorf("an entry's name became a path: %s", path)
		}
		return nil
	})
}

// TestHostileNames uses names of files, artifacts, branches and commands that contain markup,
// and checks every place where they are shown.
func TestHostileNames(t *testing.T) {
	s := tell(t, world{})
	const branch = "rel/`@octocat`#1<img>"
	old, w := cases.CaseA("1.5.0"), cases.CaseA("1.5.1")
	library := w.Files["warp/bin/warp.so"]
	s.gh.Commit(s.repo, branch, map[string]string{"CHANGES": "1\n"})
	s.gh.BranchRun(s.repo, branch, wheels(old))
	w.Files["warp/@octocat <img src=x> `#1` [x](http://x).so"] = library
	w.Files["warp/```\n@octocat\u202e\x1b[31m.so"] = library
	w.Files["warp/"+strings.Repeat("`@a", 20000)+".so"] = library
	name, content := w.File()
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"fix/`@octocat`#1<b>",
		s.gh.User("maintainer"),
		requiring("packaging>=24"),
	)
	s.gh.Do(func() { p.BaseRef, p.BaseSHA = branch, s.repo.Branches[branch] })
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	s.Finish(
		p,
		artifact("`@octocat` <b>", cases.Zip(map[string][]byte{"@octocat/" + name: content})),
	)
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "octocat", "img src=x", "does not have")
	if what := hostiletest.AlivePlain(k.Title); what != "" {
		s.Errorf("the title has %s: %s", what, k.Title)
	}
	texts := map[string]string{"summary": k.Summary, "text": k.Text, "comment": s.Summary(p).Body}
	for i, a := range k.Annotations {
		texts[fmt.Sprintf("annotation %d", i)] = a.Message
	}
	commands := []string{
		"/compat explain `@octocat`<img src=x>#1", "/compat accept </code>@octocat",
		"/compat accept </code>@octocat because @octocat said #1 <img src=x> until 2999-99-99",
		"/compat unaccept https://evil.test/x", "/compat @octocat<b>",
		"/compat accept pow because ](http://evil.test) ``` @octocat #1", "/compat status",
	}
	for i, command := range commands {
		c := s.Say(p.Number, "maintainer", command)
		if i == 5 {
			s.reacted(c, "+1")
			continue
		}
		s.replied(p, c)
	}
	for i, c := range s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number) {
		texts[fmt.Sprintf("comment %d", i)] = c.Body
	}
	judge := hostiletest.Judge{
		Tags: []string{
			"p", "li", "ul", "ol", "strong", "em", "h3", "h4",
			"table", "thead", "tbody", "tr", "th", "td",
		},
		Links: []string{s.app.url("/reports/"), s.app.url("/rules/"), causetext.ReadURL},
		Marks: []string{"compat:report", "compat:reply"},
	}
	for where, text := range texts {
		if what := judge.Alive(text); what != "" {
			s.Errorf("the %s has %s:\n%.3000s", where, what, text)
		}
	}
}

func TestManyFindings(t *testing.T) {
	t.Parallel()
	for _, n := range []int{60, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := tell(t, world{})
			p := s.Open()
			s.Finish(p, wheels(cases.Many("1.1.0", n)))
			k := s.Concluded(p.HeadSHA)
			s.want(k, "failure")
			s.says(shown(k), fmt.Sprintf("%d more symbols", n-6)) // six have their names
			s.Summary(p)
		})
	}
}
