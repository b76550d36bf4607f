//go:build linux

package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/internal/test/needs"
)

// loaderCases compare a real loader with compat, for objects that are built for the test.
type loaderCases struct {
	file     string // below testdata
	libc     string // cases whose names start with another one and ":" are skipped
	compiler string
	install  string // package that contains the compiler
	loader   string // path of the loader
	// files of the machine that every root contains: path in the root -> path
	copies map[string]string
	least  int // minimum number of comparisons
	// real runs the loader in a chroot; compat formats compat's result in the same way
	real   func(m *loaderRoot, file string, env []string) string
	compat func(a *dynlink.Answer) string
}

// run builds the objects of each case in a separate root, runs the loader there (and nothing
// else), and compares. If the compiler is not installed the test is skipped; with CI=true in the
// environment it fails.
func (c loaderCases) run(t *testing.T) {
	needs.Program(t, c.compiler, c.install, "this test asks a real loader")
	text, err := os.ReadFile(filepath.Join("testdata", c.file))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := 0
	t.Run("cases", func(t *testing.T) {
		for _, story := range strings.Split(string(text), "\n== ")[1:] {
			name, script, _ := strings.Cut(story, "\n")
			if libc, _, ok := strings.Cut(name, ": "); ok && libc != c.libc {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := &loaderRoot{
					t:     t,
					cases: c,
					dir:   t.TempDir(),
					arch:  map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH],
				}
				for in, from := range c.copies {
					b, err := os.ReadFile(from)
					m.check(err)
					m.write(in, b)
				}
				for line := range strings.Lines(script) {
					if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
						m.do(line)
					}
				}
				if m.asked == 0 {
					t.Error("the case asks nothing")
				}
				mu.Lock()
				asked += m.asked
				mu.Unlock()
			})
		}
	})
	t.Logf("%d questions compared with %s", asked, c.loader)
	if asked < c.least && !t.Failed() {
		t.Errorf("only %d questions were asked, not %d", asked, c.least)
	}
}

// loaderRoot is a directory with a loader.
type loaderRoot struct {
	t     *testing.T
	cases loaderCases
	dir   string
	arch  string
	asked int
}

func (m *loaderRoot) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *loaderRoot) write(path string, b []byte) {
	m.check(os.MkdirAll(filepath.Join(m.dir, filepath.Dir(path)), 0o755))
	m.save(filepath.Join(m.dir, path), b)
}

// save writes a file while no process is being started. A new process has the file open for
// writing until it calls exec, and a file that is open for writing cannot be executed (ETXTBSY).
func (m *loaderRoot) save(file string, b []byte) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	m.check(os.WriteFile(file, b, 0o755))
}

// do runs one line of a case. ARCH is replaced by the name of the architecture.
//
//	so PATH FLAGS... | CODE   a shared library in C
//	exe PATH FLAGS... | CODE  a program
//	needs PATH NAME...        a shared library that only needs these libraries
//	text PATH TEXT            a file; \n is a newline
//	link PATH TARGET, hard PATH FILE, copy PATH FILE, dir PATH, rm PATH
//	put PATH OFFSET HEX       writes bytes of a file; cut PATH SIZE truncates it
//	cache                     /etc/ld.so.cache, by ldconfig
//	dyn PATH TAG NEWTAG       changes the tag of an entry of the dynamic section
//	ldd [path=DIRS] [preload=LIST] FILE
//	host PATH FLAGS... | CODE a program that runs the steps of "run"
//	caller PATH FLAGS... | CODE a library that calls dlopen for it
//	run [path=DIRS] [preload=LIST] FILE STEP...
func (m *loaderRoot) do(line string) {
	m.t.Helper()
	line = strings.ReplaceAll(line, "ARCH", m.arch)
	words, code, _ := strings.Cut(line, " | ")
	w := strings.Fields(words)
	at := m.dir
	if len(w) > 1 && w[0] != "ldd" && w[0] != "run" {
		at = filepath.Join(m.dir, w[1])
		m.check(os.MkdirAll(filepath.Dir(at), 0o755))
	}
	switch w[0] {
	case "so":
		m.compile(code, append([]string{"-shared", "-o", w[1]}, w[2:]...)...)
	case "exe":
		m.compile(code, append([]string{"-o", w[1]}, w[2:]...)...)
	case "needs":
		args := []string{"-shared", "-o", w[1]}
		for _, name := range w[2:] {
			stub := filepath.Join("stubs", strings.ReplaceAll(name, "/", "_"))
			m.check(os.MkdirAll(filepath.Join(m.dir, "stubs"), 0o755))
			m.compile("", "-shared", "-Wl,-soname,"+name, "-o", stub)
			args = append(args, stub)
		}
		m.compile("", args...)
		m.check(os.RemoveAll(filepath.Join(m.dir, "stubs")))
	case "text":
		m.write(w[1], []byte(strings.ReplaceAll(strings.Join(w[2:], " "), `\n`, "\n")))
	case "link":
		m.check(os.Symlink(w[2], at))
	case "hard":
		m.check(os.Link(filepath.Join(m.dir, w[2]), at))
	case "copy":
		b, err := os.ReadFile(filepath.Join(m.dir, w[2]))
		m.check(err)
		m.write(w[1], b)
	case "dir":
		m.check(os.MkdirAll(at, 0o755))
	case "rm":
		m.check(os.RemoveAll(at))
	case "cut":
		n, err := strconv.ParseInt(w[2], 0, 64)
		m.check(err)
		m.check(os.Truncate(at, n))
	case "put":
		m.put(at, w[2], w[3])
	case "dyn":
		m.retag(at, w[2], w[3])
	case "cache":
		m.check(os.MkdirAll(filepath.Join(m.dir, "etc"), 0o755))
		if out, err := exec.Command("/sbin/ldconfig", "-X", "-r", m.dir).CombinedOutput(); err != nil {
			m.t.Fatalf("ldconfig: %v\n%s", err, out)
		}
	case "host":
		m.compile(hostCode+code, append([]string{"-o", w[1]}, w[2:]...)...)
	case "caller":
		m.compile(callerCode+code, append([]string{"-shared", "-o", w[1]}, w[2:]...)...)
	case "ldd":
		m.ask(w[1:])
	case "run":
		m.open(w[1:])
	default:
		m.t.Fatalf("%s: no such command", line)
	}
}

