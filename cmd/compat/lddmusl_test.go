package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
)

// muslQuestions is how many questions testdata/musl.txt must ask musl's loader at least.
const muslQuestions = 120

var (
	muslFound     = regexp.MustCompile(`^\t(.*) => (.*) \((?:0x)?[0-9a-f]+\)$`)
	muslMissing   = regexp.MustCompile(`^Error loading shared library (.*): .*? \(needed by (.*)\)$`)
	muslUndefined = regexp.MustCompile(`^Error relocating (.*): (.*): symbol not found$`)
)

// TestMusl builds the objects of testdata/musl.txt with musl-gcc, each case in a root of its own, asks musl's loader in a chroot there as its ldd does
// (only the loader runs), and compares. Where musl-gcc isn't installed it is skipped; with CI=true in the environment it fails.
func TestMusl(t *testing.T) {
	const package_ = "the package musl-tools"
	loader, err := filepath.EvalSymlinks("/lib/ld-musl-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + ".so.1")
	if _, missing := exec.LookPath("musl-gcc"); err != nil || missing != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("musl-gcc is not installed, and in CI the loader's model is to be compared with musl: install " + package_)
		}
		t.Skip("musl-gcc is not installed; this test asks musl's loader: install " + package_)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "musl.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := 0
	t.Run("cases", func(t *testing.T) {
		for _, c := range strings.Split(string(text), "\n== ")[1:] {
			name, script, _ := strings.Cut(c, "\n")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m := newMuslRoot(t, loader)
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
	t.Logf("%d questions compared with musl's loader", asked)
	if asked < muslQuestions && !t.Failed() {
		t.Errorf("only %d questions were asked, not %d", asked, muslQuestions)
	}
}

// muslRoot is a folder with musl's loader in it.
type muslRoot struct {
	t      *testing.T
	dir    string
	loader string // its path in the root
	arch   string
	asked  int
}

func newMuslRoot(t *testing.T, loader string) *muslRoot {
	m := &muslRoot{t: t, dir: t.TempDir(), arch: map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]}
	m.loader = "/lib/ld-musl-" + m.arch + ".so.1"
	b, err := os.ReadFile(loader)
	m.check(err)
	m.write(m.loader[1:], b)
	return m
}

func (m *muslRoot) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *muslRoot) write(path string, b []byte) {
	m.check(os.MkdirAll(filepath.Join(m.dir, filepath.Dir(path)), 0o755))
	m.check(os.WriteFile(filepath.Join(m.dir, path), b, 0o755))
}

// do runs one line of a case. ARCH in it is musl's name of the architecture.
//
//	so PATH FLAGS... | CODE   a shared library, of C
//	exe PATH FLAGS... | CODE  a program
//	needs PATH NAME...        a shared library that needs libraries of these names and nothing else
//	text PATH TEXT            a file; \n is a new line
//	link PATH TARGET, hard PATH FILE, copy PATH FILE, dir PATH, rm PATH
//	put PATH OFFSET HEX       bytes of a file; cut PATH SIZE: its first bytes
//	dyn PATH TAG NEWTAG       another tag for an entry of the dynamic section
//	ldd [path=DIRS] [preload=LIST] FILE
func (m *muslRoot) do(line string) {
	m.t.Helper()
	line = strings.ReplaceAll(line, "ARCH", m.arch)
	words, code, _ := strings.Cut(line, " | ")
	w := strings.Fields(words)
	at := filepath.Join(m.dir, w[1])
	if w[0] != "ldd" {
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
	case "ldd":
		m.ask(w[1:])
	default:
		m.t.Fatalf("%s: no such command", line)
	}
}

func (m *muslRoot) compile(code string, args ...string) {
	m.t.Helper()
	language := "c"
	if code == "" {
		language = "assembler" // for nothing at all it needs no compiler
	}
	c := exec.Command("musl-gcc", append([]string{"-O0", "-fPIC", "-Wl,--no-as-needed", "-x", language, "-", "-x", "none"}, args...)...)
	if slices.Contains(args, "-shared") {
		c.Args = append(c.Args, "-nostdlib")
	}
	c.Dir, c.Stdin = m.dir, strings.NewReader(code)
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("musl-gcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (m *muslRoot) put(file, offset, hex string) {
	off, err := strconv.ParseInt(offset, 0, 64)
	m.check(err)
	b, err := os.ReadFile(file)
	m.check(err)
	for i := 0; i+2 <= len(hex); i += 2 {
		v, err := strconv.ParseUint(hex[i:i+2], 16, 8)
		m.check(err)
		b[int(off)+i/2] = byte(v)
	}
	m.check(os.WriteFile(file, b, 0o755))
}

// retag changes the tag of the first entry with that tag.
func (m *muslRoot) retag(file, old, tag string) {
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
				m.check(os.WriteFile(file, b, 0o755))
				return
			}
		}
	}
	m.t.Fatalf("%s has no dynamic tag %s", file, old)
}

