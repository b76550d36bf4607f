package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
)

// engine executes the commands and scripts of an embedded queue in transactions of the journal, in
// place of a Redis server: the client passes its commands to the methods of redis.Hook.
//
// One goroutine writes. It executes all calls that wait in one transaction, so concurrent callers
// share one fsync, and none of them is answered before that. If the transaction fails (disk full),
// none of the calls has an effect that is stored; a leader, and the counters that order turns, are
// only in memory (isVolatile) and keep theirs.
type engine struct {
	journal *journal
	db      *bbolt.DB // the journal, or in a read-only queue a copy of its keys with indexes
	copied  string    // the folder of that copy
	scripts *interpreter
	calls   chan *call
	stopped chan struct{} // closed when nothing is executed any more

	failed atomic.Bool // the last transaction could not be stored

	volatile map[string]*record // see isVolatile; only the goroutine that writes uses it

	mu     sync.Mutex
	lists  map[string][]string // wake-up lists
	pushed chan struct{}       // closed and replaced when a list gets an element
}

// call is what a caller waits for.
type call struct {
	run   func(t *txn) error
	taken atomic.Bool // by the goroutine that writes, or by a caller that no longer waits
	done  chan error
}

// maxGroup limits the calls of one transaction, so that none waits long for the others.
const maxGroup = 64

func (q *Queue) openEmbedded(ctx context.Context) error {
	j, err := openJournal(q.o.Dir, q.o.ReadOnly)
	if err != nil {
		return err
	}
	q.journal = j
	q.engine = &engine{journal: j, db: j.db, calls: make(chan *call), stopped: make(chan struct{}),
		volatile: map[string]*record{}, lists: map[string][]string{}, pushed: make(chan struct{})}
	e := q.engine
	if q.o.ReadOnly {
		err = e.copyKeys()
	}
	if err == nil {
		e.scripts, err = newInterpreter()
	}
	if err == nil {
		err = e.restore(q.restoreArgs())
	}
	if err != nil {
		e.close()
		j.close()
		return j.unusable(err)
	}
	o := tune(&redis.Options{Addr: "embedded", Dialer: refuseToDial})
	client := redis.NewClient(o)
	client.AddHook(e)
	q.rdb = client
	q.own(e.write)
	if !q.o.ReadOnly {
		q.own(q.purgeHourly)
	}
	return nil
}

func refuseToDial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("an embedded queue has no server")
}

