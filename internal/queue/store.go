package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// enqueueing is a call of Enqueue. It may be repeated when the queue is divided again.
type enqueueing struct {
	q        *Queue
	delivery string
	body     string // digest; "" = not known
	jobs     []enqueued

	duplicate  bool
	superseded int
}

// enqueued is a job of such a call.
type enqueued struct {
	installation, repository int64
	key                      string
	args                     []any // for enqueue.lua
	generation               int64 // 0 = not stored
}

// store stores the jobs. Those of one partition are stored together with the mark of the delivery.
// The jobs of a delivery have one installation, so usually there is one partition.
func (e *enqueueing) store(ctx context.Context, p *plan) error {
	moved, err := e.movedRepositories(ctx, p)
	if err != nil {
		return err
	}
	groups := map[partition][]*enqueued{}
	var order []partition
	for i := range e.jobs {
		j := &e.jobs[i]
		part := of(p.parts, j.installation)
		if groups[part] == nil {
			order = append(order, part)
		}
		groups[part] = append(groups[part], j)
	}
	if len(order) == 0 {
		order = []partition{ofDelivery(p.parts, e.delivery)}
	}
	e.duplicate = true
	for _, part := range order {
		jobs, seen, err := e.storeEarlier(ctx, p, groups[part])
		if err != nil {
			return err
		}
		duplicate, err := e.run(ctx, part, "", seen, jobs)
		if err != nil {
			return err
		}
		e.duplicate = e.duplicate && duplicate && len(jobs) == len(groups[part])
	}
	for _, m := range moved {
		if err := m.leave(ctx, e.q, p); err != nil {
			return err
		}
	}
	return nil
}

// storeEarlier stores the jobs of which the key is still in a partition of an earlier division,
// and returns the others. seen means that the delivery is marked there.
func (e *enqueueing) storeEarlier(
	ctx context.Context,
	p *plan,
	jobs []*enqueued,
) (rest []*enqueued, seen bool, _ error) {
	rest = jobs
	if len(p.marked) == 0 {
		return rest, false, nil
	}
	current, err := p.encode()
	if err != nil {
		return nil, false, err
	}
	for _, parts := range p.marked {
		groups := map[partition][]*enqueued{}
		if len(jobs) == 0 {
			groups[ofDelivery(parts, e.delivery)] = nil
		}
		for _, j := range rest {
			part := of(parts, j.installation)
			groups[part] = append(groups[part], j)
		}
		rest = nil
		for part, group := range groups {
			marked, err := e.run(ctx, part, current, false, group)
			if err != nil {
				return nil, false, err
			}
			seen = seen || marked
			for _, j := range group {
				if j.generation == 0 {
					rest = append(rest, j)
				}
			}
		}
	}
	return rest, seen, nil
}

// run calls enqueue.lua. current is the layout if part belongs to an earlier division.
func (e *enqueueing) run(
	ctx context.Context,
	part partition,
	current string,
	seen bool,
	jobs []*enqueued,
) (duplicate bool, _ error) {
	known := 0
	if seen {
		known = 1
	}
	body := []byte{}
	if e.body != "" {
		body = fingerprint("body " + e.body)
	}
	args := []any{e.delivery, fingerprint(e.delivery), current, known, body}
	for _, j := range jobs {
		args = append(args, j.args...)
	}
	answer, err := e.q.run(ctx, part, "enqueue", args...)
	if err != nil {
		return false, err
	}
	if err := checkMoved(answer); err != nil {
		return false, err
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 {
		return false, fmt.Errorf("queue: enqueue: the script answered %v", answer)
	}
	if n, ok := list[1].(int64); ok {
		e.superseded += int(n)
	}
	for i, generation := range list[2:] {
		if n, ok := generation.(int64); ok && i < len(jobs) {
			jobs[i].generation = n
		}
	}
	return list[0] == int64(1), nil
}

// A repository that is transferred has another installation, and so maybe another partition, in
// which its earlier jobs are not found. So the installation of each repository is stored, if there
// are several partitions.

const (
	// stateTTL is how long a state is kept after the last job of its key; KEEP in lib.lua.
	stateTTL = 30 * 24 * time.Hour
	homeTTL  = stateTTL + 24*time.Hour
)

// move is a key whose repository was transferred from another installation.
type move struct {
	key, home, value string
	from, to         int64
}

// movedRepositories returns the jobs whose repositories have changed their installation, and
// stores the installation of repositories that are new.
func (e *enqueueing) movedRepositories(ctx context.Context, p *plan) (moved []move, _ error) {
	if len(p.parts) == 1 || len(e.jobs) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	known := make([]*redis.StringCmd, len(e.jobs))
	_, err := e.q.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, j := range e.jobs {
			known[i] = pipe.GetEx(ctx, j.home(), homeTTL)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("queue: enqueue: %w", err)
	}
	for i, j := range e.jobs {
		now := strconv.FormatInt(j.installation, 10)
		last, before, _ := strings.Cut(known[i].Val(), " ")
		from, value := before, ""
		switch last {
		case now:
		case "":
			value = now
		default:
			from, value = last, now+" "+last
		}
		if value == "" && from == "" {
			continue
		}
		m := move{key: j.key, home: j.home(), value: value, to: j.installation}
		m.from, _ = strconv.ParseInt(from, 10, 64)
		if from == "" {
			m.from = m.to
		}
		moved = append(moved, m)
	}
	return moved, nil
}

// home returns the key under which the installation of the job's repository is stored: the current
// one, and the one before.
func (j *enqueued) home() string {
	if j.repository == 0 {
		return "compat:home:" + j.key
	}
	return fmt.Sprint("compat:home:", j.repository)
}

// leave removes the key from the partition of the earlier installation, after its new job was
// stored. A worker that runs the earlier job loses its lease.
func (m move) leave(ctx context.Context, q *Queue, p *plan) error {
	from, to := of(p.parts, m.from), of(p.parts, m.to)
	if from != to {
		if err := q.moveState(ctx, from, to, m.key); err != nil {
			return err
		}
		if _, err := q.run(ctx, from, "drop", m.key); err != nil {
			return err
		}
	}
	if m.value == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := q.rdb.Set(ctx, m.home, m.value, homeTTL).Err(); err != nil {
		return fmt.Errorf("queue: enqueue %s: %w", m.key, err)
	}
	return nil
}

// moveState moves the saved state of a key to another partition, unless it has one there.
func (q *Queue) moveState(ctx context.Context, from, to partition, key string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	name := "state:" + key
	state, err := q.rdb.Get(ctx, string(from)+name).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err == nil {
		err = q.rdb.SetNX(ctx, string(to)+name, state, stateTTL).Err()
	}
	if err == nil {
		err = q.rdb.Del(ctx, string(from)+name).Err()
	}
	if err != nil {
		return fmt.Errorf("queue: move the state of %s: %w", key, err)
	}
	return nil
}
