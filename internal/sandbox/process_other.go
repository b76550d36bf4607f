//go:build !linux

package sandbox

import (
	"os"
	"syscall"
	"time"
)

// On other systems than Linux an analysis has a process of its own, but only its time is limited.

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func processAttributes(bool) *syscall.SysProcAttr { return nil }

func noNamespaces(error) bool { return true }

func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may be gone already

func (c *child) alive() bool { return true }

func killed(error) bool { return false }

func resident(int) int64 { return 0 }

func threads(int) int64 { return 0 }

func available() int64 { return 0 }

func dataSize() int64 { return 0 }

// Hide has no effect on this system.
func Hide() error { return nil }

func closeOnExec() error { return nil }

func confine() Layers { return Layers{} }

func limit(int64, time.Duration, int64) error { return nil }
