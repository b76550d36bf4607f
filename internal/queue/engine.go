package queue

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// engine is the Redis of an embedded queue: miniredis, connected by pipes instead of a port.
type engine struct{ redis *miniredis.Miniredis }

// tick is the interval at which keys expire. Their lifetimes are days.
const tick = 10 * time.Second

// engineTimeout is the timeout of an engine call without a deadline. Calls within a process are
// not lost, only slow on an overloaded machine, and that does not make the journal unusable.
const engineTimeout = time.Minute

func (q *Queue) openEmbedded(ctx context.Context) error {
	j, err := openJournal(q.o.Dir, q.o.ReadOnly)
	if err != nil {
		return err
	}
	e := &engine{redis: miniredis.NewMiniRedis()}
	q.engine, q.journal = e, j
	o := tune(
		&redis.Options{
			Addr:   "embedded",
			Dialer: func(context.Context, string, string) (net.Conn, error) { return e.dial() },
		},
	)
	o.ReadTimeout, o.WriteTimeout = engineTimeout, engineTimeout
	q.rdb = redis.NewClient(o)
	if err := q.restore(ctx); err != nil {
		q.rdb.Close()
		e.close()
		j.close()
		return j.unusable(err)
	}
	q.own(q.keepTime)
	return nil
}

// dial returns a connection with a buffer for writes. With a plain pipe a long pipeline would
// deadlock: the engine waits until its first responses are read, and the client until the rest of
// the pipeline is read.
func (e *engine) dial() (net.Conn, error) {
	c, err := e.redis.Dial()
	if err != nil {
		return nil, err
	}
	p := &pipe{Conn: c, more: make(chan struct{}, 1)}
	go p.pass()
	return p, nil
}

// pipe is a connection that buffers writes without limit.
type pipe struct {
	net.Conn
	more chan struct{} // contains an element if waiting has new bytes or the pipe is closed

	mu      sync.Mutex
	waiting []byte
	err     error // of the last write, or net.ErrClosed
}

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	p.waiting = append(p.waiting, b...)
	p.wake()
	return len(b), nil
}

func (p *pipe) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// pass writes the buffered bytes until Close.
func (p *pipe) pass() {
	for range p.more {
		p.mu.Lock()
		b := p.waiting
		p.waiting = nil
		ended := p.err != nil
		p.mu.Unlock()
		if ended {
			return
		}
		if _, err := p.Conn.Write(b); err != nil {
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
			return
		}
	}
}

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	p.err = net.ErrClosed
	p.wake()
	p.mu.Unlock()
	return p.Conn.Close()
}

// SetDeadline implements net.Conn. Writes do not block.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

func (e *engine) close() { e.redis.Close() }

// keepTime expires keys in the engine, which does not do so by itself, and in the journal.
func (q *Queue) keepTime(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	purged := last
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			q.engine.redis.FastForward(now.Sub(last))
			last = now
			if now.Sub(purged) < time.Hour || q.o.ReadOnly {
				continue
			}
			purged = now
			if err := q.journal.purge(now); err != nil {
				q.log.Error(
					"the journal could not be cleared of what has expired",
					"file",
					q.journal.path,
					"error",
					err,
				)
			}
		}
	}
}

// restore loads the engine from the journal.
func (q *Queue) restore(ctx context.Context) error {
	var jobs []string
	now := time.Now()
	err := q.journal.each(now, func(key string, r record) error {
		switch {
		case r.Hash != nil:
			jobs = append(jobs, key[len(prefix+"job:"):])
			return q.rdb.HSet(ctx, key, r.Hash).Err()
		case r.Until.IsZero():
			return q.rdb.Set(ctx, key, r.Text, 0).Err()
		}
		return q.rdb.Set(ctx, key, r.Text, r.Until.Sub(now)).Err()
	})
	if err != nil {
		return err
	}
	if err := q.restoreParked(ctx); err != nil {
		return err
	}
	crashes := q.o.MaxCrashes
	if q.o.ReadOnly {
		crashes = 0
	}
	for _, key := range jobs {
		if _, err := q.script(ctx, prefix, "restore", key, crashes, q.separation()); err != nil {
			return err
		}
	}
	return q.sync(ctx, "restore")
}

// restoreParked rebuilds the index of parked installations from their keys.
func (q *Queue) restoreParked(ctx context.Context) error {
	const park = prefix + "park:"
	keys, err := q.rdb.Keys(ctx, park+"*").Result()
	if err != nil {
		return err
	}
	for _, key := range keys {
		until, err := q.rdb.Get(ctx, key).Float64()
		if err != nil {
			return err
		}
		if err := q.rdb.ZAdd(ctx, prefix+"parked", redis.Z{Score: until,
			Member: key[len(park):]}).Err(); err != nil {
			return err
		}
	}
	return nil
}
