package stories

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// setUp makes an App with `compat setup`, as a person at a browser would, and gives what the shell makes of the settings file.
func (s *story) setUp(dir string, args ...string) map[string]string {
	s.Helper()
	c := exec.Command(binary, append([]string{"setup", "--url", "https://compat.example.com", "--out", dir}, args...)...)
	c.Env = []string{"HOME=" + s.app.dir}
	c.Stderr = s.app.log
	out, err := c.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Process.Kill() })
	r := bufio.NewReader(out)
	link := ""
	for link == "" {
		line, err := r.ReadString('\n')
		if err != nil {
			s.Fatalf("compat setup ends without a link: %v", err)
		}
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http://127.0.0.1:") {
			link = line
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	page := s.visit(browser.Get(link))
	value := func(attribute string) string {
		m := regexp.MustCompile(attribute + `="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			s.Fatalf("no %s in %s", attribute, page)
		}
		return html.UnescapeString(m[1])
	}
	s.visit(browser.PostForm(value("action"), url.Values{"manifest": {value(`name="manifest" value`)}}))
	page = s.visit(browser.PostForm(s.gh.Web()+"/settings/apps/manifest", url.Values{"id": {"0"}, "name": {"our compat"}}))
	s.says(page, "The App is there", "our compat")
	rest, err := io.ReadAll(r)
	if err != nil {
		s.Fatal(err)
	}
	s.app.log.Write([]byte(link + page + string(rest))) // what must hold no secret
	if err := c.Wait(); err != nil {
		s.Fatalf("compat setup: %v\n%s", err, rest)
	}
	s.says(string(rest), "our compat is there, id 4711", "/installations/new", "with this App (id 4711) as its source")
	next := regexp.MustCompile(`set -a; .*; set \+a; compat serve`).FindString(string(rest))
	shell := exec.Command("sh", "-c", strings.Replace(next, "compat serve", "env", 1))
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	text, err := shell.Output()
	if err != nil {
		s.Fatalf("%s: %v", next, err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	return env
}

func (s *story) visit(r *http.Response, err error) string {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.Fatalf("%s answers %d (%v): %s", r.Request.URL.Path, r.StatusCode, err, body)
	}
	return string(body)
}

// From nothing to a verdict: the App is made from app.yml, on GitHub Enterprise Server and for an organisation, the service is started with the settings
// that were written, and what app.yml asks for is all that a pull request with a review, a summary comment and a command needs.
func TestSetUp(t *testing.T) {
	s := tell(t, world{prefix: "/api/v3", asleep: true})
	dir := filepath.Join(s.app.dir, "it's ours")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	env := s.setUp(dir, "--github-url", s.gh.Web(), "--org", "acme")
	for _, name := range []string{"APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH", "WEBHOOK_SECRET", "GITHUB_API_URL", "COMPAT_PUBLIC_URL"} {
		if s.app.env[name] = env[name]; env[name] == "" {
			delete(s.app.env, name)
		}
	}
	if s.app.env["PRIVATE_KEY_PATH"] == "" || s.app.env["GITHUB_API_URL"] != s.gh.URL() || s.app.env["COMPAT_PUBLIC_URL"] != "https://compat.example.com" {
		t.Fatalf("the settings are %v", env)
	}
	s.app.start()
	p := s.Bad()
	s.Summary(p)
	before := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat recheck")
	s.want(s.Again(p.HeadSHA, before), "failure")

	again := exec.Command(binary, "setup", "--url", "https://compat.example.com", "--out", dir)
	again.Env = []string{"HOME=" + s.app.dir}
	if text, err := again.CombinedOutput(); again.ProcessState.ExitCode() != 2 || !strings.Contains(string(text), "is there already, and nothing is overwritten") {
		t.Errorf("a second setup: %v %s", err, text)
	}
}