// copyKeys copies the keys of the journal, so that the indexes of a read-only queue can be written.
func (e *engine) copyKeys() (err error) {
	if e.copied, err = os.MkdirTemp("", "compat-queue-*"); err != nil {
		return err
	}
	e.db, err = bbolt.Open(filepath.Join(e.copied, journalFile), 0o600,
		&bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	return e.journal.guard(func() error {
		return e.db.Update(func(to *bbolt.Tx) error {
			copied, err := to.CreateBucketIfNotExists([]byte(bucketKeys))
			if err != nil {
				return err
			}
			return e.journal.db.View(func(from *bbolt.Tx) error {
				keys := from.Bucket([]byte(bucketKeys))
				if keys == nil {
					return nil
				}
				return keys.ForEach(copied.Put)
			})
		})
	})
}

func (e *engine) close() {
	if e.copied != "" {
		if e.db != nil {
			e.db.Close()
		}
		os.RemoveAll(e.copied)
	}
}

// write executes calls until ctx ends.
func (e *engine) write(ctx context.Context) {
	defer close(e.stopped)
	for {
		var group []*call
		select {
		case <-ctx.Done():
			return
		case c := <-e.calls:
			group = append(group, c)
		}
		for more := true; more && len(group) < maxGroup; {
			select {
			case c := <-e.calls:
				group = append(group, c)
			default:
				more = false
			}
		}
		e.commit(group)
	}
}

// commit executes calls in one transaction. If one of several fails, each has its own, so that what
// a failed one has done is not stored.
func (e *engine) commit(group []*call) {
	started := group[:0]
	for _, c := range group {
		if c.taken.CompareAndSwap(false, true) {
			started = append(started, c)
		}
	}
	failed := false
	err := e.transaction(func(t *txn) error {
		for _, c := range started {
			t.now = time.Now()
			if err := c.run(t); err != nil {
				failed = true
				return err
			}
		}
		return nil
	})
	if failed && len(started) > 1 {
		for _, c := range started {
			c.done <- e.transaction(c.run)
		}
		return
	}
	for _, c := range started {
		c.done <- err
	}
}

// transaction calls f. It is committed if f returns nil and has changed anything.
func (e *engine) transaction(f func(t *txn) error) error {
	err := e.journal.guard(func() error {
		tx, err := e.db.Begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
		t := &txn{engine: e, now: time.Now()}
		if err := t.open(tx); err != nil {
			return err
		}
		if err := f(t); err != nil {
			return err
		}
		if changed, err := t.flush(); err != nil || !changed {
			return err
		}
		err = tx.Commit()
		e.failed.Store(err != nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("the journal %s: %w", e.journal.path, err)
	}
	return nil
}

// do executes f in a transaction of the goroutine that writes. When ctx ends before f was started,
// f is not executed.
func (e *engine) do(ctx context.Context, f func(t *txn) error) error {
	c := &call{run: f, done: make(chan error, 1)}
	select {
	case e.calls <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stopped:
		return ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	case <-e.stopped:
	}
	switch {
	case !c.taken.CompareAndSwap(false, true):
		return <-c.done
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return ErrClosed
}

// view executes f in a transaction that only reads. It returns an error if f has changed anything.
func (e *engine) view(f func(t *txn) error) error {
	return e.journal.guard(func() error {
		return e.db.View(func(tx *bbolt.Tx) error {
			t := &txn{engine: e, now: time.Now()}
			if err := t.open(tx); err != nil {
				return err
			}
			if err := f(t); err != nil {
				return err
			}
			_, err := t.flush()
			return err
		})
	})
}

// ping returns an error if nothing can be stored. After a failure it stores as much as the largest
// job has, because pages may be left for less.
func (e *engine) ping(ctx context.Context) error {
	value := ""
	if e.failed.Load() {
		value = strings.Repeat("x", maxJob)
	}
	for _, command := range [][]string{{"SET", prefix + "ping", value}, {"DEL", prefix + "ping"}} {
		err := e.do(ctx, func(t *txn) error {
			_, err := t.call(command)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// script executes a script.
func (e *engine) script(
	ctx context.Context,
	part partition,
	name string,
	args []any,
) (answer any, err error) {
	err = e.do(ctx, func(t *txn) (err error) {
		answer, err = e.scripts.run(t, part, name, words(args))
		return err
	})
	return answer, err
}

// words returns arguments as Redis receives them.
func words(args []any) []string {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = word(arg)
	}
	return texts
}

// word returns an argument as Redis receives it.
func word(arg any) string {
	switch v := arg.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(arg)
}

// DialHook implements redis.Hook.
func (e *engine) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (e *engine) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.EqualFold(cmd.Name(), "blpop") {
			return e.pop(ctx, cmd)
		}
		return e.process(ctx, []redis.Cmder{cmd})
	}
}

// ProcessPipelineHook implements redis.Hook.
func (e *engine) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return e.process
}

// process executes commands in one transaction and sets their answers. It returns the first error.
func (e *engine) process(ctx context.Context, cmds []redis.Cmder) error {
	calls, writes := make([][]string, len(cmds)), false
	for i, cmd := range cmds {
		calls[i] = words(cmd.Args())
		writes = writes || commands[strings.ToUpper(cmd.Name())].writes ||
			slices.ContainsFunc(calls[i], isVolatile)
	}
	answers := make([]any, len(cmds))
	all := func(t *txn) (err error) {
		for i, args := range calls {
			if answers[i], err = t.call(args); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if writes {
		err = e.do(ctx, all)
	} else {
		err = e.view(all)
	}
	for i, cmd := range cmds {
		if err != nil {
			cmd.SetErr(err)
			continue
		}
		setAnswer(cmd, answers[i])
	}
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	return nil
}

// push adds an element to a list and wakes those who wait for it.
func (e *engine) push(name, value string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lists[name] = append(e.lists[name], value)
	close(e.pushed)
	e.pushed = make(chan struct{})
	return len(e.lists[name])
}

func (e *engine) length(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.lists[name])
}

// pop executes BLPOP NAME… SECONDS.
func (e *engine) pop(ctx context.Context, cmd redis.Cmder) error {
	args := cmd.Args()
	names := args[1 : len(args)-1]
	wait, err := time.ParseDuration(word(args[len(args)-1]) + "s")
	if err != nil {
		cmd.SetErr(err)
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		e.mu.Lock()
		for _, arg := range names {
			name := word(arg)
			if list := e.lists[name]; len(list) > 0 {
				e.lists[name] = list[1:]
				e.mu.Unlock()
				setAnswer(cmd, []any{name, list[0]})
				return nil
			}
		}
		pushed := e.pushed
		e.mu.Unlock()
		select {
		case <-pushed:
		case <-timer.C:
			cmd.SetErr(redis.Nil)
			return redis.Nil
		case <-ctx.Done():
			cmd.SetErr(ctx.Err())
			return ctx.Err()
		}
	}
}

// purgeHourly deletes from the journal what has expired.
func (q *Queue) purgeHourly(ctx context.Context) {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if err := q.journal.purge(now); err != nil {
				q.log.Error("the journal could not be cleared of what has expired",
					"file", q.journal.path, "error", err)
			}
		}
	}
}

// restoreArgs returns the arguments of restore.lua after the key.
func (q *Queue) restoreArgs() []string {
	crashes := q.o.MaxCrashes
	if q.o.ReadOnly {
		crashes = 0
	}
	return []string{fmt.Sprint(q.o.PerInstallation), "", fmt.Sprint(crashes),
		fmt.Sprint(q.separation())}
}

// restoreBatch limits the jobs that one transaction restores, and so its memory.
const restoreBatch = 2000

// restore builds the indexes from the keys: an earlier release may have changed the jobs since they
// were built, and those that ran have lost their process. args are those of restore.lua.
func (e *engine) restore(args []string) error {
	var jobs []string
	err := e.transaction(func(t *txn) error {
		if err := t.clearIndex(); err != nil {
			return err
		}
		const job, park = prefix + "job:", prefix + "park:"
		return t.each(func(key string, r *record) error {
			if name, is := strings.CutPrefix(key, job); is {
				jobs = append(jobs, name)
			}
			if installation, is := strings.CutPrefix(key, park); is {
				return t.addScore(prefix+"parked", string(r.Text), installation)
			}
			return nil
		})
	})
	for len(jobs) > 0 && err == nil {
		batch := jobs[:min(restoreBatch, len(jobs))]
		jobs = jobs[len(batch):]
		err = e.transaction(func(t *txn) error {
			for _, job := range batch {
				args[1] = job
				if _, err := e.scripts.run(t, prefix, "restore", args); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return err
}
