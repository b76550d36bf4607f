package main

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"mvdan.cc/sh/v3/shell"
)

var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// The pages show what the commands print: each block of a terminal is run in a folder with the
// artifacts of the founding cases. With -update the output is written to the pages.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		if pages[i], err = filepath.Abs(pages[i]); err != nil {
			t.Fatal(err)
		}
	}
	consoleFolder(t)
	update := flag.Lookup("update").Value.String() == "true"
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		got := consoleBlock.ReplaceAllFunc(text, func(block []byte) []byte {
			var b strings.Builder
			b.WriteString("```console\n")
			for line := range strings.Lines(string(block)) {
				words, isCommand := strings.CutPrefix(line, "$ compat ")
				if !isCommand {
					continue
				}
				ran++
				if b.Len() > len("```console\n") {
					b.WriteString("\n")
				}
				b.WriteString(line + printed(t, strings.TrimSpace(words)))
			}
			return []byte(b.String() + "```")
		})
		switch {
		case bytes.Equal(got, text):
		case update:
			if err := os.WriteFile(page, got, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is stale; run make docs. It should be\n%s", page, got)
		}
	}
	if ran < 10 {
		t.Errorf("only %d commands were run", ran)
	}
}

// printed returns what a command prints.
func printed(t *testing.T, line string) string {
	t.Helper()
	var out bytes.Buffer
	run(context.Background(), words(t, line), environment{Getenv: os.LookupEnv, Out: &out, Err: &out})
	return out.String()
}

// words returns the words of a command line; patterns are expanded as a shell does.
func words(t *testing.T, line string) (expanded []string) {
	t.Helper()
	fields, err := shell.Fields(line, nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for _, w := range fields {
		if files, _ := filepath.Glob(w); len(files) > 0 {
			expanded = append(expanded, files...)
		} else {
			expanded = append(expanded, w)
		}
	}
	return expanded
}

// consoleFolder changes to a folder with the artifacts that the pages name.
func consoleFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{"HOME": dir, "XDG_CACHE_HOME": dir,
		"PIP_INDEX_URL": "", "UV_DEFAULT_INDEX": "", "PIP_CONFIG_FILE": os.DevNull} {
		t.Setenv(name, value)
	}
	files := map[string][]byte{
		"build.log": []byte("cc -o app main.o -lcufile\n/usr/bin/ld: " +
			"/usr/local/cuda/lib64/libcufile.so: undefined reference to `dlopen'\n"),
		"accept.yml": []byte("accept:\n  - rule: symbol-version-too-new\n" +
			"    because: the wheel is only used on AlmaLinux 9\n    until: 2099-01-01\n"),
	}
	add := func(w cases.Wheel) {
		name, content := w.File()
		files["dist/"+name] = content
	}
	add(cases.CaseA("1.5.0"))
	add(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"))
	add(cases.CaseC("1.1.0"))
	add(cases.Clean("1.0.0"))
	name, content := cases.CaseD()
	files["build/"+name] = content
	mac, err := machoobj.Parse("macho arm64\nneeded /usr/lib/libSystem.B.dylib\n" +
		"import _malloc /usr/lib/libSystem.B.dylib\nexport _PyInit__fast\nminos 14.0\n")
	if err != nil {
		t.Fatal(err)
	}
	object, err := machoobj.Write(mac...)
	if err != nil {
		t.Fatal(err)
	}
	add(cases.Wheel{Name: "fast", Version: "1.0.0", Tags: []string{"cp312-cp312-macosx_11_0_arm64"},
		Files: map[string][]byte{"fast/_fast.cpython-312-darwin.so": object}})
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// installWheels unpacks wheels into a virtual environment with Python 3.12, as pip does.
func installWheels(t *testing.T, venv string, wheels ...cases.Wheel) {
	t.Helper()
	dir := filepath.Join(venv, "lib", "python3.12", "site-packages")
	for _, w := range wheels {
		_, content := w.File()
		z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err == nil {
			err = os.CopyFS(dir, z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
