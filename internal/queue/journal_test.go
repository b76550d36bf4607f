package queue

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
	"go.etcd.io/bbolt"
)

// A restart preserves the order, attempts, delays, dead jobs, deliveries, states, pauses, blobs
// and the counter of IDs.
func TestJournalRestart(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	q, err := Open(ctx, Options{Dir: dir})
	must(t, err)
	for i := range 5 {
		enqueue(
			t,
			q,
			fmt.Sprint("g", i),
			Job{
				Key:          fmt.Sprint("k", i),
				Installation: 1,
				ForceID:      fmt.Sprint("n", i),
				Payload:      []byte(`{"i":1}`),
			},
		)
	}
	running := claim(t, q, "k0")
	must(t, running.Save(ctx, []byte("check run 1\x00\xff")))
	enqueue(t, q, "g5", Job{Key: "k0", Installation: 1, SHA: "newer"})
	must(t, claim(t, q, "k1").Snooze(ctx, time.Hour, "waits for CI"))
	must(t, claim(t, q, "k2").Kill(ctx, "broken"))
	// Retry with a pause that is longer than the test
	if _, err := claim(t, q, "k3").run(ctx, "retry", "502", time.Hour.Milliseconds(), 8); err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, "", Job{Key: "parked", Installation: 2})
	must(t, q.Park(ctx, 2, time.Now().Add(time.Hour)))
	must(t, q.Put(ctx, "report", []byte("{}"), time.Hour))
	must(t, q.Put(ctx, "old report", []byte("{}"), time.Millisecond))
	before, err := q.List(ctx, Filter{})
	must(t, err)
	must(t, q.Close())

	// A read-only queue changes nothing.
	looker, err := Open(ctx, Options{Dir: dir, ReadOnly: true})
	must(t, err)
	after, err := looker.List(ctx, Filter{})
	must(t, err)
	for i := range after {
		if after[i].State == Running {
			after[i].Due = before[i].Due // the lease is gone
		}
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("before\n %+v, after\n %+v", before, after)
	}
	if got, err := looker.Get(ctx, "report"); string(got) != "{}" || err != nil {
		t.Errorf("report: %q %v", got, err)
	}
	wantErr(t, "drop", looker.Drop(ctx, "k4"), ErrReadOnly)
	wantErr(t, "put", looker.Put(ctx, "k", nil, time.Hour), ErrReadOnly)
	must(t, looker.Ping(ctx))
	must(t, looker.Close())

	q = mustOpen(t, Options{Dir: dir})
	consistent(t, q)
	for i := range 6 {
		want := i != 2 // k2 is dead, so a redelivery stores it again
		if r := enqueue(t, q, fmt.Sprint("g", i), Job{Key: fmt.Sprint("k", i),
			Installation: 1}); r.Duplicate != want {
			t.Errorf("delivery g%d: %+v", i, r)
		}
	}
	l := claim(t, q, "k4")
	if l.Job.ForceID != "n4" || string(l.Job.Payload) != `{"i":1}` || l.Job.ID != "k4#5" {
		t.Errorf("lease %+v", l)
	}
	// The process of the running job ended, and the newer job remains.
	l = claim(t, q, "k0")
	if l.Losses != 1 || l.Job.SHA != "newer" || l.Job.ForceID != "n0" ||
		string(l.State) != "check run 1\x00\xff" {
		t.Errorf("lease %+v", l)
	}
	if e := show(t, q, "k1", Delayed); time.Until(e.Due) < 59*time.Minute ||
		e.Reason != "waits for CI" {
		t.Errorf("entry %+v", e)
	}
	if e := show(t, q, "k3", Delayed); e.Attempts != 1 || e.Reason != "502" {
		t.Errorf("entry %+v", e)
	}
	claim(t, q, "k2")
	none(t, q)
	show(t, q, "parked", Waiting)
	must(t, q.Park(ctx, 2, time.Time{}))
	claim(t, q, "parked")
	if r := enqueue(t, q, "", Job{Key: "new"}); r.IDs[0] <= "new#8" {
		t.Errorf("the id %s may have been given before", r.IDs[0])
	}
	if got, err := q.Get(ctx, "report"); string(got) != "{}" || err != nil {
		t.Errorf("report: %q %v", got, err)
	}
	must(t, q.journal.purge(time.Now()))
	must(t, q.journal.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(bucketBlobs)).Get([]byte("old report")) != nil {
			t.Error("an expired blob is still on disk")
		}
		return nil
	}))
	must(t, q.journal.purge(time.Now().Add(13*24*time.Hour)))
	must(t, q.journal.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketKeys)).ForEach(func(k, _ []byte) error {
			if strings.HasPrefix(string(k), prefix+"mark") {
				t.Errorf("%s is still on disk after 13 days", k)
			}
			return nil
		})
	}))
}

