package artifact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/github"
)

func TestHead(t *testing.T) {
	change := func(r run, f func(*run)) run { f(&r); return r }
	wheels := done(1, "wheels.yml", "pull_request", blob(11, "wheels"))
	for name, x := range map[string]struct {
		runs   []run
		want   []string
		flows  []string
		head   int64
		state  State
		items  string
		reason string
	}{
		"none":  {nil, nil, nil, home, Waiting, "", "No workflow run"},
		"ready": {[]run{wheels}, nil, nil, home, Ready, "wheels/11", ""},
		"empty": {[]run{done(1, "wheels.yml", "push")}, nil, nil, home, Empty, "",
			"uploaded no artifact"},
		"failed": {[]run{change(done(1, "wheels.yml", "push"), func(r *run) {
			r.over = "failure"
		})}, nil, nil, home, Empty, "", "some of them failed"},
		"running": {[]run{wheels, change(done(2, "other.yml", "push"), func(r *run) {
			r.status, r.over = "in_progress", ""
		})}, nil, nil, home, Waiting, "", "in progress"},
		"queued": {[]run{change(wheels, func(r *run) {
			r.status, r.over = "queued", ""
		})}, nil, nil, home, Waiting, "", "queued"},
		"approval": {[]run{change(wheels, func(r *run) {
			r.over = "action_required"
		})}, nil, nil, home, Waiting, "", "maintainer's approval"},
		"a deployment": {[]run{change(wheels, func(r *run) {
			r.status, r.over = "waiting", ""
		})}, nil, nil, home, Waiting, "", "deployment"},
		"other events": {[]run{wheels, change(done(2, "nightly.yml", "schedule", blob(21, "x")),
			func(r *run) {
				r.status = "in_progress"
			})}, nil, nil, home, Ready, "wheels/11", ""},
		// The same commit in another repository, and an artifact whose record names another
		// origin.
		"poisoned run": {[]run{wheels, change(done(2, "evil.yml", "pull_request", blob(21, "wheels2")),
			func(r *run) {
				r.head = fork
			})}, nil, nil, home, Ready, "wheels/11", ""},
		"poisoned artifact": {[]run{done(1, "wheels.yml", "push", art{id: 11, name: "a", origin: fork},
			art{id: 12, name: "b", sha: "other"}, blob(13, "c"))}, nil, nil, home, Ready, "c/13", ""},
		"fork": {[]run{wheels, change(done(2, "wheels.yml", "pull_request", blob(21, "wheels")),
			func(r *run) {
				r.head = fork
			})}, nil, nil, fork, Ready, "wheels/21", ""},
		"deleted fork": {[]run{wheels, change(done(2, "wheels.yml", "pull_request", blob(21, "wheels")),
			func(r *run) {
				r.head = 0
			})}, nil, nil, 0, Ready, "wheels/21", ""},
		"other commit": {[]run{change(wheels, func(r *run) {
			r.sha = "HEAD2"
		})}, nil, nil, home, Waiting, "", "No workflow run"},
		// The newest run of a workflow is used, also while it is running.
		"run again": {[]run{wheels, done(2, "wheels.yml", "pull_request", blob(21, "wheels"))}, nil, nil,
			home, Ready, "wheels/21", ""},
		"being run again": {[]run{wheels, change(done(2, "wheels.yml", "pull_request"), func(r *run) {
			r.status = "queued"
		})}, nil, nil, home, Waiting, "", "queued"},
		"push and request": {[]run{done(3, "wheels.yml", "push", blob(31, "wheels"), blob(32, "docs")),
			wheels}, nil, nil, home, Ready, "docs/32 wheels/11", ""},
		"two workflows": {[]run{wheels, done(2, "other.yml", "push", blob(21, "wheels"))}, nil, nil,
			home, Ready, "wheels/11 wheels/21", ""},
		"later attempt": {[]run{done(1, "wheels.yml", "push", blob(11, "a"), blob(13, "a"), blob(12,
			"b"))}, nil, nil, home, Ready, "a/13 b/12", ""},
		"expired": {[]run{done(1, "wheels.yml", "push", art{id: 11, name: "a", expired: true})},
			nil, nil, home, Ready, "a/11", ""},
		"globs": {[]run{done(1, "wheels.yml", "push", blob(11, "wheels-x86"),
			blob(12, "docs"))}, []string{"wheels-*"}, nil, home, Ready, "wheels-x86/11", ""},
		"globs take none": {[]run{wheels}, []string{"dist"}, nil, home, Empty, "",
			`"artifacts" in .github/compat.yml`},
		"workflows": {[]run{wheels, change(done(2, "lint.yml", "push"), func(r *run) {
			r.status = "queued"
		})}, nil, []string{"wheels.yml"}, home, Ready, "wheels/11", ""},
		"workflow unknown": {[]run{wheels}, nil, []string{"build*.yml"}, home, Waiting, "",
			"No run of build*.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.runs = x.runs
			found, err := fetcher(
				t,
				Options{},
			).Head(t.Context(), h.client(), Head{Owner: "octo", Repo: "widget", SHA: "head",
				HeadRepoID: x.head, Workflows: x.flows}, x.want)
			if err != nil {
				t.Fatal(err)
			}
			if found.State != x.state || names(found) != x.items ||
				!strings.Contains(found.Reason, x.reason) ||
				found.Key == "" {
				t.Errorf(
					"%s %q %q; want %s %q %q",
					found.State,
					names(found),
					found.Reason,
					x.state,
					x.items,
					x.reason,
				)
			}
		})
	}
}

