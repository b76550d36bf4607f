package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/test/redistest"
)

// queueCommand runs 'compat queue ARGS' and returns what it printed.
func queueCommand(t *testing.T, vars map[string]string, args ...string) (string, error) {
	t.Helper()
	var out, errOut bytes.Buffer
	env := environment{Out: &out, Err: &errOut, Getenv: func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}}
	c := newQueueCommand(env)
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetOut(&out)
	c.SetErr(&errOut)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// fill adds a job in each state; the worker of the running one is gone.
func fill(t *testing.T, q *queue.Queue) {
	t.Helper()
	ctx := context.Background()
	for i, key := range []string{"pull/1/1", "pull/1/2", "pull/1/3", "pull/1/4"} {
		if _, err := q.Enqueue(ctx, "", queue.Job{Key: key, Installation: 77}); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			continue
		}
		l, err := q.Claim(ctx, time.Second)
		if err != nil || l == nil {
			t.Fatal(l, err)
		}
		switch i {
		case 1:
			err = l.Snooze(ctx, time.Hour, "waits for CI")
		case 2:
			err = l.Kill(ctx, "no such\x1b[31m symbol\nSTATE")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueueCommandEmbedded(t *testing.T) {
	dir := t.TempDir()
	q, err := queue.Open(t.Context(), queue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, q)
	vars := map[string]string{"COMPAT_DATA": dir}
	if _, err := queueCommand(t, vars, "ls"); err == nil || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "REDIS_URL") ||
		!strings.Contains(err.Error(), "stop it") {
		t.Errorf("while a server runs: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	testQueueCommand(t, vars)
}

func TestQueueCommandRedis(t *testing.T) {
	server := redistest.Start(t)
	q, err := queue.Open(t.Context(), queue.Options{URL: server.URL, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, q)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"REDIS_URL": server.URL}
	testQueueCommand(t, vars)
	server.Kill()
	if _, err := queueCommand(t, vars, "ls"); err == nil ||
		!strings.Contains(err.Error(), "REDIS_URL") {
		t.Errorf("without Redis: %v", err)
	}
}

func testQueueCommand(t *testing.T, vars map[string]string) {
	do := func(args ...string) string {
		t.Helper()
		out, err := queueCommand(t, vars, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	for range 2 { // listing changes nothing
		out := do("ls")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 5 {
			t.Fatalf("ls:\n%s", out)
		}
		for i, want := range [][]string{
			{"STATE", "KEY"},
			{"waiting", "pull/1/4", "77"},
			{"running", "pull/1/1", fmt.Sprint(":", os.Getpid())},
			{"delayed", "pull/1/2", "in 59m5", "waits for CI"},
			{"dead", "pull/1/3", `no such\x1b[31m symbol\nSTATE`},
		} {
			for _, w := range want {
				if !strings.Contains(strings.Replace(lines[i], "in 1h0m0s", "in 59m5", 1), w) {
					t.Errorf("line %d is %q, want %q", i, lines[i], w)
				}
			}
		}
	}
	var entries []queue.Entry
	if err := json.Unmarshal([]byte(do("ls", "--state", "dead", "--json")), &entries); err != nil ||
		len(entries) != 1 ||
		entries[0].Job.Key != "pull/1/3" {
		t.Errorf("ls --json: %+v %v", entries, err)
	}
	var e queue.Entry
	if err := json.Unmarshal([]byte(do("show", "pull/1/2")), &e); err != nil ||
		e.State != queue.Delayed ||
		e.Reason != "waits for CI" {
		t.Errorf("show: %+v %v", e, err)
	}
	if out := do("retry", "pull/1/3"); out != "pull/1/3 will run\n" {
		t.Errorf("retry: %q", out)
	}
	do("drop", "pull/1/4")
	do("drop", "pull/1/2")
	if out := do("ls", "--state", "dead"); out != "no jobs\n" {
		t.Errorf("ls --state dead: %q", out)
	}
	if out := do("ls", "--state", "dead", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("ls --state dead --json: %q", out)
	}
	for _, test := range []struct{ args, want string }{
		{"ls --state asleep", "use waiting"},
		{"show", "give one KEY"},
		{"show pull/1/2", "queue ls"},
		{"drop pull/1/2", "queue ls"},
		{"retry pull/1/3", "waits or runs already"},
	} {
		if _, err := queueCommand(t, vars, strings.Fields(test.args)...); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
}

// A job that is due and was not taken yet is not due in the past.
func TestQueueListOfADueJob(t *testing.T) {
	now := time.Now()
	var out bytes.Buffer
	err := printEntries(environment{Out: &out}, []queue.Entry{
		{State: queue.Delayed, Since: now, Due: now.Add(-time.Second)},
		{State: queue.Delayed, Since: now, Due: now.Add(time.Minute)},
		{State: queue.Waiting, Since: now},
	}, now)
	if text := out.String(); err != nil || strings.Count(text, " now ") != 1 ||
		strings.Count(text, " in 1m0s ") != 1 || strings.Contains(text, "-") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestQueueCommandNothingThere(t *testing.T) {
	if _, err := queueCommand(t, map[string]string{"COMPAT_DATA": t.TempDir()}, "ls"); err == nil ||
		!strings.Contains(err.Error(), "no journal") {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := queueCommand(t, map[string]string{"REDIS_URL": "http://x"}, "ls"); err == nil ||
		!strings.Contains(err.Error(), "redis://") {
		t.Errorf("bad address: %v", err)
	}
}

// If Redis does not respond, that is one error: the Redis client writes nothing to stderr.
func TestQueueCommandOfAbsentRedis(t *testing.T) {
	var client clientLog
	redis.SetLogger(&client)
	vars := map[string]string{"REDIS_URL": "redis://127.0.0.1:1/0"}
	for _, args := range [][]string{{"ls"}, {"show", "pull/1/1"}, {"retry", "pull/1/1"}} {
		_, err := queueCommand(t, vars, args...)
		if err == nil || !strings.HasPrefix(err.Error(), "the Redis of REDIS_URL does not respond: ") {
			t.Errorf("%s: %v", args, err)
		}
	}
	if len(client.lines) > 0 {
		t.Errorf("the Redis client logged %q", client.lines)
	}
}

// clientLog records the log of the Redis client.
type clientLog struct{ lines []string }

func (l *clientLog) Printf(_ context.Context, format string, v ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, v...))
}
