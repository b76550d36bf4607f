package store_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/needs"
	"github.com/compat-app/compat/internal/test/redistest"
)

// TestStoredTimes stores one value of each kind and checks how long Redis keeps it.
func TestStoredTimes(t *testing.T) {
	const (
		day     = 24 * time.Hour
		subject = "pull/5/3"
		id      = "0123456789abcdef0123456789abcdef"
	)
	server := redistest.Start(t)
	q, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s := &store.Store{Queue: q, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	claimed := func(key string) *queue.Lease {
		t.Helper()
		_, err := q.Enqueue(ctx, "guid-"+key, queue.Job{Key: key, Kind: "pull", Installation: 1})
		must(err)
		lease, err := q.Claim(ctx, time.Minute)
		must(err)
		return lease
	}
	lease := claimed("ended")
	must(lease.Save(ctx, []byte("check run 7")))
	_, err = lease.Done(ctx)
	must(err)
	must(claimed("dead").Kill(ctx, "it cannot succeed"))

	_, err = s.PutReport(ctx, id, &analyzer.Report{}, &report.View{})
	must(err)
	must(s.PutLast(ctx, subject, store.Last{ID: id}))
	must(s.PutStanding(ctx, subject, store.Standing{Conclusion: "success"}))
	must(s.Accept(ctx, subject, store.Accepted{
		What: "pow", Because: "of the test", Findings: []store.Finding{{Symbol: "pow"}},
	}))
	_, err = s.AllowReply(ctx, subject, "someone", "command/5/1")
	must(err)
	_, err = s.Spend(ctx, store.Spender{Installation: 1, Repository: 5, Login: "someone"}, "c", 1)
	must(err)

	must(s.PutFacts(ctx, 1, 5, "aa", []byte("x")))
	must(s.PutNotices(ctx, 1, 5, "gear", store.Notice{Package: "gear"}))
	must(s.UpdateUses(ctx, 1, 5, func(u *store.Uses) bool {
		u.Pins = map[string][]string{"uv.lock": {"gear==1"}}
		return true
	}))
	for sha, exports := range map[string][]string{"a": {"spin"}, "b": {"stop"}} {
		must(s.AddBuild(ctx, 1, 5, sha, []impact.Uses{{Name: "gear", Exports: exports}}))
	}
	must(s.PutListed(ctx, 1, []store.Listed{{ID: 5}}))

	options, err := redis.ParseURL(server.URL)
	must(err)
	db := redis.NewClient(options)
	defer db.Close()
	for part, want := range map[string]time.Duration{
		"state:ended": 30 * day,
		"report/":     30 * day,
		"last/":       30 * day,
		"accept/":     365 * day,
		"replies/":    time.Hour,
		"budget/":     time.Hour,
		"uses/":       365 * day,
		"using/":      365 * day,
		"facts/":      365 * day,
		"notices/":    365 * day,
		"listed/":     2 * time.Minute,
		"built/":      365 * day,
		"lost/":       365 * day,
	} {
		keys, err := db.Keys(ctx, "*"+part+"*").Result()
		must(err)
		if len(keys) == 0 {
			t.Errorf("there is no %s", part)
		}
		for _, key := range keys {
			if kept := db.TTL(ctx, key).Val(); kept > want || kept < want-time.Minute {
				t.Errorf("%s is kept for %s, want %s", key, kept, want)
			}
		}
	}
	// Marks of deliveries expire together, 8 days after the end of a window of 4 days.
	marks := db.Keys(ctx, "*}:mark*").Val()
	if len(marks) == 0 {
		t.Error("there is no mark of a delivery")
	}
	for _, key := range marks {
		if kept := db.TTL(ctx, key).Val(); kept < 8*day || kept > 12*day {
			t.Errorf("%s is kept for %s, want 8 to 12 days", key, kept)
		}
	}
	if keys := db.Keys(ctx, "*job:ended*").Val(); len(keys) > 0 {
		t.Errorf("a job that is done is kept: %q", keys)
	}
	// Dead jobs are removed when a job is claimed.
	for _, c := range []struct {
		age  time.Duration
		kept int64
	}{{29 * day, 1}, {30*day + time.Minute, 0}} {
		score := float64(time.Now().Add(-c.age).UnixMilli())
		must(db.ZAddXX(ctx, "{compat}:in:dead", redis.Z{Score: score, Member: "dead"}).Err())
		_, err = q.Claim(ctx, 0)
		must(err)
		if n := db.Exists(ctx, "{compat}:job:dead").Val(); n != c.kept {
			t.Errorf("%d jobs that are dead for %s", n, c.age)
		}
	}
	// Every value expires: what has no time to live is the queue's own bookkeeping.
	for _, key := range db.Keys(ctx, "*blob*").Val() {
		if kept := db.TTL(ctx, key).Val(); kept <= 0 || kept > 366*day {
			t.Errorf("%s is kept for %s", key, kept)
		}
	}
}

// The embedded queue's file is its user's alone.
func TestStoredFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		needs.Missing(t, "file modes do not restrict access on Windows")
	}
	dir := filepath.Join(t.TempDir(), "data")
	q, err := queue.Open(t.Context(), queue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for path, want := range map[string]string{dir: "drwx------", filepath.Join(dir,
		"queue.db"): "-rw-------"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(info.Mode().String(), "d"); got != strings.TrimPrefix(want, "d") {
			t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
		}
	}
}

// A command names a symbol as it is in the file, or as the report shows it.
func TestFindingMatches(t *testing.T) {
	f := store.Finding{Rule: "symbol-version-too-new", Version: "GLIBCXX_3.4.30",
		Symbol: "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", Package: "my-widget"}
	for word, want := range map[string]bool{
		f.Symbol: true, f.Symbol + "@GLIBCXX_3.4.30": true, "std::condition_variable::wait": true,
		f.Rule: true, "my-widget": true, "My_Widget": true, "widget": false, "wait": false, "GLIBCXX_3.4.30": false, "": false,
	} {
		if got := f.Matches(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}
