package index

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

// diskLimit has room for the parts that are read of two releases of PyTorch with CUDA, of about
// 900 MB each, and for the facts of some thousand other wheels.
const diskLimit = 3 << 30

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
	v, err := d.open(key)
	if v == nil || err != nil {
		return nil, err
	}
	defer v.Close()
	return io.ReadAll(v)
}

// GetFile implements Files.
func (d *Disk) GetFile(_ context.Context, key string) (Value, error) {
	v, err := d.open(key)
	if v == nil { // not a nil *diskFile
		return nil, err
	}
	return v, err
}

// diskFile is an entry, without the time at its start.
type diskFile struct {
	*io.SectionReader
	io.Closer
}

// open opens the entry of a key; nil if there is none.
func (d *Disk) open(key string) (*diskFile, error) {
	f, err := os.Open(d.place(key))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	now := time.Now()
	head := make([]byte, expiryBytes)
	info, err := f.Stat()
	if err == nil {
		_, err = f.ReadAt(head, 0)
	}
	if err != nil || now.Unix() > int64(binary.BigEndian.Uint64(head)) {
		if errors.Is(err, io.EOF) { // it is damaged
			err = nil
		}
		return nil, errors.Join(err, f.Close())
	}
	// marks it as used; an error only affects the order of deletion
	_ = os.Chtimes(f.Name(), now, now)
	return &diskFile{io.NewSectionReader(f, expiryBytes, info.Size()-expiryBytes), f}, nil
}

// Put implements Cache.
func (d *Disk) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return d.PutFrom(ctx, key, bytes.NewReader(value), int64(len(value)), ttl)
}

// PutFrom implements Files.
func (d *Disk) PutFrom(
	_ context.Context,
	key string,
	value io.Reader,
	size int64,
	ttl time.Duration,
) error {
	if size > d.most {
		return nil
	}
	f, err := os.CreateTemp(d.dir, ".new-*")
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(ttl).Unix()))
	n, err := io.Copy(f, io.MultiReader(bytes.NewReader(head), io.LimitReader(value, size)))
	if err == nil && n != expiryBytes+size {
		err = io.ErrUnexpectedEOF
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.place(key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return d.trim(size)
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
