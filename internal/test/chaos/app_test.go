package chaos

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/loopback"
)

// builds are the programs that the processes run in turns: cmd/compat, built once by TestMain, and
// that of another release if COMPAT_OTHER is its file.
var builds []string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "compat-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "compat")
	if builds = []string{binary}; os.Getenv("COMPAT_OTHER") != "" {
		builds = append(builds, os.Getenv("COMPAT_OTHER"))
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary,
		"github.com/compat-app/compat/cmd/compat").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "chaos: build cmd/compat: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// app is `compat serve` as a child process that is killed repeatedly.
type app struct {
	addr string
	dir  string
	env  []string
	log  *os.File
	cmd  *exec.Cmd
	turn int // which of builds is started next
}

func newApp(t *testing.T, env map[string]string) *app {
	t.Helper()
	a := &app{addr: loopback.Addr(t), dir: t.TempDir()}
	var err error
	if a.log, err = os.Create(filepath.Join(a.dir, "log")); err != nil {
		t.Fatal(err)
	}
	a.env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + a.dir,
		"TMPDIR=" + a.dir,
		"COMPAT_DATA=" + filepath.Join(a.dir, "data"),
	}
	for k, v := range env {
		a.env = append(a.env, k+"="+v)
	}
	t.Cleanup(func() {
		a.kill()
		a.log.Close()
	})
	return a
}

func (a *app) start(t *testing.T) {
	t.Helper()
	a.cmd = exec.Command(builds[a.turn%len(builds)], "serve", "--addr", a.addr)
	a.turn++
	a.cmd.Env, a.cmd.Dir, a.cmd.Stdout, a.cmd.Stderr = a.env, a.dir, a.log, a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get("http://" + a.addr + "/healthz")
		if err == nil {
			res.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("compat serve does not answer: %v; it said\n%s", err, a.tail())
		}
	}
}

// kill sends SIGKILL.
func (a *app) kill() {
	if a.cmd == nil {
		return
	}
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait()
	a.cmd = nil
}

// tail returns the end of the output of all processes of the app.
func (a *app) tail() string {
	data, err := os.ReadFile(a.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-8000):])
}
