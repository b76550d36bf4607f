package queue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/redistest"
)

// childEnv makes the test binary a process that a test can kill: "enqueue DIR" or "work URL".
const childEnv = "COMPAT_QUEUE_TEST_CHILD"

func TestMain(m *testing.M) {
	LogClient(slog.New(slog.DiscardHandler))
	what, arg, _ := strings.Cut(os.Getenv(childEnv), " ")
	var err error
	switch what {
	case "enqueue":
		err = childEnqueue(arg)
	case "full":
		err = childFull(arg)
	case "work":
		err = childWork(arg)
	default:
		os.Exit(m.Run())
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// childEnqueue enqueues and processes jobs forever, and prints what was confirmed: "acknowledged
// KEY" after Enqueue, "claimed KEY" before a lease ends, "done KEY" after Done.
func childEnqueue(dir string) error {
	ctx := context.Background()
	q, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; err == nil; i++ {
				key := fmt.Sprintf("k/%d/%d", g, i)
				if _, e := q.Enqueue(ctx, "guid "+key, Job{Key: key, Installation: int64(g)}); e != nil {
					fmt.Println("error", e)
					return
				}
				fmt.Println("acknowledged", key)
			}
		})
	}
	wg.Go(func() {
		for i := 0; ; i++ {
			l, err := q.Claim(ctx, time.Second)
			if err != nil || l == nil {
				continue
			}
			fmt.Println("claimed", l.Job.Key)
			if i%2 == 0 {
				_, err = l.Done(ctx)
				fmt.Println("done", l.Job.Key, err)
			}
		}
	})
	wg.Wait()
	return nil
}

// childFull fills a disk with room for a megabyte, then frees space. It prints "acknowledged KEY"
// after Enqueue, and "refused KEY" if it fails.
func childFull(dir string) error {
	ctx := context.Background()
	q, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	info, err := os.Stat(filepath.Join(dir, journalFile))
	if err == nil {
		err = syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	}
	if err == nil {
		err = syscall.Setrlimit(
			syscall.RLIMIT_FSIZE,
			&syscall.Rlimit{Cur: uint64(info.Size() + 1<<20), Max: limit.Max},
		)
	}
	if err != nil {
		return err
	}
	large := []byte(`"` + strings.Repeat("x", 20_000) + `"`)
	full := false
	for i := 0; i < 1000 && !full; i++ {
		key := fmt.Sprint("k", i)
		if _, err = q.Enqueue(ctx, "guid "+key, Job{Key: key, Payload: large}); err == nil {
			fmt.Println("acknowledged", key)
			continue
		}
		fmt.Println("refused", key)
		// The second attempt may find room: then the pages of the write before are free.
		full = q.Ping(ctx) != nil
	}
	if !full {
		return errors.New("ready, though nothing can be stored")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if _, err := q.Enqueue(ctx, "guid later", Job{Key: "later"}); err != nil {
		return err
	}
	fmt.Println("acknowledged later")
	select {}
}

// childWork claims one job and does not renew it.
func childWork(url string) error {
	q, err := Open(context.Background(), Options{URL: url})
	if err != nil {
		return err
	}
	l, err := q.Claim(context.Background(), patience)
	if err != nil {
		return err
	}
	fmt.Println("claimed", l.Job.Key)
	select {}
}

// child starts the test binary as a child process and returns its output by lines.
func child(t *testing.T, what string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// On a full disk, acknowledged jobs survive a crash, and Enqueue fails. With free space it works
// again.
func TestEmbeddedDiskFull(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := child(t, "full "+dir)
	var acknowledged []string
	refused := ""
	for lines.Scan() {
		switch what, key, _ := strings.Cut(lines.Text(), " "); what {
		case "acknowledged":
			acknowledged = append(acknowledged, key)
		case "refused":
			refused = key
		default:
			t.Fatal(lines.Text())
		}
		if acknowledged != nil && acknowledged[len(acknowledged)-1] == "later" {
			must(t, cmd.Process.Kill())
			break
		}
	}
	_ = cmd.Wait()
	if refused == "" || len(acknowledged) < 2 {
		t.Fatalf("refused %q, acknowledged %q", refused, acknowledged)
	}
	q := mustOpen(t, Options{Dir: dir})
	for _, key := range acknowledged {
		show(t, q, key, Waiting)
	}
	if _, err := q.Show(t.Context(), refused); !errors.Is(err, ErrNotFound) {
		t.Errorf("a refused job is stored: %v", err)
	}
	consistent(t, q)
}

func TestEmbeddedProcessKilled(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := child(t, "enqueue "+dir)
	said := map[string]map[string]bool{"acknowledged": {}, "claimed": {}, "done": {}}
	for lines.Scan() {
		what, key, _ := strings.Cut(lines.Text(), " ")
		if what == "done" {
			key = strings.TrimSuffix(key, " <nil>")
		}
		if said[what] == nil {
			t.Fatal(lines.Text())
		}
		said[what][key] = true
		if len(said["acknowledged"]) == 150 {
			must(t, cmd.Process.Kill()) // the output in the pipe is still read
		}
	}

	q := mustOpen(t, Options{Dir: dir})
	for key := range said["acknowledged"] {
		_, err := q.Show(t.Context(), key)
		switch {
		case said["done"][key] && !errors.Is(err, ErrNotFound):
			t.Errorf("%s was done and is back: %v", key, err)
		case !said["claimed"][key] && err != nil:
			t.Errorf("%s was acknowledged and is lost: %v", key, err)
		}
		if r := enqueue(t, q, "guid "+key, Job{Key: key}); !r.Duplicate {
			t.Errorf("the delivery of %s is forgotten", key)
		}
	}
	consistent(t, q)
	s, err := q.Stats(t.Context())
	must(t, err)
	t.Logf("%d acknowledged, %d claimed, %d done before the kill; after it %d wait and %d run",
		len(said["acknowledged"]), len(said["claimed"]), len(said["done"]), s.Waiting, s.Running)
	for range s.Waiting {
		done(t, claim(t, q, ""), false)
	}
	none(t, q)
}

func TestRedisKilled(t *testing.T) {
	server := redistest.Start(t)
	q := mustOpen(t, Options{URL: server.URL})
	enqueue(t, q, "", Job{Key: "running"})
	lease := claim(t, q, "running")

	var acknowledged sync.Map
	var count atomic.Int64
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("k/%d/%d", g, i)
				if _, err := q.Enqueue(context.Background(), key,
					Job{Key: key, Installation: int64(g)}); err != nil {
					return
				}
				acknowledged.Store(key, true)
				count.Add(1)
			}
		})
	}
	for count.Load() < 200 {
		time.Sleep(time.Millisecond)
	}
	server.Kill()
	wg.Wait()

	start := time.Now()
	for name, err := range map[string]error{
		"ping": q.Ping(t.Context()), "check": lease.Check(t.Context()),
		"save":    lease.Save(t.Context(), []byte("x")),
		"enqueue": second(q.Enqueue(t.Context(), "late", Job{Key: "late"})),
		"claim":   second(q.Claim(t.Context(), time.Minute)),
		"list":    second(q.List(t.Context(), Filter{})), "stats": second(q.Stats(t.Context())),
		"get":    second(q.Get(t.Context(), "k")),
		"extend": second(lease.Extend(t.Context())), "park": q.Park(t.Context(), 1, time.Now()),
	} {
		if err == nil || errors.Is(err, ErrLost) {
			t.Errorf("%s while Redis is away: %v", name, err)
		}
	}
	if d := time.Since(start); d > patience/2 {
		t.Errorf("ten calls took %s to fail", d)
	}

	server.Start()
	recovered(t, q)
	if _, err := lease.Extend(t.Context()); err != nil {
		t.Errorf("extend after the outage: %v", err)
	}
	acknowledged.Range(func(key, _ any) bool {
		if _, err := q.Show(t.Context(), key.(string)); err != nil {
			t.Errorf("acknowledged and lost: %v", err)
		}
		return true
	})
	if r := enqueue(t, q, "late", Job{Key: "late"}); r.Duplicate {
		t.Error("a delivery that was refused left a mark")
	}
	consistent(t, q)
	t.Logf("%d acknowledged before the kill", count.Load())
}

