package review_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/review"
)

// commit is a commit with these files.
type commit map[string]string

func (c commit) Files(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(c)), nil
}

func (c commit) Read(_ context.Context, path string) (string, bool, error) {
	text, there := c[path]
	return text, there, nil
}

const many = "manylinux_2_17_x86_64"

// wheels returns the files of the index: file name -> content. Newer releases of solver import less.
func wheels(t *testing.T, newerSolvers ...string) map[string][]byte {
	all := map[string][]byte{}
	add := func(name, version, tags, object, text string, requires ...string) {
		info := name + "-" + version + ".dist-info/"
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		write := func(path string, data []byte) {
			w, err := z.Create(path)
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if object != "" {
			data := elftest.File(t, text)
			write(object, data)
		}
		metadata := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
		for _, r := range requires {
			metadata += "Requires-Dist: " + r + "\n"
		}
		write(info+"METADATA", []byte(metadata))
		write(info+"WHEEL", []byte("Wheel-Version: 1.0\nTag: "+tags+"\n"))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		all[name+"-"+version+"-"+tags+".whl"] = b.Bytes()
	}
	library := func(version string, exports ...string) {
		text := "elf x86_64\nsoname libcore.so.3\nneeded libc.so.6\nimport malloc@GLIBC_2.2.5 libc.so.6\n"
		for _, e := range exports {
			text += "export " + e + "\n"
		}
		add("core", version, "py3-none-"+many, "core/lib/libcore.so.3", text)
	}
	library("3.1.0", "refine", "solve")
	library("3.1.4", "refine", "solve")
	library("3.2.0", "solve")
	library("3.2.1", "solve")
	library("3.3.0rc1", "refine", "solve")
	add("solver", "2.0.0", "cp38-abi3-"+many, "solver/_solve.abi3.so", "elf x86_64\n"+
		"needed libcore.so.3\nneeded libc.so.6\nrunpath $ORIGIN/../core/lib\n"+
		"import refine\nimport solve\nexport PyInit__solve\n", "core>=3")
	for _, version := range newerSolvers {
		add("solver", version, "cp38-abi3-"+many, "solver/_solve.abi3.so", "elf x86_64\n"+
			"needed libcore.so.3\nneeded libc.so.6\nrunpath $ORIGIN/../core/lib\n"+
			"import solve\nexport PyInit__solve\n", "core>=3")
	}
	add("pure", "1.0", "py3-none-any", "", "")
	add("pure", "1.1", "py3-none-any", "", "")
	return all
}

// serve returns an index of wheels; read returns the wheels that were downloaded.
func serve(t *testing.T, all map[string][]byte) (i *index.Index, read func() []string) {
	sent := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if file, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
			sent <- file
			http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(all[file]))
			return
		}
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
		page := ""
		for _, file := range slices.Sorted(maps.Keys(all)) {
			if strings.HasPrefix(file, name+"-") {
				sum := sha256.Sum256(all[file])
				page += fmt.Sprintf("<a href=\"/files/%s#sha256=%s\">%s</a>\n",
					file, hex.EncodeToString(sum[:]), file)
			}
		}
		if page == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<html><body>\n"+page+"</body></html>")
	}))
	t.Cleanup(server.Close)
	i, err := index.New(index.Options{URL: server.URL + "/simple/", TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return i, func() []string {
		var files []string
		for {
			select {
			case f := <-sent:
				files = append(files, f)
			default:
				return files
			}
		}
	}
}

const pins = "# the service\ncore==3.1.0  # with solver\nsolver==2.0.0\npure==1.0\n"

func TestReview(t *testing.T) {
	lock := func(version string) string {
		return "version = 1\n[[package]]\nname = \"core\"\nversion = \"" + version + "\"\n" +
			"source = { registry = \"https://index.test\" }\n[[package]]\nname = \"solver\"\n" +
			"version = \"2.0.0\"\nsource = { registry = \"https://index.test\" }\n" +
			"[[package]]\nname = \"service\"\nversion = \"1\"\nsource = { virtual = \".\" }\n"
	}
	// needing is a lock file of a project whose dependencies are in the table of this text.
	needing := func(core string) string {
		text, _, _ := strings.Cut(lock("3.1.0"), "[[package]]\nname = \"service\"")
		return text + "[[package]]\nname = \"service\"\nversion = \"1\"\nsource = { virtual = \".\" }\n" + core
	}
	needed := needing("dependencies = [{ name = \"solver\" }, { name = \"core\" }]\n")
	const solver = "dependencies = [{ name = \"solver\" }]\n"
	const req = "requirements.txt"
	bumped := strings.Replace(pins, "3.1.0", "3.2.0", 1)
	for _, c := range []struct {
		name       string
		base, head commit
		config     config.Repository
		conclusion string
		title      string
		says       []string // texts of the summary, or of an annotation as FILE:LINE
	}{
		{
			name: "a bump breaks another package", base: commit{req: pins}, head: commit{req: bumped},
			conclusion: "failure", title: "refine",
			says: []string{
				"core==3.2.0", "solver==2.0.0", "core==3.1.4", "requirements.txt:2",
				"suggestion core==3.1.4  # with solver",
			},
		},
		{
			name: "a lock file", base: commit{"api/uv.lock": lock("3.1.0")},
			head: commit{"api/uv.lock": lock("3.2.0")}, conclusion: "failure",
			says: []string{"uv lock --upgrade-package core==3.1.4", "api/uv.lock:4"},
		},
		{
			name: "a lock file of a project that pins the package",
			base: commit{"api/uv.lock": lock("3.1.0")},
			head: commit{
				"api/uv.lock":        lock("3.2.0"),
				"api/pyproject.toml": "[dependency-groups]\nmesh = [\"core==3.2.0\"]\n",
			},
			conclusion: "failure",
			says:       []string{"uv add --group mesh core==3.1.4", "api/uv.lock:4"},
		},
		{
			name: "a package that only an extra installs", base: commit{"uv.lock": needed},
			head: commit{"uv.lock": needing(solver +
				"[package.optional-dependencies]\nmesh = [{ name = \"core\" }]\n")},
			conclusion: "failure", title: "solver 2.0.0", says: []string{"refine", "uv.lock:8"},
		},
		{
			name: "a package that only Windows installs", base: commit{"uv.lock": needed},
			head: commit{"uv.lock": needing("dependencies = [{ name = \"solver\" }, " +
				"{ name = \"core\", marker = \"sys_platform == 'win32'\" }]\n")},
			conclusion: "failure", title: "solver 2.0.0", says: []string{"refine", "uv.lock:8"},
		},
		{
			name: "a package that only a group installs", base: commit{"uv.lock": needed},
			head: commit{"uv.lock": needing(solver +
				"[package.dev-dependencies]\nmesh = [{ name = \"core\" }]\n")},
			conclusion: "failure", title: "solver 2.0.0", says: []string{"refine", "uv.lock:8"},
		},
		{
			name: "a comment after a tab", base: commit{req: pins},
			head:       commit{req: strings.Replace(bumped, "  # with", "\t# with", 1)},
			conclusion: "failure", says: []string{"core==3.2.0", "requirements.txt:2"},
		},
		{
			name:       "an environment.yaml",
			base:       commit{"environment.yaml": "dependencies:\n- pip:\n  - core==3.1.0\n  - solver==2.0.0\n"},
			head:       commit{"environment.yaml": "dependencies:\n- pip:\n  - core==3.2.0\n  - solver==2.0.0\n"},
			conclusion: "failure", says: []string{"core==3.2.0", "environment.yaml:3"},
		},
		{
			name: "a file that is taken in", base: commit{req: "-r more/in.pip\n", "more/in.pip": pins},
			head:       commit{req: "-r more/in.pip\n", "more/in.pip": bumped},
			conclusion: "failure", says: []string{"more/in.pip:2"},
		},
		{
			name: "a repair", base: commit{req: bumped},
			head:       commit{req: strings.Replace(pins, "3.1.0", "3.1.4", 1)},
			conclusion: "success", title: "Repaired", says: []string{"repaired", "refine", "core==3.2.0"},
		},
		{
			name: "what stays broken", base: commit{req: bumped},
			head:       commit{req: strings.Replace(bumped, "3.2.0", "3.2.1", 1)},
			conclusion: "success", title: "already on main", says: []string{"refine"},
		},
		{
			name: "a package without native code", base: commit{req: pins},
			head:       commit{req: strings.Replace(pins, "pure==1.0", "pure==1.1", 1)},
			conclusion: "success", title: "No native package changed",
		},
		{
			name: "an unknown version", base: commit{req: pins}, head: commit{req: pins + "ghost==1\n"},
			conclusion: "failure", title: "Could not check ghost==1", says: []string{"requirements.txt:5"},
		},
		{
			name: "a torn lock file", base: commit{"uv.lock": lock("3.1.0")},
			head:       commit{"uv.lock": strings.Replace(lock("3.1.0"), `"3.1.0"`, `"3.1.`, 1)},
			conclusion: "failure", title: "Could not check uv.lock:4", says: []string{"uv.lock:4"},
		},
		{
			name: "a file outside of the repository", base: commit{req: pins},
			head: commit{req: pins + "-r ../../etc/passwd\n"}, conclusion: "failure",
			title: "Could not check", says: []string{"outside of the repository", "requirements.txt:5"},
		},
		{
			name: "another image", base: commit{req: pins, "Dockerfile": "FROM python:3.12-bookworm\n"},
			head:       commit{req: pins, "Dockerfile": "ARG D=alpine\nFROM python:3.12-${D}\n"},
			conclusion: "failure",
			says:       []string{"musl", "core==3.1.0", "solver==2.0.0", "Dockerfile:2"},
		},
		{
			name: "informational", base: commit{req: pins}, head: commit{req: bumped},
			config: config.Repository{FailOn: "never"}, conclusion: "neutral",
		},
		{
			name: "a configured file", base: commit{"prod.pip": pins, req: bumped},
			head: commit{"prod.pip": bumped, req: bumped + "#\n"}, conclusion: "failure",
			config: config.Repository{Environments: config.Environments{
				List: []config.Environment{{File: "prod.pip", Python: "3.11"}},
			}},
			says: []string{"prod.pip:2", "Python 3.11"},
		},
		{
			name:       "a file that was compiled for a Python",
			base:       commit{req: "# autogenerated by pip-compile with Python 3.10\n" + pins},
			head:       commit{req: "# autogenerated by pip-compile with Python 3.10\n" + bumped},
			conclusion: "failure", says: []string{"Python 3.10"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			look, _ := serve(t, wheels(t))
			var paths []string
			for path, text := range c.head {
				if c.base[path] != text {
					paths = append(paths, path)
				}
			}
			d := reviewed(t, look, c.base, c.head, paths, c.config)
			if d == nil {
				t.Fatal("not reviewed")
			}
			check := comment.RenderDependencies(comment.Input{
				BaseName: "main", FailOn: c.config.FailOn,
				Diff: comment.Diff{req: {{First: 1, Last: 5}}},
			}, d)
			text := check.Summary
			for _, a := range check.Annotations {
				text += fmt.Sprintf("%s:%d %s\n", a.Path, a.StartLine, a.Message)
			}
			for _, r := range check.Review {
				_, code, _ := strings.Cut(r.Body, "```suggestion\n")
				text += "suggestion " + code
			}
			if check.Conclusion != c.conclusion || !strings.Contains(check.Title, c.title) {
				t.Errorf("%s, want %s %q:\n%s", check, c.conclusion, c.title, text)
			}
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("it does not say %q:\n%s", s, text)
				}
			}
			if strings.Contains(text, "pure==1.0") {
				t.Errorf("a package without native code is blamed:\n%s", text)
			}
		})
	}
}

// The hashes of a lock or requirements file are compared as in compat env.
func TestReviewHashes(t *testing.T) {
	all := wheels(t)
	hash := func(file string) string {
		sum := sha256.Sum256(all[file])
		return " --hash=sha256:" + hex.EncodeToString(sum[:]) + "\n"
	}
	core := func(version string) string { return "core-" + version + "-py3-none-" + many + ".whl" }
	poetry := func(file string) string {
		_, sum, _ := strings.Cut(hash(file), "=")
		return "[[package]]\nname = \"core\"\nversion = \"3.1.4\"\nfiles = [\n  {file = \"" +
			core("3.1.4") + "\", hash = \"" + strings.TrimSpace(sum) + "\"},\n]\n"
	}
	const req, lock = "requirements.txt", "poetry.lock"
	right := "core==3.1.0 \\\n " + hash(core("3.1.0"))
	wrong := "core==3.1.4 \\\n " + hash(core("3.1.0"))
	for _, c := range []struct {
		name, file, base, head string
		want                   string // "" = nothing is found
	}{
		{"renewed", req, right, "core==3.1.4 \\\n " + hash(core("3.1.4")), ""},
		{"of the old version", req, right, wrong, "requirements.txt:1 core 3.1.4: core==3.1.4 is pinned with hashes that match no file"},
		{"only the hash", req, "core==3.1.4" + hash(core("3.1.4")), "core==3.1.4" + hash(core("3.1.0")),
			"requirements.txt:1 core 3.1.4: core==3.1.4 is pinned with hashes that match no file"},
		{"not by this change", req, wrong, wrong + "pure==1.0" + hash("pure-1.0-py3-none-any.whl"), ""},
		{"pure", req, right, right + "pure==1.1" + hash("pure-1.0-py3-none-any.whl"),
			"requirements.txt:3 pure 1.1: pure==1.1 is pinned with hashes that match no file"},
		{"without one", req, right, right + "pure==1.1\n", "requirements.txt:3 pure 1.1: pure==1.1 has no hash"},
		{"included", req, "-r more.txt\n" + right, "-r more.txt\n" + right + "pure==1.1\n",
			"requirements.txt:4 pure 1.1: pure==1.1 has no hash"},
		{"a lock file", lock, poetry(core("3.1.4")), poetry(core("3.1.0")),
			"poetry.lock:3 core 3.1.4: core==3.1.4 is pinned with hashes that match no file"},
		{"of another index", req, right, "--extra-index-url https://other.test/\n" + wrong, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			look, _ := serve(t, all)
			base, head := commit{c.file: c.base}, commit{c.file: c.head}
			base["more.txt"], head["more.txt"] = "# none\n", "# none\n"
			d := reviewed(t, look, base, head, []string{c.file}, config.Repository{})
			check := comment.RenderDependencies(comment.Input{
				BaseName: "main", Diff: comment.Diff{c.file: {{First: 1, Last: 9}}},
			}, d)
			text := check.Conclusion + "\n"
			for _, a := range check.Annotations {
				text += fmt.Sprintf("%s:%d %s\n%s\n", a.Path, a.StartLine, a.Title, a.Message)
			}
			for _, r := range check.Review {
				text += r.Body
			}
			if (check.Conclusion == "success") != (c.want == "") || !strings.Contains(text, c.want) ||
				strings.Contains(text, "Pin ") || strings.Contains(text, "suggestion") {
				t.Errorf("want %q: %s\n%s\n%s", c.want, check.Title, text, check.Summary)
			}
		})
	}
}

