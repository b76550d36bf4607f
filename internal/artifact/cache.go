package artifact

import (
	"context"
	"crypto/sha256"
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

// cache stores downloaded files for the artifact that they were downloaded for. GitHub's digest
// is a claim of whoever uploaded the artifact, so it is always compared with the bytes, and files
// are never shared between artifacts: nobody gets another artifact's bytes by claiming their
// digest. The file name consists of nameOf the artifact and the SHA-256 of the bytes. Files in
// use are never removed; of the others the least recently used is removed first.
type cache struct {
	dir, part string
	max       int64 // bytes

	mu   sync.Mutex
	used map[string]int // file name -> number of Sets that use it
	// names of files that this process has written or verified; others may be damaged by a crash
	known map[string]bool
	busy  map[string]*turn // serializes downloads of the same artifact
}

func (c *cache) path(file string) string { return filepath.Join(c.dir, file) }

// nameOf returns the name of an artifact or asset in the cache: a digest of its ID and URL, which
// contains the repository.
func nameOf(i Item) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %d %s", i.Asset, i.ID, i.url))
	return hex.EncodeToString(sum[:16])
}

// fileOf returns the file name for an artifact with the SHA-256 sum.
func fileOf(name, sum string) string { return name + "-" + sum }

// lock lets one worker download an artifact while others wait.
func (c *cache) lock(ctx context.Context, name string) (unlock func(), err error) {
	c.mu.Lock()
	t := c.busy[name]
	if t == nil {
		t = &turn{c: make(chan struct{}, 1)}
		c.busy[name] = t
	}
	t.n++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.n--; t.n == 0 {
			delete(c.busy, name)
		}
	}
	select {
	case t.c <- struct{}{}:
		return func() { <-t.c; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

type turn struct {
	c chan struct{} // full while a worker holds the lock
	n int           // number of workers that hold the lock or wait for it
}

// take returns the size of a cached file and marks it as in use. ok is false if it is not cached.
func (c *cache) take(name, sum string) (size int64, ok bool) {
	file := fileOf(name, sum)
	c.mu.Lock()
	c.used[file]++
	known := c.known[file]
	c.mu.Unlock()
	info, err := os.Stat(c.path(file))
	if err == nil && !known {
		if err = verify(c.path(file), sum); err != nil {
			os.Remove(c.path(file))
		}
	}
	if err != nil {
		c.drop(file)
		return 0, false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(file), now, now) // the time only decides the order of removal
	c.mu.Lock()
	c.known[file] = true
	c.mu.Unlock()
	return info.Size(), true
}

// put moves a finished download into the cache and marks it as in use.
func (c *cache) put(from, file string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.Rename(from, c.path(file)); err != nil {
		return fmt.Errorf("artifact: keep a download: %w", err)
	}
	c.used[file]++
	c.known[file] = true
	return nil
}

// drop ends one use of a file.
func (c *cache) drop(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[file]--; c.used[file] <= 0 {
		delete(c.used, file)
	}
}

// trim removes unused files until the cache fits into its limit.
func (c *cache) trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("artifact: list the cache: %w", err)
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files, total = append(files, info), total+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if total <= c.max {
			break
		}
		if c.used[info.Name()] > 0 {
			continue
		}
		if err := os.Remove(c.path(info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("artifact: trim the cache: %w", err)
		}
		delete(c.known, info.Name())
		total -= info.Size()
	}
	return nil
}

func verify(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("artifact: the cache holds %s under the name of %s", got, want)
	}
	return nil
}
