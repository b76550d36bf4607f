package service_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/githubtest"
)

// answered waits for the App's reply to a comment, in the same conversation.
func (s *service) answered(p *githubtest.Pull, to *githubtest.Comment, words ...string) {
	s.t.Helper()
	s.told(p, fmt.Sprintf("<!-- compat:reply %d -->", to.ID), words...)
}

func (s *service) told(p *githubtest.Pull, marker string, words ...string) {
	s.t.Helper()
	s.until(func() string {
		for _, c := range s.bot(p) {
			if !strings.HasPrefix(c.Body, marker) {
				continue
			}
			for _, w := range words {
				if !strings.Contains(c.Body, w) {
					s.t.Fatalf("the reply doesn't say %q: %s", w, c.Body)
				}
			}
			return ""
		}
		return "no reply with " + marker
	})
}

// judged waits until the newest check run of a commit has the conclusion and contains the text.
func (s *service) judged(sha, conclusion string, words ...string) {
	s.t.Helper()
	s.until(func() string {
		k := s.concluded(sha)
		if k.Conclusion != conclusion {
			return "concluded as " + k.Conclusion + ", want " + conclusion + ": " + k.Title
		}
		for _, w := range words {
			if !strings.Contains(k.Title+k.Summary+k.Text, w) {
				return "the check doesn't say " + w + ": " + k.Title + "\n" + k.Summary
			}
		}
		return ""
	})
}

// push moves the head, and CI ends on it with an artifact.
func (s *service) push(p *githubtest.Pull, a *githubtest.Artifact) string {
	s.t.Helper()
	sha := s.gh.Push(p, map[string]string{"notes.md": fmt.Sprint(len(p.Heads))})
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.finish(p, a)
	return sha
}

func TestAcceptCoversCurrentFindingsOnly(t *testing.T) {
	var later atomic.Int64
	s := start(t, time.Minute, func(s *service) {
		s.now = func() time.Time { return time.Now().AddDate(0, 0, int(later.Load())) }
	})
	p := s.open("feature")
	s.finish(p, needing("1.1.0", "pow@GLIBC_2.29"))
	s.judged(p.HeadSHA, "failure", "pow")

	c := s.say(p, "maintainer", "/compat accept exp because of nothing")
	s.reacts(c, "confused")
	s.answered(p, c, "No finding of the last report matches `exp`")
	c = s.say(
		p,
		"maintainer",
		"/compat accept symbol-version-too-nwe because we know until 2999-01-01",
	)
	s.reacts(c, "confused")
	s.answered(p, c, "Did you mean `symbol-version-too-new`?")
	s.reacts(s.say(p, "maintainer", "/compat accept pow because we know until 2001-01-01"), "confused")

	until := time.Now().AddDate(0, 0, 10).UTC().Format(time.DateOnly)
	s.reacts(
		s.say(
			p,
			"maintainer",
			"/compat accept symbol-version-too-new because only AlmaLinux 9 until "+until,
		),
		"+1",
	)
	s.judged(p.HeadSHA, "success", "accepted `pow`", "only AlmaLinux 9", "maintainer", until)

	// It is valid for a new head, and does not include another symbol of the rule.
	s.judged(s.push(p, needing("1.2.0", "pow@GLIBC_2.29")), "success", "accepted `pow`")
	s.judged(
		s.push(p, needing("1.3.0", "pow@GLIBC_2.29", "exp@GLIBC_2.29")),
		"failure",
		"exp",
		"accepted `pow`",
	)
	s.reacts(s.say(p, "maintainer", "/compat ignore exp because it is never called"), "+1")
	s.judged(p.HeadSHA, "success", "accepted `exp`", "it is never called")

	// The merge queue merges what was accepted.
	group, _ := s.group(p, needing("1.3.1", "pow@GLIBC_2.29"))
	s.judged(group, "success", "accepted `pow`")

	// An expired acceptance is not used by the next check.
	later.Store(11)
	s.send("pull_request", s.gh.PullEvent(p, "reopened"))
	s.judged(p.HeadSHA, "failure", "pow", "accepted `exp`")
	later.Store(0)

	s.reacts(s.say(p, "maintainer", "/compat unaccept exp"), "+1")
	s.judged(p.HeadSHA, "failure", "exp", "accepted `pow`")
}

