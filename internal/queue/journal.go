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
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// journal is the file of an embedded queue: its jobs and their indexes (txn.go), and blobs.
type journal struct {
	path string
	db   *bbolt.DB
}

const journalFile = "queue.db"

// Buckets: records by key (txn.go), and blobs with an expiry of eight bytes (Unix milliseconds)
// before the value.
const (
	bucketKeys  = "keys"
	bucketBlobs = "blobs"
)

// The format of the file is written in it. A change that this release cannot read has a higher
// number. An earlier release only uses the two buckets above, whose form has not changed.
const (
	bucketMeta    = "meta"
	keyFormat     = "format"
	journalFormat = 1
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
	if err = j.view(checkFormat); err == nil && !readOnly {
		err = j.update(createBuckets)
	}
	if errors.Is(err, errNewer) {
		j.db.Close()
		return nil, fmt.Errorf("%s: %w; start that release, or move the file away", path, err)
	}
	if err != nil {
		j.db.Close()
		return nil, j.unusable(err)
	}
	return j, nil
}

func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil {
		return nil // an earlier release has written it
	}
	format, err := strconv.Atoi(string(meta.Get([]byte(keyFormat))))
	if err != nil || format < 1 {
		return errFormat
	}
	if format > journalFormat {
		return fmt.Errorf("%w: it has format %d, and this release reads %d", errNewer, format,
			journalFormat)
	}
	return nil
}

func createBuckets(tx *bbolt.Tx) error {
	for _, name := range []string{bucketKeys, bucketBlobs, bucketMeta} {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	format := strconv.AppendInt(nil, journalFormat, 10)
	return tx.Bucket([]byte(bucketMeta)).Put([]byte(keyFormat), format)
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

var (
	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("the journal was written by a newer release")
	errFormat  = errors.New("its format is damaged")
)

// unusable explains what to do about an unusable journal. Most of its content can be found on
// GitHub again: the sweeper looks for open heads.
func (j *journal) unusable(err error) error {
	if errno := syscall.Errno(0); errors.As(
		err,
		&errno,
	) { // no permission or no space; the content may be intact
		return fmt.Errorf("the journal %s cannot be used: %w; set COMPAT_DATA to a folder with free "+
			"space that this user can write", j.path, err)
	}
	return fmt.Errorf(
		"the journal %s cannot be used: %w; move it away: an empty one takes its place, and open pull "+
			"requests without a verdict are found within COMPAT_WAIT",
		j.path,
		err,
	)
}

func (j *journal) close() error { return j.db.Close() }

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
		blob := func(data []byte) bool { return !blobLives(data, now) }
		if err := deleteWhere(tx.Bucket([]byte(bucketBlobs)), blob); err != nil {
			return err
		}
		return deleteWhere(tx.Bucket([]byte(bucketKeys)), func(data []byte) bool {
			var r record
			return json.Unmarshal(data, &r) == nil && r.expired(now)
		})
	})
}

// deleteWhere deletes the entries of a bucket whose values have a property.
func deleteWhere(b *bbolt.Bucket, has func(value []byte) bool) error {
	var keys [][]byte // not deleted at once, because ForEach must not change the bucket
	err := b.ForEach(func(k, v []byte) error {
		if has(v) {
			keys = append(keys, bytes.Clone(k))
		}
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = b.Delete(k)
		}
	}
	return err
}
