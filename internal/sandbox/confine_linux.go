package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Hide makes the memory, environment and open files of this process unreadable for other processes
// of its user (PR_SET_DUMPABLE 0), and keeps every descriptor that it inherited from its children.
// The service calls it before it starts the first analysis.
func Hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: PR_SET_DUMPABLE: %w", err)
	}
	return closeOnExec()
}

// closeOnExec sets FD_CLOEXEC on every descriptor but the standard streams. Go sets it on those
// that it opens; descriptors of whoever started the service may lack it.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.9
		return nil
	}
	if err != nil {
		return fmt.Errorf("sandbox: close_range: %w", err)
	}
	return nil
}

// spoolAccess are the rights in the working directory: create, use and remove regular files.
const spoolAccess = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSWriteFile |
	ll.AccessFSMakeReg | ll.AccessFSRemoveFile | ll.AccessFSTruncate)

// confine takes every right from this process that an analysis does not need, on all of its
// threads. It must be called before anything from outside is read. The working directory
// and the folder of its artifacts, which it can only read, stay accessible. A layer that the kernel
// lacks or refuses is missing in the result.
func confine() Layers {
	var l Layers
	// When memory is short, the kernel shall end this process and not its parent. Without /proc the
	// limits still hold.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	l.NotDumpable = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) == nil
	if abi, err := ll.LandlockGetABIVersion(); err == nil && abi > 0 {
		rules := []landlock.Rule{
			landlock.PathAccess(spoolAccess, "."),
			landlock.PathAccess(ll.AccessFSReadFile, filepath.Join("..", artifacts)),
		}
		if landlock.V8.BestEffort().Restrict(rules...) == nil {
			l.Landlock = abi
		}
	}
	// no_new_privs and the filter are set on one thread; TSYNC copies both to all others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l.NoNewPrivs = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == nil
	l.Seccomp = filterCalls() == nil
	return l
}

// maxFiles are the open files of an analysis: its artifacts, and a file for each large member of an
// archive that is being read.
const maxFiles = 4096

const (
	// maxFile is the size of the largest file that an analysis writes: of a member of an archive, see
	// unpack.Limits.FileBytes.
	maxFile = 4 << 30

	// maxProcesses is half of the threads that Linux has by default. The kernel counts those of the
	// user, also in other containers, unless the process has a user namespace. So the limit cannot be
	// near to what an analysis needs; the parent counts its threads.
	maxProcesses = 1 << 14
)

// limit sets limits of memory and time on this process. The parent watches both too; RLIMIT_DATA
// stops what grows faster than the parent looks. It counts written memory, not what the runtime
// reserves.
func limit(memory int64, duration time.Duration, base int64) error {
	seconds := uint64(duration.Seconds()+60) * uint64(runtime.NumCPU())
	for _, l := range []struct {
		resource int
		most     uint64
	}{
		{syscall.RLIMIT_DATA, uint64(base + memory/4*5)},
		{syscall.RLIMIT_CPU, seconds},
		{syscall.RLIMIT_CORE, 0},
		{syscall.RLIMIT_NOFILE, maxFiles},
		{syscall.RLIMIT_FSIZE, maxFile},
		{unix.RLIMIT_NPROC, maxProcesses},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &now); err != nil {
			return err
		}
		l.most = min(l.most, now.Max)
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return err
		}
	}
	return nil
}
