package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/spf13/cobra"
)

// demoLimit is the timeout of the demo, which takes a few seconds on two cores.
const demoLimit = 3 * time.Minute

func newDemoCommand(env environment) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show five reviewed pull requests, with a simulated GitHub on this machine",
		Long: `Review five pull requests with a simulated GitHub on this machine: a wheel with symbols newer than
its tag, a wheel whose dependency is pinned to a version that lacks a symbol, a CUDA build in a ROCm
environment, a library that programs cannot link against, and a compatible wheel. The service runs
with its embedded queue; the output is what the author of each pull request would see.

With --keep, the demo prints the address of each report page, and serves these pages until it is
interrupted. The demo makes no connection to other machines and leaves no files.`,
		Example: "compat demo\ncompat demo --keep",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return demo(c.Context(), env, keep) },
	}
	c.Flags().BoolVar(&keep, "keep", false, "show the report pages until interrupted (Ctrl-C)")
	return c
}

// demoPull is one pull request of the demo.
type demoPull struct {
	title, file, text, artifact string
	base                        string // of the file; "" = the usual one, or none
	before, content             []byte // of the artifact on the base branch and in the pull request
	config                      string // .github/compat.yml of the base branch; "" = none
}

const (
	demoProject = "[project]\nname = \"widget\"\nversion = \"1.0.0\"\ndependencies = [\n%s]\n"
	// It gives the wheel a tag without building where the tag allows it, as case A did.
	demoWorkflow = "name: wheels\non: [push, pull_request]\njobs:\n  wheels:\n    runs-on: " +
		"ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: " +
		"python setup.py bdist_wheel --plat-name manylinux2014_x86_64\n"
)

