package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/gen/docs/golden"
	"github.com/compat-app/compat/internal/test/formattest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/needs"
)

// action is what a runner reads of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, Shell, Run, Uses string
			Env                  map[string]string
		}
	}
}

// runner runs the steps of action.yml that are scripts, as GitHub's runner does.
type runner struct {
	t       *testing.T
	action  action
	ref     string // of the Action: a commit, tag or branch
	dir     string // the checkout
	temp    string
	release string // folder with the files of release 1.2.3
	address string // of the releases
}

const actionOS = "compat_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"

// newRunner makes a release of which the program is this test, and an empty checkout.
func newRunner(t *testing.T) *runner {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{t: t, dir: t.TempDir(), temp: t.TempDir()}
	if err := yaml.Unmarshal(text, &r.action); err != nil {
		t.Fatal(err)
	}
	releases := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(releases)))
	t.Cleanup(server.Close)
	r.address = server.URL
	r.release = filepath.Join(releases, "download", "v1.2.3")
	if err := os.MkdirAll(r.release, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is the program compat under that name (see TestMain), so the archive has a
	// script that starts it so.
	script := "#!/bin/sh\nexec -a compat '" + exe + "' \"$@\"\n"
	script = strings.Replace(script, "/bin/sh", "/bin/bash", 1)
	f, err := os.Create(filepath.Join(r.release, actionOS))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	z := gzip.NewWriter(io.MultiWriter(f, hash))
	w := tar.NewWriter(z)
	err = w.WriteHeader(&tar.Header{Name: "compat", Mode: 0o755, Size: int64(len(script))})
	if err == nil {
		_, err = io.WriteString(w, script)
	}
	for _, c := range []io.Closer{w, z, f} {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(r.release, "checksums.txt"),
		fmt.Sprintf("%x  other.tar.gz\n%x  %s\n", sha256.Sum256(nil), hash.Sum(nil), actionOS))
	return r
}

