//go:build scale

package stories

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/redistest"
)

// TestCostOfAPush prints the table of docs/scale.md: what a push to a pull request costs, with its
// events, from the webhook to the verdict. It measures time, so it has a build tag: `make scale`
// runs it. It asserts only that each part was measured.
func TestCostOfAPush(t *testing.T) {
	blobs := &objects{values: map[string][]byte{}}
	storage := httptest.NewServer(blobs)
	defer storage.Close()
	server := redistest.Start(t, "--appendfsync", "everysec")
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer rdb.Close()
	s := tell(t, world{redis: server, env: map[string]string{
		"COMPAT_BLOBS":      "s3://blobs?region=r&endpoint=" + storage.URL,
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		"COMPAT_LEASE": "10s",
	}})
	measure := func() cost { return measureCost(s, rdb, blobs) }

	idle := measure()
	time.Sleep(10 * time.Second)
	idle = measure().minus(idle)
	t.Logf("without jobs, Redis needs %.0f us of CPU a second", idle["redis"]/idle["elapsed"])

	const rounds = 6
	kinds := []string{"no findings", "first failure", "still failing", "fixed"}
	total := map[string]cost{}
	for round := range rounds {
		p := s.OpenWith(fmt.Sprint("feature", round), requiring("packaging>=24"))
		s.Finish(p, wheels(cases.Clean(fmt.Sprintf("1.%d.0", round+1))))
		s.want(s.Concluded(p.HeadSHA), "success")
		for i, kind := range kinds {
			version := fmt.Sprintf("1.%d.%d", round+1, i+1)
			wheel, want := cases.Clean(version), "success"
			if i == 1 || i == 2 {
				wheel, want = cases.CaseA(version), "failure"
			}
			time.Sleep(2 * time.Second) // until what follows the last verdict has ended
			s.quiet()
			before := measure()
			sha := s.Push(p, map[string]string{"notes.md": version})
			s.Queued(sha)
			s.quiet()
			s.Finish(p, wheels(wheel))
			s.want(s.Concluded(sha), want)
			s.quiet()
			c := measure().minus(before)
			c["redis"] -= idle["redis"] / idle["elapsed"] * c["elapsed"]
			if total[kind] == nil {
				total[kind] = cost{}
			}
			for name, value := range c {
				total[kind][name] += value / rounds
			}
		}
	}
	var table strings.Builder
	for _, kind := range kinds {
		c := total[kind]
		fmt.Fprintf(&table, "| %s | %.0f | %.1f ms | %.1f ms | %.1f KB | %.1f, %.1f | %.1f KB | %.1f | "+
			"%.2f s | %.2f s |\n", kind, c["jobs"], c["scripts"]/1000, c["redis"]/1000, c["memory"]/1000,
			c["put"], c["get"], c["stored"]/1000, c["calls"], c["worker"], c["cpu"])
		for _, part := range []string{"jobs", "scripts", "redis", "memory", "calls", "worker", "cpu"} {
			if c[part] <= 0 {
				t.Errorf("%s: %s is %v", kind, part, c[part])
			}
		}
	}
	t.Log("\n| push | jobs | scripts | Redis' CPU | memory | objects written, read | stored | calls | " +
		"worker | CPU |\n|---|---|---|---|---|---|---|---|---|---|\n" + table.String())
	pushes := float64(rounds * (len(kinds) + 1))
	for kind, bytes := range memoryOf(t, rdb) {
		t.Logf("%-10s %6.0f bytes of Redis, %5.0f a push", kind, bytes, bytes/pushes)
	}
}

// cost are measured values by name.
type cost map[string]float64

func (c cost) minus(before cost) cost {
	d := cost{}
	for name, value := range c {
		d[name] = value - before[name]
	}
	return d
}

// measureCost returns sums since the start. Times of Redis are in microseconds, others in seconds.
func measureCost(s *story, rdb *redis.Client, blobs *objects) cost {
	s.Helper()
	c := cost{"elapsed": float64(time.Now().UnixMicro()) / 1e6,
		"put": float64(blobs.puts.Load()), "get": float64(blobs.gets.Load()),
		"stored": float64(blobs.bytes.Load())}
	info, err := rdb.Info(s.Context(), "cpu", "commandstats").Result()
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.Fatal(err)
			}
			c["redis"] += seconds * 1e6
		case "cmdstat_evalsha":
			var calls, us float64
			if _, err := fmt.Sscanf(value, "calls=%f,usec=%f", &calls, &us); err != nil {
				s.Fatal(err)
			}
			c["scripts"] = us
		}
	}
	for _, bytes := range memoryOf(s, rdb) {
		c["memory"] += bytes
	}
	for _, call := range s.gh.Calls() {
		if call.Installation != 0 && call.Op != "actions/download-artifact" {
			c["calls"]++
		}
	}
	_, metrics := s.app.get(s.app.operator("/metrics"))
	for line := range strings.Lines(metrics) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0][0] == '#' {
			continue
		}
		value, _ := strconv.ParseFloat(fields[1], 64)
		switch name, _, _ := strings.Cut(fields[0], "{"); name {
		case "compat_job_seconds_sum":
			c["worker"] += value
		case "compat_job_seconds_count":
			c["jobs"] += value
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.app.cmd.Process.Pid))
	if err != nil {
		s.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	for _, ticks := range strings.Fields(after)[11:15] { // with ended children
		n, err := strconv.Atoi(ticks)
		if err != nil {
			s.Fatal(err)
		}
		c["cpu"] += float64(n) / 100
	}
	return c
}

// memoryOf returns the MEMORY USAGE of all keys by the kind of key.
func memoryOf(t testing.TB, rdb *redis.Client) map[string]float64 {
	t.Helper()
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]float64{}
	for _, key := range keys {
		bytes, err := rdb.MemoryUsage(t.Context(), key, 0).Result()
		if err != nil && err != redis.Nil { // Nil: it has expired
			t.Fatal(err)
		}
		key = strings.TrimPrefix(strings.TrimPrefix(key, "{compat}:"), "compat:blob:")
		kind, _, _ := strings.Cut(key, ":")
		kind, _, _ = strings.Cut(kind, "/")
		kinds[kind] += float64(bytes)
	}
	return kinds
}

// objects is an S3 server without signatures that counts requests.
type objects struct {
	puts, gets, bytes atomic.Int64

	mu     sync.Mutex
	values map[string][]byte
}

// ServeHTTP implements http.Handler.
func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Method == http.MethodPut {
		value, _ := io.ReadAll(r.Body)
		o.puts.Add(1)
		o.bytes.Add(int64(len(value)))
		o.values[r.URL.Path] = value
		return
	}
	o.gets.Add(1)
	value, ok := o.values[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	_, _ = w.Write(value)
}
