package stories

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// pins are requirements whose packages load.
const pins = "# pins of the service\nmeshcore==3.1.0  # with meshsolve\nmeshsolve==2.0.0\n" +
	"puretool==1.0.0\n"

// raised is pins with meshcore 3.2.0, which has no mesh_refine.
var raised = strings.Replace(pins, "3.1.0", "3.2.0", 1)

// mesh are the packages of pins: meshsolve needs mesh_refine of meshcore, which 3.2.0 does not have.
func mesh(t *testing.T) []cases.Wheel {
	native := func(name, version, tag, path, text string, requires ...string) cases.Wheel {
		b := elftest.File(t, "elf x86_64\nneeded libc.so.6\n"+text)
		return cases.Wheel{
			Name: name, Version: version, Tags: []string{tag + "-manylinux_2_17_x86_64"},
			Requires: requires, Files: map[string][]byte{path: b},
		}
	}
	core := func(version, exports string) cases.Wheel {
		return native("meshcore", version, "py3-none", "meshcore/lib/libmeshcore.so.3",
			"soname libmeshcore.so.3\nexport mesh_solve\n"+exports)
	}
	pure := func(version string) cases.Wheel {
		return cases.Wheel{
			Name: "puretool", Version: version, Tags: []string{"py3-none-any"},
			Files: map[string][]byte{"puretool.py": nil},
		}
	}
	return []cases.Wheel{
		core("3.1.0", "export mesh_refine\n"), core("3.1.4", "export mesh_refine\n"), core("3.2.0", ""),
		native("meshsolve", "2.0.0", "cp38-abi3", "meshsolve/_solve.abi3.so", "needed libmeshcore.so.3\n"+
			"runpath $ORIGIN/../meshcore/lib\nimport mesh_refine\nimport mesh_solve\n"+
			"export PyInit__solve\n", "meshcore>=3"),
		pure("1.0.0"), pure("1.1.0"),
	}
}

// pinned starts the app with an index, and a repository that builds no artifacts. The check of a
// pull request there is not concluded by its deadline.
func pinned(t *testing.T, files map[string]string) (*story, *packageIndex) {
	x := index(t, mesh(t)...)
	s := tell(t, world{wait: 10 * time.Minute, env: map[string]string{"PIP_INDEX_URL": x.url}})
	s.repo = s.gh.NewRepo(s.inst, "service", files)
	return s, x
}

// blames checks for a failure because meshcore 3.2.0 lacks what meshsolve 2.0.0 imports, with an
// annotation on a line of a file.
func (s *story) blames(k githubtest.Check, path string, line int) {
	s.Helper()
	s.want(k, "failure")
	s.says(shown(k), "mesh_refine", "meshcore==3.2.0", "meshsolve==2.0.0")
	for _, a := range k.Annotations {
		if a.Path == path && a.Start == line && a.Level == "failure" {
			return
		}
	}
	s.Errorf("no annotation of level failure on %s:%d: %+v", path, line, k.Annotations)
}

// A pin that breaks another package fails without CI, with a suggestion on its line; the suggested
// pin passes.
func TestPinThatBreaks(t *testing.T) {
	s, x := pinned(t, map[string]string{"requirements.txt": pins})
	p := s.OpenWith("bump", map[string]string{"requirements.txt": raised})
	s.blames(s.Concluded(p.HeadSHA), "requirements.txt", 2)
	eventually(s, func() string {
		why := "no review comment on requirements.txt:2"
		s.gh.Do(func() {
			for _, th := range p.Threads {
				if th.Path == "requirements.txt" && th.Line == 2 {
					why = ""
					s.says(th.Comments[0].Body,
						"```suggestion\nmeshcore==3.1.4  # with meshsolve\n```")
				}
			}
		})
		return why
	})
	s.says(plain(s.Summary(p).Body), "mesh_refine", "meshcore==3.2.0")
	if files := x.asked("/files/puretool"); len(files) > 0 {
		s.Errorf("wheels without native code were fetched: %s", files)
	}
	s.Push(p, map[string]string{"requirements.txt": strings.Replace(pins, "3.1.0", "3.1.4", 1)})
	s.want(s.Concluded(p.HeadSHA), "success")
}

// uvLock is a lock file of uv; the version of meshcore is in line 7.
func uvLock(core string) string {
	text := "version = 1\nrevision = 2\nrequires-python = \">=3.12\"\n"
	for _, q := range []string{"meshcore==" + core, "meshsolve==2.0.0"} {
		name, version, _ := strings.Cut(q, "==")
		text += fmt.Sprintf("\n[[package]]\nname = %q\nversion = %q\n"+
			"source = { registry = \"https://index.test/simple\" }\n", name, version)
	}
	return text + "dependencies = [\n    { name = \"meshcore\" },\n]\n\n[[package]]\n" +
		"name = \"service\"\nversion = \"0.1.0\"\nsource = { virtual = \".\" }\ndependencies = [\n" +
		"    { name = \"meshcore\" },\n    { name = \"meshsolve\" },\n]\n"
}

