package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Class groups installations by how many of their jobs wait, so that one that floods the queue can
// be distinguished from the others.
type Class string

// The classes.
const (
	Few   Class = "few"   // up to 4 jobs, which may all run at once
	Many  Class = "many"  // up to 99
	Flood Class = "flood" // 100 and more
)

// Classes lists every class.
func Classes() []Class { return []Class{Few, Many, Flood} }

// ClassStats is what waits of the installations of one class.
type ClassStats struct {
	Installations, Jobs int
	Oldest              time.Duration // how long the oldest job has waited; 0: none waits
}

// classSample bounds what ByClass looks at: it is called at each scrape of the metrics.
const classSample = 1000

// ByClass groups the waiting jobs by the class of their installation. It looks at the 1,000 that
// have waited longest.
func (q *Queue) ByClass(ctx context.Context) (map[Class]ClassStats, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var now *redis.TimeCmd
	var oldest *redis.ZSliceCmd
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		oldest = p.ZRangeWithScores(ctx, prefix+"in:waiting", 0, classSample-1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("queue: by class: %w", err)
	}
	jobs := oldest.Val()
	owners := make([]*redis.StringCmd, len(jobs))
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, z := range jobs {
			owners[i] = p.HGet(ctx, fmt.Sprint(prefix, "job:", z.Member), "inst")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // Nil: done meanwhile
		return nil, fmt.Errorf("queue: by class: %w", err)
	}
	each := map[string]ClassStats{}
	for i, z := range jobs {
		if owners[i].Err() != nil {
			continue
		}
		c := each[owners[i].Val()]
		c.Jobs++
		c.Oldest = max(c.Oldest, now.Val().Sub(time.UnixMilli(int64(z.Score))))
		each[owners[i].Val()] = c
	}
	classes := map[Class]ClassStats{}
	for _, c := range each {
		class := Few
		switch {
		case c.Jobs >= 100:
			class = Flood
		case c.Jobs > defaultPerInstallation:
			class = Many
		}
		all := classes[class]
		all.Installations++
		all.Jobs += c.Jobs
		all.Oldest = max(all.Oldest, c.Oldest)
		classes[class] = all
	}
	return classes, nil
}
