package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// self returns the path of this program, also after its file was replaced.
func self() string { return "/proc/self/exe" }

// processAttributes returns the attributes of a child process: it leads a process group and is
// killed when its parent ends. In namespaces it has no network and no system user.
func processAttributes(namespaces bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if namespaces {
		// Without a mapping of users the process has no user of the system, and no capability after
		// exec.
		a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	}
	return a
}

// noNamespaces reports whether an error of a start means that the kernel or the container refuses
// namespaces.
func noNamespaces(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC,
		syscall.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// kill ends the process and its group. It may have ended already.
func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// alive reports whether the process runs.
func (c *child) alive() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT,
		nil)
	return err == nil && info.Signo == 0
}

// killed reports whether a process was ended by SIGKILL.
func killed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// resident returns the memory of a process in bytes; 0 if it has ended.
func resident(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// threads returns the number of threads of a process; 0 if it has ended.
func threads(pid int) int64 {
	return status("/proc/"+strconv.Itoa(pid)+"/status", "Threads:")
}

// available returns the memory of this machine or container in bytes; 0 if it is unknown.
func available() int64 {
	var least int64
	for _, file := range []string{"/sys/fs/cgroup/memory.max",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64); err == nil && n > 0 &&
			(least == 0 || n < least) {
			least = n
		}
	}
	total := status("/proc/meminfo", "MemTotal:") << 10
	if total > 0 && (least == 0 || total < least) {
		least = total
	}
	return least
}

// status returns a number of a file with lines "Name:   123 kB" or "Name:   123", without regard to
// the unit; 0 if it is missing.
func status(file, name string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) >= 2 && string(fields[0]) == name {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return n
		}
	}
	return 0
}

// dataSize returns the written memory of this process in bytes, which RLIMIT_DATA counts.
func dataSize() int64 { return status("/proc/self/status", "VmData:") << 10 }