func (r *runner) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runner) read(path string) string {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// folder returns the folder of the report that the last run wrote.
func (r *runner) folder() string {
	r.t.Helper()
	return output(r.read(filepath.Join(r.temp, "output")), "report")
}

// output returns an output of a step; "" if it has none.
func output(outputs, name string) string {
	for line := range strings.Lines(outputs) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// run runs the script steps until one fails. It returns the log, the outputs and whether all
// passed.
func (r *runner) run(inputs map[string]string) (log, outputs string, ok bool) {
	r.t.Helper()
	var expressions []string
	for name, i := range r.action.Inputs {
		value, set := inputs[name]
		if !set {
			value = i.Default
		}
		expressions = append(expressions, "${{ inputs."+name+" }}", value)
	}
	expand := strings.NewReplacer(append(expressions, "${{ runner.temp }}", r.temp,
		"${{ github.action_ref }}", r.ref, "${{ github.action_repository }}", "compat-app/compat")...)
	here, err := filepath.Abs("../..")
	if err != nil {
		r.t.Fatal(err)
	}
	out, summary := filepath.Join(r.temp, "output"), filepath.Join(r.temp, "summary")
	r.write(out, "")
	r.write(summary, "")
	for _, s := range r.action.Runs.Steps {
		if s.Run == "" {
			continue
		}
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			r.t.Fatalf("step %s: inputs have to reach a script as variables", s.ID)
		}
		script := filepath.Join(r.temp, s.ID+".sh")
		r.write(script, s.Run)
		c := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		c.Dir = r.dir
		// The reports must not depend on a package index of this machine.
		c.Env = append(os.Environ(), "PIP_INDEX_URL=", "PIP_EXTRA_INDEX_URL=", "UV_INDEX_URL=",
			"CI=true", "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+here,
			"GITHUB_OUTPUT="+out, "GITHUB_STEP_SUMMARY="+summary, "PIP_CONFIG_FILE="+os.DevNull,
			"COMPAT_RELEASES="+r.address, "NO_PROXY=127.0.0.1", "GITHUB_SERVER_URL=https://server")
		for k, v := range s.Env {
			c.Env = append(c.Env, k+"="+expand.Replace(v))
		}
		text, err := c.CombinedOutput()
		log += string(text)
		if err != nil {
			return log, r.read(out), false
		}
	}
	return log, r.read(out), true
}

func TestAction(t *testing.T) {
	r := newRunner(t)
	library := elftest.File(t, "elf x86_64\nsoname libfoo.so.1\nneeded libm.so.6\n"+
		"import pow@GLIBC_2.29 libm.so.6\n")
	name := "lib foo$(touch x).so"
	r.write(filepath.Join(r.dir, name), string(library))
	r.write(filepath.Join(r.dir, "meson.build"),
		"project('foo')\nshared_library(' foo$(touch x)', 'foo.c')\n")

	log, outputs, ok := r.run(map[string]string{
		"version": "1.2.3", "paths": "\n" + name + "\n", "platforms": "debian10\ndebian12\n",
	})
	if ok || !strings.Contains(outputs, "outcome=fail\n") {
		t.Fatalf("it does not fail: %s\n%s", outputs, log)
	}
	if !strings.Contains(log, "::error file=meson.build,line=2,") ||
		!strings.Contains(log, "GLIBC_2.29") {
		t.Errorf("no annotation: %s", log)
	}
	s := r.read(filepath.Join(r.temp, "summary"))
	if !strings.HasPrefix(s, "## compat: incompatible") || !strings.Contains(s, "`GLIBC_2.29`") {
		t.Errorf("summary: %s", s)
	}
	report := r.folder()
	var sarif struct{ Runs []struct{ Results []any } }
	if err := json.Unmarshal([]byte(r.read(report+"/compat.sarif")), &sarif); err != nil ||
		len(sarif.Runs) != 1 || len(sarif.Runs[0].Results) != 1 {
		t.Errorf("SARIF: %v", err)
	}
	if !strings.Contains(outputs, "sarif="+report+"/compat.sarif\n") ||
		!strings.Contains(r.read(report+"/compat.html"), "<style>") ||
		!strings.Contains(r.read(report+"/compat.json"), `"outcome": "fail"`) {
		t.Errorf("outputs: %s", outputs)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x")); err == nil {
		t.Error("a file name was run as a command")
	}

	log, outputs, ok = r.run(map[string]string{
		"version": "v1.2.3", "paths": name, "platforms": "debian12",
	})
	if !ok || !strings.Contains(outputs, "outcome=pass\n") {
		t.Errorf("it does not pass: %s\n%s", outputs, log)
	}
	// The commit is built with Go, for which a program stands in that is only started in its folder.
	r.program("go", "[ \"$PWD $1\" = \"$GITHUB_ACTION_PATH build\" ] || exit 1\n"+
		"while [ \"$1\" != -o ]; do shift; done\ntar -xzf '"+filepath.Join(r.release, actionOS)+"' -C \"$2\"\n")
	log, outputs, ok = r.run(map[string]string{
		"version": "source", "paths": name, "platforms": "debian12",
	})
	if !ok || !strings.Contains(outputs, "outcome=pass\n") {
		t.Errorf("the commit is not built: %s\n%s", outputs, log)
	}
	asked := make(chan string, 100)
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked <- q.URL.Path
		http.NotFound(w, q)
	}))
	defer index.Close()
	log, outputs, ok = r.run(map[string]string{
		"version": "1.2.3", "paths": name, "platforms": "debian12",
		"with": "widget==2", "index-url": index.URL + "/simple",
	})
	if ok || !strings.Contains(outputs, "outcome=error\n") || len(asked) == 0 ||
		!strings.Contains(log, "the index has no package of that name") {
		t.Errorf("the index gets no request: %s\n%s", outputs, log)
	} else if got := <-asked; got != "/simple/widget/" {
		t.Errorf("the index gets a request for %s", got)
	}
	log, outputs, ok = r.run(map[string]string{"version": "1.2.3", "paths": "none/*"})
	if ok || !strings.Contains(outputs, "outcome=error\n") ||
		!strings.Contains(log, "no file matches") {
		t.Errorf("nothing to check: %s\n%s", outputs, log)
	}
}

