package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const settings = ".github/compat.yml"

func TestConfigurationOfTheAccount(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // by repository; "widget" is the one that is checked
		want  string
		says  []string
	}{
		{"none", nil, "failure", nil},
		{"public", map[string]string{".github": "fail_on: never\n"}, "neutral", nil},
		{"members only", map[string]string{".github-private": "fail_on: never\n"}, "neutral", nil},
		{"both", map[string]string{".github": "fail_on: error\n", ".github-private": "fail_on: never\n"},
			"failure", nil},
		{"its own", map[string]string{".github": "fail_on: never\n", "widget": "# nothing\n"}, "failure",
			nil},
		{"wrong", map[string]string{".github": "fail_on: error\nfail_onn: never\n"}, "action_required",
			[]string{"`acme/.github:.github/compat.yml:2`", "fail_onn", "did you mean `fail_on`",
				"for all repositories", "Fix it there"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, time.Minute)
			for repo, text := range c.files {
				if repo == "widget" {
					s.gh.Commit(s.repo, "main", map[string]string{settings: text})
					continue
				}
				r := s.gh.NewRepo(s.inst, repo, map[string]string{settings: text})
				s.gh.Do(func() { r.Private = strings.HasSuffix(repo, "private") })
			}
			p := s.open("feature")
			s.finish(p, bad("1.1.0"))
			s.judged(p.HeadSHA, c.want, c.says...)
			if k := s.concluded(p.HeadSHA); c.name == "wrong" && len(k.Annotations) > 0 {
				t.Errorf("annotations on a file that the head doesn't have: %+v", k.Annotations)
			}
		})
	}
}

// What each mode of the summary comment writes: for a clean head, one with a warning only, one that
// fails, and one that is clean again.
func TestModesOfTheSummaryComment(t *testing.T) {
	for mode, want := range map[string]string{"never": "- - - -", "on-failure": "- - new same",
		"on-change": "- new same same", "always": "new same same same", "on": "- new same same",
		"off": "- - - -"} {
		t.Run(mode, func(t *testing.T) {
			s := start(t, time.Minute)
			s.gh.Commit(
				s.repo,
				"main",
				map[string]string{
					settings: "comment: " + mode + "\nrules:\n  symbol-version-too-new: warning\n",
				},
			)
			s.gh.Commit(s.repo, "strict", map[string]string{settings: "comment: " + mode + "\n"})
			p := s.open("feature")
			s.finish(p, clean("1.1.0"))
			var got []string
			before := 0
			look := func(sha, conclusion string) {
				s.judged(sha, conclusion)
				s.idle()
				said := s.bot(p)
				word := "-"
				switch {
				case len(said) > before:
					word = "new"
				case len(said) > 0:
					word = "same"
				}
				before = len(said)
				got = append(got, word)
			}
			look(p.HeadSHA, "success")
			look(s.push(p, bad("1.2.0")), "success")
			s.gh.Do(func() { p.BaseRef, p.BaseSHA = "strict", s.repo.Branches["strict"] })
			look(s.push(p, needing("1.3.0", "exp@GLIBC_2.29")), "failure")
			look(s.push(p, clean("1.4.0")), "success")
			if said := strings.Join(got, " "); said != want {
				t.Errorf("comments %s, want %s", said, want)
			}
		})
	}
}

func TestLockedConversation(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.gh.Do(func() {
		for _, i := range s.repo.Issues {
			i.Locked = true
		}
	})
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure", "pow")
	s.say(p, "maintainer", "/compat accept pow because we know")
	s.judged(p.HeadSHA, "success", "accepted `pow`")
	if n := len(s.bot(p)); n != 0 {
		t.Errorf("%d comments in a locked conversation", n)
	}
	s.idle()
	stats, err := s.queue.Stats(t.Context())
	if err != nil || stats.Dead > 0 {
		t.Errorf("%d dead jobs (%v)", stats.Dead, err)
	}
}

func TestArchivedRepository(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure", "pow")
	s.idle()
	s.gh.Do(func() { s.repo.Archived = true }) // and its event is lost
	sha := s.gh.Push(p, map[string]string{"notes.md": "x\n"})
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.until(func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !strings.Contains(s.log.String(), "the repository is archived") {
			return "the service continues with an archived repository"
		}
		return ""
	})
	s.idle()
	if n := len(s.gh.Checks(s.repo, sha)); n > 0 {
		t.Errorf("%d check runs in an archived repository", n)
	}
	stats, err := s.queue.Stats(t.Context())
	if err != nil || stats.Dead > 0 {
		t.Errorf("%d dead jobs (%v)", stats.Dead, err)
	}
	s.gh.Do(func() { s.repo.Archived = false })
	s.send("repository", s.gh.RepositoryEvent(s.repo, "unarchived"))
	next := s.push(p, clean("1.2.0"))
	s.judged(next, "success")
}

// A race of two processes wrote two summary comments: the newer one is updated, the other one is
// hidden.
func TestDuplicateSummariesAreMinimised(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	s.oneSummary(p)
	first := s.bot(p)[0]
	s.idle()
	second := s.gh.AddComment(s.repo, p.Number, s.gh.Bot(), first.Body)
	s.judged(s.push(p, needing("1.2.0", "exp@GLIBC_2.29")), "failure", "exp")
	s.until(func() string {
		for _, c := range s.bot(p) {
			switch {
			case c.ID == first.ID && c.Minimized != "DUPLICATE":
				return fmt.Sprintf("the earlier comment is minimised as %q", c.Minimized)
			case c.ID == second.ID && (c.Minimized != "" || !strings.Contains(c.Body, "exp")):
				return "the newest comment doesn't go on: " + c.Minimized + c.Body
			}
		}
		return ""
	})
}
