package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file into which nothing could be written is removed; the other one is kept.
func TestEmptyFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	f, err := reserve(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := f.settings.Name()
	if err := f.settings.Close(); err != nil {
		t.Fatal(err)
	}
	if f.settings, err = os.Open(name); err != nil { // cannot be written
		t.Fatal(err)
	}
	if err := f.write([]byte("key"), "settings"); err == nil ||
		!strings.Contains(err.Error(), "cannot write "+name) {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 || left[0] != filepath.Join(dir, KeyFile) {
		t.Errorf("left: %v (%v)", left, err)
	}
	if key, err := os.ReadFile(filepath.Join(dir, KeyFile)); string(key) != "key" {
		t.Errorf("%q (%v)", key, err)
	}
}