// A head repository may be known only by name.
func TestHeadByName(t *testing.T) {
	h := newHub(t)
	h.runs = []run{done(1, "wheels.yml", "push", blob(11, "wheels"))}
	for name, want := range map[string]State{"Octo/Widget": Ready, "someone/widget": Waiting} {
		found, err := fetcher(
			t,
			Options{},
		).Head(t.Context(), h.client(), Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepo: name},
			nil)
		if err != nil || found.State != want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestHeadMoreThanAHundredArtifacts(t *testing.T) {
	h := newHub(t)
	r := done(1, "wheels.yml", "pull_request")
	for i := range 120 {
		r.arts = append(r.arts, blob(int64(1000+i), fmt.Sprintf("wheel-%03d", i)))
	}
	h.runs = []run{r}
	f := fetcher(t, Options{})
	c := h.client()
	found, err := f.Head(
		t.Context(),
		c,
		Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepoID: home},
		nil,
	)
	if err != nil || len(found.Items) != 120 || found.Items[119].Name != "wheel-119" {
		t.Fatalf("%d items, %v", len(found.Items), err)
	}
	set, err := f.Download(t.Context(), c, found)
	if err != nil || len(set.Files) != 120 || len(set.Problems) != 0 ||
		set.Files[119].Name != "wheel-119.zip" {
		t.Fatalf("%v", err)
	}
	set.Close()
}

// The key changes if and only if the input of an analysis changes.
func TestKey(t *testing.T) {
	h := newHub(t)
	f, c := fetcher(t, Options{}), h.client()
	key := func() string {
		found, err := f.Head(
			t.Context(),
			c,
			Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepoID: home},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		return found.Key
	}
	h.runs = []run{
		done(1, "a.yml", "push", blob(11, "x"), blob(12, "y")),
		done(2, "b.yml", "push", blob(21, "z")),
	}
	first := key()
	h.runs[0], h.runs[1] = h.runs[1], h.runs[0]
	h.runs[1].arts[0], h.runs[1].arts[1] = h.runs[1].arts[1], h.runs[1].arts[0]
	if key() != first {
		t.Error("the order of GitHub's answer changes the key")
	}
	seen := map[string]bool{first: true}
	for what, change := range map[string]func(){
		"bytes":   func() { h.runs[0].arts[0].data = []byte("other") },
		"id":      func() { h.runs[0].arts[0].id = 99 },
		"expired": func() { h.runs[0].arts[0].expired = true },
		"run":     func() { h.runs[0].id = 3 },
	} {
		change()
		if k := key(); seen[k] {
			t.Errorf("another %s: the same key", what)
		} else {
			seen[k] = true
		}
	}
}

