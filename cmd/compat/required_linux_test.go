package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf"
)

// TestSandboxRequired: with COMPAT_SANDBOX=required the service does not start in a container
// without Landlock. It reports the missing layers before it listens.
func TestSandboxRequired(t *testing.T) {
	key, dir := testKey(t), t.TempDir()
	var out []byte
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The filter applies to this thread, which ends with the function, and to the processes
		// that it starts.
		runtime.LockOSThread()
		if err = seccomp.LoadFilter(seccomp.Filter{
			NoNewPrivs: true,
			Policy: seccomp.Policy{
				DefaultAction: seccomp.ActionAllow,
				Syscalls: []seccomp.SyscallGroup{{
					Action: seccomp.ActionErrno, Names: []string{"landlock_create_ruleset"},
				}},
			},
		}); err != nil {
			return
		}
		c := exec.Command(os.Args[0], "serve", "--addr", "127.0.0.1:0")
		c.Args[0] = "compat"
		c.Env = []string{
			"APP_ID=1", "WEBHOOK_SECRET=secret", "PRIVATE_KEY=" + key, "COMPAT_DATA=" + dir,
			"COMPAT_SANDBOX=required",
		}
		out, err = c.CombinedOutput()
	}()
	<-ended
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	if text := string(out); !strings.Contains(text, "COMPAT_SANDBOX: this system lacks landlock (") ||
		strings.Contains(text, "listening") || strings.Count(text, "\n") != 1 {
		t.Errorf("%s", text)
	}
}

// TestDataFolderCannotBeWritten: the error of the service names COMPAT_DATA, and no other setting.
func TestDataFolderCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"/proc": "compat: COMPAT_DATA: /proc cannot be written: open ",
		file:    "compat: COMPAT_DATA: mkdir " + file + ": not a directory",
	} {
		c := exec.Command(os.Args[0], "serve", "--addr", "127.0.0.1:0")
		c.Args[0] = "compat"
		c.Env = []string{
			"APP_ID=1", "WEBHOOK_SECRET=secret", "PRIVATE_KEY=" + testKey(t), "COMPAT_DATA=" + dir,
		}
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), want) ||
			!strings.HasSuffix(string(out), "; set it to a folder that this user can write\n") ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v: %s", dir, err, out)
		}
	}
}
