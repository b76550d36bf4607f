package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// self is this program, also when its file was replaced meanwhile.
func self() string { return "/proc/self/exe" }

// apart makes the process the leader of a group, which ends with its parent.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// it may be gone already
func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

func killed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// resident is how many bytes of memory a process holds; 0 when it is gone.
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

// available is the memory of this machine, or what its container may have of it; 0 unknown.
func available() int64 {
	var least int64
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64); err == nil && n > 0 &&
			(least == 0 || n < least) {
			least = n
		}
	}
	if total := status("/proc/meminfo", "MemTotal:"); total > 0 && (least == 0 || total < least) {
		least = total
	}
	return least
}

// status is a value in kB of a file of lines "Name:   123 kB", in bytes; 0 when it isn't there.
func status(file, name string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) >= 2 && string(fields[0]) == name {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10
		}
	}
	return 0
}

// confine limits this process. The parent looks at its memory too; what grows faster than it looks
// meets the limit here. It counts what is written to, not what the runtime merely reserves.
func confine(memory int64, limit time.Duration) error {
	data := uint64(status("/proc/self/status", "VmData:") + memory/4*5)
	seconds := uint64(limit.Seconds()+60) * uint64(runtime.NumCPU())
	for resource, most := range map[int]uint64{syscall.RLIMIT_DATA: data, syscall.RLIMIT_CPU: seconds, syscall.RLIMIT_CORE: 0} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	// When the system runs out of memory, it shall take this process and not its parent.
	_ = os.WriteFile(
		"/proc/self/oom_score_adj",
		[]byte("1000"),
		0,
	) // without /proc the limits hold all the same
	return nil
}
