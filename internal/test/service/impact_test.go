package service_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// users is how many repositories use the build. The heap that a check of them adds is logged and
// limits nothing: other tests run in the same process.
const users = 500

// heap samples the heap of the process until the returned function is called, which returns by how
// many bytes it was at most larger than at the beginning. It includes what is not collected yet.
func heap() (grown func() uint64) {
	read := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	begin := read()
	most, done, stopped := begin, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, read())
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-stopped
		return most - begin
	}
}

// TestImpactOnManyRepositories checks a build that 500 repositories of the installation use, of which
// every tenth breaks, and so does what the next one pins. GitHub lists 100 repositories in a call.
func TestImpactOnManyRepositories(t *testing.T) {
	s := start(t, time.Hour, still)
	st := &store.Store{Queue: s.queue, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	s.gh.Commit(s.repo, "main", map[string]string{"a.py": "x = 1\n"})
	s.gh.BranchRun(s.repo, "main", artifactOf(cases.Gear("1.0", "stop", "spin")))
	for n := range users {
		name := fmt.Sprintf("user%d", n)
		r := s.gh.NewRepo(s.inst, name, nil)
		function := "stop"
		if n%10 == 0 {
			function = "spin"
		}
		file, content := cases.UserOfGear(name, "1.0", "gear", function).File()
		uses, err := impact.ReadUses(t.Context(), []analyzer.Input{{
			Name: file, Content: bytes.NewReader(content), Size: int64(len(content)),
		}}, analyzer.Options{})
		if err != nil || len(uses) != 1 {
			t.Fatal(uses, err)
		}
		err = st.PutFacts(t.Context(), s.inst.ID, r.ID, uses[0].SHA256, uses[0].Facts)
		if err != nil {
			t.Fatal(err)
		}
		uses[0].Facts = nil
		var pins []string
		for i := range 300 {
			pins = append(pins, fmt.Sprintf("package-%d==1.0", i))
		}
		err = st.UpdateUses(t.Context(), s.inst.ID, r.ID, func(u *store.Uses) bool {
			u.Wheels, u.Pins = uses, map[string][]string{
				"uv.lock": append(pins, "gear==1.0", fmt.Sprintf("user%d==1.0", (n+users-1)%users)),
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func() (githubtest.Check, string) {
		t.Helper()
		p := s.open(fmt.Sprintf("feature-%d", time.Now().UnixNano()))
		s.until(func() string {
			if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
				return "no check run"
			}
			return ""
		})
		s.idle()
		before := len(s.gh.Calls())
		grown := heap()
		began := time.Now()
		s.finish(p, artifactOf(cases.Gear("2.0", "stop")))
		k := s.concluded(p.HeadSHA)
		s.idle()
		took := time.Since(began)
		calls, news, told := counted(s.gh.Calls()[before:])
		t.Logf("%d calls, %d with new data, %s, %d MB of heap", calls, news, took, grown()>>20)
		return k, told
	}
	k, told := check()
	s.want(k, "success")
	for _, want := range []string{"500 other repositories of this installation use", "**100 break**",
		"acme/user100](", "`user0 1.0`, pinned in `uv.lock` and built by `acme/user0`", "and "} {
		if !strings.Contains(k.Summary, want) {
			t.Errorf("the summary lacks %q:\n%.3000s", want, k.Summary)
		}
	}
	if n := strings.Count(told, "/installation/repositories"); n != 6 {
		t.Errorf("the repositories are listed with %d calls, want 6:\n%s", n, told)
	}
	// A check soon after has the same list.
	if _, told := check(); strings.Contains(told, "/installation/repositories") {
		t.Errorf("the repositories are listed again:\n%s", told)
	}
}
