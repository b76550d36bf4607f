package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// announced is a buffer that closes a channel when it is written to.
type announced struct {
	bytes.Buffer
	once    sync.Once
	written chan struct{}
}

func (a *announced) Write(b []byte) (int, error) {
	defer a.once.Do(func() { close(a.written) })
	return a.Buffer.Write(b)
}

// A watched folder is checked when it exists, and again when a file in it changes.
func TestWatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dist")
	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	errs := &announced{written: make(chan struct{})}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"check", "--watch", dir},
			environment{Getenv: func(string) (string, bool) { return "", false }, Out: write, Err: errs})
		_ = write.Close()
	}()
	lines := bufio.NewScanner(read)
	<-errs.written // it watches, and there is no file yet
	build := func(w cases.Wheel, want string) {
		name, content := w.File()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), want) {
				return
			}
		}
		t.Errorf("the output ended before %q", want)
	}
	build(cases.Clean("1.0"), "compatible: ")
	build(cases.CaseA("1.5.0"), "incompatible: ")
	interrupt()
	_, _ = io.Copy(io.Discard, read)
	if code := <-ended; code != exitOK || !strings.HasPrefix(errs.String(), "no file yet; watching ") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
