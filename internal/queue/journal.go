package queue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// journal stores an embedded queue in a file. It mirrors the engine's job hashes and strings
// (deliveries, states, pauses, the counter). All other keys of the engine are indexes, which are
// rebuilt. Blobs are only in the journal.
//
// The scripts record the changed keys in the zset dirty. sync writes their current values in one
// transaction. So a change that could not be written (disk full) is written by the next call, and
// concurrent callers share one fsync.
type journal struct {
	path string
	db   *bbolt.DB

	callers atomic.Int64 // number of sync calls so far
	mu      sync.Mutex   // serializes sync
	served  int64        // all sync calls up to this number are on disk
	written int64        // the last change of the engine that is on disk
}

const journalFile = "queue.db"

// Buckets: keys of the engine with records, and blobs with an expiry of eight bytes (Unix
// milliseconds) before the value.
const (
	bucketKeys  = "keys"
	bucketBlobs = "blobs"
)

// lockWait is how long to wait for another process to release the file, because a restart
// overlaps.
const lockWait = 2 * time.Second

// folderFile is the file whose lock LockFolder holds.
const folderFile = "process.db"

// LockFolder reserves a data folder for this process until release is called. It returns ErrLocked
// if another process has it. The embedded queue needs no such lock, because it holds that of its
// journal.
func LockFolder(dir string) (release func() error, _ error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, folderFile)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s; give each process its own folder", ErrLocked, path)
	}
	if err != nil {
		return nil, err
	}
	return db.Close, nil
}

func openJournal(dir string, readOnly bool) (*journal, error) {
	if dir == "" {
		return nil, errors.New(
			"no folder for the embedded journal: set COMPAT_DATA, or REDIS_URL to use Redis",
		)
	}
	path := filepath.Join(dir, journalFile)
	wait := lockWait
	if readOnly {
		wait /= 10 // a reader need not wait for the other process to end
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no journal of an embedded queue: %w", err)
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the embedded journal: %w", err)
	}
	j := &journal{path: path}
	err := j.guard(func() (err error) {
		j.db, err = bbolt.Open(
			path,
			0o600,
			&bbolt.Options{Timeout: wait, ReadOnly: readOnly, FreelistType: bbolt.FreelistMapType},
		)
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf(
			"%w: %s; stop it, or give each its own COMPAT_DATA, or set REDIS_URL to share one queue",
			ErrLocked,
			path,
		)
	}
	if err != nil {
		return nil, j.unusable(err)
	}
	if readOnly {
		return j, nil
	}
	err = j.update(func(tx *bbolt.Tx) error {
		for _, name := range []string{bucketKeys, bucketBlobs} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		j.db.Close()
		return nil, j.unusable(err)
	}
	return j, nil
}

// guard calls f, which reads the file. For a damaged file bbolt panics, and for a truncated one
// the memory mapping faults. Both become errors.
func (j *journal) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	return f()
}

func (j *journal) update(f func(tx *bbolt.Tx) error) error {
	return j.guard(func() error { return j.db.Update(f) })
}

func (j *journal) view(f func(tx *bbolt.Tx) error) error {
	return j.guard(func() error { return j.db.View(f) })
}

var errDamaged = errors.New("it is damaged")

// unusable explains what to do about an unusable journal. Most of its content can be found on
// GitHub again: the sweeper looks for open heads.
func (j *journal) unusable(err error) error {
	if errno := syscall.Errno(0); errors.As(
		err,
		&errno,
	) { // no permission or no space; the content may be intact
		return fmt.Errorf("the journal %s can't be used: %w; set COMPAT_DATA to a folder with free "+
			"space that this user can write", j.path, err)
	}
	return fmt.Errorf(
		"the journal %s can't be used: %w; move it away: an empty one takes its place, and open pull "+
			"requests without a verdict are found within COMPAT_WAIT",
		j.path,
		err,
	)
}

func (j *journal) close() error { return j.db.Close() }

// sync writes all changed keys. When it returns nil, all changes made before the call are on
// disk. changes runs changes.lua.
func (j *journal) sync(changes func(written string) (any, error)) error {
	call := j.callers.Add(1)
	j.mu.Lock()
	defer j.mu.Unlock()
	if call <= j.served {
		return nil // the previous call wrote these changes too
	}
	serves := j.callers.Load()
	answer, err := changes(strconv.FormatInt(j.written, 10))
	if err != nil {
		return err
	}
	entries, _ := answer.([]any)
	if len(entries) == 0 {
		j.served = serves
		return nil
	}
	last := j.written
	err = j.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketKeys))
		for _, entry := range entries {
			change, key, r, err := readChange(entry)
			if err != nil {
				return err
			}
			last = max(last, change)
			if r == nil {
				err = b.Delete([]byte(key))
			} else if data, e := json.Marshal(r); e != nil {
				err = e
			} else {
				err = b.Put([]byte(key), data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the journal %s: %w", j.path, err)
	}
	// The next call removes the keys from dirty. A key that was changed again has a higher number
	// and remains.
	j.written, j.served = last, serves
	return nil
}

// readChange parses an entry of changes.lua. The record is nil for a deleted key.
func readChange(entry any) (change int64, key string, r *record, err error) {
	list, _ := entry.([]any)
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = fmt.Sprint(v)
	}
	if len(text) < 2 || len(text)%2 != 0 {
		return 0, "", nil, fmt.Errorf("changes.lua answered %v", entry)
	}
	// A score may have the form 1e+06.
	score, err := strconv.ParseFloat(text[0], 64)
	if err != nil {
		return 0, "", nil, fmt.Errorf("changes.lua answered %v: %w", entry, err)
	}
	change, key = int64(score), text[1]
	switch len(text) {
	case 2:
		return change, key, nil, nil
	case 4:
		ms, err := strconv.ParseInt(text[3], 10, 64)
		if err != nil {
			return 0, "", nil, fmt.Errorf("changes.lua answered %v: %w", entry, err)
		}
		r = &record{Text: []byte(text[2])}
		if ms > 0 {
			r.Until = time.Now().Add(time.Duration(ms) * time.Millisecond)
		}
		return change, key, r, nil
	}
	r = &record{Hash: map[string]string{}}
	for i := 2; i < len(text); i += 2 {
		r.Hash[text[i]] = text[i+1]
	}
	return change, key, r, nil
}

