package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/elastic/go-seccomp-bpf"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/compat-app/compat/analyzer"
)

func init() {
	children["escape"] = func() { escape(confine) }
	children["escape-free"] = func() { escape(func() Layers { return Layers{} }) }
	children["hidden"], children["lacking"] = hidden, lacking
}

// control calls fcntl with a pipe of its own, so that no signal is sent outside of the sandbox.
func control(command, value int) error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	_, err := unix.FcntlInt(uintptr(pipe[0]), command, value)
	return err
}

// escapes are attempts of code that controls the process of an analysis. Each returns nil if it
// succeeded. target is what the parent protects. Those marked free succeed outside the sandbox
// for every user.
var escapes = []struct {
	name string
	free bool
	try  func(target target) error
}{
	{"read the key file", true, func(x target) error { _, err := os.ReadFile(x.Key); return err }},
	{"list the service's folder", true, func(x target) error {
		_, err := os.ReadDir(filepath.Dir(x.Key))
		return err
	}},
	{"read the journal of the queue", true, func(target) error {
		_, err := os.ReadFile("../../queue.db")
		return err
	}},
	{"read the artifact of another analysis", true, func(target) error {
		_, err := os.ReadFile("../../" + Folder + "other/in/0")
		return err
	}},
	{"write to its artifact", true, func(target) error {
		f, err := os.OpenFile("../in/0", os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		return err
	}},
	{"make a file next to its artifact", true, func(target) error {
		defer os.Remove("../in/1")
		return os.WriteFile("../in/1", nil, 0o600)
	}},
	{"write next to the key", true, func(x target) error {
		return os.WriteFile(x.Key+".new", nil, 0o600)
	}},
	{"write to the system's folder for temporary files", true, func(target) error {
		return os.WriteFile(written, nil, 0o600)
	}},
	{"make a folder in its own", true, func(target) error {
		defer os.Remove("folder")
		return os.Mkdir("folder", 0o700)
	}},
	{"make a link in its own folder", true, func(x target) error {
		defer os.Remove("link")
		return os.Symlink(x.Key, "link")
	}},
	{"read the environment of the service", true, func(x target) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", x.PID))
		return err
	}},
	{"read the memory of the service", false, func(x target) error {
		_, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", x.PID), os.O_RDONLY, 0)
		return err
	}},
	{"read the memory of the service with process_vm_readv", false, func(x target) error {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(x.PID, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	}},
	{"trace the service", false, func(x target) error { return syscall.PtraceAttach(x.PID) }},
	{"take a descriptor of the service", true, func(x target) error {
		_, err := unix.PidfdOpen(x.PID, 0)
		return err
	}},
	{"signal the service", true, func(x target) error { return syscall.Kill(x.PID, 0) }},
	{"signal a thread of the service", true, func(x target) error {
		return unix.Tgkill(x.PID, x.PID, 0)
	}},
	{"send the service signals about a pipe", true, func(x target) error {
		return control(unix.F_SETOWN, x.PID)
	}},
	{"choose the signal of a pipe", true, func(target) error {
		return control(unix.F_SETSIG, int(unix.SIGURG))
	}},
	{"turn on the signals of a pipe", true, func(target) error {
		return control(unix.F_SETFL, unix.O_ASYNC)
	}},
	{"change the limits of the service", false, func(x target) error {
		return unix.Prlimit(x.PID, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
	}},
	{"connect to Redis", true, func(x target) error {
		_, err := net.Dial("tcp", x.Redis)
		return err
	}},
	{"open a TCP socket", true, func(target) error { return open(unix.AF_INET, unix.SOCK_STREAM) }},
	{"open a UDP socket", false, func(target) error { return open(unix.AF_INET6, unix.SOCK_DGRAM) }},
	{"open a Unix socket", true, func(target) error { return open(unix.AF_UNIX, unix.SOCK_STREAM) }},
	{"open a netlink socket", true, func(target) error {
		return open(unix.AF_NETLINK, unix.SOCK_RAW)
	}},
	{"open a raw packet socket", false, func(target) error {
		return open(unix.AF_PACKET, unix.SOCK_RAW)
	}},
	{"make a socket pair", true, func(target) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	}},
	{"fork", true, func(target) error {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
		}
		return nil
	}},
	{"fork with clone3", false, func(target) error {
		_, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
		if errno == unix.ENOSYS {
			return errno
		}
		return nil
	}},
	{"run a program", false, func(target) error {
		return syscall.Exec("/proc/self/exe", []string{"x", "die"}, nil)
	}},
	{"start a program", true, func(target) error {
		_, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
		return err
	}},
	{"map executable memory", true, func(target) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	}},
	{"make memory executable", true, func(target) error {
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return nil
		}
		return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
	}},
	{"become dumpable again", true, func(target) error {
		return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}},
	{"make namespaces", false, func(target) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"mount", false, func(target) error { return unix.Mount("none", ".", "tmpfs", 0, "") }},
	{"use io_uring", false, func(target) error {
		_, _, errno := syscall.RawSyscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return errnoErr(errno)
	}},
	{"load a BPF program", false, func(target) error {
		_, _, errno := syscall.RawSyscall(unix.SYS_BPF, 0, 0, 0)
		return errnoErr(errno)
	}},
	{"use the kernel's keys", false, func(target) error {
		_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING, 0, 0, 0)
		return err
	}},
	{"make a file of 5 GiB", false, func(target) error {
		signal.Ignore(syscall.SIGXFSZ) // it would end the process
		f, err := os.Create("large")
		if err != nil {
			return err
		}
		defer os.Remove("large")
		return errors.Join(f.Truncate(5<<30), f.Close())
	}},
	{"start any number of processes", false, func(target) error {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil {
			return err
		}
		if l.Max <= maxProcesses {
			return errors.New("it is limited")
		}
		return nil
	}},
	{"raise its limits", false, func(target) error {
		return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30})
	}},
}

