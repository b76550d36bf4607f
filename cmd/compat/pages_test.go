package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/factstore"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

var (
	// In blocks, in YAML, TOML, Groovy and debian/tests/control, and among text.
	pageCommand = regexp.MustCompile("(?m)(?:^ {2,7}|^\\s*- |^\\s*sh '|audit-command = \"|, \"|&& |Command: )" +
		"(compat [a-z]+ [^`\n]*)|`(compat [a-z]+ [^`]*)`")
	pageTarget = regexp.MustCompile("(?m)(?:^ {4}|`)make ([a-z0-9]+)(?:`|$| [A-Z]+=)")
	pageYAML   = regexp.MustCompile("(?ms)^```yaml\\n(.*?)^```")
	pageTable  = regexp.MustCompile("(?ms)^```toml\\n(\\[+tool\\.compat.*?)^```")
)

// notRun are the commands of the pages that are only parsed, with the reason.
var notRun = map[string]string{
	"compat completion":           "writes to the home folder; testdata/script/usage.txtar runs it",
	"compat setup":                "waits for a browser; internal/setup tests it",
	"compat queue":                "needs the queue of a service; TestQueueCommandEmbedded runs them",
	"compat check --root / $(d":   "needs the package; make recipes runs it",
	"compat check --watch dist/":  "does not end; TestWatch runs it",
	"compat reproduce dist/tool-": "its file is an example; TestReproduceCommand runs it",
	"compat rules ID":             "ID stands for the name of a rule",
}

// forPage replaces what the pages leave to the reader, and folders outside of the working
// directory.
var forPage = strings.NewReplacer(
	"--index-url pip ", "", // that of the test
	"{wheel}", "dist/clean_ext-1.0.0-*.whl", "/srv/image", "rootfs", "/usr/lib/x86_64-linux-gnu", "/usr/lib",
	"/usr/local/cuda/lib64", "cuda/lib64", "OLD", "old/uv.lock", "NEW", "uv.lock",
	"--lock FILE", "--lock uv.lock", "FILE", "libfoo.so",
	"--write fixed ", "--write fixed dist/", // after "cd dist"
)

// pages returns the texts of the pages by their names. Generated lists of messages have the texts
// of other pages.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	delete(all, "messages.md")
	return all
}

// Each command of the pages succeeds or finds something in a folder with the files that the pages
// name: wrong usage and files that cannot be checked have exit code 2.
func TestDocumentedCommandsRun(t *testing.T) {
	all := pages(t)
	archive, err := txtar.ParseFile("testdata/pages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	consoleFolder(t)
	pagesFolder(t, archive)
	seen, ran, used := map[string]int{}, map[string]bool{}, map[string]bool{}
	// Of one page in order, because some commands read what an earlier one wrote.
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, m := range pageCommand.FindAllStringSubmatch(all[page], -1) {
			command := strings.TrimSpace(m[1] + m[2])
			if _, err := syntax.NewParser().Parse(strings.NewReader(command), ""); err != nil {
				command = strings.TrimRight(command, `'"])`) // the end of a value or of a subshell
			}
			if strings.Contains(command, "…") || ran[command] { // an abbreviation
				continue
			}
			ran[command] = true
			seen[page]++
			parse := false
			for start := range notRun {
				if strings.HasPrefix(command, start) {
					parse, used[start] = true, true
				}
			}
			if code, text := runLine(t, forPage.Replace(command), parse); code == exitUsage {
				t.Errorf("%s: %s: exit code 2\n%s", page, command, text)
			}
		}
	}
	if len(used) < len(notRun) {
		t.Errorf("no page has a command of each reason: %v", used)
	}
	if seen["ci.md"] < 8 || seen["README.md"] < 6 || seen["commands.md"] < 30 {
		t.Errorf("commands were not found: %v", seen)
	}
}

// runLine runs a line of a shell: compat in this process, and no other program. If parse is
// set the flags of compat are only parsed.
func runLine(t *testing.T, line string, parse bool) (code int, text string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return exitUsage, err.Error()
	}
	var out bytes.Buffer
	handler := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(ctx context.Context, args []string) error {
			if args[0] != "compat" {
				return nil
			}
			h := interp.HandlerCtx(ctx)
			env := environment{Getenv: os.LookupEnv, In: strings.NewReader(""), Out: h.Stdout, Err: h.Stderr}
			if parse {
				root := newRootCommand(env)
				c, rest, err := root.Find(args[1:])
				if err == nil {
					err = c.ParseFlags(rest)
				}
				if err != nil {
					fmt.Fprintln(h.Stderr, err)
					return interp.ExitStatus(exitUsage)
				}
				return nil
			}
			if code := run(ctx, args[1:], env); code != exitOK {
				return interp.ExitStatus(code)
			}
			return nil
		}
	}
	shell, err := interp.New(interp.StdIO(nil, &out, &out), interp.ExecHandlers(handler))
	if err != nil {
		t.Fatal(err)
	}
	err = shell.Run(t.Context(), file)
	var status interp.ExitStatus
	if err != nil && !errors.As(err, &status) {
		t.Fatalf("%s: %v", line, err)
	}
	return int(status), out.String()
}

// pagesFolder adds the files of an archive to the working directory, and an index to the
// environment. Objects are converted from elfobj's text form to ELF.
func pagesFolder(t *testing.T, archive *txtar.Archive) {
	t.Helper()
	index := publishedWidgets(t)
	released := func(w cases.Wheel, name string) {
		w.Name = name
		file, content := w.File()
		index.files[name] = map[string][]byte{file: content}
	}
	released(cases.CaseA("1.5.0"), "warp-lang")
	released(cases.Clean("2.7.0"), "torchaudio")
	released(cases.NvJitLink("12.8.93", 8), "nvidia-nvjitlink-cu12")
	released(cases.Clean("2.7.0"), "torch")
	server := httptest.NewServer(index)
	t.Cleanup(server.Close)
	t.Setenv("PIP_INDEX_URL", server.URL+"/simple/")
	t.Setenv("CONDA_PREFIX", "conda")
	if _, err := factstore.MakeKey("facts.pem"); err != nil {
		t.Fatal(err)
	}
	installWheels(t, ".venv", cases.Clean("1.0.0"), cases.NvJitLink("12.9.86", 9))
	write := func(name string, content []byte) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		content := f.Data
		if bytes.HasPrefix(content, []byte("elf ")) {
			var err error
			if content, err = elftest.Build(string(content)); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		write(f.Name, content)
	}
	for _, dir := range []string{"wheelhouse", "last-release", "old"} {
		name, content := cases.Clean("1.0.0").File()
		write(filepath.Join(dir, name), content)
	}
	for _, version := range []string{"1.3", "1.4"} {
		library, err := os.ReadFile("libfoo.so")
		if err != nil {
			t.Fatal(err)
		}
		name, content := cases.Wheel{Name: "libfoo", Version: version,
			Tags:  []string{"py3-none-manylinux_2_28_x86_64"},
			Files: map[string][]byte{"libfoo/libfoo.so.1": library}}.File()
		write(name, content)
		write("libfoo1_"+version+"_amd64.deb", deb(t, "usr/lib/libfoo.so.1", library))
		write("libfoo-dev_"+version+"_amd64.deb", deb(t, "usr/include/foo.h", []byte("void foo_open(void);\n")))
	}
	for _, side := range []string{"old", "new"} {
		write(side+"/include/foo.h", []byte("void foo_open(void);\n"))
	}
	write("libfoo1-dbgsym_1.3_amd64.deb", deb(t, "usr/lib/debug/.build-id/ab/cd.debug", nil))
	whole, err := os.ReadFile("old/libfoo.so.1")
	if err != nil {
		t.Fatal(err)
	}
	part, err := os.ReadFile("new/libfoo.so.1")
	if err != nil {
		t.Fatal(err)
	}
	build := func(name, version string, library []byte) (string, []byte) {
		return cases.Wheel{Name: name, Version: version,
			Tags:  []string{"py3-none-manylinux_2_28_x86_64"},
			Files: map[string][]byte{"lib/libfoo.so.1": library}}.File()
	}
	for _, b := range []struct {
		dir, version string
		library      []byte
	}{{"old", "1.2", whole}, {"builds", "1.5", whole}, {"dist", "1.4", whole}, {"dist", "1.9", part}} {
		name, content := build("libfoo", b.version, b.library)
		write(filepath.Join(b.dir, name), content)
	}
	for _, r := range []struct {
		name, version string
		library       []byte
	}{
		{"libfoo", "1.3", whole}, {"xformers", "1.0", whole}, {"torch-harmonics", "0.9.0", whole},
		{"torch", "2.11.0", whole}, {"torch", "2.12.0", part},
		{"librmm-cu13", "26.2.0", whole}, {"librmm-cu13", "26.10.0", part},
	} {
		if index.files[r.name] == nil {
			index.files[r.name] = map[string][]byte{}
		}
		name, content := build(r.name, r.version, r.library)
		index.files[r.name][name] = content
	}
	for name, version := range map[string]string{"old/uv.lock": "1.0", "uv.lock": "1.1"} {
		file := "widget-" + version + "-cp312-cp312-manylinux_2_28_x86_64.whl"
		write(name, fmt.Appendf(nil, "version = 1\n[[package]]\nname = \"widget\"\nversion = %q\n"+
			"source = { registry = %q }\nwheels = [\n{ url = %q, hash = \"sha256:%x\", size = 7 },\n]\n",
			version, server.URL+"/simple", server.URL+"/simple/widget/"+file,
			sha256.Sum256(index.files["widget"][file])))
	}
}

// deb returns a Debian package with one file.
func deb(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	archive := []byte("!<arch>\n")
	add := func(member string, data []byte) {
		archive = fmt.Appendf(archive, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member, 0, 0, 0, "100644", len(data))
		archive = append(archive, data...)
		if len(data)%2 == 1 {
			archive = append(archive, '\n')
		}
	}
	packed := func(name string, content []byte) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	add("debian-binary", []byte("2.0\n"))
	add("control.tar", packed("./control", []byte("Package: libfoo1\n")))
	add("data.tar", packed("./"+name, content))
	return archive
}

// The targets of make in the pages exist, and their configuration is valid.
func TestDocumentedConfiguration(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for page, text := range pages(t) {
		for _, m := range pageTarget.FindAllStringSubmatch(text, -1) {
			if !bytes.Contains(makefile, []byte("\n"+m[1]+":")) {
				t.Errorf("%s: make has no target %s", page, m[1])
			}
			seen["make"]++
		}
		for _, m := range pageYAML.FindAllStringSubmatch(text, -1) {
			if err := yaml.Unmarshal([]byte(m[1]), new(any)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
			seen["yaml"]++
		}
		for _, m := range pageTable.FindAllStringSubmatch(text, -1) {
			if _, problems, found := config.ParseProject([]byte(m[1]), rules.IDs()); !found ||
				len(problems) > 0 {
				t.Errorf("%s: %s: %v", page, m[1], problems)
			}
			seen["toml"]++
		}
	}
	if seen["toml"] < 1 || seen["make"] < 8 || seen["yaml"] < 5 {
		t.Errorf("configuration was not found: %v", seen)
	}
}
