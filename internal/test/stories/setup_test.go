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

// offered is compat while it shows the page that creates an App.
type offered struct {
	*exec.Cmd
	out  *bufio.Reader
	link string
}

// offer starts compat and reads the link.
func (s *story) offer(env []string, args ...string) *offered {
	s.Helper()
	o := &offered{Cmd: exec.Command(binary, args...)}
	o.Env = append([]string{"HOME=" + s.app.dir}, env...)
	o.Stderr = s.app.log
	out, err := o.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := o.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { o.Process.Kill() })
	for o.out = bufio.NewReader(out); o.link == ""; {
		line, err := o.out.ReadString('\n')
		if err != nil {
			s.Fatalf("compat %s ends without a link: %v", args[0], err)
		}
		if line = strings.TrimSpace(line); strings.Contains(line, "/setup?token=") {
			o.link = line
		}
	}
	return o
}

// setUp creates the App like a person with a browser, and returns the settings file as a shell
// reads it. way is how the browser reaches the page.
func (s *story) setUp(o *offered, way http.RoundTripper) map[string]string {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute, Transport: way}
	page := s.visit(browser.Get(o.link))
	value := func(attribute string) string {
		m := regexp.MustCompile(attribute + `="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			s.Fatalf("no %s in %s", attribute, page)
		}
		return html.UnescapeString(m[1])
	}
	s.visit(
		browser.PostForm(value("action"), url.Values{"manifest": {value(`name="manifest" value`)}}),
	)
	page = s.visit(
		browser.PostForm(
			s.gh.Web()+"/settings/apps/manifest",
			url.Values{"id": {"0"}, "name": {"our compat"}},
		),
	)
	s.says(page, "App created", "our compat")
	rest, err := io.ReadAll(o.out)
	if err != nil {
		s.Fatal(err)
	}
	s.app.log.Write([]byte(o.link + page + string(rest))) // where no secret may appear
	if err := o.Wait(); err != nil {
		s.Fatalf("compat %s: %v\n%s", o.Args[1], err, rest)
	}
	s.says(
		string(rest),
		"Created the App our compat (id 4711)",
		"/installations/new",
		"with this GitHub App (id 4711) as the expected source",
	)
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

// From nothing to a check run: the App is created from app.yml, on GitHub Enterprise Server and for
// an organization, the service is started with the settings that were written, and the permissions
// of app.yml suffice for a pull request with a review, a summary comment and a command.
func TestSetUp(t *testing.T) {
	s := tell(t, world{prefix: "/api/v3", asleep: true})
	dir := filepath.Join(s.app.dir, "it's ours")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.runWith(
		s.setUp(
			s.offer(
				nil,
				"setup",
				"--url",
				"https://compat.example.com",
				"--out",
				dir,
				"--github-url",
				s.gh.Web(),
				"--org",
				"acme",
			),
			nil,
		),
	)
	p := s.Bad()
	s.Summary(p)
	before := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat recheck")
	s.want(s.Again(p.HeadSHA, before), "failure")

	again := exec.Command(binary, "setup", "--url", "https://compat.example.com", "--out", dir)
	again.Env = []string{"HOME=" + s.app.dir}
	if text, err := again.CombinedOutput(); again.ProcessState.ExitCode() != 2 ||
		!strings.Contains(string(text), "already exists and is not overwritten") {
		t.Errorf("a second setup: %v %s", err, text)
	}
}

// runWith starts the service with the settings of a new App.
func (s *story) runWith(env map[string]string) {
	s.Helper()
	for _, name := range []string{"APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH", "WEBHOOK_SECRET",
		"GITHUB_API_URL", "COMPAT_PUBLIC_URL"} {
		if s.app.env[name] = env[name]; env[name] == "" {
			delete(s.app.env, name)
		}
	}
	if s.app.env["PRIVATE_KEY_PATH"] == "" || s.app.env["GITHUB_API_URL"] != s.gh.URL() ||
		s.app.env["COMPAT_PUBLIC_URL"] != "https://compat.example.com" ||
		!filepath.IsAbs(env["COMPAT_DATA"]) {
		s.Fatalf("the settings are %v", env)
	}
	s.app.start()
}

// proxy is a proxy in front of the service that terminates TLS; other hosts are reached directly.
type proxy struct{ to string }

func (p proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "compat.example.com" {
		r = r.Clone(r.Context())
		r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, "http", p.to
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A service without an App shows the setup page, is alive and not ready, takes no delivery, and
// ends when the App was created. A service with an App has no such page.
func TestSetUpOnTheServer(t *testing.T) {
	s := tell(t, world{prefix: "/api/v3", asleep: true})
	data := filepath.Join(s.app.dir, "first")
	o := s.offer(
		[]string{
			"COMPAT_PUBLIC_URL=https://compat.example.com",
			"COMPAT_DATA=" + data,
			"GITHUB_API_URL=" + s.gh.URL(),
		},
		"serve",
		"--addr",
		s.app.addr,
	)
	way := proxy{s.app.addr}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/setup": 403,
		"/setup/created?code=x&state=y": 403, "/metrics": 404} {
		r, err := (&http.Client{Transport: way}).Get("https://compat.example.com" + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, r.StatusCode, want)
		}
	}
	if r, err := http.Post("http://"+s.app.addr+"/webhook", "application/json",
		strings.NewReader("{}")); err != nil ||
		r.StatusCode != 503 ||
		r.Header.Get("Retry-After") == "" {
		t.Errorf("a delivery: %v, %v", r, err)
	}
	if code, _ := s.app.get("/setup"); code != 421 {
		t.Errorf("under another name the page answers %d", code)
	}
	s.runWith(s.setUp(o, way))
	if code, _ := s.app.get("/setup"); code != 404 {
		t.Errorf("with an App the page answers %d", code)
	}
	s.want(s.Concluded(s.Bad().HeadSHA), "failure")
	second := exec.Command(binary, "serve", "--addr", "127.0.0.1:0")
	second.Env = []string{
		"HOME=" + s.app.dir,
		"COMPAT_PUBLIC_URL=https://compat.example.com",
		"COMPAT_DATA=" + data,
	}
	if text, err := second.CombinedOutput(); second.ProcessState.ExitCode() != 2 ||
		!strings.Contains(string(text), "compat.env") &&
			!strings.Contains(string(text), "compat.private-key.pem") {
		t.Errorf("a second App: %v %s", err, text)
	}
}
