package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

func TestRecheckByAWriter(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	before := s.Verdicts(p.HeadSHA)
	c := s.Say(p.Number, "maintainer", "Thanks.\r\n/compat recheck  \r\n")
	s.want(s.Again(p.HeadSHA, before), "failure")
	eventually(s, func() string {
		if len(s.reactions(c)) == 0 {
			return "no reaction"
		}
		return ""
	})
	s.Summary(p)
}

func TestRecheckByAnOutsider(t *testing.T) {
	s := tell(t, world{})
	s.gh.Do(func() { s.repo.Roles["triager"] = "triage" })
	p := s.Bad()
	before := s.Verdicts(p.HeadSHA)
	for _, who := range []string{"outsider", "triager"} {
		c := s.Say(p.Number, who, "/compat recheck")
		eventually(s, func() string {
			r := s.reactions(c)
			if !slices.Contains(r, "-1") && !slices.Contains(r, "confused") &&
				len(s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number)) < 2 {
				return who + " is not told that it is not for them"
			}
			return ""
		})
	}
	never(s, time.Second, func() string {
		if s.Verdicts(p.HeadSHA) > before {
			return "analysed for an outsider"
		}
		return ""
	})
}

// Text that only looks like a command is ignored without a reply.
func TestIgnoredCommands(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Summary(p)
	before, comments := s.Verdicts(p.HeadSHA), len(s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number))
	var said []*githubtest.Comment
	for _, body := range []string{
		"```\n/compat recheck\n```", "    /compat recheck", "say `/compat recheck`", "> /compat recheck",
		"<!-- /compat recheck -->", "<!--\n/compat recheck\n-->", "you could /compat recheck",
	} {
		said = append(said, s.Say(p.Number, "maintainer", body))
	}
	edited := s.gh.AddComment(s.repo, p.Number, s.gh.User("maintainer"), "/compat recheck")
	s.Send("issue_comment", s.gh.CommentEvent(s.repo, p.Number, edited, "edited"))
	issue := s.gh.OpenIssue(s.repo, "A question", s.gh.User("someone"))
	said = append(said, edited, s.Say(issue.Number, "maintainer", "/compat recheck"))
	bot := s.gh.AddComment(s.repo, p.Number, s.gh.Bot(), "/compat recheck")
	s.Send("issue_comment", s.gh.CommentEvent(s.repo, p.Number, bot, "created"))
	said = append(said, bot)
	never(s, 2*time.Second, func() string {
		for _, c := range said {
			if len(s.reactions(c)) > 0 {
				return "reacted to " + c.Body
			}
		}
		if s.Verdicts(p.HeadSHA) > before ||
			len(s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number)) > comments+1 {
			return "took one for a command"
		}
		return ""
	})
}

func TestRepliesToCommands(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Summary(p)
	for body, words := range map[string][]string{
		"/compat help": {"recheck", "explain", "accept"}, "/compat explain pow": {"pow", "GLIBC_2.29"},
		"/compat explain symbol-version-too-new": {"symbol-version-too-new", "pow", "GLIBC_2.29"},
	} {
		reply := s.replied(p, s.Say(p.Number, "maintainer", body))
		s.says(reply, words...)
		if strings.Contains(reply, marker) {
			s.Errorf("the reply to %s carries the summary's marker", body)
		}
	}
	c := s.Say(p.Number, "maintainer", "/compat frobnicate")
	s.reacted(c, "confused")
	s.says(s.replied(p, c), "frobnicate", "/compat help")
	if n := len(s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number)); n != 5 {
		s.Errorf("%d comments, want the summary and one reply to each of four commands", n)
	}
	s.Summary(p)
}

func TestAccept(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	before := s.Verdicts(p.HeadSHA)
	for _, c := range []*githubtest.Comment{s.Say(p.Number, "outsider",
		"/compat accept symbol-version-too-new because I say so"), s.Say(p.Number, "maintainer",
		"/compat accept symbol-version-too-new")} {
		eventually(s, func() string {
			if r := s.reactions(c); !slices.Contains(r, "-1") && !slices.Contains(r, "confused") {
				return "not refused: " + c.Body
			}
			return ""
		})
	}
	if s.Verdicts(p.HeadSHA) > before {
		s.Error("a refused accept had an effect")
	}
	c := s.Say(
		p.Number,
		"maintainer",
		"/compat accept symbol-version-too-new because users have newer systems",
	)
	k := s.Again(p.HeadSHA, before)
	s.want(k, "success")
	s.says(shown(k), "accepted", "users have newer systems", "maintainer")
	s.reacted(c, "+1")
}

