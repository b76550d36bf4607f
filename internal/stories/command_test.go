package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/githubtest"
)

// replied waits until one more comment of the App's than before can be read, and gives it.
func (s *story) replied(p *githubtest.Pull, before int) string {
	s.Helper()
	reply := ""
	eventually(s, 10*time.Second, func() string {
		all := s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number)
		if len(all) <= before {
			return "no reply"
		}
		reply = plain(all[len(all)-1].Body)
		return ""
	})
	return reply
}

// reacted waits for a reaction of that kind.
func (s *story) reacted(c *githubtest.Comment, want string) {
	s.Helper()
	eventually(s, 10*time.Second, func() string {
		if r := s.reactions(c); !slices.Contains(r, want) {
			return "reactions " + strings.Join(r, ", ") + ", want " + want + ": " + c.Body
		}
		return ""
	})
}

func TestStatusAndUnaccept(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Summary(p)
	bot := func() int { return len(s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number)) }

	before := bot()
	s.Say(p.Number, "someone", "/compat status")
	s.says(s.replied(p, before), p.HeadSHA[:12], "failure", "GLIBC")

	verdicts := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat accept symbol-version-too-new because users have newer systems until 2999-01-31")
	s.want(s.Again(p.HeadSHA, verdicts), "success")
	status := ""
	eventually(s, 10*time.Second, func() string { // the verdict is noted a moment after it is posted
		before = bot()
		s.Say(p.Number, "someone", "/compat status")
		if status = s.replied(p, before); !strings.Contains(status, "success") {
			return "the status is " + status
		}
		return ""
	})
	s.says(status, "symbol-version-too-new", "users have newer systems", "maintainer", "2999-01-31")

	verdicts = s.Verdicts(p.HeadSHA)
	s.reacted(s.Say(p.Number, "outsider", "/compat unaccept symbol-version-too-new"), "-1")
	before = bot()
	s.reacted(s.Say(p.Number, "maintainer", "/compat unaccept pow"), "confused")
	s.says(s.replied(p, before), "pow is not accepted")
	if s.Verdicts(p.HeadSHA) > verdicts {
		t.Error("what was refused had an effect")
	}
	s.reacted(s.Say(p.Number, "maintainer", "/compat unaccept `symbol-version-too-new`"), "+1")
	s.want(s.Again(p.HeadSHA, verdicts), "failure")

	before = bot()
	s.reacted(s.Say(p.Number, "maintainer", "/compat rechek"), "confused")
	s.says(s.replied(p, before), "did you mean /compat recheck?")
	for _, audited := range []string{`"command":"accept"`, `"command":"unaccept"`, `"by":"outsider"`, `"answer":"-1"`} {
		if !strings.Contains(s.app.log.String(), audited) {
			t.Errorf("the audit log lacks %s", audited)
		}
	}
}
