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

// cache keeps the files of artifacts and assets, each for the one that it was fetched for. A digest
// that GitHub names is a claim of whoever uploaded the artifact: it is compared with the bytes and
// never stands for them, so nobody gets the bytes of another's artifact by naming their digest. A
// file's name is the artifact's (nameOf) and the SHA-256 of the bytes that were read. What is in
// use is never removed; of the rest the least recently used goes first.
type cache struct {
	dir, part string
	max       int64 // bytes

	mu   sync.Mutex
	used map[string]int // file name -> how many Sets hold it
	// names of files that this process wrote or has read: one from before a crash may be damaged
	known map[string]bool
	busy  map[string]*turn // one download of an artifact at a time
}

func (c *cache) path(file string) string { return filepath.Join(c.dir, file) }

// nameOf is the name of an artifact or asset in the cache: a digest of its address, which has the
// repository, and its id.
func nameOf(i Item) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %d %s", i.Asset, i.ID, i.url))
	return hex.EncodeToString(sum[:16])
}

// fileOf is the file of an artifact whose bytes have a digest.
func fileOf(name, sum string) string { return name + "-" + sum }

// lock makes sure that one worker fetches an artifact while others wait for it.
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
	c chan struct{} // full while one is at it
	n int           // that one, and those who wait
}

// take returns the size of a kept file and holds it; ok is false when it isn't there.
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
	_ = os.Chtimes(c.path(file), now, now) // only its place in the order of removal depends on it
	c.mu.Lock()
	c.known[file] = true
	c.mu.Unlock()
	return info.Size(), true
}

// put moves a finished download to its place and holds it.
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

// drop ends one hold.
func (c *cache) drop(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[file]--; c.used[file] <= 0 {
		delete(c.used, file)
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
