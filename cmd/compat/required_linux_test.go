package main

import (
	"errors"
	"os"
	"os/exec"
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
