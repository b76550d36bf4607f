package stories

import (
	"fmt"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

func (s *story) judge(w cases.Wheel) (*githubtest.Pull, githubtest.Check) {
	s.Helper()
	p := s.Open()
	s.Finish(p, wheels(w))
	return p, s.Concluded(p.HeadSHA)
}

func TestInvalidConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, key string
		line            int
	}{
		{"unknown key", "fail_on: error\nfail_onn: never\n", "fail_onn", 2},
		{"unknown rule", "rules:\n  no-such-rule: error\n", "no-such-rule", 2},
		{"not YAML", "rules: [\n", settings, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tell(t, world{})
			s.Configure(c.text)
			_, k := s.judge(cases.Clean("1.1.0"))
			s.notPassed(k)
			s.says(shown(k), settings, c.key)
			if len(k.Annotations) != 1 || k.Annotations[0].Path != settings ||
				k.Annotations[0].Start != c.line {
				t.Errorf("annotations %+v, want one on line %d of %s", k.Annotations, c.line, settings)
			}
		})
	}
}

func TestConfigOfTheHeadIsIgnored(t *testing.T) {
	s := tell(t, world{})
	p := s.OpenWith("feature", map[string]string{settings: "fail_on: never\n"})
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
}

func TestFailOnNever(t *testing.T) {
	s := tell(t, world{})
	s.Configure("fail_on: never\n")
	_, k := s.judge(cases.CaseA("1.5.1"))
	s.want(k, "neutral", "success")
	s.says(shown(k), "GLIBC_2.29")
}

func TestAcceptedInTheConfig(t *testing.T) {
	t.Parallel()
	for until, want := range map[string]string{"2999-12-31": "success", "2020-01-01": "failure"} {
		t.Run(until, func(t *testing.T) {
			s := tell(t, world{})
			s.Configure(
				fmt.Sprintf(
					"accept:\n  - rule: symbol-version-too-new\n    because: users have newer systems\n    "+
						"until: %s\n",
					until,
				),
			)
			_, k := s.judge(cases.CaseA("1.5.1"))
			s.want(k, want)
		})
	}
}

// A push changes the configuration of all repositories of an account. Later checks use the new one,
// although the old one was read a moment before; earlier check runs do not change until a check is
// requested.
func TestConfigurationOfTheAccountChanges(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".github", ".github-private"} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{})
			p := s.Bad() // without a configuration, which is cached for ten minutes
			common := s.gh.NewRepo(s.inst, name, map[string]string{"README.md": "# acme\n"})
			s.gh.Do(func() { common.Private = name == ".github-private" })
			change := func(text string) {
				s.Free()
				before := s.Verdicts(p.HeadSHA)
				s.gh.Commit(common, "main", map[string]string{settings: text})
				s.Send("push", s.gh.PushEvent(common, "main", settings))
				s.Free()
				if n := s.Verdicts(p.HeadSHA); n != before {
					s.Errorf("a head that nobody asks about has %d verdicts, %d before the push", n, before)
				}
			}
			change("fail_on: never\n")
			before := s.Verdicts(p.HeadSHA)
			s.Say(p.Number, "maintainer", "/compat recheck")
			s.want(s.Again(p.HeadSHA, before), "neutral", "success")

			change("fail_on: error\n")
			sha := s.Push(p, map[string]string{"a.py": "x = 1\n"})
			s.Finish(p, wheels(cases.CaseA("1.6.0")))
			s.want(s.Concluded(sha), "failure")
		})
	}
}
