package store_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/redistest"
)

// replicas returns the stores of two processes that share a Redis server.
func replicas(t *testing.T) (stores [2]*store.Store) {
	server := redistest.Start(t)
	for i := range stores {
		q, err := queue.Open(t.Context(), queue.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.Close() })
		log := slog.New(slog.DiscardHandler)
		stores[i] = &store.Store{Queue: q, Log: log, Now: time.Now}
	}
	return stores
}

// With two processes and one Redis, none of a thousand concurrent acceptances and of a hundred
// subjects with the same head is lost.
func TestReplicasLoseNothing(t *testing.T) {
	const (
		subject = "pull/5/3"
		sha     = "0123456789abcdef0123456789abcdef01234567"
	)
	stores := replicas(t)
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			finding := store.Finding{Rule: "undefined-symbol", Symbol: fmt.Sprint("symbol", i)}
			err := stores[i%2].Accept(t.Context(), fmt.Sprint(subject, i%10), store.Accepted{
				What: finding.Symbol, Because: "of the test", Findings: []store.Finding{finding},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 100 {
		all.Go(func() {
			err := stores[i%2].Join(t.Context(), 5, sha, fmt.Sprintf("pull/5/%d", i+1))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	accepted := map[string]bool{}
	for i := range 10 {
		as, err := stores[0].AcceptsInForce(t.Context(), fmt.Sprint(subject, i), "main")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range as {
			accepted[a.What] = true
		}
	}
	if len(accepted) != 1000 {
		t.Errorf("%d of 1000 accepts are kept", len(accepted))
	}
	peers, err := stores[1].Peers(t.Context(), 5, sha, subject)
	if err != nil || len(peers) != 99 {
		t.Errorf("%d peers, want 99: %v", len(peers), err)
	}
}
