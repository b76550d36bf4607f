package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/sleep"
)

const (
	moveLead  = 10 * time.Second       // after that time another process continues to move jobs
	moveBatch = 200                    // jobs of a partition and state that are moved at a time
	movePause = 200 * time.Millisecond // between looks at jobs that still run
)

// Repartition divides the queue into n partitions while it is in use. It returns when all jobs
// have moved: running ones end where they were claimed first. progress is called with the number
// of jobs that are left; nil = not called.
//
// From its start, all processes that use the queue use the new partitions. When it is interrupted,
// one of them continues, or another call.
func (q *Queue) Repartition(ctx context.Context, n int, progress func(left int)) error {
	if q.engine != nil {
		return errors.New("queue: repartition: an embedded queue has one partition; set REDIS_URL")
	}
	if n < 1 || n > MaxPartitions {
		return fmt.Errorf("queue: repartition: %d is not a number from 1 to %d", n, MaxPartitions)
	}
	if _, err := q.plan(ctx); err != nil {
		return err
	}
	if err := q.divide(ctx, n); err != nil {
		return fmt.Errorf("queue: repartition: %w", err)
	}
	for {
		p := q.current.Load()
		if !p.Moving {
			return nil
		}
		left, err := q.left(ctx, p)
		if err == nil && progress != nil {
			progress(left)
		}
		if err := sleep.For(ctx, movePause); err != nil {
			return fmt.Errorf("queue: repartition: %w; another process or call continues", err)
		}
	}
}

// divide stores the new layout, unless it is the current one.
func (q *Queue) divide(ctx context.Context, n int) error {
	l := layout{division: division{Partitions: 1}}
	old, err := q.rdb.Get(ctx, layoutKey).Bytes()
	if err == nil {
		err = json.Unmarshal(old, &l)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	switch {
	case l.Partitions == n:
		q.adopt(l)
		return nil
	case l.Moving:
		return fmt.Errorf("the queue is being divided into %d partitions; finish that first",
			l.Partitions)
	}
	next := layout{division: division{Epoch: l.Epoch + 1, Partitions: n}, Moving: true}
	next.Earlier = append(next.Earlier, earlier{l.division, time.Now().Add(homeTTL).UTC()})
	for _, e := range l.Earlier {
		if time.Now().Before(e.Until) {
			next.Earlier = append(next.Earlier, e)
		}
	}
	return q.swapLayout(ctx, old, next)
}

func (q *Queue) swapLayout(ctx context.Context, old []byte, next layout) error {
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	n, err := swapScript.Get().Run(ctx, q.rdb, []string{layoutKey}, old, data, 0).Int()
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("another process has divided the queue meanwhile; run it again")
	}
	q.adopt(next)
	return nil
}

// finishMove moves the jobs of earlier divisions, or waits until another process has moved them.
func (q *Queue) finishMove(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	q.Lead(ctx, "repartition", moveLead, func(ctx context.Context, _ *Term) {
		old, err := q.rdb.Get(ctx, layoutKey).Bytes()
		var l layout
		if err == nil {
			err = json.Unmarshal(old, &l)
		}
		if err == nil && l.Moving {
			if err = q.moveJobs(ctx, q.adopt(l)); err == nil {
				l.Moving = false
				err = q.swapLayout(ctx, old, l)
			}
		} else if err == nil {
			q.adopt(l)
		}
		if err == nil {
			stop()
		} else if ctx.Err() == nil {
			q.log.Warn("moving jobs to other partitions failed; it is tried again", "error", err)
			_ = sleep.For(ctx, time.Second) // Lead checks ctx
		}
	})
}

// moveJobs moves all jobs of earlier divisions.
func (q *Queue) moveJobs(ctx context.Context, p *plan) error {
	current, err := p.encode()
	if err != nil {
		return err
	}
	for _, parts := range p.before {
		for _, part := range parts {
			// No job of a new key is stored there any more, and none is claimed.
			if _, err := q.run(ctx, part, "enqueue", "", "", current, 0); err != nil {
				return err
			}
			if err := q.movePauses(ctx, p, part); err != nil {
				return err
			}
		}
	}
	for {
		for _, parts := range p.before {
			for _, part := range parts {
				if err := q.movePartition(ctx, p, part); err != nil {
					return err
				}
			}
		}
		left, err := q.left(ctx, p)
		if err != nil || left == 0 {
			return err
		}
		if err := sleep.For(ctx, movePause); err != nil {
			return err
		}
	}
}

// left counts the jobs in earlier divisions.
func (q *Queue) left(ctx context.Context, p *plan) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var counts []*redis.IntCmd
	_, err := q.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, parts := range p.before {
			for _, part := range parts {
				for _, state := range States() {
					counts = append(counts, pipe.ZCard(ctx, string(part)+"in:"+string(state)))
				}
			}
		}
		return nil
	})
	return sum(counts), err
}

// movePauses copies the pauses of parked installations.
func (q *Queue) movePauses(ctx context.Context, p *plan, part partition) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	parked, err := q.rdb.ZRangeWithScores(ctx, string(part)+"parked", 0, -1).Result()
	if err != nil {
		return err
	}
	for _, z := range parked {
		var installation int64
		if _, err := fmt.Sscan(fmt.Sprint(z.Member), &installation); err != nil {
			return err
		}
		if err := q.Park(ctx, installation, time.UnixMilli(int64(z.Score))); err != nil {
			return err
		}
	}
	return nil
}

// movePartition moves the jobs of a partition that do not run.
func (q *Queue) movePartition(ctx context.Context, p *plan, part partition) error {
	for _, state := range []State{Waiting, Delayed, Dead} {
		for {
			// This claims nothing, but ends expired leases.
			_, _, err := q.claim(ctx, p, part)
			if moved := (*movedError)(nil); !errors.As(err, &moved) {
				return fmt.Errorf("a partition of an earlier division is still used: %w", err)
			}
			index := string(part) + "in:" + string(state)
			keys, err := q.rdb.ZRange(ctx, index, 0, moveBatch-1).Result()
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			for _, key := range keys {
				if err := q.moveJob(ctx, p, part, key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// moveJob copies a job to its new partition and then removes it. If the job changes meanwhile it
// is not removed, and moved again later, which replaces the copy.
func (q *Queue) moveJob(ctx context.Context, p *plan, part partition, key string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var job *redis.MapStringStringCmd
	var saved *redis.StringCmd
	_, err := q.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		job = pipe.HGetAll(ctx, string(part)+"job:"+key)
		saved = pipe.Get(ctx, string(part)+"state:"+key)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	h := job.Val()
	var installation int64
	if _, err := fmt.Sscan(h["inst"], &installation); err != nil || h["state"] == string(Running) {
		return nil // it has changed meanwhile
	}
	_, err = q.run(ctx, of(p.parts, installation), "take", key, h["inst"], h["nonce"], h["prio"],
		h["job"], h["state"], h["since"], h["due"], h["attempts"], h["crashes"],
		or(h["losses"], "0"), h["reason"], saved.Val(), h["large"])
	if err == nil {
		_, err = q.run(ctx, part, "forget", key, h["gen"], h["state"])
	}
	return err
}