// record is a key of the engine in the journal: a hash, or a string that may expire.
type record struct {
	Hash  map[string]string `json:"hash,omitempty"`
	Text  []byte            `json:"text,omitempty"`
	Until time.Time         `json:"until,omitzero"`
}

// each calls f for every key of the engine that has not expired.
func (j *journal) each(now time.Time, f func(key string, r record) error) error {
	return j.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketKeys))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			var r record
			if err := json.Unmarshal(v, &r); err != nil {
				return fmt.Errorf("the entry of %q is damaged: %w", k, err)
			}
			if !r.Until.IsZero() && !r.Until.After(now) {
				return nil
			}
			return f(string(k), r)
		})
	})
}

func (j *journal) put(key string, value []byte, until time.Time) error {
	data := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(value)), uint64(until.UnixMilli()))
	data = append(data, value...)
	return j.update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketBlobs)).Put([]byte(key), data)
	})
}

func (j *journal) get(key string, now time.Time) (value []byte, err error) {
	err = j.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketBlobs))
		if b == nil {
			return nil
		}
		if data := b.Get([]byte(key)); blobLives(data, now) {
			value = append([]byte{}, data[8:]...)
		}
		return nil
	})
	return value, err
}

func blobLives(data []byte, now time.Time) bool {
	return len(data) >= 8 && int64(binary.BigEndian.Uint64(data)) > now.UnixMilli()
}

// purge deletes expired keys and blobs.
func (j *journal) purge(now time.Time) error {
	return j.update(func(tx *bbolt.Tx) error {
		var expired [][]byte
		blobs := tx.Bucket([]byte(bucketBlobs))
		err := blobs.ForEach(func(k, v []byte) error {
			if !blobLives(v, now) {
				expired = append(expired, bytes.Clone(k))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range expired {
			if err := blobs.Delete(k); err != nil {
				return err
			}
		}
		expired = nil
		keys := tx.Bucket([]byte(bucketKeys))
		err = keys.ForEach(func(k, v []byte) error {
			var r record
			if json.Unmarshal(v, &r) == nil && !r.Until.IsZero() && !r.Until.After(now) {
				expired = append(expired, bytes.Clone(k))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range expired {
			if err := keys.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}