func TestJustAfterTheEvent(t *testing.T) {
	h := newHub(t)
	h.runs = []run{done(1, "wheels.yml", "push", blob(11, "x"))}
	f, c := fetcher(t, Options{}), h.client()
	h.gone = 1
	if found, err := f.Head(t.Context(), c, Head{Owner: "octo", Repo: "widget", SHA: "head",
		HeadRepoID: home}, nil); err != nil ||
		found.State != Waiting {
		t.Errorf("head: %+v, %v", found, err)
	}
	h.gone = 1
	if found, err := f.Run(t.Context(), c, "octo", "widget", 1); err != nil ||
		found.State != Waiting {
		t.Errorf("run: %+v, %v", found, err)
	}
	h.gone = 1
	if found, err := f.Release(t.Context(), c, "octo", "widget", 1); err != nil ||
		found.State != Waiting {
		t.Errorf("release: %+v, %v", found, err)
	}
	h.limit = true
	for _, err := range []error{
		second(f.Head(t.Context(), c, Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepoID: home},
			nil)),
		second(f.Run(t.Context(), c, "octo", "widget", 1)), second(f.Release(t.Context(), c, "octo",
			"widget", 1)), second(f.Base(t.Context(), c, "octo", "widget", "main", "base", nil)),
	} {
		if github.Classify(err).Kind != github.After {
			t.Errorf("limited: %v", err)
		}
	}
}

func second(_ *Found, err error) error { return err }

func TestRun(t *testing.T) {
	for _, x := range []struct {
		status, over string
		arts         []art
		want         State
	}{
		{"waiting", "", []art{blob(11, "x")}, Ready}, {"in_progress", "", []art{blob(11, "x")}, Ready},
		{"completed", "success", nil, Empty}, {"waiting", "", nil, Empty}, {"queued", "", nil, Waiting},
	} {
		h := newHub(t)
		r := done(1, "release.yml", "release", x.arts...)
		r.status, r.over = x.status, x.over
		h.runs = []run{r}
		found, err := fetcher(t, Options{}).Run(t.Context(), h.client(), "octo", "widget", 1)
		if err != nil || found.State != x.want || len(found.Items) != len(x.arts) ||
			len(found.Runs) != 1 {
			t.Errorf("%s: %+v, %v", x.status, found, err)
		}
	}
}

// A deployment is not answered by the artifacts of a run whose jobs are not all known: the last one
// that GitHub lists may still build, and there may be more than are listed.
func TestRunWithManyJobs(t *testing.T) {
	for _, x := range []struct {
		jobs, running int // number of the job that runs; 0 = none
		want          State
	}{
		{0, 0, Ready}, {150, 0, Ready}, {150, 150, Waiting}, {1000, 0, Ready}, {1000, 1000, Waiting},
		{1001, 0, Waiting}, {1001, 1001, Waiting},
	} {
		h := newHub(t)
		r := done(1, "release.yml", "release", blob(11, "x"))
		r.status, r.over = "waiting", ""
		h.runs, h.jobs = []run{r}, []any{}
		for i := range x.jobs {
			state := j{"id": i + 1, "name": "build", "status": "completed", "conclusion": "success"}
			if i+1 == x.running {
				state["status"], state["conclusion"] = "in_progress", nil
			}
			h.jobs = append(h.jobs, state)
		}
		found, err := fetcher(t, Options{}).Run(t.Context(), h.client(), "octo", "widget", 1)
		if err != nil || found.State != x.want || (found.Reason == "") != (x.want == Ready) {
			t.Errorf("%d jobs, job %d runs: %+v, %v, want %s", x.jobs, x.running, found, err, x.want)
		}
	}
}

