package sandbox

import (
	"os"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of an analysis, by what needs them. Those that an architecture does
// not have are left out there.
var allowed = []string{
	// files: artifacts, the spool folder, the pipes to the parent
	"read", "readv", "pread64", "write", "writev", "pwrite64", "lseek", "close", "fstat", "fcntl",
	"openat", "unlinkat", "ftruncate", "fallocate",
	// memory
	"brk", "munmap", "mremap", "madvise", "mincore",
	// threads and signals of the Go runtime
	"futex", "sched_yield", "sched_getaffinity", "set_robust_list", "rseq", "gettid", "getpid",
	"sigaltstack", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "restart_syscall",
	"exit", "exit_group", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
	"gettimeofday", "getrandom", "getrusage", "arch_prctl", "set_tid_address",
	// the poller of the Go runtime
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "pipe2",
	"poll", "ppoll",
}

// prSetVMA names memory of the Go runtime (PR_SET_VMA).
const prSetVMA = 0x53564d41

// systemCalls returns the filter of an analysis: an allow list; every other call fails with EPERM.
// ok is false for an architecture whose system calls are not known.
func systemCalls() (filter seccomp.Filter, ok bool) {
	info, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Filter{}, false
	}
	var names []string
	for _, name := range allowed {
		if _, known := info.SyscallNames[name]; known {
			names = append(names, name)
		}
	}
	when := func(name string, argument uint32, op seccomp.Operation,
		value uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{
			Name:       name,
			Conditions: seccomp.ArgumentConditions{{Argument: argument, Operation: op, Value: value}},
		}
	}
	return seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionErrno,
			Syscalls: []seccomp.SyscallGroup{
				{
					// The C library falls back to clone, whose flags a filter can read.
					Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
					Names:  []string{"clone3"},
				},
				{
					Action: seccomp.ActionAllow,
					Names:  names,
					NamesWithCondtions: []seccomp.NameWithConditions{
						// threads, but no processes
						when("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD),
						// no memory that can be executed
						when("mmap", 2, seccomp.BitsNotSet, unix.PROT_EXEC),
						when("mprotect", 2, seccomp.BitsNotSet, unix.PROT_EXEC),
						// signals and limits of this process only
						when("tgkill", 0, seccomp.Equal, uint64(os.Getpid())),
						when("prlimit64", 0, seccomp.Equal, 0),
						when("prctl", 0, seccomp.Equal, prSetVMA),
					},
				},
			},
		},
	}, true
}
