package index

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Disk is a Cache in a directory that several processes may share: values are written to a
// temporary file and renamed. Above the size limit the least recently used entries are deleted.
type Disk struct {
	dir   string
	most  int64 // bytes
	mu    sync.Mutex
	added int64 // bytes written since the last trim; -1 = not trimmed yet
}

// diskLimit has room for the facts of some thousand wheels, and for the parts that are read of
// hundred small ones.
const diskLimit = 1 << 30

// expiryBytes is the length of the expiry time, in Unix seconds, at the start of an entry.
const expiryBytes = 8

// NewDisk returns a cache in dir, which is created with mode 0700 if it does not exist.
func NewDisk(dir string) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the cache folder for package facts:  %w", err)
	}
	return &Disk{dir: dir, most: diskLimit, added: -1}, nil
}

// place returns the path of a key's file. The name is a digest, so it does not reveal the key.
func (d *Disk) place(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(d.dir, hex.EncodeToString(sum[:]))
}

// Get implements Cache.
func (d *Disk) Get(_ context.Context, key string) ([]byte, error) {
	name := d.place(key)
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	now := time.Now()
	if len(data) < expiryBytes || now.Unix() > int64(binary.BigEndian.Uint64(data)) {
		return nil, nil // it is damaged or too old
	}
	// marks it as used; an error only affects the order of deletion
	_ = os.Chtimes(name, now, now)
	return data[expiryBytes:], nil
}

// Put implements Cache.
func (d *Disk) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	if int64(len(value)) > d.most {
		return nil
	}
	f, err := os.CreateTemp(d.dir, ".new-*")
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(ttl).Unix()))
	_, err = f.Write(append(head, value...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.place(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return d.trim(int64(len(value)))
}

// trim deletes entries at the first call, and then whenever a tenth of the limit was added.
func (d *Disk) trim(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.added >= 0 {
		if d.added += n; d.added < d.most/10 {
			return nil
		}
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	size := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			size += info.Size()
		}
	}
	d.added = 0
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if size <= d.most-d.most/10 {
			break
		}
		if err := os.Remove(filepath.Join(d.dir, f.Name())); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= f.Size()
	}
	return nil
}
