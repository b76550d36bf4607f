package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// journal is the file that an embedded queue survives in. It is a mirror of the engine's job hashes and strings (deliveries, states,
// pauses, the counter); everything else in the engine is an index of these. Blobs are in the journal only.
//
// The scripts note what they change in the zset dirty; sync writes that, as it then is, in one transaction. So a change that could not
// be written (disk full) stays noted and goes with the next, and many callers share one fsync.
type journal struct {
	path string
	db   *bbolt.DB
	mu   sync.Mutex // one sync at a time; those that waited find their changes written
}

const journalFile = "queue.db"

// The buckets: keys of the engine to records, and blobs by key, eight bytes of expiry (Unix milliseconds) in front of the value.
const (
	bucketKeys  = "keys"
	bucketBlobs = "blobs"
)

// lockWait is how long to wait for another process to let go of the file: a restart overlaps a little.
const lockWait = 2 * time.Second

func openJournal(dir string, readOnly bool) (*journal, error) {
	if dir == "" {
		return nil, errors.New("no folder for the embedded journal: set COMPAT_DATA, or REDIS_URL to use Redis")
	}
	path := filepath.Join(dir, journalFile)
	if readOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no journal of an embedded queue: %w", err)
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the embedded journal: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: readOnly, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s; stop it, or give each its own COMPAT_DATA, or set REDIS_URL to share one queue", ErrLocked, path)
	}
	if err != nil {
		return nil, fmt.Errorf("the journal %s can't be opened: %w; moved away, an empty one takes its place", path, err)
	}
	j := &journal{path: path, db: db}
	if readOnly {
		return j, nil
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{bucketKeys, bucketBlobs} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("the journal %s: %w", path, err)
	}
	return j, nil
}

func (j *journal) close() error { return j.db.Close() }

// sync writes every key that has changed. When it returns nil, all that was changed before the call is on disk.
func (j *journal) sync(ctx context.Context, rdb *redis.Client) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	changed, err := rdb.ZRangeWithScores(ctx, prefix+"dirty", 0, -1).Result()
	if err != nil || len(changed) == 0 {
		return err
	}
	records, err := read(ctx, rdb, changed)
	if err != nil {
		return err
	}
	err = j.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketKeys))
		for key, r := range records {
			if r == nil {
				if err := b.Delete([]byte(key)); err != nil {
					return err
				}
				continue
			}
			data, err := r.encode()
			if err != nil {
				return err
			}
			if err := b.Put([]byte(key), data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the journal %s: %w", j.path, err)
	}
	// A key that changed again meanwhile has a higher score and stays.
	last := strconv.FormatFloat(changed[len(changed)-1].Score, 'f', 0, 64)
	return rdb.ZRemRangeByScore(ctx, prefix+"dirty", "-inf", last).Err()
}

// read returns the records of keys; nil for one that is gone.
func read(ctx context.Context, rdb *redis.Client, keys []redis.Z) (map[string]*record, error) {
	const job = prefix + "job:"
	records := map[string]*record{}
	for _, z := range keys {
		key, _ := z.Member.(string)
		records[key] = nil
		if len(key) > len(job) && key[:len(job)] == job {
			hash, err := rdb.HGetAll(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			if len(hash) > 0 {
				records[key] = &record{Hash: hash}
			}
			continue
		}
		text, err := rdb.Get(ctx, key).Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &record{Text: text}
		ttl, err := rdb.PTTL(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		if ttl > 0 {
			r.Until = time.Now().Add(ttl)
		}
		records[key] = r
	}
	return records, nil
}

// each calls f for every key of the engine that has not expired.
func (j *journal) each(now time.Time, f func(key string, r record) error) error {
	return j.db.View(func(tx *bbolt.Tx) error {
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
	return j.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketBlobs)).Put([]byte(key), data)
	})
}

func (j *journal) get(key string, now time.Time) (value []byte, err error) {
	err = j.db.View(func(tx *bbolt.Tx) error {
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

// purge deletes what has expired.
func (j *journal) purge(now time.Time) error {
	return j.db.Update(func(tx *bbolt.Tx) error {
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
