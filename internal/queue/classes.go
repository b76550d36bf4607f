package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Class groups installations by the number of their waiting jobs, to distinguish one that floods
// the queue.
type Class string

// Classes of installations.
const (
	Few   Class = "few"   // up to 4 jobs, which can all run at once
	Many  Class = "many"  // up to 99
	Flood Class = "flood" // 100 and more

	// Large is the class of jobs in the large pool, whatever the number of the installation's jobs.
	Large Class = "large"
)

// Classes returns all classes.
func Classes() []Class { return []Class{Few, Many, Flood, Large} }

// ClassStats counts the waiting jobs of the installations in one class.
type ClassStats struct {
	Installations, Jobs int
	Oldest              time.Duration // age of the oldest job; 0 = none
}

// classSample limits the jobs that ByClass reads, because it is called for each scrape of the
// metrics. classLeast is the least for a partition: enough to recognize a flood.
const (
	classSample = 1000
	classLeast  = 200
)

// ByClass counts waiting jobs by the class of their installation. It reads the 1,000 oldest jobs,
// of several partitions an equal part each, but at least 200; it counts all of the class Large.
func (q *Queue) ByClass(ctx context.Context) (map[Class]ClassStats, error) {
	current, err := q.plan(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var now *redis.TimeCmd
	parts := current.all()
	oldest := make([]*redis.ZSliceCmd, len(parts))
	firstLarge := make([]*redis.ZSliceCmd, len(parts))
	largeJobs, largeOwners := make([]*redis.IntCmd, len(parts)), make([]*redis.IntCmd, len(parts))
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		for i, part := range parts {
			sample := int64(max(classSample/len(parts), classLeast))
			oldest[i] = p.ZRangeWithScores(ctx, string(part)+"in:waiting", 0, sample-1)
			firstLarge[i] = p.ZRangeWithScores(ctx, string(part)+"in:waiting:large", 0, 0)
			largeJobs[i] = p.ZCard(ctx, string(part)+"in:waiting:large")
			largeOwners[i] = p.SCard(ctx, string(part)+"large")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("queue: by class: %w", err)
	}
	var jobs []redis.Z
	var owners []*redis.SliceCmd
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, part := range parts {
			for _, z := range oldest[i].Val() {
				jobs = append(jobs, z)
				job := fmt.Sprint(string(part), "job:", z.Member)
				owners = append(owners, p.HMGet(ctx, job, "inst", "large"))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("queue: by class: %w", err)
	}
	age := func(z redis.Z) time.Duration { return now.Val().Sub(time.UnixMilli(int64(z.Score))) }
	each := map[string]ClassStats{}
	for i, z := range jobs {
		owner, _ := owners[i].Val()[0].(string)
		if owner == "" || owners[i].Val()[1] != nil {
			continue // it is done meanwhile, or in the large pool
		}
		c := each[owner]
		c.Jobs++
		c.Oldest = max(c.Oldest, age(z))
		each[owner] = c
	}
	classes := map[Class]ClassStats{}
	if n := sum(largeJobs); n > 0 {
		c := ClassStats{Installations: sum(largeOwners), Jobs: n}
		for _, first := range firstLarge {
			for _, z := range first.Val() {
				c.Oldest = max(c.Oldest, age(z))
			}
		}
		classes[Large] = c
	}
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
