package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
	"github.com/djherbis/times"
)

// cacheLife is how long an unused entry of the cache is kept.
const cacheLife = 30 * 24 * time.Hour

// digests caches the SHA-256 of files by device, inode, size, mtime and ctime. Every change of the
// content sets ctime, and no program can set ctime to an earlier value.
type digests struct {
	cache index.Cache
	now   func() time.Time
}

// digestFormat begins a key.
const digestFormat = "compat/digest/1"

// atRest is how old the last change of a cached file must be: two changes within the resolution of
// the file system's clock have the same time, and the coarsest resolution is two seconds.
const atRest = 2 * time.Second

// of returns the SHA-256 of a file, in hex.
func (d digests) of(ctx context.Context, in analyzer.Input) (string, error) {
	key := d.key(in)
	if key != "" {
		if value, err := d.cache.Get(ctx, key); err == nil {
			if sum, ok := unsealed(value); ok {
				return hex.EncodeToString(sum), nil
			}
		}
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{hash}, io.NewSectionReader(in.Content, 0, in.Size),
		make([]byte, 64<<10)); err != nil {
		return "", err
	}
	sum := hash.Sum(nil)
	if key != "" && d.key(in) == key { // the file did not change while it was read
		// A failed write only makes the next check slower.
		_ = d.cache.Put(ctx, key, sealed(sum), cacheLife)
	}
	return hex.EncodeToString(sum), nil
}

// key identifies the current state of a file; "" for a file that changed less than atRest ago, and
// for content that is not an open file.
func (d digests) key(in analyzer.Input) string {
	f, ok := in.Content.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return ""
	}
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	device, number, ok := inode(info)
	t := times.Get(info)
	if !ok || !t.HasChangeTime() || d.now().Sub(t.ChangeTime()) < atRest ||
		d.now().Sub(t.ModTime()) < atRest {
		return ""
	}
	key, err := json.Marshal(
		[]any{
			digestFormat,
			device,
			number,
			info.Size(),
			t.ModTime().UnixNano(),
			t.ChangeTime().UnixNano(),
		},
	)
	if err != nil {
		return ""
	}
	return string(key)
}

// sealed prepends a checksum to a cache entry.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// unsealed checks and removes the checksum of a cache entry; ok is false if it does not match.
func unsealed(value []byte) (body []byte, ok bool) {
	if len(value) <= sha256.Size {
		return nil, false
	}
	body = value[sha256.Size:]
	return body, sha256.Sum256(body) == [sha256.Size]byte(value[:sha256.Size])
}