// The journal of the last release is read, with each state of a job.
func TestJournalOfTheLastRelease(t *testing.T) {
	dir := t.TempDir()
	writeJournal(t, dir, "testdata/journal.txt")
	q := mustOpen(t, Options{Dir: dir})
	consistent(t, q)
	waits := show(t, q, "waiting", Waiting).Job
	if waits.Kind != "pull" || waits.Installation != 7 || waits.ForceID != "force waiting" ||
		string(waits.Payload) != `{"number":1}` || waits.Delivery != "guid waiting" {
		t.Errorf("job %+v", waits)
	}
	if e := show(t, q, "delayed", Delayed); e.Reason != "waits for CI" || e.Due.Year() < 2100 {
		t.Errorf("delayed %+v", e)
	}
	if e := show(t, q, "failed", Delayed); e.Reason != "502" || e.Attempts != 1 {
		t.Errorf("failed %+v", e)
	}
	if e := show(t, q, "dead", Dead); e.Reason != "broken" {
		t.Errorf("dead %+v", e)
	}
	show(t, q, "parked", Waiting)
	claim(t, q, "large")
	l := claim(t, q, "waiting")
	if l.Attempt != 1 {
		t.Errorf("attempt %d", l.Attempt)
	}
	l = claim(t, q, "running") // its process ended while a newer job of the key waited
	if l.Crashes != 1 || string(l.State) != "state of the check" || l.Job.ID != "running#7" {
		t.Errorf("lease %+v with the state %q", l, l.State)
	}
	none(t, q)
	if got, err := q.Get(t.Context(), "report"); string(got) != "{}" || err != nil {
		t.Errorf("report: %q %v", got, err)
	}
	if r := enqueue(t, q, "", Job{Key: "new"}); r.IDs[0] != "new#9" {
		t.Errorf("ids %q", r.IDs)
	}
}

// writeJournal writes a journal from lines: bucket, key, value.
func writeJournal(t *testing.T, dir, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	db, err := bbolt.Open(filepath.Join(dir, journalFile), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			var bucket, key, value string
			if _, err := fmt.Sscanf(line, "%s %q %q", &bucket, &key, &value); err != nil {
				return err
			}
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			if err == nil {
				err = b.Put([]byte(key), []byte(value))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, db.Close())
}

// A release that was started in between knows nothing of the indexes, so they are built again.
func TestJournalIndexIsBuiltAgain(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Options{Dir: dir})
	must(t, err)
	enqueue(t, q, "g", Job{Key: "a", Installation: 1}, Job{Key: "b", Installation: 1})
	must(t, q.Close())
	db, err := bbolt.Open(filepath.Join(dir, journalFile), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketKeys)).Delete([]byte(prefix + "job:a"))
	}))
	must(t, db.Close())
	q = mustOpen(t, Options{Dir: dir})
	consistent(t, q)
	claim(t, q, "b")
	none(t, q)
}

// A journal that only a newer release can read is left alone.
func TestJournalOfANewerRelease(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, journalFile), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket([]byte(bucketMeta))
		if err != nil {
			return err
		}
		return meta.Put([]byte(keyFormat), []byte("2"))
	}))
	must(t, db.Close())
	_, err = Open(t.Context(), Options{Dir: dir})
	wantErr(t, "a newer journal", err, errNewer)
}

