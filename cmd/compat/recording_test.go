package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/gen/recording"
)

// recorded are the commands of the recording of a terminal, in the folder of the pages' commands.
var recorded = []string{
	"compat check dist/warp_lang-1.5.0-py3-none-manylinux2014_x86_64.whl",
	"compat fix dist/warp_lang-1.5.0-py3-none-manylinux2014_x86_64.whl",
	"compat check fixed/*.whl",
}

// maxRecording limits the size of a recording in bytes.
const maxRecording = 16 << 10

// The recording shows what the commands print. With -update it is written to the pages' pictures.
func TestRecordingOfPages(t *testing.T) {
	pictures, err := filepath.Abs("../../docs/screens")
	if err != nil {
		t.Fatal(err)
	}
	consoleFolder(t)
	t.Setenv("NO_COLOR", "")
	r := recording.New("compat check and compat fix in a terminal", 100)
	codes := ""
	for _, command := range recorded {
		var out bytes.Buffer
		env := environment{Getenv: func(name string) (string, bool) {
			if name == "FORCE_COLOR" {
				return "1", true
			}
			return os.LookupEnv(name)
		}, Out: &out, Err: &out}
		code := run(context.Background(), words(t, strings.TrimPrefix(command, "compat ")), env)
		codes += string(rune('0' + code))
		r.Run(command, out.String())
	}
	if codes != "100" {
		t.Errorf("the commands end with %s; the recording shows a wheel that is incompatible, its fix, "+
			"and that it is compatible then", codes)
	}
	cast, err := r.Cast()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"check.cast": cast, "check.svg": r.SVG()} {
		file := filepath.Join(pictures, name)
		if len(data) > maxRecording {
			t.Errorf("%s has %d bytes, more than %d", name, len(data), maxRecording)
		}
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, data) {
			t.Errorf("%s is stale (%v); run make docs", file, err)
		}
	}
}
