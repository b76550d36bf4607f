//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	f := At(path)
	if _, err := f.Read(); err == nil {
		t.Error("a missing file is read")
	}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string) {
		t.Helper()
		data, err := f.Read()
		if err != nil || string(data) != want {
			t.Errorf("reads %q, %v; want %q", data, err, want)
		}
	}
	start := time.Now().Add(-time.Hour)
	write("one", start)
	read("one")
	read("")
	write("two", start.Add(time.Second))
	read("two")
	read("")

	// Kubernetes replaces a link.
	other := path + ".new"
	if err := os.WriteFile(other, []byte("six"), 0o400); err != nil {
		t.Fatal(err)
	}
	at := start.Add(time.Second)
	if err := os.Chtimes(other, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	read("six")
	read("")

	for _, bad := range []string{t.TempDir(), large(t)} {
		if _, err := At(bad).Read(); err == nil ||
			!strings.Contains(err.Error(), "is not a file of at most 64 KiB") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func large(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// owned is a file's mode and owner.
type owned struct {
	fs.FileInfo
	mode fs.FileMode
	uid  int
}

func (o owned) Mode() fs.FileMode { return o.mode }
func (o owned) Sys() any          { return &syscall.Stat_t{Uid: uint32(o.uid)} }

func TestModes(t *testing.T) {
	me := os.Geteuid()
	for _, c := range []struct {
		mode fs.FileMode
		uid  int
		ok   bool
	}{
		{0o600, me, true}, {0o400, me, true}, {0o700, me, true},
		{0o640, me, false}, {0o604, me, false}, {0o644, me, false}, {0o660, me, false},
		{0o602, me, false}, {0o601, me, false},
		// A Kubernetes secret with fsGroup belongs to root.
		{0o440, me + 1, true}, {0o640, me + 1, true}, {0o400, me + 1, true},
		{0o444, me + 1, false}, {0o644, me + 1, false}, {0o460, me + 1, false},
	} {
		err := private("key.pem", owned{mode: c.mode, uid: c.uid})
		if (err == nil) != c.ok {
			t.Errorf("mode %04o of user %d: %v", c.mode, c.uid, err)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 0600") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := At(path).Read(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a file for everybody: %v", err)
	}
}