// In a lock file the command that changes the pin is shown instead of a suggestion.
func TestLockedPinThatBreaks(t *testing.T) {
	s, x := pinned(t, map[string]string{"uv.lock": uvLock("3.1.0")})
	p := s.OpenWith("bump", map[string]string{"uv.lock": uvLock("3.2.0")})
	k := s.Concluded(p.HeadSHA)
	s.blames(k, "uv.lock", 7)
	s.tells(p, k, "uv lock --upgrade-package meshcore==3.1.4")
	if strings.Contains(s.written(p), "```suggestion") {
		s.Error("a suggestion for a lock file")
	}
	if asked := x.asked("/simple/service/"); len(asked) > 0 {
		s.Error("the project itself was requested from the index")
	}
}

// Changes that break no package pass without CI and without a comment.
func TestPinsThatLoad(t *testing.T) {
	s, x := pinned(t, map[string]string{"requirements.txt": pins, "service.py": "import meshsolve\n"})
	passes := func(branch, file, text string, words ...string) {
		s.Helper()
		p := s.OpenWith(branch, map[string]string{file: text})
		k := s.Concluded(p.HeadSHA)
		s.want(k, "success")
		s.says(shown(k), words...)
		if all := s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number); len(all) > 0 {
			s.Errorf("%s: a comment: %s", branch, all[0].Body)
		}
	}
	passes("code", "service.py", "import meshsolve as m\n")
	if asked := x.asked("/"); len(asked) > 0 {
		s.Errorf("no pin changed, and the index was asked: %s", asked)
	}
	passes("pure", "requirements.txt", strings.Replace(pins, "puretool==1.0.0", "puretool==1.1.0", 1),
		"no native package changed")
	if files := x.asked("/files/"); len(files) > 0 {
		s.Errorf("no native package changed, and wheels were fetched: %s", files)
	}
	passes("native", "requirements.txt", strings.Replace(pins, "3.1.0", "3.1.4", 1), "meshcore",
		"3.1.4")
	if len(x.asked("/files/meshcore-3.1.4")) == 0 {
		s.Error("meshcore 3.1.4 was not read")
	}
}

// A change that repairs what the base has broken is reported as such.
func TestPinsThatAreRepaired(t *testing.T) {
	s, _ := pinned(t, map[string]string{"requirements.txt": raised})
	p := s.OpenWith("repair",
		map[string]string{"requirements.txt": strings.Replace(pins, "3.1.0", "3.1.4", 1)})
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "repair", "mesh_refine", "meshcore")
}

// A lock file that cannot be parsed, and pins that the index does not have, do not pass.
func TestPinsThatCannotBeChecked(t *testing.T) {
	s, _ := pinned(t, map[string]string{"requirements.txt": pins, "uv.lock": uvLock("3.1.0")})
	for _, c := range []struct{ branch, file, text, word string }{
		{"torn", "uv.lock", strings.Replace(uvLock("3.1.0"), `"3.1.0"`, `"3.1.`, 1), "uv.lock"},
		{"unknown", "requirements.txt", pins + "meshghost==1.0.0\n", "meshghost==1.0.0"},
		{"never-released", "requirements.txt", pins + "meshsolve==9.9.9\n", "meshsolve"},
		{"outside", "requirements.txt", pins + "-r ../../secrets.txt\n", "requirements.txt"},
	} {
		p := s.OpenWith(c.branch, map[string]string{c.file: c.text})
		k := s.Concluded(p.HeadSHA)
		s.want(k, "failure")
		s.says(shown(k), "could not check", c.word)
	}
}

// The pins of a fork are reviewed too, and no address in its files is requested.
func TestPinsOfAFork(t *testing.T) {
	s, _ := pinned(t, map[string]string{"requirements.txt": pins})
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
	}))
	t.Cleanup(other.Close)
	fork := s.gh.Fork(s.repo, "outsider")
	p := s.gh.OpenPull(s.repo, fork, "bump", s.gh.User("outsider"), map[string]string{
		"requirements.txt": "--index-url " + other.URL + "/simple/\n--find-links " + other.URL + "\n" +
			raised + "evil @ " + other.URL + "/evil-1.0-py3-none-any.whl\n",
	})
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "mesh_refine", "meshcore==3.2.0")
	if n := asked.Load(); n > 0 {
		s.Errorf("%d requests to an address that the pull request names", n)
	}
}

// A base image for which the pinned wheels are not built fails, on the FROM line.
func TestBaseImageWithoutWheels(t *testing.T) {
	const image = "FROM python:3.12-slim-bookworm\nCOPY requirements.txt .\n" +
		"RUN pip install -r requirements.txt\n"
	s, _ := pinned(t, map[string]string{"requirements.txt": pins, "Dockerfile": image})
	p := s.OpenWith("alpine",
		map[string]string{"Dockerfile": strings.Replace(image, "slim-bookworm", "alpine", 1)})
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "musl", "meshcore==3.1.0", "meshsolve==2.0.0")
	if strings.Contains(shown(k), "puretool==1.0.0") {
		s.Error("a package without native code is named")
	}
	if a := k.Annotations; len(a) == 0 || a[0].Path != "Dockerfile" || a[0].Start != 1 {
		s.Errorf("no annotation on the FROM line: %+v", a)
	}
}