// A step that cannot check has an annotation, a summary and the outcome error, and its outputs name
// only files that it wrote, not those of an earlier step of the job.
func TestActionFailures(t *testing.T) {
	r := newRunner(t)
	name, content := cases.Clean("1.0.0").File()
	r.write(filepath.Join(r.dir, name), string(content))
	if log, outputs, ok := r.run(map[string]string{"version": "1.2.3", "paths": name}); !ok {
		t.Fatalf("%s\n%s", outputs, log)
	}
	first := r.folder()
	for _, c := range []struct {
		inputs map[string]string
		want   string // in the annotation
	}{
		{map[string]string{"fail-on": "warnings"}, "unknown --fail-on warnings; use error"},
		{map[string]string{"platforms": "manylinux_2_82"}, "did you mean manylinux_2_28?"},
		{map[string]string{"with": "torch=2"}, "torch=2"},
		{map[string]string{"lock": "absent.lock"}, "--lock: open absent.lock"},
		{map[string]string{"config": "absent.yml"}, "--config: open absent.yml"},
		{map[string]string{"index-url": "nonsense"}, "nonsense"},
		{map[string]string{"base": "absent/"}, "absent/: "},
		{map[string]string{"paths": " \n"}, "give at least one PATH"},
		{map[string]string{"paths": name + " dist/*.whl"}, "each on a line of its own"},
		{map[string]string{"version": "source", "sha256": "deadbeef"}, "remove one"},
		{map[string]string{"version": "Source"}, "--version Source: give the number of a release"},
		{map[string]string{"version": "9.9.9"}, "cannot download"},
	} {
		for key, value := range map[string]string{"version": "1.2.3", "paths": name} {
			if _, ok := c.inputs[key]; !ok {
				c.inputs[key] = value
			}
		}
		log, outputs, ok := r.run(c.inputs)
		if ok || output(outputs, "outcome") != "error" {
			t.Errorf("%v: passes: %t, outputs %s", c.inputs, ok, outputs)
		}
		annotated := false
		for line := range strings.Lines(log) {
			annotated = annotated || strings.HasPrefix(line, "::error ") && strings.Contains(line, c.want)
		}
		if !annotated {
			t.Errorf("%v: no annotation with %q:\n%s", c.inputs, c.want, log)
		}
		summary := r.read(filepath.Join(r.temp, "summary"))
		if !strings.HasPrefix(summary, "## compat: ") || len(strings.Split(summary, "\n")) < 3 {
			t.Errorf("%v: summary %q", c.inputs, summary)
		}
		sarif, folder := output(outputs, "sarif"), output(outputs, "report")
		if folder == first || strings.HasPrefix(sarif, first) {
			t.Errorf("%v: the report of the step before: %s", c.inputs, outputs)
		}
		if sarif != "" && !strings.Contains(r.read(sarif), c.want) {
			t.Errorf("%v: the SARIF file does not have %q", c.inputs, c.want)
		}
	}
}

