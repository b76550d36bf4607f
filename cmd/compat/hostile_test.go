package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/test/hostilefiles"
)

// Limits for one check of a hostile file: CPU time, so that a busy machine does not fail the
// test, and resident memory in KiB.
const (
	hostileCPU    = 10 * time.Second
	hostileMemory = 300 << 10
)

// measureVariable makes this test binary run the command of its arguments, and print what it used.
const measureVariable = "COMPAT_TEST_MEASURE"

// usage is what a command used.
type usage struct {
	CPU    time.Duration
	Memory int64 // KiB, resident at most
}

// runHostile runs a command on hostile input and returns its standard output and exit code. The
// test fails if the command crashes or exceeds the bounds. The kernel counts the memory of the
// process that starts a command as that of the command, until it executes the program. These tests
// have several hundred MB with the race detector, so another process starts the command.
func runHostile(t *testing.T, c *exec.Cmd) (stdout string, code int) {
	t.Helper()
	report, reported, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer report.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Args = append([]string{self, c.Path}, c.Args[1:]...)
	c.Path = self
	// The race detector would make the other process wait before it ends; it has no goroutines.
	c.Env = append(os.Environ(), measureVariable+"=1", "GORACE=atexit_sleep_ms=0")
	c.ExtraFiles = []*os.File{reported}
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	runErr := c.Run()
	reported.Close()
	code = c.ProcessState.ExitCode()
	if code < 0 || code > 2 || strings.Contains(stderr.String(), "goroutine ") {
		t.Fatalf("%v\n%.4000s", runErr, stderr.String())
	}
	var used usage
	if err := json.NewDecoder(report).Decode(&used); err != nil {
		t.Fatal(err)
	}
	if used.CPU > hostileCPU || used.Memory > hostileMemory {
		t.Errorf("it took %v and %d KiB", used.CPU, used.Memory)
	}
	return out.String(), code
}

// measureChild runs the command of the arguments, writes its usage to descriptor 3 and returns its
// exit code.
func measureChild() int {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return -1
	}
	u := usage{
		CPU:    c.ProcessState.UserTime() + c.ProcessState.SystemTime(),
		Memory: c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss,
	}
	if err := json.NewEncoder(os.NewFile(3, "usage")).Encode(u); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return -1
	}
	return c.ProcessState.ExitCode()
}

// plainBuild builds the program without the race detector, which needs several times the limits.
func plainBuild(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "compat")
	build := exec.Command("go", "build", "-race=false", "-ldflags=-s -w", "-o", file, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestHostileBinaries checks each hostile file as the module of a wheel, in a separate process.
func TestHostileBinaries(t *testing.T) {
	files := hostilefiles.All()
	const least = 200
	if len(files) < least {
		t.Fatalf("there are %d files, fewer than %d", len(files), least)
	}
	compat := plainBuild(t)
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			hostile(t, compat, f)
		})
	}
}

func hostile(t *testing.T, compat string, f hostilefiles.File) {
	wheel, content := f.Wheel().File()
	object := f.Path()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, wheel), content, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(compat, "check", wheel, "--format", "json", "--no-cache", "--quiet")
	c.Dir = dir
	stdout, code := runHostile(t, c)
	var r analyzer.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, stdout)
	}
	if got := named(&r, object); f.Expect != hostilefiles.Any && got == "" ||
		f.Expect == hostilefiles.Unread && got != "unread" {
		t.Errorf("it should be %s, not %q: exit code %d, %s", f.Expect, got, code,
			brief(stdout))
	}
	if f.Expect == hostilefiles.Unread && (r.Verdict == analyzer.Compatible || code == 0) {
		t.Errorf("verdict %s, exit code %d", r.Verdict, code)
	}
}

// named returns where a report mentions a file: unread, skipped or finding; "" = nowhere.
func named(r *analyzer.Report, object string) string {
	has := func(list []analyzer.Unread) bool {
		return slices.ContainsFunc(list, func(u analyzer.Unread) bool {
			return strings.Contains(u.Path, object) && u.Reason != ""
		})
	}
	switch {
	case has(r.Unread):
		return "unread"
	case has(r.Skipped):
		return "skipped"
	case slices.ContainsFunc(r.Findings, func(f analyzer.Finding) bool { return f.Object == object }):
		return "finding"
	}
	return ""
}

func brief(s string) string {
	const most = 600
	if len(s) > most {
		return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
	}
	return s
}