func TestButtons(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	k := s.concluded(p.HeadSHA)
	var ids []string
	for _, a := range k.Actions {
		ids = append(ids, a.Identifier)
	}
	if !slices.Equal(ids, []string{"recheck", "accept", "explain"}) {
		t.Fatalf("buttons %q", ids)
	}
	press := func(k githubtest.Check, action, login string) string {
		guid := githubtest.NewGUID()
		if d := s.gh.SendAs(guid, "check_run", s.gh.CheckEvent(s.repo, k.ID, "requested_action", action,
			s.gh.User(login))); d.Code != 202 {
			t.Fatalf("%s: answered %d %s", action, d.Code, d.Body)
		}
		return "<!-- compat:reply " + guid + " -->"
	}
	for i, action := range ids {
		s.told(p, press(k, action, fmt.Sprint("outsider", i)), "/compat "+action, "write access")
	}
	if n := s.verdicts(p.HeadSHA); n != 1 {
		t.Errorf("%d verdicts after an outsider pressed the buttons", n)
	}
	s.told(p, press(k, "explain", "maintainer"), "pow", "GLIBC_2.29", "**Fix**")
	press(k, "recheck", "maintainer")
	s.until(func() string {
		if s.verdicts(p.HeadSHA) != 2 {
			return "not checked again"
		}
		return ""
	})
	s.judged(p.HeadSHA, "failure")
	s.idle()
	press(s.concluded(p.HeadSHA), "accept", "maintainer")
	s.judged(p.HeadSHA, "success", "accepted `pow`", "the action on the check run", "maintainer")
	old := s.concluded(p.HeadSHA)
	if len(old.Actions) != 1 {
		t.Errorf("buttons with nothing new: %+v", old.Actions)
	}

	sha := s.push(p, needing("1.2.0", "exp@GLIBC_2.29"))
	s.judged(sha, "failure", "exp")
	s.idle()
	s.told(p, press(old, "accept", "maintainer"), "older check")
	s.judged(sha, "failure", "exp")
	s.reacts(s.say(p, "maintainer", "/compat unaccept pow"), "+1")
	s.oneSummary(p)
}

func TestRecheckOnPlatforms(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	const newer = "manylinux_2_31_x86_64"
	s.finish(
		p,
		githubtest.NewArtifact(
			"wheels",
			zipped(wheelFor(newer, "1.1.0"), tagged(newer, "1.1.0", "pow@GLIBC_2.29")),
		),
	)
	s.judged(p.HeadSHA, "success")

	c := s.say(p, "maintainer", "/compat recheck debain11")
	s.reacts(c, "confused")
	s.answered(p, c, "Unknown platform `debain11`", "Did you mean `debian11`?")
	s.reacts(s.say(p, "outsider", "/compat recheck manylinux2014"), "-1")
	if n := s.verdicts(p.HeadSHA); n != 1 {
		t.Errorf("%d verdicts after commands that change nothing", n)
	}
	s.reacts(s.say(p, "maintainer", "/compat recheck `manylinux2014`, ubuntu22.04"), "+1")
	s.judged(p.HeadSHA, "failure", "pow", "manylinux_2_17", "ubuntu22.04", "manylinux_2_31")
	s.reacts(s.say(p, "maintainer", "/compat recheck"), "+1")
	s.judged(p.HeadSHA, "success")
}

func TestCommandsInAReview(t *testing.T) {
	s := start(t, time.Hour)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	thread, first := s.gh.Discuss(p, "pyproject.toml", 5, s.gh.User("someone"), "/compat explain powr")
	s.send("pull_request_review_comment", s.gh.ReviewCommentEvent(p, thread, first, "created"))
	s.reacts(first, "confused")
	second := s.gh.Reply(
		thread,
		s.gh.User("maintainer"),
		"/compat explain pow\n\n/compat accept pow because it is never called",
	)
	s.send("pull_request_review_comment", s.gh.ReviewCommentEvent(p, thread, second, "created"))
	s.reacts(second, "+1")
	s.until(func() string {
		var replies []string
		s.gh.Do(func() {
			for _, c := range thread.Comments {
				if c.Author == s.gh.Bot() {
					replies = append(replies, c.Body)
				}
			}
		})
		switch {
		case len(replies) < 2:
			return fmt.Sprintf("%d replies in the conversation, want 2", len(replies))
		case !strings.Contains(replies[0], "Did you mean `pow`?") || !strings.Contains(replies[1],
			"GLIBC_2.29"):
			t.Fatalf("replies %q", replies)
		}
		return ""
	})
	s.judged(p.HeadSHA, "success", "accepted `pow`", "it is never called")

	s.idle()
	before := len(s.gh.Calls())
	edited := s.gh.Send(
		"pull_request_review_comment",
		s.gh.ReviewCommentEvent(p, thread, second, "edited"),
	)
	if edited.Code != 200 || edited.Text("status") != "ignored" {
		t.Errorf("an edited comment is answered %d %s", edited.Code, edited.Body)
	}
	s.idle()
	if n := len(s.gh.Calls()) - before; n != 0 {
		t.Errorf("an edited comment costs %d calls", n)
	}
}

