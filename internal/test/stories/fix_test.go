package stories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// rawReply waits for the App's reply to a comment and returns its Markdown.
func (s *story) rawReply(p *githubtest.Pull, to *githubtest.Comment) (reply string) {
	s.Helper()
	s.replied(p, to)
	for _, c := range s.gh.CommentsBy(s.gh.Bot(), s.repo, p.Number) {
		if strings.Contains(c.Body, fmt.Sprintf("<!-- compat:reply %d -->", to.ID)) {
			reply = c.Body
		}
	}
	return reply
}

// patched returns a file to which the patch in a reply was applied with git.
func (s *story) patched(reply, name, content string) string {
	s.Helper()
	_, rest, ok := strings.Cut(reply, "```diff\n")
	patch, _, _ := strings.Cut(rest, "```")
	if !ok {
		s.Fatalf("no patch in %s", reply)
	}
	dir := s.TempDir()
	for file, text := range map[string]string{name: content, "fix.patch": patch} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	c := exec.Command("git", "apply", "fix.patch")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("git apply: %v: %s\n%s", err, out, patch)
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// /compat fix replies with the patch of the file that pins a package, which was tried.
func TestFixOfPins(t *testing.T) {
	s, _ := pinned(t, map[string]string{"requirements.txt": pins})
	p := s.OpenWith("bump", map[string]string{"requirements.txt": raised})
	c := s.Say(p.Number, "maintainer", "/compat fix")
	s.reacted(c, "confused")
	s.says(s.replied(p, c), "There is no report on this pull request yet")
	s.blames(s.Concluded(p.HeadSHA), "requirements.txt", 2)

	for _, by := range []string{"maintainer", "outsider"} { // nothing is written
		c = s.Say(p.Number, by, "/compat fix")
		s.reacted(c, "+1")
		reply := s.rawReply(p, c)
		s.says(plain(reply), p.HeadSHA[:12], "meshcore", "git apply fix.patch")
		want := strings.Replace(pins, "3.1.0", "3.1.4", 1)
		if got := s.patched(reply, "requirements.txt", raised); got != want {
			t.Errorf("with the patch for %s the file is\n%s\nwant\n%s", by, got, want)
		}
	}

	s.Push(p, map[string]string{"requirements.txt": strings.Replace(pins, "3.1.0", "3.1.4", 1)})
	s.want(s.Concluded(p.HeadSHA), "success")
	s.says(s.replied(p, s.Say(p.Number, "maintainer", "/compat fix")), "has nothing new to fix")
}

// A line that the pull request does not change gets no suggestion, but it is in the patch.
func TestFixOutsideOfTheDiff(t *testing.T) {
	s := tell(t, world{})
	const pin = "nvidia-nvjitlink-cu12>=12.8,<12.9"
	old := requiring(pin)["pyproject.toml"]
	s.gh.Commit(s.repo, "main", map[string]string{"pyproject.toml": old})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")))
	p := s.OpenWith("feature", map[string]string{"README.md": "# widget, now with CUDA\n"})
	s.Finish(p, wheels(cases.CaseB("1.1.0", pin)))
	s.want(s.Concluded(p.HeadSHA), "failure")
	reply := s.rawReply(p, s.Say(p.Number, "maintainer", "/compat fix"))
	want := strings.Replace(old, pin, "nvidia-nvjitlink-cu12>=12.9", 1)
	if got := s.patched(reply, "pyproject.toml", old); got != want {
		t.Errorf("with the patch the file is\n%s\nwant\n%s", got, want)
	}
	if strings.Contains(s.written(p), "```suggestion") {
		t.Error("a line outside of the diff has a suggestion")
	}
}

// /compat fix replies with the command for the artifacts that were built, and checks nothing again.
func TestFixOfArtifacts(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	verdicts, analyses := s.Verdicts(p.HeadSHA), s.analyses()
	reply := s.replied(p, s.Say(p.Number, "maintainer", "/compat fix"))
	s.says(reply, "needs manylinux_2_31", "wheel tags --remove --platform-tag manylinux_2_31_x86_64 ")
	if s.Verdicts(p.HeadSHA) > verdicts || s.analyses() != analyses {
		t.Error("the artifacts were checked again")
	}
}