// In a repository that builds wheels the conclusion is the worse of the review and the wheels;
// environments: off in the base branch switches the review off.
func TestPinsAndArtifacts(t *testing.T) {
	x := index(t, mesh(t)...)
	s := tell(t, world{wait: 10 * time.Minute, env: map[string]string{"PIP_INDEX_URL": x.url}})
	s.gh.Commit(s.repo, "main", map[string]string{"requirements.txt": pins})
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")))
	p := s.OpenWith("bump", map[string]string{"requirements.txt": raised})
	eventually(s, func() string {
		k := s.Queued(p.HeadSHA)
		if k.Status == "completed" {
			s.Fatalf("concluded before the wheels are there: %s", k.Title)
		}
		if !strings.Contains(shown(k), "mesh_refine") {
			return "the check in progress does not name mesh_refine"
		}
		return ""
	})
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	s.blames(s.Concluded(p.HeadSHA), "requirements.txt", 2)

	s.Configure("environments: off\n")
	before := len(x.asked("/simple/meshcore/"))
	p = s.OpenWith("off", map[string]string{"requirements.txt": raised})
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	s.want(s.Concluded(p.HeadSHA), "success")
	if len(x.asked("/simple/meshcore/")) > before {
		s.Error("the pins are reviewed, although the base branch switches that off")
	}
}

// A pull request that only changes documentation passes without artifacts, and says why.
func TestNothingCanChange(t *testing.T) {
	s := tell(t, world{wait: 10 * time.Minute})
	p := s.OpenWith("docs", map[string]string{"README.md": "# widget, explained\n"})
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.says(shown(k), "nothing to check", "documentation")
}

// Only names that the base branch declares, or that the operator allows, are requested from an
// index with a password.
func TestPrivateIndexGetsKnownNamesOnly(t *testing.T) {
	x := index(t, mesh(t)...)
	s := tell(t, world{wait: 10 * time.Minute, env: map[string]string{
		"PIP_INDEX_URL":      strings.Replace(x.url, "://", "://reader:password@", 1),
		"COMPAT_INDEX_ALLOW": "puretool",
	}})
	s.repo = s.gh.NewRepo(s.inst, "service", map[string]string{
		"requirements.txt": "meshcore==3.1.0\n",
	})
	p := s.OpenWith("names", map[string]string{
		"requirements.txt": "meshcore==3.1.4\nmeshsolve==2.0.0\npuretool==1.0.0\n",
	})
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "meshsolve", "COMPAT_INDEX_ALLOW")
	if asked := x.asked("/simple/meshsolve/"); len(asked) > 0 {
		s.Error("a name that only the pull request has was requested from the index")
	}
	for _, name := range []string{"meshcore", "puretool"} {
		if len(x.asked("/simple/"+name+"/")) == 0 {
			s.Errorf("%s was not requested from the index", name)
		}
	}
}

// A lock file of the head names a package of the company. Neither the review nor the analysis of the
// head's or the base's artifacts requests it, wherever the credentials come from.
func TestPrivateIndexAndLockFileOfTheHead(t *testing.T) {
	t.Parallel()
	payroll := cases.Clean("1.0.0")
	payroll.Name = "internal-payroll"
	for name, inURL := range map[string]bool{"in the URL": true, "in netrc": false} {
		t.Run(name, func(t *testing.T) {
			x := index(t, append(mesh(t), payroll)...)
			file := filepath.Join(t.TempDir(), "netrc")
			if err := os.WriteFile(file, []byte("default login reader password p4ss\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"PIP_INDEX_URL": x.url, "NETRC": file}
			if inURL {
				env = map[string]string{"PIP_INDEX_URL": strings.Replace(x.url, "://", "://reader:p4ss@", 1)}
			}
			s := tell(t, world{env: env})
			s.gh.Commit(s.repo, "main", map[string]string{
				settings: "python: {lock: [pins.txt]}\n", "pins.txt": "meshcore==3.1.0\n",
			})
			s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")))
			p := s.OpenWith("names", map[string]string{
				"pins.txt": "meshcore==3.1.0\ninternal-payroll==1.0.0\n",
			})
			s.Finish(p, wheels(cases.CaseA("1.5.1")))
			s.Concluded(p.HeadSHA)
			s.Free()
			if asked := x.asked("/simple/internal-payroll/"); len(asked) > 0 {
				s.Errorf("a name that only the pull request has was requested from the index: %q", asked)
			}
			if len(x.asked("/simple/meshcore/")) == 0 {
				s.Error("meshcore was not requested from the index")
			}
		})
	}
}
