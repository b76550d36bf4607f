package stories

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/renderer/html"

	"github.com/compat-app/compat/internal/test/browser"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/hostiletest"
)

// The four founding cases, and one with hostile names, as a reader sees them in a browser: the
// check, the conversation, and the service's report page. `make screens` also writes the pictures
// of docs/screens, with GitHub's Markdown style sheet from npm.

// screen is a pull request to be shown.
type screen struct {
	name, title, requirement, settings string
	artifact                           *githubtest.Artifact
}

func screens() []screen {
	evil := cases.CaseA("1.5.1")
	library := evil.Files["warp/bin/warp.so"]
	for i, name := range hostiletest.Names() {
		if i%6 == 0 && len(name) < 200 {
			evil.Files[fmt.Sprintf("warp/%d%s", i, name)] = library
		}
	}
	evil.Files["warp/<script>document.title='ran'</script><img src=x onerror=alert(1)>.so"] = library
	evil.Files["warp/"+strings.Repeat("long", 2000)+".so"] = library
	d, object := cases.CaseD()
	return []screen{
		{
			"case-a",
			"Build the wheel on Ubuntu 20.04",
			"packaging>=24",
			"",
			wheels(cases.CaseA("1.5.1")),
		},
		{
			"case-b",
			"Use nvJitLink's error log",
			"nvidia-nvjitlink-cu12>=12.8,<12.9",
			"",
			wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")),
		},
		{
			"case-c",
			"Publish the selective scan for ROCm",
			"torch",
			"python:\n  with:\n    - torch==2.4.0+rocm6.1\n",
			wheels(cases.CaseC("1.1.0")),
		},
		{
			"case-d",
			"Ship libcufile",
			"packaging>=24",
			"",
			artifact("libraries", cases.Zip(map[string][]byte{"build/" + d: object})),
		},
		{
			"hostile",
			"<script>alert(1)</script>",
			"packaging>=24",
			"",
			artifact("`@octocat` <b>", cases.Dist(evil)),
		},
	}
}