func (m *muslRoot) ask(args []string) {
	m.t.Helper()
	var s dynlink.Settings
	var env []string
	for len(args) > 1 {
		k, v, _ := strings.Cut(args[0], "=")
		switch k {
		case "path":
			s.LibraryPath, env = v, append(env, "LD_LIBRARY_PATH="+v)
		case "preload":
			s.Preload, env = []string{v}, append(env, "LD_PRELOAD="+v)
		default:
			m.t.Fatalf("%s: no such setting", k)
		}
		args = args[1:]
	}
	m.asked++
	want := m.loaderSays(args[0], env)
	root, err := openRoot(m.dir)
	m.check(err)
	l := dynlink.NewLinker(root)
	for range 2 { // the second answer comes out of memory
		if got := m.compatSays(l.Resolve(args[0], s)); got != want {
			m.t.Errorf("ldd %s %s\nmusl says\n%s\ncompat says\n%s", strings.Join(env, " "), args[0], want, got)
		}
	}
}

// loaderSays is musl's answer, "gives up" where it does.
func (m *muslRoot) loaderSays(file string, env []string) string {
	c := exec.Command(m.loader, "--list", file)
	c.Env = append(env, "PATH=/")
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: m.dir}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		m.t.Fatalf("run musl's loader in a chroot (root or a user namespace is needed): %v", err)
	}
	if ended != nil && (!ended.Exited() || ended.ExitCode() != 127) {
		return "gives up"
	}
	var objects, rest []string
	for _, l := range strings.Split(out.String()+errs.String(), "\n") {
		if f := muslFound.FindStringSubmatch(l); f != nil {
			objects = append(objects, "object "+f[1]+" "+f[2])
		} else if f := muslMissing.FindStringSubmatch(l); f != nil {
			rest = append(rest, "missing "+f[1])
		} else if f := muslUndefined.FindStringSubmatch(l); f != nil {
			rest = append(rest, "undefined "+f[2]+" "+f[1])
		} else if strings.HasPrefix(l, "Error") {
			return "gives up"
		}
	}
	return strings.Join(objects, "\n") + "\n" + sorted(rest)
}

func (m *muslRoot) compatSays(a *dynlink.Answer) string {
	if a.Error != "" {
		return "gives up"
	}
	var objects, rest []string
	for _, o := range a.Objects {
		objects = append(objects, "object "+o.Name+" "+o.Path)
	}
	for _, n := range a.NotFound {
		rest = append(rest, "missing "+n.Name)
	}
	for _, u := range a.Undefined {
		rest = append(rest, "undefined "+u.Symbol+" "+u.Object)
	}
	for _, v := range a.MissingVersions {
		rest = append(rest, fmt.Sprint("version ", v))
	}
	return strings.Join(objects, "\n") + "\n" + sorted(rest)
}
