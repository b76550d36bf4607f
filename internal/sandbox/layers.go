package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// Layers are the protections of a process that analyses artifacts. The zero value has none.
type Layers struct {
	NoNewPrivs bool `json:"no_new_privs"` // exec gives no privileges (PR_SET_NO_NEW_PRIVS)
	Seccomp    bool `json:"seccomp"`      // only listed system calls: no socket, exec, fork or ptrace
	// ABI of the Landlock rules: no file but its spool folder; 0: none
	Landlock    int  `json:"landlock"`
	NotDumpable bool `json:"not_dumpable"` // other processes of the user cannot read its memory
	Namespaces  bool `json:"namespaces"`   // user, network and IPC namespaces of its own
	Rlimits     bool `json:"rlimits"`      // limits of memory, CPU time, open files and core dumps
}

// Active returns the names of the active layers.
func (l Layers) Active() []string {
	var out []string
	for _, x := range l.list() {
		if x.active {
			out = append(out, x.name)
		}
	}
	return out
}

// Missing returns the names of the required layers that are not active. Namespaces are not
// required: many container runtimes refuse them, and the other layers refuse the same accesses.
func (l Layers) Missing() []string {
	var out []string
	for _, x := range l.list() {
		if !x.active && x.name != "namespaces" {
			out = append(out, x.name)
		}
	}
	return out
}

// Require returns an error that names the missing layers and what they need; nil if none is
// missing.
func (l Layers) Require() error {
	var missing []string
	for _, x := range l.list() {
		if slices.Contains(l.Missing(), x.name) {
			missing = append(missing, x.name+" ("+x.needs+")")
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("this system lacks %s", strings.Join(missing, ", "))
}

// layer is one of Layers.
type layer struct {
	name   string
	active bool
	needs  string // the system that has it
}

func (l Layers) list() []layer {
	return []layer{
		{"no_new_privs", l.NoNewPrivs, "Linux"},
		{"seccomp", l.Seccomp, "Linux on amd64 or arm64; a container has to allow the system call " +
			"seccomp"},
		{"landlock", l.Landlock > 0, "Linux 5.13 or later with landlock in the boot parameter lsm; " +
			"a container has to allow the system calls landlock_*"},
		{"not_dumpable", l.NotDumpable, "Linux"},
		{"namespaces", l.Namespaces, "Linux with user namespaces"},
		{"rlimits", l.Rlimits, "Linux"},
	}
}

// Layers starts a process that analyses nothing and returns its protections.
func (r *Runner) Layers(ctx context.Context) (Layers, error) {
	_, err := r.check(ctx, nil, analyzer.Options{}, nil, func(q *request) { q.Probe = true })
	var found *probed
	if errors.As(err, &found) {
		found.layers.Namespaces = runtime.GOOS == "linux" && !r.noNamespaces.Load()
		return found.layers, nil
	}
	return Layers{}, fmt.Errorf("sandbox: start a process to test it: %w", err)
}

// probed carries the answer of a process that was started by Runner.Layers.
type probed struct{ layers Layers }

func (p *probed) Error() string { return "active: " + strings.Join(p.layers.Active(), ", ") }
