package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/redistest"
)

// Marks take at most 24 bytes of Redis each, and none is lost or wrong, at any number of them.
func TestMarks(t *testing.T) {
	server := redistest.Start(t)
	q := mustOpen(t, Options{URL: server.URL})
	ctx := t.Context()
	guid := func(i int) string { return fmt.Sprintf("%08x-9cdb-11f0-8d5c-7a1f6b1f8e9a", i*7919) }
	const n = 6000
	for i := range n {
		if r := enqueue(t, q, guid(i)); r.Duplicate {
			t.Fatalf("delivery %d is taken for another", i)
		}
	}
	check := func(want bool) {
		t.Helper()
		wrong := 0
		for i := range n {
			got, err := q.Arrived(ctx, 0, guid(i))
			must(t, err)
			if got != want {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%d of %d marks are wrong, want all %v", wrong, n, want)
		}
	}
	check(true)
	if got, err := q.Arrived(ctx, 0, guid(n)); got || err != nil {
		t.Errorf("a delivery that did not arrive: %v %v", got, err)
	}

	names := keys(t, q, prefix+"mark*")
	var total int64
	for _, name := range names {
		bytes, err := q.rdb.MemoryUsage(ctx, name, 0).Result()
		must(t, err)
		total += bytes
		if ttl := q.rdb.TTL(ctx, name).Val(); ttl < markTTL*2/3 || ttl > markTTL {
			t.Errorf("%s expires after %s", name, ttl)
		}
	}
	t.Logf("%d marks in %d keys: %.1f bytes each", n, len(names), float64(total)/n)
	if total > 24*n {
		t.Errorf("%d marks take %d bytes", n, total)
	}

	// In the second window after theirs they are still known, then no longer.
	age := func() {
		for _, name := range keys(t, q, prefix+"mark*") {
			parts := strings.Split(strings.TrimPrefix(name, prefix), ":")
			var window int
			_, err := fmt.Sscan(parts[1], &window)
			must(t, err)
			parts[1] = fmt.Sprint(window - 1)
			must(t, q.rdb.Rename(ctx, name, prefix+strings.Join(parts, ":")).Err())
		}
	}
	age()
	age()
	check(true)
	age()
	check(false)

	must(t, q.rdb.Set(ctx, prefix+"guid:old", "", 0).Err()) // by an earlier release
	if r := enqueue(t, q, "old"); !r.Duplicate {
		t.Error("a mark of an earlier release is not used")
	}
}