// A person without write access gets one short reply an hour, whatever the command, and only a
// reaction if there is nothing to explain. With write access every command is answered.
func TestUsersWithoutAccessGetOneReply(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	for _, body := range []string{"/compat explain", "/compat explain frobnicate"} {
		s.reacts(s.say(p, "outsider", body), "confused")
	}
	s.answered(p, s.say(p, "outsider", "/compat explain pow"), "pow")
	for _, body := range []string{"/compat explain", "/compat help", "/compat frobnicate",
		"/compat status"} {
		s.say(p, "outsider", body)
	}
	s.answered(p, s.say(p, "someone", "/compat help"), "/compat explain")
	s.answered(p, s.say(p, "maintainer", "/compat help"), "/compat explain")
	s.answered(p, s.say(p, "maintainer", "/compat explain pow"), "pow")
	s.idle()
	replies := 0
	for _, c := range s.bot(p) {
		if strings.HasPrefix(c.Body, "<!-- compat:reply") {
			replies++
		}
	}
	if replies != 4 {
		t.Errorf("%d replies, want 4", replies)
	}
}

// Nothing is done for a command beyond the budget, not even a reaction: only the permission of a
// person who is not known is looked up.
// People without write access do not use up the budget of the others.
func TestCommandBudgets(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "failure")
	s.idle()
	shared := &store.Store{Queue: s.queue, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	spend := func(login string, writer bool, commands int) {
		t.Helper()
		by := store.Spender{
			Installation: s.inst.ID, Repository: s.repo.ID, Login: login, Writer: writer,
		}
		allowed, err := shared.Spend(t.Context(), by, "command/"+login, commands)
		if err != nil || !allowed {
			t.Fatal(allowed, err)
		}
	}
	refused := func(login, command string) {
		t.Helper()
		before := len(s.gh.Calls())
		c := s.say(p, login, command)
		s.idle()
		if got := s.reactions(c); len(got) > 0 {
			t.Errorf("reactions %q", got)
		}
		for _, call := range s.gh.Calls()[before:] {
			if login == "outsider" || !strings.HasSuffix(call.Path, "/permission") {
				t.Errorf("%s by %s: %s %s", command, login, call.Method, call.Path)
			}
		}
		for _, reply := range s.bot(p) {
			if strings.HasPrefix(reply.Body, fmt.Sprintf("<!-- compat:reply %d -->", c.ID)) {
				t.Errorf("%s by %s has a reply: %s", command, login, reply.Body)
			}
		}
	}
	spend("outsider", false, store.StrangerBudget.Person)
	refused("outsider", "/compat help")
	for i := range store.StrangerBudget.Repository/store.StrangerBudget.Person - 1 {
		spend(fmt.Sprint("stranger", i), false, store.StrangerBudget.Person)
	}
	left := store.StrangerBudget.Repository % store.StrangerBudget.Person
	if left > 0 {
		spend("last", false, left)
	}
	refused("someone", "/compat explain pow")
	s.answered(p, s.say(p, "maintainer", "/compat help"), "/compat explain")

	spend("maintainer", true, store.WriterBudget.Person-1)
	refused("maintainer", "/compat recheck")
	refused("maintainer", "/compat explain")
	if n := s.verdicts(p.HeadSHA); n != 1 {
		t.Errorf("%d verdicts, want 1", n)
	}
	s.logged(1, `"answer":"over budget"`) // the audit log has what was refused
}
