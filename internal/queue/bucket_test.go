package queue

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
)

// memory is a bucket that can fail.
type memory struct {
	mu       sync.Mutex
	objects  map[string][]byte
	broken   bool
	requests int
}

func (m *memory) Put(_ context.Context, name string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if m.broken {
		return errors.New("no route to host")
	}
	m.objects[name] = bytes.Clone(value)
	return nil
}

func (m *memory) Get(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if m.broken {
		return nil, errors.New("no route to host")
	}
	return m.objects[name], nil
}

// Large values are in the bucket, small ones in Redis. A bucket that does not respond gets a
// request once in ten seconds, and large values are in Redis meanwhile.
func TestBucket(t *testing.T) {
	server := redistest.Start(t)
	b := &memory{objects: map[string][]byte{}}
	q := mustOpen(t, Options{URL: server.URL, Bucket: b})
	ctx := t.Context()
	large := bytes.Repeat([]byte("report "), 10_000)
	month := 30 * 24 * time.Hour
	for _, key := range []string{"large", "again"} {
		must(t, q.Put(ctx, key, large, month))
	}
	must(t, q.Put(ctx, "small", []byte("{}"), month))
	must(t, q.Put(ctx, "forged", append(bytes.Clone(objectMark), "31d/x"...), month))
	for name := range b.objects {
		if !strings.HasPrefix(name, "31d/") {
			t.Errorf("object %s", name)
		}
	}
	if len(b.objects) != 2 { // of large and again one, and the forged value is one
		t.Errorf("%d objects", len(b.objects))
	}
	read := func(key string, want []byte) {
		t.Helper()
		if got, err := q.Get(ctx, key); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: %.40q %v", key, got, err)
		}
	}
	read("large", large)
	read("small", []byte("{}"))
	read("forged", append(bytes.Clone(objectMark), "31d/x"...))
	if n := q.rdb.StrLen(ctx, blobPrefix+"large").Val(); n > 100 {
		t.Errorf("Redis has %d bytes of it", n)
	}

	// So are states of jobs. Without the bucket, a job is claimed without its state.
	enqueue(t, q, "", Job{Key: "a", Installation: 1}, Job{Key: "b", Installation: 1})
	l, other := claim(t, q, "a"), claim(t, q, "b")
	must(t, l.Save(ctx, large))
	must(t, other.Save(ctx, []byte("{}")))
	if n := q.rdb.StrLen(ctx, prefix+"state:a").Val(); n > 100 || !bytes.Equal(l.State, large) {
		t.Errorf("Redis has %d bytes of the state", n)
	}
	must(t, l.Release(ctx))
	if l = claim(t, q, "a"); !bytes.Equal(l.State, large) {
		t.Errorf("state %.40q", l.State)
	}
	must(t, l.Release(ctx))
	must(t, other.Release(ctx))

	b.broken, b.requests = true, 0
	if l, other = claim(t, q, "a"), claim(t, q, "b"); l.State != nil || string(other.State) != "{}" {
		t.Errorf("states %.40q %q", l.State, other.State)
	}
	must(t, l.Save(ctx, large[1:]))
	must(t, l.Release(ctx))
	if l = claim(t, q, "a"); !bytes.Equal(l.State, large[1:]) {
		t.Errorf("a state that was saved without the bucket: %.40q", l.State)
	}
	done(t, l, false)
	done(t, other, false)
	q.objects.resume = time.Time{}

	b.requests = 0
	_, err := q.Get(ctx, "large")
	wantErr(t, "a bucket that does not respond", err, ErrBucket)
	for range 5 {
		must(t, q.Put(ctx, "later", large, month))
	}
	read("later", large)
	if ttl := q.rdb.TTL(ctx, blobPrefix+"later").Val(); ttl > bucketOutage {
		t.Errorf("Redis keeps it for %s", ttl)
	}
	if b.requests != 1 {
		t.Errorf("%d requests to a bucket that does not respond", b.requests)
	}

	b.broken, q.objects.resume = false, time.Time{}
	read("large", large)
	clear(b.objects) // the lifecycle of the bucket
	read("large", nil)
	// Without a bucket, other values can be read.
	q = mustOpen(t, Options{URL: server.URL})
	read("small", []byte("{}"))
	_, err = q.Get(ctx, "large")
	wantErr(t, "without the bucket", err, ErrBucket)
}
