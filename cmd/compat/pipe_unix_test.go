//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A device without an end, given in place of a file, is no reason to use all memory.
func TestDevicesWithoutEnd(t *testing.T) {
	if data, err := readInput("/dev/zero"); err == nil || len(data) > 0 {
		t.Errorf("%d bytes were read, %v", len(data), err)
	}
}

// A pipe without a writer, given in place of a file, is no reason to wait.
func TestPipesWithoutWriter(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string) error{
		func(p string) error { _, err := readInput(p); return err },
		func(p string) error { files := pinnedIn(p); _, err := files.Read(p); return err },
		func(p string) error {
			f, err := openInput(p)
			if err == nil {
				f.Close()
			}
			return err
		},
	} {
		ended := make(chan error, 1)
		go func() { ended <- open(pipe) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a pipe without a writer is waited for")
		}
	}
}
