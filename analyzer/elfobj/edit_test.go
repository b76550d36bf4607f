package elfobj_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

func read(t *testing.T, b []byte) *elfobj.Object {
	t.Helper()
	o, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// An edited object differs from the original only in what was edited, for each class and machine,
// and a second edit of the result works as well.
func TestEdit(t *testing.T) {
	for _, machine := range []string{"x86_64", "i686", "aarch64", "s390x", "ppc64le", "armv7l"} {
		text := "elf " + machine + "\nsoname libfoo.so.1\nrunpath /build/lib\nneeded /b/libbar.so.2\n" +
			"needed libm.so.6\nneeded libc.so.6\nimport pow@GLIBC_2.29 libm.so.6\n" +
			"import bar@BAR_1 /b/libbar.so.2\nexport foo\nexecstack yes\n"
		b := elftest.File(t, text)
		want := read(t, b)
		out, err := elfobj.Edit{
			RunPath: "$ORIGIN/../lib", SONAME: "libfoo-1.so",
			Replace: map[string]string{"/b/libbar.so.2": "libbar.so.2"},
			Add:     []string{"libdl.so.2", "libm.so.6"}, NoExecStack: true,
		}.Apply(b)
		if err != nil {
			t.Fatalf("%s: %v", machine, err)
		}
		got := read(t, out)
		needed := []string{"libbar.so.2", "libm.so.6", "libc.so.6", "libdl.so.2"}
		if !slices.Equal(got.Needed, needed) {
			t.Errorf("%s: needs %q, want %q", machine, got.Needed, needed)
		}
		if got.RunPath != "$ORIGIN/../lib" || got.SONAME != "libfoo-1.so" || got.ExecStack != "no" {
			t.Errorf("%s: %q %q %q", machine, got.RunPath, got.SONAME, got.ExecStack)
		}
		if !strings.Contains(elftest.Text(got), "import bar@BAR_1 libbar.so.2\n") {
			t.Errorf("%s: the version has the library of before:\n%s", machine, elftest.Text(got))
		}
		back, err := elfobj.Edit{RunPath: "/build/lib", SONAME: "libfoo.so.1",
			Replace: map[string]string{"libbar.so.2": "/b/libbar.so.2"}, Remove: []string{"libdl.so.2"},
		}.Apply(out)
		if err != nil {
			t.Fatalf("%s: %v", machine, err)
		}
		again := read(t, back)
		again.ExecStack = want.ExecStack
		if a, b := elftest.Text(again), elftest.Text(want); a != b {
			t.Errorf("%s: got\n%s\nwant\n%s", machine, a, b)
		}
	}
}

// Programs keep what they are, also if the path of the interpreter needs more room.
func TestEditProgram(t *testing.T) {
	b := elftest.File(t, "elf x86_64 exec\ninterp /nix/store/a/ld.so\nneeded libc.so.6\n"+
		"import exit@GLIBC_2.2.5 libc.so.6\n")
	for _, to := range []string{"/lib/ld.so", "/lib64/a/very/long/folder/ld-linux-x86-64.so.2"} {
		out, err := elfobj.Edit{Interp: to}.Apply(b)
		if err != nil {
			t.Fatal(err)
		}
		got, want := read(t, out), read(t, b)
		if got.Interp != to {
			t.Errorf("interpreter %q, want %q", got.Interp, to)
		}
		got.Interp = want.Interp
		if !reflect.DeepEqual(elftest.Text(got), elftest.Text(want)) {
			t.Errorf("got\n%s", elftest.Text(got))
		}
	}
}

// A missing PT_GNU_STACK is added.
func TestEditAddsStackHeader(t *testing.T) {
	unsaid := elftest.File(t, "elf x86_64\nexport f\nexecstack unsaid\n")
	out, err := elfobj.Edit{NoExecStack: true}.Apply(unsaid)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, out).ExecStack; got != "no" {
		t.Errorf("stack %q", got)
	}
}

// Nothing is written for an edit that the loader would refuse, and an edit that changes nothing
// returns the same bytes.
func TestEditRefuses(t *testing.T) {
	b := elftest.File(t, "elf x86_64\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\n")
	_, err := elfobj.Edit{Remove: []string{"libc.so.6"}}.Apply(b)
	if !errors.Is(err, elfobj.ErrEdit) {
		t.Errorf("a library with versions was removed: %v", err)
	}
	if _, err := (elfobj.Edit{Interp: "/lib/ld.so"}).Apply(b); !errors.Is(err, elfobj.ErrEdit) {
		t.Errorf("a library got an interpreter: %v", err)
	}
	out, err := elfobj.Edit{Add: []string{"libc.so.6"}}.Apply(b)
	if err != nil || !bytes.Equal(out, b) {
		t.Errorf("an entry that exists was added: %v", err)
	}
	for n := range len(b) {
		out, err := elfobj.Edit{RunPath: "$ORIGIN"}.Apply(b[:n])
		if err == nil && len(out) < n {
			t.Errorf("the first %d bytes lost some", n)
		}
	}
}

// FuzzEdit checks that an edit of any bytes is refused or gives an object with the edit, and that
// it does not need much more memory than the file.
func FuzzEdit(f *testing.F) {
	for _, text := range texts {
		if o, err := elftest.Parse(text); err == nil {
			if b, err := elftest.Write(o); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := elfobj.Edit{RunPath: "$ORIGIN/x", NoExecStack: true}.Apply(b)
		if err != nil {
			return
		}
		before, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		after, err := elfobj.Read(bytes.NewReader(out), int64(len(out)))
		if err == nil && after.RunPath != "$ORIGIN/x" && before.Needed != nil {
			t.Errorf("the run path is %q", after.RunPath)
		}
	})
}