func demoPulls() []demoPull {
	project := func(line string) string { return fmt.Sprintf(demoProject, line) }
	library, d := cases.CaseD()
	_, correct := cases.CaseD("libdl.so.2")
	wheel := cases.Dist(cases.Clean("1.0.0"))
	return []demoPull{
		{
			title:    "A: a manylinux2014 wheel that was built on a newer system",
			file:     "pyproject.toml",
			text:     project("    \"numpy\",\n"),
			artifact: "wheels",
			before:   wheel,
			content:  cases.Dist(cases.CaseA("1.5.0")),
		},
		{
			title:    "B: a symbol that the pinned nvJitLink lacks",
			file:     "pyproject.toml",
			base:     project("    \"nvidia-nvjitlink-cu12>=12.9\",\n"),
			text:     project("    \"nvidia-nvjitlink-cu12>=12.8,<12.9\",\n"),
			artifact: "wheels",
			before:   wheel,
			content:  cases.Dist(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")),
		},
		{
			title:    "C: a CUDA build in a ROCm environment",
			file:     "pyproject.toml",
			text:     project("    \"torch\",\n"),
			artifact: "wheels",
			before:   wheel,
			content:  cases.Dist(cases.CaseC("1.1.0")),
			config:   "python:\n  with:\n    - torch==2.4.0+rocm6.1\n",
		},
		{
			title: "D: a library that does not list libdl",
			file:  "CMakeLists.txt",
			base: "project(widget)\nadd_library(cufile SHARED cufile.c)\n" +
				"target_link_libraries(cufile PRIVATE -Wl,--no-as-needed -ldl)\n",
			text:     "project(widget)\nadd_library(cufile SHARED cufile.c)\n",
			artifact: "native-libs",
			before:   cases.Zip(map[string][]byte{"lib/" + library: correct}),
			content:  cases.Zip(map[string][]byte{"lib/" + library: d}),
		},
		{
			title:    "E: a compatible wheel",
			file:     "pyproject.toml",
			text:     project("    \"packaging\",\n"),
			artifact: "wheels",
			before:   wheel,
			content:  cases.Dist(cases.Clean("1.1.0")),
		},
	}
}

func demo(ctx context.Context, env environment, keep bool) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reviewed, stop := context.WithTimeout(ctx, demoLimit)
	defer stop()
	gh, err := githubtest.Start(githubtest.Options{})
	if err != nil {
		return err
	}
	defer gh.Close()
	dir, err := os.MkdirTemp("", "compat-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	root := "http://" + listener.Addr().String()
	gh.Hook = root + "/webhook"
	settings := map[string]string{
		"APP_ID": strconv.FormatInt(
			gh.AppID,
			10,
		), "PRIVATE_KEY": gh.PEM(), "WEBHOOK_SECRET": gh.Secret, "GITHUB_API_URL": gh.URL(),
		"COMPAT_DATA": dir, "COMPAT_WAIT": "2m", "LOG_LEVEL": "error",
	}
	if keep { // otherwise the links would lead nowhere once the demo has ended
		settings["COMPAT_PUBLIC_URL"] = root
	}
	served := make(chan error, 1)
	go func() {
		quiet := environment{
			Getenv: func(name string) (string, bool) { v, ok := settings[name]; return v, ok },
			In:     env.In,
			Out:    env.Out,
			Err:    env.Err,
		}
		served <- serve(ctx, quiet, "", listener)
	}()
	var pulls []*githubtest.Pull
	owner := gh.Install("demo")
	for i, a := range demoPulls() {
		pulls = append(pulls, open(gh, owner, i, a))
	}
	for i, p := range pulls {
		if err := settled(reviewed, gh, p, served); err != nil {
			return err
		}
		fmt.Fprintf(env.Out, "━━ %s\n\n%s\n", demoPulls()[i].title, gh.Story(p))
	}
	fmt.Fprintf(env.Out, "Reviewed %d pull requests:\n", len(pulls))
	for i, p := range pulls {
		fmt.Fprint(env.Out, demoResult(demoPulls()[i].title, gh.Checks(p.Repo, p.HeadSHA), keep))
	}
	if keep {
		fmt.Fprintln(env.Out, "Their report pages are open. Press Ctrl-C to end.")
		select {
		case <-ctx.Done():
		case err := <-served:
			return err
		}
	} else {
		fmt.Fprintln(env.Out, "Next: compat demo --keep shows the report pages; compat check FILE "+
			"checks your own file.")
	}
	cancel()
	return <-served
}

// demoResult returns the lines about the checks of a pull request at the end of the demo, where a
// terminal shows no more of its text: the letter of its title, and the conclusion and the title of
// each check, with the address of the report page if linked is set.
func demoResult(title string, checks []githubtest.Check, linked bool) string {
	letter, _, _ := strings.Cut(title, ":")
	var b strings.Builder
	for _, k := range checks {
		fmt.Fprintf(&b, "  %s  %-7s  %s\n", letter, k.Conclusion, k.Title)
		if linked {
			fmt.Fprintf(&b, "              %s\n", k.DetailsURL)
		}
	}
	return b.String()
}

// open creates a repository with one pull request whose workflow run has ended.
func open(gh *githubtest.Server, owner *githubtest.Installation, i int,
	a demoPull) *githubtest.Pull {
	files := map[string]string{
		"README.md":                    "# widget\n",
		"pyproject.toml":               fmt.Sprintf(demoProject, ""),
		".github/workflows/wheels.yml": demoWorkflow,
	}
	if a.base != "" {
		files[a.file] = a.base
	}
	if a.config != "" {
		files[".github/compat.yml"] = a.config
	}
	repo := gh.NewRepo(owner, fmt.Sprintf("widget-%d", i+1), files)
	gh.BranchRun(repo, "main", githubtest.NewArtifact(a.artifact, a.before))
	pull := gh.OpenPull(repo, repo, "change", gh.User("author"), map[string]string{a.file: a.text})
	gh.Send("pull_request", gh.PullEvent(pull, "opened"))
	gh.Send(
		"workflow_run",
		gh.RunEvent(gh.PullRun(pull, githubtest.NewArtifact(a.artifact, a.content)), "completed"),
	)
	return pull
}

// commented reports whether a pull request has a comment. The caller must hold the lock of the
// GitHub server.
func commented(p *githubtest.Pull) bool {
	for _, i := range p.Repo.Issues {
		if i.Number == p.Number {
			return len(i.Comments) > 0
		}
	}
	return false
}

// settled waits until the check of a pull request's head is completed and, if it failed, the
// comment was written.
func settled(
	ctx context.Context,
	gh *githubtest.Server,
	p *githubtest.Pull,
	served <-chan error,
) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		done := false
		gh.Do(func() {
			for _, k := range p.Repo.Checks {
				if k.SHA == p.HeadSHA && k.Status == "completed" {
					done = k.Conclusion == "success" || commented(p)
				}
			}
		})
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-served:
			return fmt.Errorf("the service ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("%s: not reviewed in time: %w", p.Title, ctx.Err())
		}
	}
}