// target is what the service protects, as an attacker would look for it.
type target struct {
	Key   string
	PID   int
	Redis string
}

func open(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func errnoErr(errno syscall.Errno) error {
	if errno == 0 || errno != unix.EPERM { // another error comes from the call itself
		return nil
	}
	return errno
}

// escape is the child of TestEscapes. It tries escapes on threads that existed before it was
// confined and on new ones. It returns those that succeeded, its environment and its open files
// as an error of its options. Without the layers it only tries those marked free.
func escape(confine func() Layers) {
	in := json.NewDecoder(os.Stdin)
	// Read before the process is confined, because nothing can be read afterwards.
	files, _ := os.ReadDir("/proc/self/fd")
	var inherited []string
	for _, f := range files {
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if n, _ := strconv.Atoi(f.Name()); err == nil && n > 2 {
			inherited = append(inherited, to)
		}
	}
	var out []string
	var trying sync.Mutex // one at a time: the attempts use the same names
	confined, request := make(chan struct{}), make(chan attempt, 1)
	try := func(thread string) {
		a := <-request
		request <- a
		trying.Lock()
		defer trying.Unlock()
		for _, e := range escapes {
			if (a.all || e.free) && e.try(a.target) == nil {
				out = append(out, thread+" thread: "+e.name)
			}
		}
	}
	var group sync.WaitGroup
	start := func(thread string) {
		ready := make(chan struct{})
		group.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the function
			close(ready)
			<-confined
			try(thread)
		})
		<-ready
	}
	for range 3 {
		start("old")
	}
	r, layers, err := begin(in, confine)
	if err != nil {
		panic(err)
	}
	a := attempt{all: layers.Seccomp}
	if err := json.Unmarshal([]byte(r.Options.Version), &a.target); err != nil {
		panic(err)
	}
	request <- a
	close(confined)
	start("new")
	group.Wait()

	if len(os.Environ()) > 0 {
		out = append(out, fmt.Sprintf("environment %q", os.Environ()))
	}
	for _, to := range inherited {
		if !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "anon_inode:") &&
			!strings.HasPrefix(to, "/sys/fs/cgroup/") {
			out = append(out, "open file "+to)
		}
	}
	for _, use := range []func() error{ // what an analysis needs
		func() error { return os.WriteFile("own", []byte("x"), 0o600) },
		func() error { _, err := os.ReadFile("own"); return err },
		func() error { return os.Remove("own") },
		func() error { _, err := os.ReadFile("../in/0"); return err },
	} {
		if err := use(); err != nil {
			out = append(out, "refused: "+err.Error())
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(&reply{Unusable: "done\n" + strings.Join(out, "\n")})
}

// attempt is what the threads of escape try.
type attempt struct {
	all    bool
	target target
}

// TestEscapes: every attempt is refused on every thread. Without the layers the attempts succeed
// as far as the user may make them.
func TestEscapes(t *testing.T) {
	if abi, err := ll.LandlockGetABIVersion(); err != nil || abi < 1 {
		t.Fatalf("this kernel has no Landlock, which the test needs: %v", err)
	}
	redis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	key := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(written) }) // by the process without the layers
	t.Setenv("WEBHOOK_SECRET", "hidden")
	// A descriptor that the parent of the service left open.
	leaked, err := unix.Open(key, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	want, err := json.Marshal(target{key, os.Getpid(), redis.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	succeeded := func(child string, namespaces bool) []string {
		r := runner(t, child)
		for _, file := range []string{"queue.db", Folder + "other/in/0"} {
			file = filepath.Join(r.Scratch, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r.noNamespaces.Store(!namespaces)
		artifact, err := os.Open(filepath.Join(r.Scratch, Folder+"other/in/0"))
		if err != nil {
			t.Fatal(err)
		}
		defer artifact.Close()
		inputs := []analyzer.Input{{Name: "a.so", Content: artifact, Size: 6}}
		_, _, err = r.Check(t.Context(), inputs, analyzer.Options{Version: string(want)}, nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "done\n") {
			t.Fatalf("%s, namespaces %v: the process ended: %v", child, namespaces, err)
		}
		return strings.Split(strings.TrimPrefix(err.Error(), "done\n"), "\n")
	}
	for _, namespaces := range []bool{true, false} {
		for _, line := range succeeded("escape", namespaces) {
			if line != "" {
				t.Errorf("namespaces %v: not refused: %s", namespaces, line)
			}
		}
	}
	found := succeeded("escape-free", false)
	for _, e := range escapes {
		for _, thread := range []string{"old", "new"} {
			if line := thread + " thread: " + e.name; e.free && !slices.Contains(found, line) {
				t.Errorf("refused without the layers, so that the test proves nothing: %s", line)
			}
		}
	}
}

// written is the file that one of escapes writes.
const written = "/tmp/compat-escape"

// TestThreads: a running analysis has no_new_privs and the filter on every thread.
func TestThreads(t *testing.T) {
	r := runner(t, "hang")
	r.Time = time.Minute
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = r.Check(t.Context(), nil, analyzer.Options{}, nil, nil)
	}()
	pid := 0
	wait(t, "the process", func() bool { pid = childOf(t, "hang"); return pid > 0 })
	wait(t, "the filter on each thread", func() bool {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(tasks) < 2 {
			return false
		}
		for _, file := range tasks {
			status, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") ||
				!strings.Contains(string(status), "Seccomp:\t2") {
				return false
			}
		}
		return true
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// childOf returns the child of this process with a last argument; 0 if there is none.
func childOf(t *testing.T, argument string) int {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	for _, file := range files {
		pids, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(pids)) {
			line, err := os.ReadFile("/proc/" + f + "/cmdline")
			if pid, convErr := strconv.Atoi(f); err == nil && convErr == nil &&
				strings.HasSuffix(string(line), "\x00"+argument+"\x00") {
				return pid
			}
		}
	}
	return 0
}

func TestLayers(t *testing.T) {
	l, err := runner(t, "analyze").Layers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if missing := l.Missing(); len(missing) > 0 {
		t.Errorf("missing on this machine: %v", missing)
	}
	if got := (Layers{Seccomp: true}).Missing(); len(got) != 4 {
		t.Errorf("missing: %v", got)
	}
	if _, err := runner(t, "die").Layers(t.Context()); !errors.As(err, new(*Failure)) {
		t.Errorf("a process that dies: %v", err)
	}
	left, err := os.ReadDir(t.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// withoutCalls are system calls that containers refuse, with the layers that are then missing.
var withoutCalls = map[string]struct {
	filter  seccomp.SyscallGroup
	missing []string
}{
	"landlock": {seccomp.SyscallGroup{Names: []string{"landlock_create_ruleset"}},
		[]string{"landlock"}},
	"seccomp": {seccomp.SyscallGroup{Names: []string{"seccomp"}}, []string{"seccomp"}},
	"namespaces": {seccomp.SyscallGroup{NamesWithCondtions: []seccomp.NameWithConditions{{
		Name: "clone",
		Conditions: seccomp.ArgumentConditions{
			{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_NEWUSER},
		},
	}}}, nil},
}

// lacking is the child of TestMissingLayers: it blocks system calls for itself, like a container,
// and prints the messages of the service.
func lacking() {
	group := withoutCalls[os.Getenv("WITHOUT")].filter
	group.Action = seccomp.ActionErrno
	if err := seccomp.LoadFilter(seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionAllow,
			Syscalls:      []seccomp.SyscallGroup{group},
		},
	}); err != nil {
		panic(err)
	}
	l, err := (&Runner{Command: []string{os.Args[0], "analyze"}}).Layers(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d %v %q %v", os.Getuid(), l.Namespaces, l.Missing(), l.Require())
}

// TestMissingLayers: in a container that refuses Landlock, seccomp or namespaces an analysis still
// runs, for root and for other users. Layers reports what is missing, and Require names it.
func TestMissingLayers(t *testing.T) {
	dir, err := os.MkdirTemp("", "compat-layers-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sandbox.test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, program, 0o755)); err != nil {
		t.Fatal(err)
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 65532)
	}
	for without, want := range withoutCalls {
		for _, user := range users {
			c := exec.Command(path, "lacking")
			c.Env, c.Dir = []string{"WITHOUT=" + without}, dir
			if user != os.Getuid() {
				id := uint32(user)
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
			}
			out, err := c.CombinedOutput()
			// Whether this machine allows namespaces, for example, is not tested.
			prefix, message, _ := strings.Cut(string(out), "] ")
			if err != nil || !strings.HasPrefix(prefix, fmt.Sprintf("%d ", user)) ||
				!strings.HasSuffix(prefix, strings.TrimSuffix(fmt.Sprintf(" %q", want.missing), "]")) ||
				without == "namespaces" && !strings.Contains(prefix, " false ") {
				t.Errorf("without %s, user %d: %v %s", without, user, err, out)
			}
			if refused := strings.Contains(message,
				"this system lacks "+without); refused != (want.missing != nil) {
				t.Errorf("without %s, user %d, required: %s", without, user, message)
			}
		}
	}
}

// TestHide: the service is not dumpable, which the kernel checks before it opens /proc/PID/environ,
// maps, mem and fd for another process of the user, or lets it be traced.
func TestHide(t *testing.T) {
	out, err := exec.Command("/proc/self/exe", "hidden").Output()
	if err != nil || string(out) != "dumpable: 0\n" {
		t.Errorf("%q %v", out, err)
	}
}

// hidden is the child of TestHide.
func hidden() {
	if err := Hide(); err != nil {
		panic(err)
	}
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("dumpable: %d\n", n)
}
