package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// consistent checks that all indexes agree with the jobs.
func consistent(t testing.TB, q *Queue) {
	t.Helper()
	for _, part := range mustPlan(t, q).all() {
		consistentPartition(t, q, string(part))
	}
}

// keys lists the keys of a pattern on all servers.
func keys(t testing.TB, q *Queue, pattern string) (names []string) {
	t.Helper()
	cluster, ok := q.rdb.(*redis.ClusterClient)
	if !ok {
		names, err := q.rdb.Keys(t.Context(), pattern).Result()
		must(t, err)
		return names
	}
	var mu sync.Mutex
	must(t, cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error {
		found, err := c.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		names = append(names, found...)
		return err
	}))
	return names
}

func consistentPartition(t testing.TB, q *Queue, prefix string) {
	t.Helper()
	ctx := t.Context()
	want := map[string][]string{}
	add := func(index, member string) { want[index] = append(want[index], member) }
	jobs := keys(t, q, prefix+"job:*")
	type line struct{ inst, pool string }
	waiting, running := map[line][]int{}, map[string]int{}
	for _, name := range jobs {
		key := strings.TrimPrefix(name, prefix+"job:")
		h := q.rdb.HGetAll(ctx, name).Val()
		add("in:"+h["state"], key)
		add("inst:"+h["inst"], key)
		switch State(h["state"]) {
		case Waiting:
			of := line{inst: h["inst"]}
			if h["large"] != "" {
				of.pool = ":large"
				add("in:waiting:large", key)
			}
			add("ready:"+of.inst+of.pool, key)
			prio, _ := strconv.Atoi(h["prio"])
			waiting[of] = append(waiting[of], prio)
		case Running:
			add("leases", key)
			add("running:"+h["inst"], key)
			running[h["inst"]]++
		case Delayed:
			add("delayed", key)
		}
		for field, state := range map[string]State{"token": Running, "due": Delayed} {
			if _, has := h[field]; has != (State(h["state"]) == state) {
				t.Errorf("%s is %s, and has a %s: %v", key, h["state"], field, has)
			}
		}
		if _, risk := h["risk"]; risk && State(h["state"]) != Running {
			t.Errorf("%s is %s and at risk", key, h["state"])
		}
		if _, next := h["next"]; next && State(h["state"]) != Running {
			t.Errorf("%s is %s and has a successor", key, h["state"])
		}
	}
	parked := q.rdb.ZRange(ctx, prefix+"parked", 0, -1).Val()
	for _, inst := range parked {
		add("parked", inst)
	}
	for of, prios := range waiting {
		if running[of.inst] < q.o.PerInstallation && !slices.Contains(parked, of.inst) {
			add(fmt.Sprint("ring:", slices.Max(prios), of.pool), of.inst)
		}
		if of.pool != "" {
			add("large", of.inst)
		}
	}

	got := map[string][]string{}
	for _, pattern := range []string{"in:*", "inst:*", "ready:*", "running:*", "leases", "delayed",
		"ring:*", "parked", "large"} {
		for _, name := range keys(t, q, prefix+pattern) {
			index := strings.TrimPrefix(name, prefix)
			if q.rdb.Type(ctx, name).Val() == "set" {
				got[index] = q.rdb.SMembers(ctx, name).Val()
			} else {
				got[index] = q.rdb.ZRange(ctx, name, 0, -1).Val()
			}
		}
	}
	for _, m := range []map[string][]string{want, got} {
		for _, members := range m {
			slices.Sort(members)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(merge(want, got))) {
		if !slices.Equal(want[index], got[index]) {
			t.Errorf("index %s holds %q, the jobs say %q", index, got[index], want[index])
		}
	}
}

func merge(a, b map[string][]string) map[string]bool {
	m := map[string]bool{}
	for _, s := range []map[string][]string{a, b} {
		for k := range s {
			m[k] = true
		}
	}
	return m
}

// After any sequence of calls the indexes are consistent, and all jobs can be finished.
func testRandom(t *testing.T, q *Queue) {
	ctx := t.Context()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var held []*Lease
	for step := range 300 {
		var err error
		key := "k" + strconv.Itoa(r.IntN(6))
		inst := int64(r.IntN(3))
		var l *Lease
		if len(held) > 0 {
			l = held[r.IntN(len(held))]
		}
		what := r.IntN(19)
		switch {
		case what < 5:
			_, err = q.Enqueue(
				ctx,
				fmt.Sprint("g", r.IntN(100)),
				Job{Key: key, Installation: inst, Priority: Priority(r.IntN(3) - 1)},
				Job{Key: "k" + strconv.Itoa(r.IntN(6)), Installation: inst},
			)
		case what < 8:
			if l, err = q.Claim(ctx, 0); l != nil {
				held = append(held, l)
			}
		case what == 8:
			err = q.Park(ctx, inst, time.Now().Add(time.Duration(r.IntN(30)-10)*time.Millisecond))
		case what == 9:
			err = ignore(q.RetryDead(ctx, key), ErrNotFound, ErrState)
		case what == 10 && r.IntN(4) == 0:
			err = q.DropInstallation(ctx, inst)
		case what == 10:
			err = ignore(q.Drop(ctx, key), ErrNotFound)
		case l == nil:
		case what == 11:
			_, err = l.Extend(ctx)
		case what == 12:
			_, err = l.Done(ctx)
		case what == 13:
			err = l.Retry(ctx, "x")
		case what == 14:
			err = l.Snooze(ctx, time.Duration(r.IntN(20))*time.Millisecond, "x")
		case what == 15:
			err = l.Kill(ctx, "x")
		case what == 16:
			err = l.Release(ctx)
		case what == 17:
			err = l.Save(ctx, []byte("x"))
		case what == 18:
			err = l.Large(ctx)
		}
		must(t, ignore(err, ErrLost))
		if step%20 == 0 {
			consistent(t, q)
		}
		if t.Failed() {
			t.Fatalf("after step %d", step)
		}
	}
	for i := range 3 {
		must(t, q.Park(ctx, int64(i), time.Time{}))
	}
	for i := range 6 {
		must(t, ignore(q.RetryDead(ctx, "k"+strconv.Itoa(i)), ErrNotFound, ErrState))
	}
	for _, l := range held {
		must(t, ignore(l.Release(ctx), ErrLost))
	}
	for {
		s, err := q.Stats(ctx)
		must(t, err)
		if s.Waiting+s.Running+s.Delayed+s.Dead == 0 {
			break
		}
		if l := claim(t, q, ""); l != nil {
			_, err := l.Done(ctx)
			must(t, err)
		}
	}
	consistent(t, q)
}

func ignore(err error, what ...error) error {
	for _, w := range what {
		if errors.Is(err, w) {
			return nil
		}
	}
	return err
}
