package queue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxPartitions limits Options.Partitions. A process with idle workers has a blocked connection for
// each partition.
const MaxPartitions = 128

// ErrPartitions reports that Options.Partitions differs from the number at the first start.
var ErrPartitions = errors.New("the queue has another number of partitions")

// partition is a part of the queue: the prefix of the keys of the installations that belong to it.
// It has a hash tag, so a Cluster stores a partition in one slot.
type partition string

// prefix is the only partition of a queue that was never divided. It also has the keys that belong
// to no installation.
const prefix = "{compat}:"

// division is a way to divide the queue.
type division struct {
	// Epoch is part of the keys, so that no key belongs to two divisions. 0 = the first.
	Epoch      int64 `json:"epoch"`
	Partitions int   `json:"partitions"`
}

// partitions returns the prefixes. Their slots are evenly spaced, so that they are distributed
// evenly over masters with equal ranges of slots, which is how every tool creates a Cluster.
func (d division) partitions() []partition {
	if d == (division{Partitions: 1}) {
		return []partition{prefix}
	}
	all := make([]partition, d.Partitions)
	for i := range all {
		middle := (2*i + 1) * slots / (2 * d.Partitions)
		for n := 0; ; n++ {
			tag := fmt.Sprintf("compat:%d:%d:%d", d.Epoch, i, n)
			if off := slot(tag) - middle; max(off, -off) <= slots/(8*d.Partitions) {
				all[i] = partition("{" + tag + "}:")
				break
			}
		}
	}
	return all
}

// slots is the number of hash slots of a Cluster.
const slots = 16384

// slot returns the hash slot of a tag: its CRC-16/XMODEM modulo 16,384 (Redis Cluster
// specification, "Key distribution model").
func slot(tag string) int {
	crc := uint16(0)
	for _, b := range []byte(tag) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slots
}

