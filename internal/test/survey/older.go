package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/facts"
)

// oldest is the processor of qemu that has the baseline of x86-64 and little more.
const oldest = "qemu64"

// load imports the packages of a distribution, and opens a shared object.
const load = `
import ctypes, importlib, importlib.metadata, os, sys
for f in importlib.metadata.files(sys.argv[2]) or []:
    if f.name == "__init__.py" and len(f.parts) == 2 and f.parts[0].isidentifier():
        try:
            importlib.import_module(f.parts[0])
        except BaseException:
            pass
ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
`

// older opens the objects that errors of compat name on a processor with the baseline of x86-64,
// which qemu emulates, and starts the programs with --help. Those that execute an unknown
// instruction fail. This machine has more instructions, so nothing else shows that.
func (s *survey) older(ctx context.Context, dir string, t *truth, r *analyzer.Report) {
	packages, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "python*", "site-packages"))
	if err != nil || len(packages) != 1 {
		return
	}
	tried := map[string]bool{}
	for _, f := range r.Findings {
		member := filepath.FromSlash(facts.Installed(f.Object))
		at := filepath.Join(packages[0], member)
		if f.Severity != analyzer.Error || !filepath.IsLocal(member) || tried[at] {
			continue
		}
		tried[at] = true
		// not all installers make a program outside of the folder for them executable
		if os.Chmod(at, 0o755) != nil {
			continue // it is not in this package
		}
		if illegal(ctx, dir, at, f.Package) {
			t.fails[f.Object] = "illegal instruction on the processor " + oldest
		}
	}
}

// illegal reports whether a program or shared object of a package executes an instruction that the
// oldest processor does not have.
func illegal(ctx context.Context, dir, at, of string) bool {
	args := []string{at, "--help"}
	if strings.Contains(filepath.Base(at), ".so") {
		args = []string{filepath.Join(dir, "venv", "bin", "python"), "-c", load, at, of}
	}
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, "qemu-x86_64", append([]string{"-cpu", oldest}, args...)...)
	var messages bytes.Buffer
	c.Dir, c.Stderr = dir, &messages
	c.WaitDelay = time.Second
	err := c.Run()
	return err != nil && strings.Contains(messages.String(), "target signal 4")
}
