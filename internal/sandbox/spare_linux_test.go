package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// waiting waits for the process that is ready for the next analysis.
func waiting(t *testing.T, r *Runner) *child {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		r.spares.mu.Lock()
		c := r.spares.ready
		r.spares.mu.Unlock()
		if c != nil {
			return c
		}
	}
	t.Fatal("no process waits")
	return nil
}

// TestSpare: each analysis has a process that was started before, is confined while it waits, and
// is used once. One that ended meanwhile is replaced, and Close leaves nothing.
func TestSpare(t *testing.T) {
	r := runner(t, "analyze")
	r.Spare = true
	inputs := []analyzer.Input{wheel(t, cases.Clean("1.0"))}
	check := func() {
		t.Helper()
		report, _, err := r.Check(t.Context(), inputs, analyzer.Options{}, nil, nil)
		if err != nil || len(report.Artifacts) != 1 {
			t.Fatal(report, err)
		}
	}
	check()
	first := waiting(t, r)
	pid := first.cmd.Process.Pid
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		why := unconfined(pid)
		if why == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatal(why)
		}
	}
	check()
	if first.cmd.ProcessState == nil {
		t.Error("the process that waited was not used")
	}
	second := waiting(t, r)
	if second.cmd.Process.Pid == pid {
		t.Error("a process is used twice")
	}
	if err := syscall.Kill(second.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for second.alive() {
		time.Sleep(time.Millisecond)
	}
	check()
	last := waiting(t, r)
	r.Close()
	if last.cmd.ProcessState == nil {
		t.Error("Close leaves a process")
	}
	check() // without a process that waits
	if left, err := filepath.Glob(filepath.Join(r.Scratch, Folder+"*")); err != nil || len(left) > 0 {
		t.Errorf("folders are left: %q, %v", left, err)
	}
}

// unconfined says what a process lacks; "" if it is confined on every thread and has no socket.
func unconfined(pid int) string {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if len(threads) == 0 {
		return "no threads"
	}
	for _, file := range threads {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(data), want) {
				return file + " has no " + want
			}
		}
	}
	descriptors, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // only root can list them
	for _, d := range descriptors {
		if to, _ := os.Readlink(d); strings.HasPrefix(to, "socket:") {
			return d + " is a socket"
		}
	}
	return ""
}

// Artifacts on another file system, or whose name is another file's now, are copied.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	var files []*os.File
	for i, replace := range []bool{false, true} {
		path := filepath.Join(dir, fmt.Sprint("artifact", i))
		if err := os.WriteFile(path, []byte(fmt.Sprint("content ", i)), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if replace {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, f)
	}
	if err := place(files, in, 0); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		data, err := os.ReadFile(filepath.Join(in, fmt.Sprint(i)))
		if err != nil || string(data) != fmt.Sprint("content ", i) {
			t.Errorf("%d: %q, %v", i, data, err)
		}
	}
	if !same(files[0], filepath.Join(in, "0")) || same(files[1], filepath.Join(in, "1")) {
		t.Error("the first one is not a link, or the second one is")
	}
}
