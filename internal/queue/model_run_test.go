package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/redistest"
)

// steps returns COMPAT_MODEL_STEPS or the default. COMPAT_MODEL_SEED repeats a failed run.
func steps(otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("COMPAT_MODEL_STEPS")); err == nil {
		return n
	}
	return otherwise
}

func TestModelEmbedded(t *testing.T) {
	dir := t.TempDir()
	open := func(o Options) *Queue {
		o.Dir = dir
		q, err := Open(t.Context(), o)
		must(t, err)
		q.journal.db.NoSync = true // the process does not crash, so unsynced writes are visible
		return q
	}
	runModel(t, open, true, steps(4000))
}

func TestModelRedis(t *testing.T) {
	server := redistest.Start(t)
	open := func(o Options) *Queue {
		o.URL = server.URL
		q, err := Open(t.Context(), o)
		must(t, err)
		return q
	}
	runModel(t, open, false, steps(4000)/4)
}

// far is a time that is never reached: time passes only where the test changes it.
const far = 123456789012345

// runModel applies a random sequence of calls to the queue and the model, and compares the
// results.
func runModel(t *testing.T, open func(Options) *Queue, embedded bool, steps int) {
	const keys, installations = 10, 3
	ctx := t.Context()
	seed, err := strconv.ParseUint(os.Getenv("COMPAT_MODEL_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("COMPAT_MODEL_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	o := Options{Lease: time.Hour, PerInstallation: 2, MaxAttempts: 3, MaxCrashes: 3}
	q := open(o)
	defer func() { must(t, q.Close()) }()
	m := &model{
		cap:         2,
		maxAttempts: 3,
		maxCrashes:  3,
		jobs:        map[string]*modelJob{},
		marks:       map[string]bool{},
		states:      map[string]string{},
		parked:      map[int64]bool{},
	}

	type holding struct {
		*Lease
		id int
	}
	var leases []holding
	freeze := func() {
		delayed, err := q.rdb.ZRange(ctx, prefix+"delayed", 0, -1).Result()
		must(t, err)
		for _, key := range delayed {
			must(t, q.rdb.ZAddXX(ctx, prefix+"delayed", redis.Z{Score: far, Member: key}).Err())
		}
	}
	same := func(step int, what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("step %d: %s: %v, the model says %v", step, what, got, want)
		}
	}
	counts := map[string]int{}
	for step := range steps {
		key := "k" + strconv.Itoa(r.IntN(keys))
		inst := int64(r.IntN(installations))
		job := func() Job {
			j := Job{
				Key:          "k" + strconv.Itoa(r.IntN(keys)),
				Installation: int64(r.IntN(installations)),
				Priority:     Priority(r.IntN(3) - 1),
			}
			if r.IntN(5) == 0 {
				j.ForceID = fmt.Sprint("n", step)
			}
			return j
		}
		var l holding
		var held *modelJob
		what := r.IntN(31)
		if what >= 15 && what < 27 {
			if len(leases) == 0 {
				continue
			}
			l = leases[r.IntN(len(leases))]
			held = m.held(l.Job.Key, l.id)
		}
		var err error
		var name string
		switch {
		case what < 8:
			name = "enqueue"
			guid := ""
			if r.IntN(3) > 0 {
				guid = fmt.Sprint("g", r.IntN(200))
			}
			jobs := []Job{job(), job()}[:1+r.IntN(2)]
			got, err := q.Enqueue(ctx, guid, jobs...)
			must(t, err)
			duplicate, gens, superseded := m.enqueue(guid, jobs...)
			same(
				step,
				name,
				[]any{got.Duplicate, len(got.IDs), got.Superseded},
				[]any{duplicate, len(gens), superseded},
			)
			for i, id := range got.IDs {
				same(step, "number of "+id, id[slices.Index([]byte(id), '#')+1:], gens[i])
			}
		case what < 15:
			name = "claim"
			lease, err := q.Claim(ctx, 0)
			must(t, err)
			may := m.claimable()
			if lease == nil {
				same(step, "claimable", len(may), 0)
				break
			}
			i := slices.IndexFunc(may, func(j *modelJob) bool { return j.key == lease.Job.Key })
			if i < 0 {
				t.Fatalf(
					"step %d: claimed %s, which is not first in line or not to be served",
					step,
					lease.Job.Key,
				)
			}
			j := may[i]
			same(
				step,
				"claimed",
				[]any{
					lease.Job.ID,
					lease.Job.ForceID,
					lease.Attempt,
					lease.Crashes,
					lease.Losses,
					string(lease.State),
					lease.Last,
				},
				[]any{
					fmt.Sprint(j.key, "#", j.gen),
					j.forceID,
					j.attempts + 1,
					j.crashes,
					j.losses,
					m.states[j.key],
					j.attempts+1 >= m.maxAttempts || j.crashes+1 >= m.maxCrashes ||
						j.losses+1 >= 4*m.maxCrashes,
				},
			)
			j.state, j.lease, j.risk = Running, step, false
			leases = append(leases, holding{lease, step})
			if len(leases) > 12 {
				leases = leases[1:]
			}
		case what < 17:
			name = "extend"
			var superseded bool
			if superseded, err = l.Extend(ctx); held != nil {
				same(step, name, superseded, held.next != nil)
			}
		case what < 20:
			name = "done"
			var rerun bool
			if rerun, err = l.Done(ctx); held != nil {
				same(step, name, rerun, m.end(held, ""))
			}
		case what < 22:
			name = "retry"
			if err = l.Retry(ctx, "x"); held != nil {
				m.retry(held)
			}
		case what == 22:
			name = "snooze"
			if err = l.Snooze(ctx, time.Hour, "x"); held != nil {
				m.end(held, Delayed)
			}
		case what == 23:
			name = "kill"
			if err = l.Kill(ctx, "x"); held != nil {
				m.end(held, Dead)
			}
		case what == 24:
			name = "release"
			end := l.Release
			if r.IntN(2) == 0 {
				name, end = "large", l.Large
			}
			if err = end(ctx); held != nil {
				m.release(held)
				held.large = held.large || name == "large"
			}
		case what == 25:
			name = "save"
			text := fmt.Sprint("s", step)
			if err = l.Save(ctx, []byte(text)); held != nil {
				m.states[l.Job.Key] = text
			}
		case what == 26:
			name = "risk"
			at := r.IntN(3) > 0
			if err = l.Risk(ctx, at); held != nil {
				held.risk = at
			}
		case what == 27:
			name = "park"
			until := time.Time{}
			if m.parked[inst] = r.IntN(2) == 0; m.parked[inst] {
				until = time.Now().Add(time.Hour)
			}
			must(t, q.Park(ctx, inst, until))
		case what == 28 && r.IntN(8) == 0:
			name = "drop installation"
			must(t, q.DropInstallation(ctx, inst))
			m.dropInstallation(inst)
		case what == 28:
			name = "drop or retry by hand"
			j := m.jobs[key]
			if r.IntN(2) == 0 {
				err := q.Drop(ctx, key)
				same(step, name, errors.Is(err, ErrNotFound), j == nil)
				delete(m.jobs, key)
				break
			}
			err := q.RetryDead(ctx, key)
			same(
				step,
				name,
				[]bool{errors.Is(err, ErrNotFound), errors.Is(err, ErrState)},
				[]bool{j == nil, j != nil && (j.state == Waiting || j.state == Running)},
			)
			if err == nil {
				j.seq, j.attempts, j.crashes, j.losses, j.state = m.number(), 0, 0, 0, Waiting
			}
		case what == 29:
			name = "time passes for a delay"
			if j := m.jobs[key]; j != nil && j.state == Delayed {
				must(t, q.rdb.ZAddXX(ctx, prefix+"delayed", redis.Z{Score: 1, Member: key}).Err())
				j.state = Waiting
			}
		case embedded && r.IntN(8) == 0:
			name = "process crash"
			must(t, q.Close())
			q = open(o)
			freeze() // the journal has the previous times
			for _, j := range m.jobs {
				if j.state == Running {
					m.crash(j)
				}
			}
			leases = nil
		default:
			name = "worker crash"
			if j := m.jobs[key]; j != nil && j.state == Running {
				must(t, q.rdb.ZAddXX(ctx, prefix+"leases", redis.Z{Score: 1, Member: key}).Err())
				m.crash(j)
			}
		}
		counts[name]++
		if what >= 15 && what < 27 {
			same(step, name+": lost", errors.Is(err, ErrLost), held == nil)
			must(t, ignore(err, ErrLost))
		}
		// A claim applies the passing of time; with all installations parked it returns no job.
		if what >= 29 {
			for i := range installations {
				must(t, q.rdb.ZAdd(ctx, prefix+"parked", redis.Z{Score: far, Member: i}).Err())
			}
			for _, ring := range []string{"1", "0", "-1"} {
				must(t, q.rdb.Del(ctx, prefix+"ring:"+ring, prefix+"ring:"+ring+":large").Err())
			}
			none(t, q)
			for i := range installations {
				until := time.Time{}
				if m.parked[int64(i)] {
					until = time.Now().Add(time.Hour)
				}
				must(t, q.Park(ctx, int64(i), time.Time{}))
				must(t, q.Park(ctx, int64(i), until))
			}
		}
		freeze()
		if step%50 == 0 || what >= 29 {
			got, want := map[State][]string{}, map[State][]string{}
			for _, state := range States() {
				keys, err := q.rdb.ZRange(ctx, prefix+"in:"+string(state), 0, -1).Result()
				must(t, err)
				slices.Sort(keys)
				got[state], want[state] = keys, m.in(state)
			}
			same(step, "after "+name, got, want)
			consistent(t, q)
			if t.Failed() {
				t.Fatalf("step %d, after %s", step, name)
			}
		}
	}
	t.Logf("%d steps: %v", steps, counts)
}
