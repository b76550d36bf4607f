package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
	"github.com/djherbis/times"
)

// digests knows the SHA-256 of files that were hashed before. A file is what it was as long as its
// device, inode, size and times are: with its content the time changes that the kernel keeps of it
// (ctime), and nobody can set that one.
type digests struct {
	cache index.Cache
	now   func() time.Time
}

// digestFormat begins a key.
const digestFormat = "compat/digest/1"

// atRest is how long ago a file must have changed: two changes within a tick leave the same time,
// and the coarsest file systems tick every two seconds.
const atRest = 2 * time.Second

// of is the SHA-256 of a file, in hex.
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
	if _, err := io.CopyBuffer(struct{ io.Writer }{hash}, io.NewSectionReader(in.Content, 0, in.Size), make([]byte, 64<<10)); err != nil {
		return "", err
	}
	sum := hash.Sum(nil)
	if key != "" && d.key(in) == key { // it did not change meanwhile
		_ = d.cache.Put(ctx, key, sealed(sum), againKept) // it is only slower then
	}
	return hex.EncodeToString(sum), nil
}

// key names a file as it is now; "" for one that changed just now, and for what is no open file.
func (d digests) key(in analyzer.Input) string {
	f, ok := in.Content.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return ""
	}
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	t := times.Get(info)
	if !ok || !t.HasChangeTime() || d.now().Sub(t.ChangeTime()) < atRest ||
		d.now().Sub(t.ModTime()) < atRest {
		return ""
	}
	key, err := json.Marshal(
		[]any{
			digestFormat,
			s.Dev,
			s.Ino,
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

// sealed puts a checksum before what is kept.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// unsealed is what was kept; what is damaged counts as absent.
func unsealed(value []byte) (body []byte, ok bool) {
	if len(value) <= sha256.Size {
		return nil, false
	}
	body = value[sha256.Size:]
	return body, sha256.Sum256(body) == [sha256.Size]byte(value[:sha256.Size])
}