// The job of docs/ci.md for changed pins compares with the file of the base branch.
func TestActionOnBumps(t *testing.T) {
	needs.Program(t, "git", "git", "the job for changed pins")
	_, section, _ := strings.Cut(pages(t)["ci.md"], "\n## Bumps of pins\n")
	m := pageYAML.FindStringSubmatch(section)
	var workflow struct {
		Jobs struct {
			Pins struct {
				Steps []struct {
					Uses, Run string
					With      map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(m[1]), &workflow); err != nil {
		t.Fatal(err)
	}
	index := httptest.NewServer(publishedWidgets(t))
	defer index.Close()
	for _, c := range []struct {
		base, head string
		outcome    string
	}{
		{"1.0", "1.1", "pass"}, {"1.1", "1.0", "pass"}, {"1.0", "7", "error"},
	} {
		r := newRunner(t)
		lock := func(version string) {
			r.write(filepath.Join(r.dir, "uv.lock"), "version = 1\nrequires-python = \">=3.12\"\n"+
				"[[package]]\nname = \"widget\"\nversion = \""+version+"\"\nsource = { registry = \""+
				index.URL+"/simple\" }\n")
		}
		shell := func(command string) {
			t.Helper()
			sh := exec.Command("bash", "-ec", command)
			sh.Dir = r.dir
			sh.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a",
				"GIT_COMMITTER_EMAIL=a@b.test")
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
		lock(c.base)
		shell("git init -q && git add uv.lock && git commit -qm base")
		lock(c.head)
		shell("git commit -qam bump")
		ran := 0
		for _, step := range workflow.Jobs.Pins.Steps {
			if step.Run != "" {
				shell(step.Run)
			}
			if !strings.HasPrefix(step.Uses, "compat-app/compat@") {
				continue
			}
			ran++
			for name := range step.With {
				if _, known := r.action.Inputs[name]; !known {
					t.Errorf("action.yml has no input %s", name)
				}
			}
			step.With["version"], step.With["index-url"] = "1.2.3", index.URL+"/simple"
			log, outputs, _ := r.run(step.With)
			if output(outputs, "outcome") != c.outcome {
				t.Errorf("%s to %s: %s\n%s", c.base, c.head, outputs, log)
			}
			if report := r.read(r.folder() + "/compat.json"); c.outcome == "pass" &&
				!strings.Contains(report, `"path": "widget-`+c.head+"-cp312") {
				t.Errorf("%s is not checked: %s", c.head, report)
			}
		}
		if ran != 1 {
			t.Errorf("the job runs the Action %d times", ran)
		}
	}
}

// Values of an input may have blanks around them, and platforms commas between them.
func TestActionLists(t *testing.T) {
	r := newRunner(t)
	name, content := cases.Clean("1.0.0").File()
	r.write(filepath.Join(r.dir, name), string(content))
	log, outputs, ok := r.run(map[string]string{
		"version": "1.2.3", "paths": "  " + name + " \n", "platforms": "debian12, debian13\nubuntu22.04",
	})
	if !ok {
		t.Fatalf("%s\n%s", outputs, log)
	}
	var report struct{ Targets []struct{ Name string } }
	if err := json.Unmarshal([]byte(r.read(r.folder()+"/compat.json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Targets) != 3 {
		t.Errorf("checked on %v", report.Targets)
	}
}

// workflow is what a runner reads of a workflow.
type workflow struct {
	Jobs map[string]struct {
		Needs    string
		Strategy struct{ Matrix struct{ OS []string } }
		Steps    []struct {
			Uses, Run, Shell string
			With             map[string]string
		}
	}
}

// The jobs of docs/ci.md name inputs that the Action has. The one for cibuildwheel checks the wheels
// of all systems, from where the builds left them.
func TestWorkflows(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t)
	with := map[string]map[string]string{} // inputs by the name of the job
	var whole workflow
	for _, text := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ = strings.Cut(text, "```")
		var w workflow
		if err := yaml.Unmarshal([]byte(text), &w); err != nil || w.Jobs == nil {
			continue // of GitLab, or a part
		}
		for name, job := range w.Jobs {
			for _, step := range job.Steps {
				if strings.HasPrefix(step.Uses, "compat-app/compat@") {
					with[name] = step.With
				}
			}
		}
		if _, ok := w.Jobs["build"]; ok {
			whole = w
		}
	}
	for job, inputs := range with {
		for name := range inputs {
			if _, ok := r.action.Inputs[name]; !ok {
				t.Errorf("the job %s has the input %s, which the Action does not have", job, name)
			}
		}
	}
	if len(with) != 3 || with["compat"] == nil || whole.Jobs["compat"].Needs != "build" {
		t.Fatalf("inputs %v of jobs %v", with, whole.Jobs)
	}
	if got := whole.Jobs["build"].Strategy.Matrix.OS; len(got) != 3 {
		t.Errorf("the matrix is %q", got)
	}
	step := func(job, action string) map[string]string {
		for _, s := range whole.Jobs[job].Steps {
			if strings.HasPrefix(s.Uses, action+"@") {
				return s.With
			}
		}
		t.Fatalf("the job %s has no step with %s", job, action)
		return nil
	}
	step("build", "pypa/cibuildwheel") // its folder is wheelhouse
	up, down := step("build", "actions/upload-artifact"), step("compat", "actions/download-artifact")
	artifact := strings.Replace(up["name"], "${{ matrix.os }}", "macos-latest", 1)
	if ok, err := filepath.Match(down["pattern"], artifact); !ok || err != nil ||
		up["path"] != "wheelhouse/*.whl" || down["merge-multiple"] != "true" {
		t.Errorf("uploads %v, downloads %v", up, down)
	}
	folder := filepath.Join(r.dir, down["path"])
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	add := func(w cases.Wheel) {
		name, content := w.File()
		r.write(filepath.Join(folder, name), string(content))
	}
	inputs := maps.Clone(with["compat"])
	if inputs["version"] != "source" {
		t.Errorf("before a release the Action has to build compat: %v", inputs)
	}
	inputs["version"] = "1.2.3"
	add(cases.Clean("1.0.0"))
	add(cases.MacOS("1.0.0"))
	add(cases.Windows("1.0.0"))
	_, outputs, _ := r.run(inputs)
	var report struct{ Artifacts []struct{ Objects int } }
	if err := json.Unmarshal([]byte(r.read(r.folder()+"/compat.json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Artifacts) != 3 || output(outputs, "sarif") == "" {
		t.Errorf("outputs %s, %d wheels", outputs, len(report.Artifacts))
	}
	for _, a := range report.Artifacts {
		if a.Objects == 0 {
			t.Errorf("a wheel is not checked: %v", report.Artifacts)
		}
	}
	add(cases.CaseA("1.6.2"))
	if log, outputs, ok := r.run(inputs); ok || output(outputs, "outcome") != "fail" {
		t.Errorf("a wheel that fails passes: %s\n%s", outputs, log)
	}
}

// The step that builds compat for the audit command of cibuildwheel makes the command available to
// later steps.
func TestAuditStep(t *testing.T) {
	page, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n- shell: bash\n")
	text, _, _ = strings.Cut("- shell: bash\n"+text, "```")
	var steps []struct{ Shell, Run string }
	if err := yaml.Unmarshal([]byte(text), &steps); err != nil || !found || len(steps) != 1 {
		t.Fatalf("docs/ci.md has no step for the audit command: %v", err)
	}
	// git and go are scripts: the clone has the sources, and the build writes a program.
	temp, programs := t.TempDir(), t.TempDir()
	for name, script := range map[string]string{
		"git": "[ \"$1\" != clone ] || mkdir -p \"$3/cmd/compat\"; [ \"$1\" != checkout ] || [ -d cmd/compat ]",
		"go": "[ \"$1\" = build ] && [ -d cmd/compat ] && mkdir bin && " +
			"printf '#!/bin/sh\\necho built\\n' >bin/compat && chmod +x bin/compat",
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(temp, "path")
	c := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps[0].Run)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "RUNNER_TEMP="+temp, "GITHUB_PATH="+file)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(strings.TrimSpace(string(folder)), "compat")).CombinedOutput()
	if err != nil || string(out) != "built\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// The installer describes its options.
func TestInstallHelp(t *testing.T) {
	out, err := exec.Command("sh", "../../install.sh", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "install.sh [--version 1.2.3] [--dir DIR]") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestActionOnFoundingCases compares what a job shows with testdata/action: the log with its
// annotations, the summary, and the results in code scanning.
func TestActionOnFoundingCases(t *testing.T) {
	r := newRunner(t)
	wheel := func(w cases.Wheel) string {
		name, content := w.File()
		r.write(filepath.Join(r.dir, name), string(content))
		return name
	}
	library, content := cases.CaseD()
	r.write(filepath.Join(r.dir, library), string(content))
	r.write(filepath.Join(r.dir, "pyproject.toml"), "[project]\nname = \"cuda-parallel\"\n"+
		"version = \"1.1.0\"\ndependencies = [\n    \"nvidia-nvjitlink-cu12>=12.8,<12.9\",\n]\n")
	r.write(filepath.Join(r.dir, "CMakeLists.txt"),
		"add_library(cufile SHARED cufile.c)\ntarget_link_libraries(cufile PRIVATE dl)\n")
	for _, c := range []struct {
		name   string
		inputs map[string]string
		fails  bool
	}{
		{"case-a", map[string]string{"paths": wheel(cases.CaseA("1.6.2"))}, true},
		{"case-b", map[string]string{
			"paths": wheel(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")),
		}, true},
		{"case-c", map[string]string{
			"paths": wheel(cases.CaseC("2.2.2")), "with": "torch==2.4.0+rocm6.1", "platforms": "debian12",
		}, true},
		{"case-d", map[string]string{"paths": library, "platforms": "debian11"}, true},
		{"clean", map[string]string{"paths": wheel(cases.Clean("1.0.0"))}, false},
	} {
		c.inputs["version"] = "1.2.3"
		log, outputs, ok := r.run(c.inputs)
		if ok == c.fails || strings.Contains(outputs, "outcome=fail\n") != c.fails {
			t.Errorf("%s: passes: %t, outputs %s\n%s", c.name, ok, outputs, log)
		}
		installed, log, _ := strings.Cut(log, "\n")
		if !strings.HasPrefix(installed, "installed compat ") {
			t.Errorf("%s: %s", c.name, installed)
		}
		sarif := r.read(output(outputs, "sarif"))
		if err := formattest.SARIF([]byte(sarif)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var document struct {
			Runs []struct{ Results json.RawMessage }
		}
		if err := json.Unmarshal([]byte(sarif), &document); err != nil {
			t.Fatal(err)
		}
		shown := string(txtar.Format(&txtar.Archive{Files: []txtar.File{
			{Name: "log", Data: []byte(log)},
			{Name: "summary.md", Data: []byte(r.read(filepath.Join(r.temp, "summary")))},
			{Name: "results.json", Data: append(document.Runs[0].Results, '\n')},
		}}))
		golden.File(t, filepath.Join("testdata", "action", c.name+".txtar"), shown)
	}
}

// program puts a script of bash into the path.
func (r *runner) program(name, script string) {
	r.t.Helper()
	programs := r.t.TempDir()
	r.write(filepath.Join(programs, name), "#!/bin/bash\n"+script)
	if err := os.Chmod(filepath.Join(programs, name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
}

// An Action that is pinned by a commit or tag installs the release of it, and no other.
func TestActionInstallsItsRelease(t *testing.T) {
	r := newRunner(t)
	name, content := cases.Clean("1.0.0").File()
	r.write(filepath.Join(r.dir, name), string(content))
	commit, annotated := strings.Repeat("a", 40), strings.Repeat("b", 40)
	r.program("git", "[ \"$*\" = \"ls-remote --tags https://server/compat-app/compat v*\" ] || exit 1\n"+
		"echo '"+strings.Repeat("c", 40)+" refs/tags/v1.2.2'\necho '"+commit+" refs/tags/v1.2.3'\n"+
		"echo '"+commit+" refs/tags/v1'\necho '"+annotated+" refs/tags/v1.2.3^{}'\n")
	for ref, want := range map[string]string{
		commit: "", annotated: "", "v1.2.3": "", strings.Repeat("d", 40): "no release has the commit",
		"v1.2.4": "/download/v1.2.4/",
	} {
		r.ref = ref
		log, outputs, ok := r.run(map[string]string{"paths": name})
		if ok != (want == "") || !strings.Contains(log, want) {
			t.Errorf("%s: passes: %t, outputs %s\n%s", ref, ok, outputs, log)
		}
	}
}

// A version is a part of an address, which cannot lead elsewhere.
func TestInstallVersions(t *testing.T) {
	for _, version := range []string{"1.2.3/../../v9", "1..2", "1.2.3?x", "../1.2.3", "1.2.3 x", "1",
		"1.2", "latest", "%2e%2e"} {
		c := exec.Command("sh", "../../install.sh", "--version", version, "--dir", t.TempDir())
		c.Env = append(os.Environ(), "COMPAT_RELEASES=http://127.0.0.1:1")
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "install.sh: --version") {
			t.Errorf("%q: %v %s", version, err, out)
		}
	}
}

// With cosign, nothing is installed without the signature of the release workflow.
func TestInstallVerifiesSignatures(t *testing.T) {
	r := newRunner(t)
	name, content := cases.Clean("1.0.0").File()
	r.write(filepath.Join(r.dir, name), string(content))
	inputs := map[string]string{"version": "1.2.3", "paths": name}
	if log, _, ok := r.run(inputs); !ok || !strings.Contains(log, "was not verified") {
		t.Errorf("without cosign: %t %s", ok, log)
	}
	r.program("cosign", "grep -q good \"$3\" && grep -q certificate \"$5\" && [ \"$1\" = verify-blob ] && "+
		"[ \"${@: -1:1}\" != '' ] && [[ \"$*\" = *release* ]]\n")
	if log, _, ok := r.run(inputs); ok || !strings.Contains(log, "cannot download") {
		t.Errorf("without a signature: %t %s", ok, log)
	}
	r.write(filepath.Join(r.release, "checksums.txt.pem"), "certificate")
	for signature, want := range map[string]string{
		"good": "whose signature cosign verified", "bad": "is not that of a release",
	} {
		r.write(filepath.Join(r.release, "checksums.txt.sig"), signature)
		if log, _, ok := r.run(inputs); ok != (signature == "good") || !strings.Contains(log, want) {
			t.Errorf("%s: %t %s", signature, ok, log)
		}
	}
}

func TestInstallComparesDigests(t *testing.T) {
	r := newRunner(t)
	log, _, ok := r.run(map[string]string{"version": "1.2.3", "sha256": strings.Repeat("0", 64)})
	if ok || !strings.Contains(log, "it is not installed") {
		t.Errorf("another digest is accepted: %s", log)
	}
	archive := filepath.Join(r.release, actionOS)
	r.write(archive, r.read(archive)+"x")
	log, _, ok = r.run(map[string]string{"version": "1.2.3"})
	if ok || !strings.Contains(log, "it is not installed") {
		t.Errorf("a changed archive is installed: %s", log)
	}
	if found, _ := filepath.Glob(filepath.Join(r.temp, "compat-*", "bin", "*")); len(found) > 0 {
		t.Errorf("installed: %s", found)
	}
	log, _, ok = r.run(map[string]string{"version": "1.2.4"})
	if ok || !strings.Contains(log, "cannot download") {
		t.Errorf("a release that does not exist: %s", log)
	}
}
