package stories

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/hostilefiles"
)

// hostileVariable names a folder of further files for TestHostileArtifacts. Each line of its
// manifest.jsonl is an object with the path of a file ("file"), the command that checks it ("cmd";
// others than "check" are left out) and whether it may pass ("expect": "ok").
const hostileVariable = "COMPAT_HOSTILE"

// Limits of one analysis: CPU time, so that a busy machine does not fail the test, and resident
// memory.
const (
	hostileCPU    = 10 * time.Second
	hostileMemory = 300 // MiB
)

// attack is an artifact that a pull request uploads.
type attack struct {
	name   string
	file   string // the name of the hostile file
	expect hostilefiles.Expect
	pack   func() []byte // the artifact
}

// silent reports whether a check that should mention the file passes without mentioning it.
func (a attack) silent(k githubtest.Check) bool {
	return k.Conclusion == "success" && a.expect != hostilefiles.Any &&
		!strings.HasPrefix(k.Title, "Nothing to check") &&
		(a.expect == hostilefiles.Unread || !strings.Contains(shown(k), a.file))
}

// attacks returns every file of hostilefiles for `make attack`. For go test it returns all that
// take long or much memory, and a part of the others.
func attacks(t *testing.T) (out []attack) {
	other := 0
	for _, f := range hostilefiles.All() {
		if !f.Large {
			if other++; other%sized(12, 1) != 0 {
				continue
			}
		}
		out = append(out, attack{
			name:   f.Name,
			file:   filepath.Base(f.Path()),
			expect: f.Expect,
			pack:   func() []byte { return cases.Dist(f.Wheel()) },
		})
	}
	dir := os.Getenv(hostileVariable)
	if dir == "" {
		return out
	}
	manifest, err := os.Open(filepath.Join(dir, "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer manifest.Close()
	for lines := bufio.NewScanner(manifest); lines.Scan(); {
		var f struct{ File, Cmd, Expect string }
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Cmd != "check" {
			continue
		}
		expect := hostilefiles.Unread
		if f.Expect == "ok" {
			expect = hostilefiles.Any
		}
		out = append(out, attack{f.File, filepath.Base(f.File), expect, func() []byte {
			b, err := os.ReadFile(filepath.Join(dir, f.File))
			if err != nil {
				t.Fatal(err)
			}
			return cases.Zip(map[string][]byte{filepath.Base(f.File): b})
		}})
	}
	return out
}

// Hostile files in the artifacts of pull requests, with the sandbox: none passes without being
// mentioned, and each analysis and the service stay within their limits.
func TestHostileArtifacts(t *testing.T) {
	all := attacks(t)
	s := tell(t, world{env: map[string]string{"COMPAT_SANDBOX": "required", "COMPAT_WORKERS": "2"}})
	watch := watchAnalyses(s)
	for batch := range slices.Chunk(all, 8) {
		pulls := make([]*githubtest.Pull, len(batch))
		var names []string
		for i, a := range batch {
			pulls[i] = s.OpenWith("attack-"+strconv.Itoa(len(s.repo.Pulls)), requiring("packaging>=24"))
			s.Finish(pulls[i], artifact("dist", a.pack()))
			names = append(names, a.name)
		}
		for i, a := range batch {
			if k := s.Concluded(pulls[i].HeadSHA); a.silent(k) {
				s.Errorf("%s passed: %s\n%.2000s", a.name, k.Title, shown(k))
			}
		}
		for _, u := range watch.used() {
			if u.cpu > hostileCPU || u.memory > hostileMemory {
				s.Errorf("an analysis took %v and %d MiB, of one of %s", u.cpu, u.memory,
					strings.Join(names, ", "))
			}
		}
	}
	watch.end()
	if mib := s.app.peak(); mib > hostileMemory {
		s.Errorf("the service took %d MiB", mib)
	}
	s.Logf("%d files; at most %v and %d MiB for an analysis, %d MiB for the service", len(all),
		watch.most.cpu, watch.most.memory, s.app.peak())
}

// analyses watches the processes of analyses.
type analyses struct {
	stop func()
	done sync.WaitGroup

	mu   sync.Mutex
	last map[string]use // by process id
	most use
}

// use is the CPU time and memory that a process used.
type use struct {
	cpu    time.Duration
	memory int // MiB, resident at most
}

// watchAnalyses starts to measure the children of the service.
func watchAnalyses(s *story) *analyses {
	stop := make(chan struct{})
	a := &analyses{stop: sync.OnceFunc(func() { close(stop) }), last: map[string]use{}}
	a.done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				a.look(s.app.cmd.Process.Pid)
			}
		}
	})
	s.Cleanup(a.end)
	return a
}

func (a *analyses) end() {
	a.stop()
	a.done.Wait()
}

// used returns the use of the processes seen since the last call.
func (a *analyses) used() []use {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []use
	for _, u := range a.last {
		out = append(out, u)
	}
	clear(a.last)
	return out
}

func (a *analyses) look(service int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", service))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(children)) {
			u, ok := useOf(pid)
			if !ok {
				continue
			}
			a.mu.Lock()
			a.last[pid] = u
			a.most.cpu, a.most.memory = max(a.most.cpu, u.cpu), max(a.most.memory, u.memory)
			a.mu.Unlock()
		}
	}
}

// useOf reads the use of a process; ok is false if it has ended.
func useOf(pid string) (u use, ok bool) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return use{}, false
	}
	for l := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(l, "VmHWM: %d kB", &kib); n == 1 {
			u.memory = kib >> 10
		}
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return use{}, false
	}
	// the fields after the name of the program; utime and stime are numbers 14 and 15 of all
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const ticks = 100 // a second (USER_HZ)
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f)
		u.cpu += time.Duration(n) * time.Second / ticks
	}
	return u, true
}