func TestBase(t *testing.T) {
	at := func(r run, sha, branch string, head int64) run {
		r.sha, r.branch, r.head = sha, branch, head
		return r
	}
	old := blob(41, "wheels")
	old.expired = true
	like := &Found{Runs: []Run{{Path: ".github/workflows/wheels.yml"}}}
	both := &Found{
		Runs: []Run{{Path: ".github/workflows/wheels.yml"}, {Path: ".github/workflows/docs.yml"}},
	}
	for name, x := range map[string]struct {
		runs []run
		like *Found
		want string
	}{
		"merge base before branch": {[]run{at(done(1, "wheels.yml", "push", blob(11, "wheels")), "base",
			"main", home), at(done(2, "wheels.yml", "push", blob(21, "wheels")), "tip", "main", home)},
			like, "wheels/11"},
		"branch where it has none": {[]run{at(done(1, "wheels.yml", "push"), "base", "main", home),
			at(done(2, "wheels.yml", "push", blob(21, "wheels")), "tip", "main", home)}, like, "wheels/21"},
		"newest of the branch": {[]run{at(done(1, "wheels.yml", "push", blob(11, "wheels")), "x",
			"main", home), at(done(2, "wheels.yml", "push", blob(21, "wheels")), "tip", "main", home)},
			like, "wheels/21"},
		"expired at merge base": {[]run{at(done(1, "wheels.yml", "push", old), "base", "main", home),
			at(done(2, "wheels.yml", "push", blob(21, "wheels")), "tip", "main", home)}, like, "wheels/21"},
		"all expired": {[]run{at(done(1, "wheels.yml", "push", old), "base", "main", home)},
			like, ""},
		"a fork's main": {[]run{at(done(1, "wheels.yml", "pull_request", blob(11, "wheels")),
			"x", "main", fork), at(done(2, "wheels.yml", "push", blob(21, "wheels")), "x", "main", fork)},
			like, ""},
		"a fork's merge base": {[]run{at(done(1, "wheels.yml", "pull_request", blob(11, "wheels")),
			"base", "fix", fork)}, like, ""},
		"a pull request from main": {[]run{at(done(1, "wheels.yml", "pull_request", blob(11, "wheels")),
			"x", "main", home)}, like, ""},
		"merge queue": {[]run{at(done(1, "wheels.yml", "merge_group", blob(11, "wheels")),
			"base", "gh-readonly-queue/main/pr-1", home)}, like, "wheels/11"},
		"another workflow": {[]run{at(done(1, "docs.yml", "push", blob(11, "docs")), "base",
			"main", home)}, like, ""},
		"each workflow its own": {[]run{at(done(1, "wheels.yml", "push", blob(11, "wheels")), "base",
			"main", home), at(done(2, "docs.yml", "push", blob(21, "docs")), "tip", "main", home),
			at(done(3, "wheels.yml", "push", blob(31, "wheels")), "tip", "main", home)}, both,
			"docs/21 wheels/11"},
		"any workflow": {[]run{at(done(1, "docs.yml", "push", blob(11, "docs")), "base",
			"main", home)}, nil, "docs/11"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.runs = x.runs
			found, err := fetcher(
				t,
				Options{},
			).Base(t.Context(), h.client(), "octo", "widget", "main", "base", x.like)
			if err != nil || names(found) != x.want || (found.State == Empty) != (x.want == "") ||
				(found.Reason == "") != (x.want != "") {
				t.Errorf("%+v, %v; want %q", found, err, x.want)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	up := func(id int64, name, state string) art { a := blob(id, name); a.state = state; return a }
	for name, x := range map[string]struct {
		assets []art
		state  State
		items  int
	}{
		"none":       {nil, Empty, 0},
		"texts only": {[]art{up(1, "notes.txt", "uploaded"), up(2, "SHA256SUMS", "uploaded")}, Empty, 0},
		"wheel": {[]art{up(1, "notes.txt", "uploaded"), up(2, "widget-1.0-py3-none-any.whl",
			"uploaded")}, Ready, 1},
		"one open": {[]art{up(1, "a.whl", "uploaded"), up(2, "b.whl", "open")}, Waiting, 2},
	} {
		h := newHub(t)
		h.assets = x.assets
		found, err := fetcher(t, Options{}).Release(t.Context(), h.client(), "octo", "widget", 7)
		if err != nil || found.State != x.state || len(found.Items) != x.items ||
			(x.state != Ready) != (found.Reason != "") {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	for name, want := range map[string]bool{"a.whl": true, "A.WHL": true, "libx.so": true,
		"libx.so.1.2": true, "x.tar.gz": true, "x.TGZ": true, "x.deb": true, "tool-linux-amd64": true,
		"tool-1.2.3-linux-arm64": true, "foo.dylib": true, "foo.dll": true, "_x.cp311-win_amd64.pyd": true,
		"x.7z": true, "x.rar": true, "x.snap": true, "x.pyz": true, "x.vsix": true, "x.egg": true,
		"x.txt": false, "x.so.sha256": false, "x.so.sig": false, "LICENSE": false,
		"tool-darwin-arm64": false, "linux.md": false, "x.linux.sbom": false, "x.exe": false,
		"": false} {
		if holdsBinaries(name) != want {
			t.Errorf("holdsBinaries(%q) is %t", name, !want)
		}
	}
}

// GitHub lists a thousand runs. What is behind them may matter.
func TestMoreRunsThanAreListed(t *testing.T) {
	h := newHub(t)
	h.runs = append(h.runs, done(1, "wheels.yml", "pull_request", blob(11, "wheels")))
	for i := range int64(999) {
		h.runs = append(h.runs, done(100+i, "labels.yml", "pull_request"))
	}
	find := func() *Found {
		t.Helper()
		found, err := fetcher(t, Options{}).Head(t.Context(), h.client(),
			Head{Owner: "octo", Repo: "widget", SHA: "head", HeadRepoID: home}, nil)
		if err != nil || found.State != Ready || len(found.Items) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		return found
	}
	if found := find(); len(found.Problems) != 1 || found.Problems[0].Name != "workflow runs" {
		t.Errorf("problems %+v", found.Problems)
	}
	h.runs = h.runs[:999]
	if found := find(); len(found.Problems) != 0 {
		t.Errorf("problems %+v", found.Problems)
	}
}

// A workflow that has not run for the last 500 runs of the branch still uploads artifacts.
func TestUploadsOfARareWorkflow(t *testing.T) {
	for _, others := range []int64{10, 500, 600} {
		h := newHub(t)
		pushed := func(id int64, path string, arts ...art) {
			r := done(id, path, "push", arts...)
			r.branch = "main"
			h.runs = append(h.runs, r)
		}
		pushed(1, ".github/workflows/wheels.yml", blob(11, "wheels"))
		for i := range others {
			pushed(100+i, ".github/workflows/lint.yml")
		}
		all, err := fetcher(t, Options{}).Uploads(t.Context(), h.client(), "octo", "widget", "main")
		if err != nil || len(all.Expected) != 1 || all.Expected[0].Name != "wheels" {
			t.Errorf("%d runs of another workflow: %+v, %v", others, all, err)
		}
		found, err := fetcher(t, Options{}).Pushed(t.Context(), h.client(), "octo", "widget", "main")
		if err != nil || len(found.Items) != 1 {
			t.Errorf("%d runs of another workflow: %+v, %v", others, found, err)
		}
	}
}