func reviewed(
	t *testing.T,
	look review.Index,
	base, head commit,
	paths []string,
	c config.Repository,
) *comment.Dependencies {
	t.Helper()
	a := analyzer.New(rules.All())
	r := review.Reviewer{Check: a.CheckEnvironments, Dir: t.TempDir()}
	d, err := r.Review(t.Context(), review.Change{
		Index: look, Base: base, Head: head, Paths: paths, Config: &c,
		Options: analyzer.Options{Source: look},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A newer release of the package that fails is offered before the change is taken back.
func TestReviewOffersNewerReleases(t *testing.T) {
	const req = "requirements.txt"
	look, _ := serve(t, wheels(t, "2.1.0"))
	head := strings.Replace(pins, "3.1.0", "3.2.0", 1)
	d := reviewed(t, look, commit{req: pins}, commit{req: head}, []string{req}, config.Repository{})
	check := comment.RenderDependencies(comment.Input{BaseName: "main"}, d)
	for _, want := range []string{
		"no library defines `refine`, which `_solve.abi3.so` imports",
		"**Fix** (tried: this error is gone): Change `solver` from 2.0.0 to 2.1.0 in " +
			"`requirements.txt:3`; or (tried): pin `core==3.1.4`",
	} {
		if !strings.Contains(check.Summary, want) {
			t.Errorf("it does not say %s:\n%s", want, check.Summary)
		}
	}
}

// Wheels that are not needed are not downloaded.
func TestReviewFetchesLittle(t *testing.T) {
	look, read := serve(t, wheels(t))
	pure := strings.Replace(pins, "pure==1.0", "pure==1.1", 1)
	reviewed(t, look, commit{"requirements.txt": pins}, commit{"requirements.txt": pure},
		[]string{"requirements.txt"}, config.Repository{})
	if files := read(); len(files) > 0 {
		t.Errorf("bytes of %v were fetched, though no native package changed", files)
	}
	for _, paths := range [][]string{{"service.py"}, {"docs/index.md"}} {
		if d := reviewed(t, look, commit{"requirements.txt": pins}, commit{"requirements.txt": pins},
			paths, config.Repository{}); d != nil {
			t.Errorf("a change of %v is reviewed", paths)
		}
	}
	off := config.Repository{Environments: config.Environments{Off: true}}
	if d := reviewed(t, look, commit{}, commit{"requirements.txt": pins},
		[]string{"requirements.txt"}, off); d != nil {
		t.Error("reviewed though it is off")
	}
}

// An index with credentials is queried only for names that the base branch declares.
func TestGuard(t *testing.T) {
	look, read := serve(t, wheels(t))
	guard := look.Guard("Core")
	d := reviewed(t, guard, commit{"requirements.txt": "core==3.1.0\n"},
		commit{"requirements.txt": "core==3.1.4\nsolver==2.0.0\n"},
		[]string{"requirements.txt"}, config.Repository{})
	if len(d.Unread) != 1 || d.Unread[0].What != "solver==2.0.0" ||
		!strings.Contains(d.Unread[0].Reason, "COMPAT_INDEX_ALLOW") || d.Unread[0].Line != 2 {
		t.Errorf("unread: %+v", d.Unread)
	}
	for _, f := range read() {
		if strings.HasPrefix(f, "solver") {
			t.Errorf("%s was fetched", f)
		}
	}
}
