package store_test

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/store"
)

func TestBudgets(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	now := time.Now()
	s := &store.Store{Queue: q, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
		return now
	}}
	requests := 0
	spend := func(by store.Spender, commands int) bool {
		t.Helper()
		requests++
		allowed, err := s.Spend(t.Context(), by, fmt.Sprint("command/", requests), commands)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	for _, writer := range []bool{false, true} {
		limit, installation := store.StrangerBudget, int64(1)
		if writer {
			limit, installation = store.WriterBudget, 2
		}
		by := func(repository int64, login string) store.Spender {
			return store.Spender{
				Installation: installation, Repository: repository, Login: login, Writer: writer,
			}
		}
		// One person in several repositories.
		if !spend(by(1, "one"), limit.Person-1) || spend(by(2, "ONE"), 2) || !spend(by(2, "one"), 1) ||
			spend(by(3, "one"), 1) {
			t.Errorf("writer %t: not %d commands of a person", writer, limit.Person)
		}
		// fill spends commands of several people, in one repository or in several.
		fill := func(commands int, repository func(i int) int64) {
			t.Helper()
			for i := 0; commands > 0; i++ {
				n := min(commands, limit.Person)
				if !spend(by(repository(i), fmt.Sprint("person", requests)), n) {
					t.Errorf("writer %t: %d commands are left, and refused", writer, commands)
				}
				commands -= n
			}
		}
		fill(limit.Repository-(limit.Person-1), func(int) int64 { return 1 })
		if spend(by(1, "three"), 1) || !spend(by(3, "three"), 1) {
			t.Errorf("writer %t: not %d commands in a repository", writer, limit.Repository)
		}
		left := limit.Installation - limit.Repository - 2
		fill(left, func(i int) int64 { return int64(10 + i) })
		if spend(by(9, "four"), 1) {
			t.Errorf("writer %t: not %d commands in an installation", writer, limit.Installation)
		}
	}
	if !spend(store.Spender{Installation: 3, Repository: 1, Login: "one"}, 1) {
		t.Error("one installation uses the budget of another")
	}
	now = now.Add(time.Hour)
	if !spend(store.Spender{Installation: 1, Repository: 1, Login: "one"}, 1) {
		t.Error("refused after an hour")
	}
}

// Two processes with one Redis allow as many commands as one process.
func TestReplicasShareBudgets(t *testing.T) {
	stores := replicas(t)
	var allowed atomic.Int64
	var all sync.WaitGroup
	by := store.Spender{Installation: 1, Repository: 5, Login: "someone"}
	for i := range 4 * store.StrangerBudget.Person {
		all.Go(func() {
			// Both processes run each request, which is counted once.
			request := fmt.Sprint("command/", i/2)
			ok, err := stores[i%2].Spend(t.Context(), by, request, 1)
			if err != nil {
				t.Error(err)
			}
			if ok {
				allowed.Add(1)
			}
		})
	}
	all.Wait()
	if n := allowed.Load(); n != int64(2*store.StrangerBudget.Person) {
		t.Errorf("%d requests are allowed, each twice; want %d", n, store.StrangerBudget.Person)
	}
}