// No release writes these formats.
func TestJournalOfAnImpossibleFormat(t *testing.T) {
	for _, format := range []string{"0", "-1", "", "one"} {
		dir := t.TempDir()
		db, err := bbolt.Open(filepath.Join(dir, journalFile), 0o600, nil)
		must(t, err)
		must(t, db.Update(func(tx *bbolt.Tx) error {
			meta, err := tx.CreateBucket([]byte(bucketMeta))
			if err != nil {
				return err
			}
			return meta.Put([]byte(keyFormat), []byte(format))
		}))
		must(t, db.Close())
		_, err = Open(t.Context(), Options{Dir: dir})
		wantErr(t, "format "+format, err, errFormat)
	}
}

// A job that kills its process becomes dead.
func TestJournalCrashes(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		q, err := Open(t.Context(), Options{Dir: dir, MaxCrashes: 2})
		must(t, err)
		switch i {
		case 0:
			enqueue(t, q, "g", Job{Key: "a"})
			must(t, claim(t, q, "a").Risk(t.Context(), true))
		case 1:
			l := claim(t, q, "a")
			if !l.Last || !l.FinalLoss {
				t.Errorf("lease %+v", l)
			}
			must(t, l.Risk(t.Context(), true))
		case 2:
			show(t, q, "a", Dead)
			none(t, q)
		}
		must(t, q.Close())
	}
}

// With Redis, too, a data folder belongs to one process.
func TestLockFolder(t *testing.T) {
	dir := t.TempDir()
	release, err := LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockFolder(dir)
	wantErr(t, "a second process", err, ErrLocked)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = release()
}

func TestJournalLocked(t *testing.T) {
	dir := t.TempDir()
	q := mustOpen(t, Options{Dir: dir})
	for _, readOnly := range []bool{false, true} {
		_, err := Open(t.Context(), Options{Dir: dir, ReadOnly: readOnly})
		wantErr(t, "second process", err, ErrLocked)
		if err != nil && !strings.Contains(err.Error(), filepath.Join(dir, journalFile)) {
			t.Errorf("the error has no file name: %v", err)
		}
	}
	must(t, q.Ping(t.Context()))
}

func TestJournalUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	damaged := t.TempDir()
	must(
		t,
		os.WriteFile(
			filepath.Join(damaged, journalFile),
			bytes.Repeat([]byte("not a journal "), 1000),
			0o600,
		),
	)
	for name, o := range map[string]Options{
		"no folder":        {},
		"a file":           {Dir: file},
		"damaged":          {Dir: damaged},
		"nothing to read":  {Dir: t.TempDir(), ReadOnly: true},
		"bad URL":          {URL: "http://user:geheim@host"},
		"URL of no number": {URL: "redis://user:geheim@host:port/0"},
		"URL of no kind":   {URL: "://user:geheim@host"},
		"raw / and #":      {URL: "redis://:p@ss/geheim#rd@host:6379"},
		"raw / twice":      {URL: "redis://:1/geheim/x@host:6379"},
		"raw ?":            {URL: "redis://:1?geheim@host:6379"},
		"raw &":            {URL: "redis://h?master_name=m&password=a&geheim"},
		"raw # in a value": {URL: "redis://h?cluster=true&addr=geheim:1:2"},
		"no number":        {URL: "redis://host?pool_size=geheim"},
	} {
		q, err := Open(t.Context(), o)
		if err == nil {
			q.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error holds the password: %v", name, err)
		}
		t.Log(err)
	}
}

