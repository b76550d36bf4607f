package stories

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// app is `compat serve` as a child process.
type app struct {
	t    testing.TB
	addr string
	dir  string // its data, home and temporary files
	env  map[string]string
	log  *output

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// output is what all processes of an app printed.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is the binary with its own environment: no setting of this machine reaches it.
func (a *app) command() *exec.Cmd {
	c := exec.Command(binary, "serve", "--addr", a.addr)
	c.Dir = a.dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + a.dir,
		"TMPDIR=" + filepath.Join(a.dir, "tmp"),
	}
	for k, v := range a.env {
		c.Env = append(c.Env, k+"="+v)
	}
	return c
}

// start starts the app and waits until it is ready.
func (a *app) start() {
	a.t.Helper()
	if err := os.MkdirAll(filepath.Join(a.dir, "tmp"), 0o755); err != nil {
		a.t.Fatal(err)
	}
	a.cmd = a.command()
	a.cmd.Stdout, a.cmd.Stderr = a.log, a.log
	if err := a.cmd.Start(); err != nil {
		a.t.Fatalf("start compat serve: %v", err)
	}
	done, cmd := make(chan struct{}), a.cmd
	a.done = done
	go func() { // ends with the process
		cmd.Wait()
		close(done)
	}()
	eventually(a.t, func() string {
		if a.gone() {
			a.t.Fatalf("compat serve ended before it was ready: %v", cmd.ProcessState)
		}
		if code, _ := a.get("/readyz"); code != http.StatusOK {
			return fmt.Sprintf("/readyz answers %d", code)
		}
		return ""
	})
}

func (a *app) gone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// kill sends SIGKILL.
func (a *app) kill() {
	if a.cmd == nil {
		return
	}
	a.cmd.Process.Kill()
	<-a.done
}

// dump ends the app with the stacks of its goroutines, and of its analyses, in its log.
func (a *app) dump() {
	if a.cmd == nil || a.gone() {
		return
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", a.cmd.Process.Pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(child); err == nil {
				syscall.Kill(pid, syscall.SIGQUIT)
			}
		}
	}
	time.Sleep(time.Second) // time for the app to read their output
	a.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-a.done:
	case <-time.After(10 * time.Second):
	}
}

// terminate sends SIGTERM to the app and returns its exit code; -1 if it had to be killed after a
// minute.
func (a *app) terminate() int {
	a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.done:
		return a.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		a.kill()
		return -1
	}
}

func (a *app) url(path string) string { return "http://" + a.addr + path }

// operator is the URL of an endpoint on COMPAT_ADMIN_ADDR.
func (a *app) operator(path string) string { return "http://" + a.env["COMPAT_ADMIN_ADDR"] + path }

// get requests a URL without following redirects; 0 if there is no response.
func (a *app) get(path string) (code int, body string) {
	url := path
	if strings.HasPrefix(path, "/") {
		url = a.url(path)
	}
	c := http.Client{
		Timeout:       patience,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Get(url)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	return res.StatusCode, string(b)
}

// peak is the largest resident size that the process ever had, in MiB; 0 if /proc does not report
// it.
func (a *app) peak() int { return a.memory("VmHWM") }

// resident is the resident size of the process, in MiB.
func (a *app) resident() int { return a.memory("VmRSS") }

func (a *app) memory(field string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		var kib int
		if n, _ := fmt.Sscanf(l, field+": %d kB", &kib); n == 1 {
			return kib >> 10
		}
	}
	return 0
}