func second[T any](_ T, err error) error { return err }

func recovered(t *testing.T, q *Queue) {
	t.Helper()
	start := time.Now()
	for q.Ping(t.Context()) != nil {
		if time.Since(start) > patience {
			t.Fatal("the queue does not recover")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A Redis that accepts connections but does not respond.
func TestRedisHangs(t *testing.T) {
	server := redistest.Start(t)
	q := mustOpen(t, Options{URL: server.URL})
	must(t, q.Ping(t.Context()))
	server.Pause()
	start := time.Now()
	if _, err := q.Enqueue(t.Context(), "g", Job{Key: "a"}); err == nil {
		t.Error("a call succeeded while Redis hangs")
	}
	if d := time.Since(start); d > patience/2 {
		t.Errorf("a call took %s to fail", d)
	}
	server.Resume()
	recovered(t, q)
}

// A Redis that responds but refuses writes.
func TestRedisTakesNothing(t *testing.T) {
	full := redistest.Start(t, "--maxmemory", "100kb")
	master := redistest.Start(t)
	for want, server := range map[string]*redistest.Server{"OOM": full, "READONLY": master.Replica()} {
		q := mustOpen(t, Options{URL: server.URL})
		refused(t, q, want)
		if _, err := q.Enqueue(t.Context(), "g", Job{Key: "a"}); err == nil {
			t.Errorf("%s: a delivery was acknowledged", want)
		}
		if _, err := q.List(t.Context(), Filter{}); err != nil {
			t.Errorf("%s: nobody can look: %v", want, err)
		}
	}
}

func TestRedisAwayAtOpen(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	q := mustOpen(t, Options{URL: server.URL})
	if q.Ping(t.Context()) == nil {
		t.Error("ping of nobody")
	}
	server.Start()
	recovered(t, q)
	enqueue(t, q, "g", Job{Key: "a"})
	server.Stop()
	server.Start()
	recovered(t, q)
	claim(t, q, "a")
}

func TestWorkerKilled(t *testing.T) {
	server := redistest.Start(t)
	q := mustOpen(t, Options{URL: server.URL})
	enqueue(t, q, "", Job{Key: "a"})
	cmd, lines := child(t, "work "+server.URL)
	if !lines.Scan() || lines.Text() != "claimed a" {
		t.Fatalf("the child said %q", lines.Text())
	}
	none(t, q)
	must(t, cmd.Process.Kill())
	// The lease expires.
	must(t, q.rdb.ZAddXX(t.Context(), prefix+"leases", redis.Z{Score: 1, Member: "a"}).Err())
	l := claim(t, q, "a")
	if l.Losses != 1 || l.Crashes != 0 {
		t.Errorf("lease %+v", l)
	}
	done(t, l, false)
}
