package sandbox

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of an analysis that all architectures have, by what needs them.
var allowed = []uint32{
	// threads of the Go runtime; these calls are the most frequent
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	// files: artifacts, the spool folder, the pipes to the parent
	unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_WRITE, unix.SYS_WRITEV,
	unix.SYS_PWRITE64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_FSTAT,
	unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE,
	// memory
	unix.SYS_MADVISE, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
	// the poller of the Go runtime
	unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_CREATE1, unix.SYS_EVENTFD2,
	unix.SYS_PIPE2, unix.SYS_PPOLL,
	// signals, clocks and the end of threads
	unix.SYS_SIGALTSTACK, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN,
	unix.SYS_RESTART_SYSCALL, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES,
	unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_GETTID, unix.SYS_GETPID,
	unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// prSetVMA names memory of the Go runtime (PR_SET_VMA).
const prSetVMA = 0x53564d41

// condition is a system call that is allowed if an argument, after & mask, has a value. Of several
// for one call, any is enough.
type condition struct {
	call, argument uint32
	mask, value    uint64
}

func conditions() []condition {
	const all = ^uint64(0)
	return []condition{
		// threads, but no processes
		{unix.SYS_CLONE, 0, unix.CLONE_THREAD, unix.CLONE_THREAD},
		// no memory that can be executed
		{unix.SYS_MMAP, 2, unix.PROT_EXEC, 0},
		{unix.SYS_MPROTECT, 2, unix.PROT_EXEC, 0},
		// signals and limits of this process only
		{unix.SYS_TGKILL, 0, all, uint64(os.Getpid())},
		{unix.SYS_PRLIMIT64, 0, all, 0},
		{unix.SYS_PRCTL, 0, all, prSetVMA},
		// Flags of descriptors. The pipes to the parent have one description in both processes, so
		// their owner, its signal (F_SETOWN, F_SETSIG) and O_ASYNC (F_SETFL) could reach the parent.
		{unix.SYS_FCNTL, 1, all, unix.F_GETFL},
		{unix.SYS_FCNTL, 1, all, unix.F_GETFD},
		{unix.SYS_FCNTL, 1, all, unix.F_SETFD},
		{unix.SYS_FCNTL, 1, all, unix.F_DUPFD_CLOEXEC},
	}
}

// Offsets in struct seccomp_data (linux/seccomp.h). Arguments have 64 bits, the lower half first.
const (
	dataCall         = 0
	dataArchitecture = 4
	dataArguments    = 16
)

// systemCalls returns the filter of an analysis: an allow list; every other call fails with EPERM.
func systemCalls() []bpf.Instruction {
	refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	// unless skips n instructions if the loaded value is not v.
	unless := func(v uint32, n int) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: uint8(n)}
	}
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArchitecture, SkipTrue: 1},
		refuse,
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
	}
	for _, call := range append(append([]uint32{}, allowed...), allowedHere...) {
		out = append(out, unless(call, 1), allow)
	}
	// The C library falls back to clone, whose flags a filter can read.
	out = append(out, unless(unix.SYS_CLONE3, 1),
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	for _, c := range conditions() {
		half := func(at uint32, shift int) []bpf.Instruction {
			return []bpf.Instruction{
				bpf.LoadAbsolute{Off: dataArguments + 8*c.argument + at, Size: 4},
				bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(c.mask >> shift)},
			}
		}
		low, high := half(0, 0), half(4, 32)
		test := append(low, unless(uint32(c.value), 4))
		test = append(test, high...)
		test = append(test, unless(uint32(c.value>>32), 1), allow)
		out = append(out, bpf.LoadAbsolute{Off: dataCall, Size: 4}, unless(c.call, len(test)))
		out = append(out, test...)
	}
	return append(out, refuse)
}

// filterCalls installs the filter on all threads of this process. PR_SET_NO_NEW_PRIVS must be set.
func filterCalls() error {
	if auditArchitecture == 0 {
		return fmt.Errorf("sandbox: the system calls of this architecture are not known")
	}
	raw, err := bpf.Assemble(systemCalls())
	if err != nil {
		return fmt.Errorf("sandbox: seccomp filter: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))) //nolint:gosec // the kernel reads the filter there
	if errno != 0 {
		return fmt.Errorf("sandbox: seccomp: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("sandbox: seccomp: thread %d has another filter", thread)
	}
	return nil
}