var frame = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}}</title>
<link rel="stylesheet" href="/markdown.css"><link rel="stylesheet" href="/frame.css"></head><body>
<h1>{{.Title}} <span>#{{.Number}}</span></h1>
{{with .Check}}<section><header>compat <span class="{{.Conclusion}}">{{.Conclusion}}</span></header>
<div class="inside"><h2>{{.Title}}</h2><div class="markdown-body">{{.Summary}}</div></div>
{{range .Annotations}}<div class="note"><b>{{.Title}}</b> <span class="soft">{{.Path}}, line {{.Start}}</span><pre class="plain">{{.Message}}</pre></div>{{end}}
<div class="inside"><div class="markdown-body">{{.Text}}</div></div></section>{{end}}
{{range .Comments}}<section><header>{{.By}} <span class="label">bot</span> <span class="soft">{{.Where}}</span></header><div class="inside markdown-body">{{.Body}}</div></section>{{end}}
</body></html>
`))

type shownComment struct {
	By, Where string
	Body      template.HTML
}

var gfm = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(markdown.WithUnsafe()),
)

// render returns Markdown as HTML without removing anything: GitHub removes scripts, and here they
// would run.
func render(t testing.TB, text string) template.HTML {
	var b bytes.Buffer
	if err := gfm.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return template.HTML(b.String())
}

var suggested = regexp.MustCompile(`(?s)<pre><code class="language-suggestion">(.*?)</code></pre>`)

// suggest shows a suggestion as GitHub does: as a change of its line.
func suggest(body template.HTML, line string) template.HTML {
	return template.HTML(suggested.ReplaceAllStringFunc(string(body), func(s string) string {
		return `<div class="change"><header>Suggested change</header><pre class="out">- ` +
			html.EscapeString(
				line,
			) + `</pre><pre class="in">+ ` + suggested.FindStringSubmatch(s)[1] + `</pre></div>`
	}))
}

// shot makes the pages of a pull request: its check, and its conversation.
func (s *story) shot(c screen, p *githubtest.Pull, k githubtest.Check) (check, talk string) {
	s.Helper()
	write := func(data map[string]any) string {
		data["Title"], data["Number"] = c.title, p.Number
		var b strings.Builder
		if err := frame.Execute(&b, data); err != nil {
			s.Fatal(err)
		}
		return b.String()
	}
	check = write(
		map[string]any{
			"Check": map[string]any{
				"Conclusion":  k.Conclusion,
				"Title":       k.Title,
				"Summary":     render(s, k.Summary),
				"Text":        render(s, k.Text),
				"Annotations": k.Annotations,
			},
		},
	)
	var said []shownComment
	for _, c := range s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number) {
		said = append(said, shownComment{s.gh.Slug, "commented", render(s, c.Body)})
	}
	s.gh.Do(func() {
		for _, th := range p.Threads {
			line := strings.Split(requiring(c.requirement)[th.Path], "\n")[th.Line-1]
			said = append(
				said,
				shownComment{
					s.gh.Slug,
					fmt.Sprintf("reviewed %s, line %d", th.Path, th.Line),
					suggest(render(s, th.Comments[0].Body), line),
				},
			)
		}
	})
	return check, write(map[string]any{"Comments": said})
}

func TestScreens(t *testing.T) {
	s := tell(t, world{})
	b := browser.Start(t)
	pages := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch file := strings.TrimPrefix(r.URL.Path, "/"); {
		case file == "frame.css":
			http.ServeFile(w, r, "testdata/screens/frame.css")
		case file == "markdown.css":
			http.ServeFile(w, r, cmp.Or(os.Getenv("COMPAT_MARKDOWN_CSS"), "testdata/screens/markdown.css"))
		case pages[file] != "":
			fmt.Fprint(w, pages[file])
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()

	addresses := map[string]string{}
	for i, c := range screens() {
		repo := s.newRepo(s.inst, fmt.Sprintf("widget-%d", i))
		if c.settings != "" {
			s.gh.Commit(repo, "main", map[string]string{settings: c.settings})
		}
		p := s.gh.OpenPull(repo, repo, "change", s.gh.User("author"), requiring(c.requirement))
		s.Send("pull_request", s.gh.PullEvent(p, "opened"))
		s.Finish(p, c.artifact)
		var k githubtest.Check
		eventually(s, func() string {
			for _, k = range s.gh.Checks(repo, p.HeadSHA) {
				if k.Status == "completed" && len(s.gh.CommentsBy(s.gh.Bot(), repo, p.Number)) > 0 {
					return ""
				}
			}
			return c.name + " is not reviewed"
		})
		s.want(k, "failure")
		check, talk := c.name+"-check.html", c.name+"-conversation.html"
		pages[check], pages[talk] = s.shot(c, p, k)
		addresses[c.name+"-check"], addresses[c.name+"-conversation"],
			addresses[c.name+"-report"] = server.URL+"/"+check, server.URL+"/"+talk, k.DetailsURL
	}
	addresses["case-a-findings"] = addresses["case-a-report"] + "/findings?q=pow"
	addresses["unknown-report"] = s.app.url("/reports/nothing")
	addresses["unknown-findings"] = s.app.url("/reports/" + strings.Repeat("ab", 16) + "/findings")
	addresses["start"] = s.app.url("/")
	if os.Getenv("COMPAT_AXE") == "" {
		t.Log("axe-core is not used: COMPAT_AXE names no file")
	}
	for name, address := range addresses {
		back := map[string]bool{}
		for _, v := range []browser.View{{Width: 900}, {Width: 390, Dark: true}} {
			p := b.Open(address, v)
			page := p.Look()
			page.Active = slices.DeleteFunc(page.Active, func(s string) bool {
				return strings.HasSuffix(name, "-report") && strings.HasPrefix(s, browser.CopyScript) ||
					strings.HasSuffix(name, "-findings") &&
						strings.HasPrefix(s, `<form role="search" method="get" action="findings">`)
			})
			own := !strings.HasSuffix(name, "-check") && !strings.HasSuffix(name, "-conversation")
			if !own {
				page.Stuck = nil // GitHub scrolls tables and code in its own way
			}
			problems := append(page.Problems(), p.Ran()...)
			if own {
				problems = append(problems, p.Violations()...)
			}
			if len(problems) > 0 || len(page.Active) > 0 || page.Title == "ran" {
				t.Errorf("%s at %+v: %q; it has %q", name, v, problems, page.Active)
			}
			back[page.Back] = true
			most := 1100 // pixels: a picture should have less than 200 kB
			if strings.HasSuffix(name, "check") {
				most = 850
			}
			if dir := os.Getenv("COMPAT_SCREENS"); dir != "" && !v.Dark &&
				strings.HasPrefix(name, "case-") &&
				(name == "case-b-report" || !strings.HasSuffix(name, "report")) {
				if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Picture(most), 0o644); err != nil {
					t.Error(err)
				}
			}
			p.Close()
		}
		if len(back) != 2 {
			t.Errorf("%s is the same in the dark: %v", name, back)
		}
	}
}
