package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/formattest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// A path that cannot be opened, and a file that is not checked, give a report in every format for
// programs, on standard output too.
func TestReportsOfNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("notes\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	valid := func(document []byte) error {
		if !json.Valid(document) {
			return errors.New("not JSON")
		}
		return nil
	}
	for format, check := range map[string]func([]byte) error{
		"json": valid, "sarif": formattest.SARIF, "gitlab": formattest.GitLab,
		"junit": formattest.JUnit, "github": nil, "html": nil, "markdown": nil,
	} {
		for _, path := range []string{"nothing-*.whl", "absent.whl", "empty", "notes.txt"} {
			var out, errs bytes.Buffer
			code := run(context.Background(), []string{"check", "--format", format, path},
				environment{Getenv: os.LookupEnv, Out: &out, Err: &errs})
			if code != exitUsage || errs.Len() == 0 || !strings.Contains(out.String(), path) {
				t.Errorf("%s of %s: exit code %d\n%s%s", format, path, code, &out, &errs)
			}
			if format == "github" && !strings.HasPrefix(out.String(), "::error ") {
				t.Errorf("%s: %s", path, &out)
			}
			if check == nil {
				continue
			}
			if err := check(out.Bytes()); err != nil {
				t.Errorf("%s of %s: %v\n%s", format, path, err, &out)
			}
		}
	}
	var out, errs bytes.Buffer
	run(context.Background(), []string{"check", "absent.whl"},
		environment{Getenv: os.LookupEnv, Out: &out, Err: &errs})
	if out.Len() > 0 || !strings.Contains(errs.String(), "\"absent.whl\": no such file or folder; give ") {
		t.Errorf("text: %q, %q", &out, &errs)
	}
}

// Reports of every kind follow the formats of the programs that read them: of artifacts with and
// without findings, of a comparison, of files that cannot be read, of a hostile name, and of an
// environment.
func TestReportsFollowTheirFormats(t *testing.T) {
	consoleFolder(t)
	installWheels(t, "venv", cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"),
		cases.NvJitLink("12.8.93", 8))
	const hostile = "dist/<b>&\"'\x1b[1m%20\u202e ä::error::.so"
	for name, content := range map[string]string{
		"broken-1.0-py3-none-any.whl": "PK\x03\x04 no archive", hostile: "\x7fELF no object",
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command string
		code    int
	}{
		{"check dist/warp_lang-*.whl", exitIncompatible},
		{"check dist/cuda_parallel-*.whl", exitIncompatible},
		{"check --with torch==2.4.0+rocm6.1 --platform debian12 dist/*-1.1.0-*.whl", exitIncompatible},
		{"check --platform debian11 build/libcufile.so", exitIncompatible},
		{"check dist/clean_ext-*.whl", exitOK},
		{"check --base dist/ dist/warp_lang-*.whl", exitUsage}, // a file of the base is damaged
		{"check --base dist/warp_lang-*.whl dist/warp_lang-*.whl", exitOK},
		{"check --config accept.yml dist/warp_lang-*.whl", exitOK},
		{"check broken-1.0-py3-none-any.whl", exitUsage},
		{"check missing.whl", exitUsage},
		{"check dist/", exitIncompatible},
		{"env --venv venv --platform debian12", exitIncompatible},
	} {
		var out bytes.Buffer
		code := run(context.Background(), words(t, c.command+
			" --output sarif=report.sarif --output gitlab=report.json --output junit=report.xml"),
			environment{Getenv: os.LookupEnv, Out: &out, Err: &out})
		if code != c.code {
			t.Errorf("%s: exit code %d\n%s", c.command, code, &out)
		}
		for file, check := range map[string]func([]byte) error{
			"report.sarif": formattest.SARIF, "report.json": formattest.GitLab,
			"report.xml": formattest.JUnit,
		} {
			text, err := os.ReadFile(file)
			if err == nil {
				err = check(text)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", c.command, file, err)
			}
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
		}
	}
}