// A damaged or truncated file gives an error with instructions and no panic, and is not used
// partially.
func TestJournalDamaged(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Options{Dir: dir})
	must(t, err)
	var jobs []Job
	for i := range 40 {
		jobs = append(
			jobs,
			Job{Key: fmt.Sprint("k", i), Payload: []byte(`"` + strings.Repeat("x", 2000) + `"`)},
		)
	}
	enqueue(t, q, "g", jobs...)
	must(t, q.Close())
	whole, err := os.ReadFile(filepath.Join(dir, journalFile))
	must(t, err)
	page := os.Getpagesize()
	for name, damage := range map[string]func(b []byte) []byte{
		"the half is gone":   func(b []byte) []byte { return b[:len(b)/2] },
		"nearly all is gone": func(b []byte) []byte { return b[:2*page+100] },
		"pages of zeros":     func(b []byte) []byte { clear(b[2*page:]); return b },
		"pages of ones": func(b []byte) []byte {
			copy(b[2*page:], bytes.Repeat([]byte{0xff}, len(b)))
			return b
		},
		"a flipped byte in a page": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`{"hash"`), []byte(`{"hasi`))
		},
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, journalFile), damage(bytes.Clone(whole)), 0o600))
		q, err := Open(t.Context(), Options{Dir: dir})
		if err == nil {
			s, _ := q.Stats(t.Context())
			q.Close()
			t.Errorf("%s: opened, with %d jobs", name, s.Waiting)
		} else if !strings.Contains(err.Error(), journalFile) || !strings.Contains(err.Error(),
			"move it away") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// While the disk is full nothing is acknowledged, and what is refused leaves no trace.
func TestJournalDiskFull(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Options{Dir: dir})
	must(t, err)
	enqueue(t, q, "g0", Job{Key: "a"})
	good := q.engine.db
	broken, err := bbolt.Open(filepath.Join(t.TempDir(), "x"), 0o600, nil)
	must(t, err)
	must(t, broken.Close())
	q.engine.db = broken

	for range 2 {
		if _, err := q.Enqueue(t.Context(), "g1", Job{Key: "b"}); err == nil {
			t.Error("a delivery was acknowledged that isn't on disk")
		}
	}
	if q.Ping(t.Context()) == nil {
		t.Error("ready, though nothing can be stored")
	}
	if l, err := q.Claim(t.Context(), 0); err == nil || l != nil {
		t.Errorf("claimed %v, though it can't be stored", l)
	}

	q.engine.db = good
	must(t, q.Ping(t.Context()))
	if r := enqueue(t, q, "g1", Job{Key: "b"}); r.Duplicate {
		t.Errorf("a refused delivery left a mark: %+v", r)
	}
	consistent(t, q)
	must(t, q.Close())
	q = mustOpen(t, Options{Dir: dir})
	if l := claim(t, q, "a"); l.Crashes != 0 {
		t.Errorf("lease %+v", l)
	}
	claim(t, q, "b")
}

// Settings that can lose jobs are logged, and nothing is logged for correct settings.
func TestInspect(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{nil, nil},
		{[]string{"--maxmemory-policy", "volatile-lru", "--appendonly", "no"}, []string{"noeviction",
			"--appendonly yes"}},
		{[]string{"--rename-command", "CONFIG", "", "--appendonly", "no"}, []string{"--appendonly yes"}},
		{[]string{"--rename-command", "INFO", "x"}, []string{
			"maxmemory-policy is not checked: it refuses the command INFO",
			"appendonly is not checked: it refuses the command INFO"}},
	} {
		server := redistest.Start(t, test.args...)
		var logged bytes.Buffer
		q, err := Open(
			context.Background(),
			Options{URL: server.URL, Log: slog.New(slog.NewTextHandler(&logged, nil))},
		)
		must(t, err)
		q.inspect(t.Context()) // the queue's own check may not have run
		must(t, q.Close())
		if len(test.want) == 0 && strings.Contains(logged.String(), "may lose jobs") {
			t.Errorf("%v: logged %s", test.args, logged.String())
		}
		for _, want := range test.want {
			if !strings.Contains(logged.String(), want) {
				t.Errorf("%v: logged %s, want %s", test.args, logged.String(), want)
			}
		}
	}
}
