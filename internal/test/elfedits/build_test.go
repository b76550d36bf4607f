package elfedits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is what objects are built for.
type machine struct {
	target  string // of clang
	mode    string // of the linkers: -m
	libc    string // the oldest version of the C library
	dlopen  string // the version of dlopen
	folder  string // of the libraries of a Debian root, with the loader
	loader  string
	emulate string // program that runs it; "" if this machine does
}

var machines = []machine{
	{"x86_64-linux-gnu", "elf_x86_64", "GLIBC_2.2.5", "GLIBC_2.2.5",
		"usr/lib/x86_64-linux-gnu", "ld-linux-x86-64.so.2", ""},
	{"i686-linux-gnu", "elf_i386", "GLIBC_2.0", "GLIBC_2.1",
		"usr/lib/i386-linux-gnu", "ld-linux.so.2", ""},
	{"aarch64-linux-gnu", "aarch64linux", "GLIBC_2.17", "GLIBC_2.17",
		"usr/lib/aarch64-linux-gnu", "ld-linux-aarch64.so.1", "qemu-aarch64"},
}

// linker is a linker and the options that change the layout of a file.
type linker struct {
	program string
	foreign bool // links for all machines
	layouts []string
}

var linkers = []linker{
	{"ld.bfd", false, []string{"-z relro -z now", "-z norelro", "-z noseparate-code",
		"-z max-page-size=0x200000 --hash-style=both", "--hash-style=sysv -z now -s"}},
	{"ld.lld-19", true, []string{"-z relro -z now", "-z norelro", "--no-rosegment",
		"-z max-page-size=0x10000 -z separate-loadable-segments", "--hash-style=sysv -s"}},
	{"mold", true, []string{"-z relro -z now", "-z norelro", "-z noseparate-code",
		"-z separate-loadable-segments", "--hash-style=both -s"}},
	{"ld.gold", false, []string{"-z relro -z now", "-z norelro", "--hash-style=sysv",
		"--no-rosegment -s"}},
}

// sources are the parts of the experiment. The C library is declared, so that no header is needed:
// the objects are built for machines whose files are not installed.
const (
	// library is edited: it needs liba.so.1 and libb.so.1, has relocations of each kind, a
	// constructor and a thread-local variable. t is 1000 after the constructor, plus 70, plus what a
	// and b return.
	library = `
extern int a(void);
extern int b(void) __attribute__((weak));
static int (*table[])(void) = {a, b};
static __thread int local = 70;
static int ready;
__attribute__((constructor)) static void start(void) { ready = 1000; }
__attribute__((noinline)) int *address(void) { return &local; }
int t(void) { return ready + *address() + table[0]() + (table[1] ? table[1]() : 0); }
`
	// program is edited too.
	program = library + `
int printf(const char *, ...);
void exit(int);
#if defined(__x86_64__) || defined(__i386__)
__attribute__((force_align_arg_pointer))
#endif
void _start(void) { printf("t %d\n", t()); exit(0); }
`
	// probe opens the file that is its last argument, and says what happened, which of some names
	// the file has, and what may be done with the stack.
	probe = `
int printf(const char *, ...);
int open(const char *, int, ...);
long read(int, void *, unsigned long);
void *memchr(const void *, int, unsigned long);
int memcmp(const void *, const void *, unsigned long);
void exit(int);
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
char *dlerror(void);
static char text[65536];
static long all(const char *path) {
	int f = open(path, 0);
	long n = 0, more;
	while ((more = read(f, text + n, sizeof text - 1 - n)) > 0) n += more;
	text[n] = 0;
	return n;
}
static char path[4096];
static const char *names[] = {"libt.so.1", "libnew.so.2", "libwith-a-rather-long-name.so.1", 0};
#if defined(__x86_64__) || defined(__i386__)
__attribute__((force_align_arg_pointer))
#endif
void _start(void) {
	long n = all("/proc/self/cmdline"), at = n - 1;
	while (at > 0 && text[at - 1]) at--;
	for (long i = at; i < n; i++) path[i - at] = text[i];
	void *file = dlopen(path, 2);
	if (!file) printf("error %s\n", dlerror());
	else {
		int (*t)(void) = (int (*)(void))dlsym(file, "t");
		printf("t %d\n", t ? t() : -1);
	}
	for (int i = 0; names[i]; i++) printf("%s %d\n", names[i], dlopen(names[i], 2 | 4) != 0);
	n = all("/proc/self/maps");
	for (long i = 0, line = 0; i < n; i++) {
		if (text[i] != '\n') continue;
		if (i - line > 7 && !memcmp(text + i - 7, "[stack]", 7)) {
			char *flags = memchr(text + line, ' ', i - line);
			printf("stack %.3s\n", flags + 1);
		}
		line = i + 1;
	}
	exit(0);
}
`
)

// builder compiles and links in a folder.
type builder struct {
	t   testing.TB
	dir string
	machine
}

func (b *builder) run(name string, args ...string) {
	b.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// path is that of a file in the folder, which is made.
func (b *builder) path(name string) string {
	p := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// compile returns the path of an object file.
func (b *builder) compile(name, source string, flags ...string) string {
	b.t.Helper()
	c, o := b.path(name+".c"), b.path(name+".o")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.run("clang", append([]string{"--target=" + b.target, "-O1", "-w", "-fno-builtin",
		"-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-c", "-o", o, c}, flags...)...)
	return o
}

// stub links a library that has functions with a version, for programs to be linked with.
func (b *builder) stub(file, version string, functions ...string) string {
	b.t.Helper()
	var source strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&source, "void %s(void) {}\n", f)
	}
	return b.shared("stubs/"+file, "ld.lld-19", b.compile("stubs/"+file, source.String(), "-fPIC"),
		"-soname", file, "--version-script="+b.script(version))
}

// script is a file that gives all symbols a version.
func (b *builder) script(version string) string {
	p := b.path(version + ".map")
	if err := os.WriteFile(p, []byte(version+" { *; };\n"), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// shared links a library.
func (b *builder) shared(file, linker, object string, args ...string) string {
	b.t.Helper()
	out := b.path(file)
	b.run(linker, append([]string{"-m", b.mode, "-shared", "-o", out, object}, args...)...)
	return out
}

// provider links a library whose function returns a number.
func (b *builder) provider(file, soname, function string, number int, args ...string) string {
	b.t.Helper()
	object := b.compile(file, fmt.Sprintf("int %s(void) { return %d; }\n", function, number), "-fPIC")
	return b.shared(file, "ld.lld-19", object, append(args, "-soname", soname)...)
}
