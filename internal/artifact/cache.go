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

// cache keeps files by the SHA-256 of their content. What is in use is never removed; of the rest
// the least recently used goes first.
type cache struct {
	dir, part string
	max       int64 // bytes

	mu   sync.Mutex
	used map[string]int // digest -> how many Sets hold it
	// digests whose file this process wrote or has read: a file from before a crash may be damaged
	known map[string]bool
	busy  map[string]*turn // one download of a digest at a time
}

func (c *cache) path(sum string) string { return filepath.Join(c.dir, sum) }

// lock makes sure that one worker fetches a digest while others wait for it.
func (c *cache) lock(ctx context.Context, sum string) (unlock func(), err error) {
	c.mu.Lock()
	t := c.busy[sum]
	if t == nil {
		t = &turn{c: make(chan struct{}, 1)}
		c.busy[sum] = t
	}
	t.n++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.n--; t.n == 0 {
			delete(c.busy, sum)
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
	c chan struct{} // full while one is at it
	n int           // that one, and those who wait
}

// take returns the size of a kept file and holds it; ok is false when it isn't there.
func (c *cache) take(sum string) (size int64, ok bool) {
	c.mu.Lock()
	c.used[sum]++
	known := c.known[sum]
	c.mu.Unlock()
	info, err := os.Stat(c.path(sum))
	if err == nil && !known {
		if err = verify(c.path(sum), sum); err != nil {
			os.Remove(c.path(sum))
		}
	}
	if err != nil {
		c.drop(sum)
		return 0, false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(sum), now, now) // only its place in the order of removal depends on it
	c.mu.Lock()
	c.known[sum] = true
	c.mu.Unlock()
	return info.Size(), true
}

// put moves a finished download to its place and holds it.
func (c *cache) put(from, sum string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.Rename(from, c.path(sum)); err != nil {
		return fmt.Errorf("artifact: keep a download: %w", err)
	}
	c.used[sum]++
	c.known[sum] = true
	return nil
}

// drop ends one hold.
func (c *cache) drop(sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[sum]--; c.used[sum] <= 0 {
		delete(c.used, sum)
	}
}

// trim removes files that nobody holds until the rest fits.
func (c *cache) trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("artifact: look through the cache: %w", err)
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
