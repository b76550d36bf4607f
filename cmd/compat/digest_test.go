package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
	"github.com/djherbis/times"
)

// counted counts the reads of a file.
type counted struct {
	*os.File
	read int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(p, off)
	c.read += n
	return n, err
}

func TestAFileIsHashedOnce(t *testing.T) {
	dir := t.TempDir()
	cache, err := index.NewDisk(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	// The file changes when the test runs; the clock decides how long ago that was.
	known := digests{cache, func() time.Time { return time.Now().Add(time.Hour) }}
	path := filepath.Join(dir, "a.whl")
	var last time.Time
	// waits until the kernel's clock has advanced since the last write
	write := func(content string) {
		t.Helper()
		for range 10000 {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if now := times.Get(info).ChangeTime(); now.After(last) {
				last = now
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatal("the time of a file does not change")
	}
	digest := func(why string, d digests, content string, hashed bool) {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c := &counted{File: f}
		got, err := d.of(context.Background(), analyzer.Input{Content: c, Size: int64(len(content))})
		want := sha256.Sum256([]byte(content))
		if err != nil || got != hex.EncodeToString(want[:]) || hashed != (c.read > 0) {
			t.Errorf("%s: %s, %v, %d bytes read", why, got, err, c.read)
		}
	}
	write("one")
	digest("at first", known, "one", true)
	digest("again", known, "one", false)
	digest("which changed just now, for all that is known", digests{cache, time.Now}, "one", true)

	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	digest("other content of the same size, with the old time set", known, "two", true)
	digest("that again", known, "two", false)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	write("six")
	digest("another file under its name", known, "six", true)

	entries, err := filepath.Glob(filepath.Join(dir, "cache", "*"))
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-1] ^= 1
		if err := os.WriteFile(e, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digest("with damaged entries", known, "six", true)

	fresh := digests{cache, func() time.Time { return time.Now().Add(-time.Hour) }}
	write("ten")
	digest("of the future", fresh, "ten", true)
	digest("of the future again", fresh, "ten", true)
	r := strings.NewReader("no file")
	for range 2 {
		if got, err := known.of(context.Background(),
			analyzer.Input{Content: r, Size: r.Size()}); err != nil ||
			len(got) != 64 {
			t.Errorf("no file: %s, %v", got, err)
		}
	}
	if _, err := known.of(context.Background(), analyzer.Input{Content: broken{},
		Size: 1}); err == nil {
		t.Error("what can't be read has a digest")
	}
}

// broken is a file that cannot be read.
type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }
