package queue

import (
	"testing"
	"time"
)

// Workers of a pool claim only its jobs. A job that is found to be large changes the pool without
// losing its place, its state or attempts, and both pools have the same limits and pauses.
func testPools(t *testing.T, q *Queue) {
	ctx, inst := t.Context(), together(t, q, 2)
	as := func(p Pool) *Queue { q.o.Pool = p; return q }
	enqueue(t, q, "", Job{Key: "a", Installation: inst[0]}, Job{Key: "b", Installation: inst[0]},
		Job{Key: "c", Installation: inst[1]})
	none(t, as(LargePool))
	l := claim(t, as(SmallPool), "a")
	must(t, l.Save(ctx, []byte("state")))
	must(t, l.Large(ctx))
	wantErr(t, "after the end", l.Check(ctx), ErrLost)
	consistent(t, q)
	done(t, claim(t, q, "c"), false)
	must(t, claim(t, q, "b").Large(ctx))
	none(t, q)
	classes, err := q.ByClass(ctx)
	if c := classes[Large]; err != nil || len(classes) != 1 || c.Installations != 1 || c.Jobs != 2 {
		t.Errorf("classes %+v, %v", classes, err)
	}

	if list, err := q.List(ctx, Filter{Installation: inst[0]}); err != nil || len(list) != 2 {
		t.Errorf("list %+v, %v", list, err)
	}

	as(LargePool)
	must(t, q.Park(ctx, inst[0], time.Now().Add(time.Hour)))
	none(t, q)
	must(t, q.Park(ctx, inst[0], time.Time{}))
	if l = claim(t, q, "a"); l.Attempt != 1 || string(l.State) != "state" {
		t.Errorf("lease %+v", l)
	}
	// A newer job of the key stays in the pool until it is done.
	enqueue(t, q, "", Job{Key: "a", Installation: inst[0]})
	done(t, l, true)
	none(t, as(SmallPool))
	second := claim(t, as(LargePool), "b")
	l = claim(t, q, "a")
	must(t, l.Snooze(ctx, 0, "waits"))
	none(t, as(SmallPool))
	l = claim(t, as(LargePool), "a")
	enqueue(t, q, "", Job{Key: "d", Installation: inst[0]})
	none(t, as(SmallPool)) // the limit of the installation
	done(t, l, false)
	must(t, claim(t, q, "d").Large(ctx))

	// Workers without a pool claim all jobs, the most urgent first.
	as("")
	enqueue(t, q, "", Job{Key: "e", Installation: inst[1], Priority: Urgent},
		Job{Key: "f", Installation: inst[1], Priority: Background})
	done(t, claim(t, q, ""), false)
	done(t, claim(t, q, ""), false)
	done(t, claim(t, q, ""), false)
	done(t, second, false)
	none(t, q)
	enqueue(t, q, "", Job{Key: "a", Installation: inst[0]})
	done(t, claim(t, as(SmallPool), "a"), false) // it was done
	as("")
}

// A waiting worker is woken for the jobs of its pool.
func testPoolsWake(t *testing.T, q *Queue) {
	q.o.Pool = LargePool
	claimed := make(chan *Lease)
	go func() {
		l, err := q.Claim(t.Context(), patience)
		if err != nil {
			t.Error(err)
		}
		claimed <- l
	}()
	until(t, "the waiting worker", func() bool {
		turns := mustPlan(t, q).turns
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return len(turns.idle) > 0
	})
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	p := mustPlan(t, q)
	part := of(p.parts, 1)
	small := &Queue{o: q.o, rdb: q.rdb, scripts: q.scripts, log: q.log, journal: q.journal,
		engine: q.engine, ctx: q.ctx}
	small.o.Pool = SmallPool
	l, _, err := small.claim(t.Context(), p, part)
	must(t, err)
	must(t, l.Large(t.Context()))
	if l := <-claimed; l == nil || l.Job.Key != "a" {
		t.Errorf("claimed %+v", l)
	}
}