func (m *loaderRoot) compile(code string, args ...string) {
	m.t.Helper()
	language := "c"
	if code == "" {
		language = "assembler" // an empty source needs no compiler
	}
	c := exec.Command(
		m.cases.compiler,
		append(
			[]string{"-O0", "-fPIC", "-Wl,--no-as-needed", "-x", language, "-", "-x", "none"},
			args...)...)
	if slices.Contains(args, "-shared") {
		c.Args = append(c.Args, "-nostdlib")
	}
	c.Dir, c.Stdin = m.dir, strings.NewReader(code)
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
}

func (m *loaderRoot) put(file, offset, hex string) {
	off, err := strconv.ParseInt(offset, 0, 64)
	m.check(err)
	b, err := os.ReadFile(file)
	m.check(err)
	for i := 0; i+2 <= len(hex); i += 2 {
		v, err := strconv.ParseUint(hex[i:i+2], 16, 8)
		m.check(err)
		b[int(off)+i/2] = byte(v)
	}
	m.save(file, b)
}

// retag changes the tag of the first entry with a tag.
func (m *loaderRoot) retag(file, old, tag string) {
	from, err := strconv.ParseUint(old, 0, 64)
	m.check(err)
	to, err := strconv.ParseUint(tag, 0, 64)
	m.check(err)
	b, err := os.ReadFile(file)
	m.check(err)
	phoff, n := binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint16(b[56:])
	for i := range uint64(n) {
		p := b[phoff+56*i:]
		if binary.LittleEndian.Uint32(p) != 2 {
			continue
		}
		for d := b[binary.LittleEndian.Uint64(p[8:]):]; binary.LittleEndian.Uint64(d) != 0; d = d[16:] {
			if binary.LittleEndian.Uint64(d) == from {
				binary.LittleEndian.PutUint64(d, to)
				m.save(file, b)
				return
			}
		}
	}
	m.t.Fatalf("%s has no dynamic tag %s", file, old)
}

// settings parses the arguments before FILE.
func (m *loaderRoot) settings(args []string) (s dynlink.Settings, env, rest []string) {
	for ; len(args) > 1; args = args[1:] {
		k, v, _ := strings.Cut(args[0], "=")
		switch k {
		case "path":
			s.LibraryPath, env = v, append(env, "LD_LIBRARY_PATH="+v)
		case "preload":
			s.Preload, env = []string{v}, append(env, "LD_PRELOAD="+v)
		default:
			return s, env, args
		}
	}
	return s, env, args
}

func (m *loaderRoot) ask(args []string) {
	m.t.Helper()
	s, env, args := m.settings(args)
	m.asked++
	want := m.cases.real(m, args[0], env)
	root, err := openRoot(m.dir)
	m.check(err)
	l := dynlink.NewLinker(root)
	for range 2 { // the second result is cached
		if got := m.cases.compat(l.Resolve(args[0], s)); got != want {
			m.t.Errorf(
				"ldd %s %s\nthe loader says\n%s\ncompat says\n%s",
				strings.Join(env, " "),
				args[0],
				want,
				got,
			)
		}
	}
}

// command returns a command that runs a program in a chroot of the root.
func (m *loaderRoot) command(env []string, args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.Dir = append(env, "PATH=/"), "/"
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: m.dir}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{
			{ContainerID: 0, HostID: os.Geteuid(), Size: 1},
		}
	}
	return c
}