// spread returns a number below n that depends on s only, evenly.
func spread(s string, n int) int {
	sum := sha256.Sum256([]byte(s))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// layout is how the queue is divided now, and was before. It is stored under layoutKey.
type layout struct {
	division
	// Moving means that jobs of earlier divisions may still be there.
	Moving  bool      `json:"moving,omitempty"`
	Earlier []earlier `json:"earlier,omitempty"` // newest first
}

// earlier is a division of which marks and saved states may still be used.
type earlier struct {
	division
	Until time.Time `json:"until"` // later than the expiry of all its marks and states
}

// layoutKey has no hash tag: it is used alone.
const layoutKey = "compat:layout"

// plan is a layout with the partitions that result from it.
type plan struct {
	layout
	parts  []partition
	before [][]partition // of layout.Earlier
	marked [][]partition // those of them in which deliveries may be marked
	turns  *turns
}

func (q *Queue) newPlan(l layout) *plan {
	p := &plan{layout: l, parts: l.partitions()}
	for _, e := range l.Earlier {
		if time.Now().Before(e.Until) {
			parts := e.partitions()
			p.before = append(p.before, parts)
			if l.Moving || time.Until(e.Until) > homeTTL-markTTL {
				p.marked = append(p.marked, parts)
			}
		}
	}
	p.turns = newTurns(q, p.parts)
	return p
}

// of returns the partition of an installation among those of one division.
func of(parts []partition, installation int64) partition {
	return parts[spread(strconv.FormatInt(installation, 10), len(parts))]
}

// ofDelivery returns the partition in which a delivery without jobs is marked.
func ofDelivery(parts []partition, delivery string) partition {
	return parts[spread(delivery, len(parts))]
}

// all returns the partitions that can have jobs.
func (p *plan) all() []partition {
	all := p.parts
	if p.Moving {
		for _, parts := range p.before {
			all = append(all[:len(all):len(all)], parts...)
		}
	}
	return all
}

// encode returns the layout for partitions of earlier divisions.
func (p *plan) encode() (string, error) {
	data, err := json.Marshal(p.layout)
	if err != nil {
		return "", fmt.Errorf("queue: %w", err)
	}
	return string(data), nil
}

// every returns the partitions that can have jobs of an installation.
func (p *plan) every(installation int64) []partition {
	every := []partition{of(p.parts, installation)}
	if p.Moving {
		for _, parts := range p.before {
			every = append(every, of(parts, installation))
		}
	}
	return every
}

// plan returns the current plan. The first call reads it from Redis and compares it with
// Options.Partitions.
func (q *Queue) plan(ctx context.Context) (*plan, error) {
	if p := q.current.Load(); p != nil {
		return p, nil
	}
	if q.ctx.Err() != nil {
		return nil, fmt.Errorf("queue: read the partitions: %w", ErrClosed)
	}
	if q.engine != nil {
		return q.adopt(layout{division: division{Partitions: 1}}), nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l, err := q.readLayout(ctx)
	if errors.Is(err, redis.Nil) {
		l, err = q.firstLayout(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: read the partitions: %w", err)
	}
	if n := q.o.Partitions; n != 0 && n != l.Partitions {
		return nil, otherNumber(l.Partitions, n)
	}
	return q.adopt(l), nil
}

func otherNumber(has, want int) error {
	return fmt.Errorf(
		"queue: %w: it has %d, not %d; set COMPAT_PARTITIONS to %[2]d, or change the queue with "+
			"'compat queue repartition %[3]d'", ErrPartitions, has, want)
}

// CheckPartitions returns ErrPartitions if Open would return it for a number in
// Options.Partitions; 0 = any. It stores nothing, also if the queue was not used yet.
func (q *Queue) CheckPartitions(ctx context.Context, want int) error {
	if want == 0 || q.engine != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	has := 1
	switch l, err := q.readLayout(ctx); {
	case err == nil:
		has = l.Partitions
	case !errors.Is(err, redis.Nil):
		return fmt.Errorf("queue: read the partitions: %w", err)
	default:
		used, err := q.used(ctx)
		if err != nil {
			return fmt.Errorf("queue: read the partitions: %w", err)
		}
		if !used {
			return nil
		}
	}
	if has != want {
		return otherNumber(has, want)
	}
	return nil
}

// used reports whether the queue had a job before a layout was stored.
func (q *Queue) used(ctx context.Context) (bool, error) {
	n, err := q.rdb.Exists(ctx, prefix+"seq", prefix+"claims").Result()
	return n > 0, err
}

func (q *Queue) readLayout(ctx context.Context) (l layout, err error) {
	data, err := q.rdb.Get(ctx, layoutKey).Bytes()
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && (l.Partitions < 1 || l.Partitions > MaxPartitions) {
		err = fmt.Errorf("%s has %d partitions", layoutKey, l.Partitions)
	}
	return l, err
}

// firstLayout returns the layout of a queue for which none is stored: one partition, or if it has
// not been used yet, Options.Partitions, which it stores.
func (q *Queue) firstLayout(ctx context.Context) (layout, error) {
	l := layout{division: division{Partitions: 1}}
	if q.o.Partitions <= 1 {
		return l, nil
	}
	used, err := q.used(ctx)
	if err != nil || used {
		return l, err
	}
	l.Partitions = q.o.Partitions
	data, err := json.Marshal(l)
	if err == nil {
		err = q.rdb.SetNX(ctx, layoutKey, data, 0).Err()
	}
	if err == nil {
		l, err = q.readLayout(ctx) // another process may have been faster
	}
	return l, err
}

// adopt makes a layout the current one, unless there is a newer one.
func (q *Queue) adopt(l layout) *plan {
	next := q.newPlan(l)
	for {
		old := q.current.Load()
		if old != nil && (l.Epoch < old.Epoch || l.Epoch == old.Epoch && (l.Moving || !old.Moving)) {
			return old
		}
		if q.current.CompareAndSwap(old, next) {
			if old != nil {
				old.turns.replace()
			}
			if l.Moving && (old == nil || l.Epoch > old.Epoch) {
				q.own(q.finishMove)
			}
			return next
		}
	}
}

// movedError reports that a partition belongs to an earlier division.
type movedError struct{ layout layout }

func (e *movedError) Error() string {
	return fmt.Sprintf("the queue was divided into %d partitions", e.layout.Partitions)
}

// checkMoved returns a *movedError if the answer of a script is {2, layout}.
func checkMoved(answer any) error {
	list, ok := answer.([]any)
	if !ok || len(list) != 2 || list[0] != int64(2) {
		return nil
	}
	text, _ := list[1].(string)
	var l layout
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return fmt.Errorf("queue: the layout %q is damaged: %w", text, err)
	}
	return &movedError{l}
}

// follow calls f with the current plan, and again with the next one when the queue was divided
// again meanwhile.
func (q *Queue) follow(ctx context.Context, f func(*plan) error) error {
	for {
		p, err := q.plan(ctx)
		if err != nil {
			return err
		}
		err = f(p)
		moved := (*movedError)(nil)
		if !errors.As(err, &moved) {
			return err
		}
		if q.adopt(moved.layout) == p {
			return err // a damaged layout
		}
	}
}
