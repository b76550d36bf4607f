package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// replied waits for the App's reply to a comment and returns it.
func (s *story) replied(p *githubtest.Pull, to *githubtest.Comment) string {
	s.Helper()
	marker, reply := fmt.Sprintf("<!-- compat:reply %d -->", to.ID), ""
	eventually(s, func() string {
		for _, c := range s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number) {
			if strings.Contains(c.Body, marker) {
				reply = plain(c.Body)
				return ""
			}
		}
		return "no reply to " + to.Body
	})
	return reply
}

// status repeats /compat status until the reply contains want: a result is stored a moment after it
// is posted.
func (s *story) status(p *githubtest.Pull, want string) string {
	s.Helper()
	status := ""
	eventually(s, func() string {
		if status = s.replied(p, s.Say(p.Number, "maintainer", "/compat status")); !strings.Contains(
			status,
			want,
		) {
			return "the status is " + status
		}
		return ""
	})
	return status
}

// reacted waits for a reaction of a kind.
func (s *story) reacted(c *githubtest.Comment, want string) {
	s.Helper()
	eventually(s, func() string {
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
	s.says(s.status(p, "failure"), p.HeadSHA[:12], "needs manylinux_2_31")

	verdicts := s.Verdicts(p.HeadSHA)
	s.Say(
		p.Number,
		"maintainer",
		"/compat accept symbol-version-too-new because users have newer systems until 2999-01-31",
	)
	s.want(s.Again(p.HeadSHA, verdicts), "success")
	status := s.status(p, "success")
	s.says(status, "symbol-version-too-new", "users have newer systems", "maintainer", "2999-01-31")

	verdicts = s.Verdicts(p.HeadSHA)
	s.reacted(s.Say(p.Number, "outsider", "/compat unaccept symbol-version-too-new"), "-1")
	c := s.Say(p.Number, "maintainer", "/compat unaccept exp")
	s.reacted(c, "confused")
	s.says(s.replied(p, c), "exp has not been accepted in this pull request")
	if s.Verdicts(p.HeadSHA) > verdicts {
		t.Error("what was refused had an effect")
	}
	s.reacted(s.Say(p.Number, "maintainer", "/compat unaccept `symbol-version-too-new`"), "+1")
	s.want(s.Again(p.HeadSHA, verdicts), "failure")

	c = s.Say(p.Number, "maintainer", "/compat rechek")
	s.reacted(c, "confused")
	s.says(s.replied(p, c), "did you mean /compat recheck?")
	for _, audited := range []string{`"command":"accept"`, `"command":"unaccept"`, `"by":"outsider"`,
		`"answer":"-1"`} {
		if !strings.Contains(s.app.log.String(), audited) {
			t.Errorf("the audit log lacks %s", audited)
		}
	}
}