func TestRerunButtons(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	who := s.gh.User("maintainer")
	for _, press := range []func(githubtest.Check){
		func(k githubtest.Check) {
			s.Send("check_run", s.gh.CheckEvent(s.repo, k.ID, "rerequested", "", who))
		},
		func(githubtest.Check) {
			s.Send("check_suite", s.gh.SuiteEvent(s.repo, p.HeadSHA, "rerequested", who))
		},
		func(k githubtest.Check) {
			i := slices.IndexFunc(k.Actions, func(a githubtest.Action) bool {
				return strings.Contains(a.Identifier, "recheck")
			})
			if i < 0 {
				s.Fatalf("no action to recheck in %+v", k.Actions)
			}
			s.Send("check_run", s.gh.CheckEvent(s.repo, k.ID, "requested_action", k.Actions[i].Identifier,
				who))
		},
	} {
		k := s.Concluded(p.HeadSHA)
		before := s.Verdicts(p.HeadSHA)
		press(k)
		again := s.Again(p.HeadSHA, before)
		s.want(again, "failure")
		if len(again.Annotations) > len(k.Annotations) {
			s.Errorf(
				"%d annotations became %d: GitHub appends them on update",
				len(k.Annotations),
				len(again.Annotations),
			)
		}
	}
	s.Summary(p)
}

func TestRerunOfAFork(t *testing.T) {
	s := tell(t, world{})
	p := s.gh.OpenPull(
		s.repo,
		s.gh.Fork(s.repo, "contributor"),
		"fix",
		s.gh.User("contributor"),
		requiring("packaging>=24"),
	)
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	k := s.Concluded(p.HeadSHA)
	before := s.Verdicts(p.HeadSHA)
	s.Send("check_run", s.gh.CheckEvent(s.repo, k.ID, "rerequested", "", s.gh.User("maintainer")))
	s.want(s.Again(p.HeadSHA, before), "failure")
}

func TestOwnEventsDoNotLoop(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Summary(p)
	before := s.Verdicts(p.HeadSHA)
	for _, k := range s.gh.Checks(s.repo, p.HeadSHA) {
		for _, action := range []string{"created", "completed"} {
			s.Send("check_run", s.gh.CheckEvent(s.repo, k.ID, action, "", s.gh.Bot()))
		}
	}
	for _, c := range s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number) {
		s.Send("issue_comment", s.gh.CommentEvent(s.repo, p.Number, &c, "created"))
	}
	never(s, 2*time.Second, func() string {
		if s.Verdicts(p.HeadSHA) > before {
			return "its own event made it look again"
		}
		return ""
	})
}

func TestSummaryIsUpdatedInPlace(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	for range 130 {
		s.gh.AddComment(s.repo, p.Number, s.gh.User("someone"), "talk")
	}
	foreign := s.gh.AddComment(s.repo, p.Number, s.gh.User("outsider"), marker+"\nnothing to see here")
	var first int64
	for i := range 5 {
		s.Finish(p, wheels(cases.CaseA("1.5.1")))
		s.want(s.Concluded(p.HeadSHA), "failure")
		c := s.Summary(p)
		if i > 0 && c.ID != first {
			s.Error("a new summary comment instead of the old one")
		}
		first = c.ID
		s.Push(p, map[string]string{"n.py": strings.Repeat("x = 1\n", i+1)})
	}
	if foreign.Edits > 0 || foreign.Minimized != "" {
		s.Error("somebody else's comment was touched")
	}
}

func TestFixedFindingsAreClosed(t *testing.T) {
	t.Parallel()
	t.Run("nobody answered", func(t *testing.T) { fixed(t, "") })
	t.Run("somebody answered", func(t *testing.T) { fixed(t, "We need 12.8 for the old driver.") })
}

func fixed(t *testing.T, answer string) {
	s := tell(t, world{})
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	before := s.Summary(p).Body
	var thread *githubtest.Thread
	eventually(s, func() string {
		s.gh.Do(func() {
			if len(p.Threads) > 0 {
				thread = p.Threads[0]
			}
		})
		if thread == nil {
			return "no review comment"
		}
		return ""
	})
	if answer != "" {
		s.gh.Reply(thread, s.gh.User("maintainer"), answer)
	}
	s.Push(p, requiring("nvidia-nvjitlink-cu12>=12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.1", "nvidia-nvjitlink-cu12>=12.9")))
	s.want(s.Concluded(p.HeadSHA), "success")
	eventually(s, func() string {
		open := 0
		s.gh.Do(func() {
			for _, th := range p.Threads {
				if !th.Resolved && th.Comments[0].Minimized == "" {
					open++
				}
			}
		})
		if open > 0 {
			return "a thread about what is fixed is still open"
		}
		if after := s.Summaries(p); len(after) == 1 && after[0].Body == before {
			return "the summary comment still says what it said"
		}
		return ""
	})
	s.gh.Do(func() {
		if n := len(thread.Comments); answer != "" &&
			(n != 2 || thread.Comments[1].Body != answer || len(p.Threads) != 1) {
			s.Errorf("a thread that a person answered has %d comments now", n)
		}
	})
}
