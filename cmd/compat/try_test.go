package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/loopback"
	"github.com/compat-app/compat/internal/test/needs"
)

var (
	// A block of commands, and the one with what they print.
	tryBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?")
	// What differs from run to run: times, and the port of a client.
	tryTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)`)
	tryPort = regexp.MustCompile(`("remote":"127\.0\.0\.1:)\d+`)
	tryFor  = regexp.MustCompile(`(?m)^(waiting .*? )(?:\d+m)?\d+s +`)
	trySpan = regexp.MustCompile(`(?m) +$`)
)

// The commands of docs/try.md print what the page shows. With -update the output is written to it.
func TestTryPage(t *testing.T) {
	for _, program := range []string{"bash", "openssl", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			needs.Missing(t, program)
		}
	}
	page, err := filepath.Abs("../../docs/try.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "compat")); err != nil {
		t.Fatal(err)
	}
	const usual, mark = "127.0.0.1:8080", "=== end of a block ==="
	addr := loopback.Addr(t)
	blocks := tryBlock.FindAllStringSubmatch(string(text), -1)
	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" // also after a failure
	for _, b := range blocks {
		script += strings.ReplaceAll(b[1], usual, addr) + "echo '" + mark + "'\n"
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it stops the service
	c.WaitDelay = time.Minute
	c.Dir = dir
	c.Env = []string{"HOME=" + dir, "PATH=" + bin + ":" + os.Getenv("PATH")}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "compat.log"))
		t.Fatalf("%v: %s%s\n%s", err, out, &errs, log)
	}
	printed := strings.Split(string(out), mark+"\n")
	if len(blocks) < 5 || len(printed) != len(blocks)+1 {
		t.Fatalf("%d blocks: %s", len(blocks), out)
	}
	constant := func(s string) string {
		s = tryTime.ReplaceAllString(s, "2026-01-02T03:04:05Z")
		s = tryPort.ReplaceAllString(s, "${1}40000")
		s = tryFor.ReplaceAllString(strings.ReplaceAll(s, addr, usual), "${1}1s   ")
		return trySpan.ReplaceAllString(s, "")
	}
	i := -1
	got := tryBlock.ReplaceAllStringFunc(string(text), func(string) string {
		i++
		return "```sh\n" + blocks[i][1] + "```\n\n```text\n" + constant(printed[i]) + "```\n"
	})
	switch {
	case got == string(text):
	case flag.Lookup("update").Value.String() == "true":
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/try.md is stale; run go test ./cmd/compat -run TestTryPage -update. It should be\n%s", got)
	}
}
