//go:build !linux

package sandbox

import (
	"os"
	"syscall"
	"time"
)

// Elsewhere an analysis has a process of its own, but only its time is bounded.

func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func apart() *syscall.SysProcAttr { return nil }

func (c *child) kill() { _ = c.cmd.Process.Kill() } // it may be gone already

func killed(error) bool { return false }

func resident(int) int64 { return 0 }

func available() int64 { return 0 }

func confine(int64, time.Duration) error { return nil }
