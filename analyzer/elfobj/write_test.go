package elfobj_test

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// texts are objects that together use every line of the text form.
var texts = map[string]string{
	"library": `
elf x86_64
soname libfoo.so.1
runpath $ORIGIN/../lib
needed libm.so.6
needed libc.so.6
import pow@GLIBC_2.29 libm.so.6
import object environ@GLIBC_2.2.5 libc.so.6
import weak notype __gmon_start__
import dlopen
export init
export foo@@V2 size=32
export foo@V1
export object table size=4096
export unique object _ZGVZ1fvE1x size=8
export tls counter size=4
export ifunc fast
export object V2@@V2
verdef V2 V1
comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
comment clang version 18
build-id 00112233445566778899aabbccddeeff00112233
section .nv_fatbin 50ed55ba 0100 1000 0000000000000000
`,
	"bare": "elf x86_64\n",
	"headerless": "elf x86_64\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\nexport " +
		"f\nno-sections\n",
	"no exports": "elf x86_64\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\n",
	"aarch64": "elf aarch64\nsoname libfoo.so.1\nneeded libc.so.6\nimport dlopen@GLIBC_2.34 " +
		"libc.so.6\nimport weak _ITM_registerTMCloneTable\nexport f@@V\nflags symbolic now\nflags_1 " +
		"now nodelete\n",
	"program": `elf x86_64 exec
interp /lib64/ld-linux-x86-64.so.2
needed libc.so.6
import exit@GLIBC_2.2.5 libc.so.6
export object stdout
abi-tag Linux 3.2.0
osabi 3
`,
	"v3":        "elf x86_64\nisa 0x4\nisa-used 0x6\nguards ibt shstk\nabi-tag Linux 3.2.0\nexport f\n",
	"protected": "elf aarch64\nguards bti pac gcs\nexport f\n",
	"landing":   "elf riscv64\nguards zicfilp zicfiss\nbuild-id 00\n",
	"go":        "elf x86_64 exec static\ngo-build-id\n",
	"openbsd":   "elf x86_64\nsystem OpenBSD\n",
	"relocated": `elf x86_64
needed libc.so.6
import puts@GLIBC_2.2.5 libc.so.6 by=jump-slot
import both@GLIBC_2.2.5 libc.so.6 by=jump-slot,glob-dat
import object environ by=word
import unused by=none
import tls errno by=tls-gd
import tls errno2 by=tls-ie,tls-desc
export own by=jump-slot
export object table size=24 by=word,glob-dat
export tls counter size=4 by=tls-gd
relocs tls-gd,tls-ie,relative,irelative
`,
	"copies": "elf x86_64 exec\ninterp /lib64/ld-linux-x86-64.so.2\nneeded libc.so.6\nexport " +
		"object stdin size=8 by=copy\nexport object stdout size=8 by=copy\n",
	"lazy arm": "elf armv7l\nneeded libc.so.6\nimport puts by=jump-slot\nimport plain " +
		"by=word\nrelocs irelative\n",
	"lazy 390":   "elf s390x\nneeded libc.so.6\nimport puts by=jump-slot\nimport tls e by=tls-ie\n",
	"hard float": "elf armv7l\ne-flags 0x5000400\nexport f\n",
	"pie":        "elf x86_64\ninterp /lib64/ld-linux-x86-64.so.2\nneeded libc.so.6\nflags_1 pie\n",
	"static":     "elf x86_64 exec static\nbuild-id abcd\n",
	"relocation": "elf x86_64 rel\ncomment GCC: 12\n",
	"odd stack": "elf x86_64\nexecstack yes\nrpath /opt/lib\nflags textrel static-tls " +
		"0x100\nrelr\nexport relocated\n",
	"no stack": "elf riscv64\nexecstack unsaid\nsoname libx.so\nexport a\nexport b\n",
	"weak nodes": "elf x86_64\nsoname l\nverneed libc.so.6 GLIBC_2.2.5 weak GLIBC_2.99\nimport " +
		"a@GLIBC_2.2.5 libc.so.6\nimport own@V -\nexport b\n",
	"exact": "elf x86_64\nexact\nverneed libc.so.6 A\nverneed libc.so.6 B\nverdef base " +
		"weak\nverdef V\nimport x@B libc.so.6\nexport copied@@A\nexport y@@V\n",
	"names": "elf x86_64\nsoname \"lib\\na\\x1b.so\"\nneeded \"\\xff@x \"\nexport " +
		"\"a@b\"\nexport \"weak\"\nexport \"\"\nexport weak func\nexport weak weak object \"0x7\"@@\"a " +
		"b\"\nimport unüblich\n",
	"i686": "elf i686\nsoname libx.so\nneeded libc.so.6\nimport puts@GLIBC_2.0 " +
		"libc.so.6\nexport f size=5\n",
	"armv7l": "elf armv7l\nneeded libc.so.6\nimport puts@GLIBC_2.4 libc.so.6\nexport f@@V " +
		"size=5\n",
	"ppc64le": "elf ppc64le\nneeded libc.so.6\nimport puts@GLIBC_2.17 libc.so.6\nexport f@V " +
		"size=5\n",
	"ppc64":    "elf ppc64\nneeded libc.so.6\nimport puts@GLIBC_2.3 libc.so.6\n",
	"s390x":    "elf s390x\nneeded libc.so.6\nimport puts@GLIBC_2.2 libc.so.6\nexport f\n",
	"mips":     "elf mips\nneeded libc.so.6\nimport puts@GLIBC_2.0 libc.so.6\nexport f\n",
	"mips64el": "elf mips64el\nneeded libc.so.6\nimport puts@GLIBC_2.0 libc.so.6\n",
	"loongarch": "elf loongarch64\nneeded libc.so.6\nimport puts@GLIBC_2.36 libc.so.6\nexport f@@V " +
		"size=5\n",
	"android": "elf aarch64\nneeded libc.so\nandroid 24\nmax-page 0x4000\nexport f\n",
	"unknown": "elf 0xfeed-64-big\nneeded libc.so.6\nimport puts@GLIBC_2.0 libc.so.6\nexport 0xd f\n",
}

// equal compares two objects, whose names may have different numbers.
func equal(a, b *elfobj.Object) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Imports, x.Exports, y.Imports, y.Exports = nil, nil, nil, nil
	return reflect.DeepEqual(&x, &y) && slices.Equal(a.Imports.List(), b.Imports.List()) &&
		a.Exports.Equal(b.Exports)
}

// same compares two objects except for the offsets of their sections.
func same(t testing.TB, got, want *elfobj.Object) {
	t.Helper()
	g, w := *got, *want
	g.Sections, w.Sections = nil, nil
	if !equal(&g, &w) {
		t.Errorf(
			"objects differ\ngot  %#v\nwant %#v\ngot text:\n%swant text:\n%s",
			&g,
			&w,
			elftest.Text(&g),
			elftest.Text(&w),
		)
	}
}

func TestWriteRead(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			want := elftest.Object(t, text)
			b, err := elftest.Write(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
			for _, s := range want.Sections {
				i := slices.IndexFunc(got.Sections, func(g elfobj.Section) bool { return g.Name == s.Name })
				if i < 0 ||
					!bytes.Equal(b[got.Sections[i].Offset:][:got.Sections[i].Size], s.Data) {
					t.Errorf("section %s is not in the file", s.Name)
				}
			}
			if !want.NoSections { // debug/elf reads nothing else
				agree(t, b, got)
			}
		})
	}
}

// TestReadWithoutSections checks that Read, like the loader, does not need section headers.
func TestReadWithoutSections(t *testing.T) {
	for name, text := range texts {
		want := elftest.Object(t, text)
		if want.Type == "ET_REL" {
			continue
		}
		b, err := elftest.Write(want)
		if err != nil {
			t.Fatal(name, err)
		}
		clear(b[shoffAt(want):][:want.Class/8])
		got, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(name, err)
		}
		if got.Sections != nil {
			t.Error(name, "sections were read without a section header table")
		}
		want.Comment, want.NoSections = nil, true
		same(t, got, want)
	}
}

// shoffAt returns the offset of e_shoff.
func shoffAt(o *elfobj.Object) int {
	if o.Class == 32 {
		return 32
	}
	return 40
}

// TestReadelf checks that binutils reads the output of Write without a warning.
func TestReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Logf("no readelf on this machine (%v): debug/elf alone judges the files of Write", err)
		return
	}
	for name, text := range texts {
		b := elftest.File(t, text)
		file := filepath.Join(t.TempDir(), "a.so")
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(readelf, "-aW", "-D", file).CombinedOutput()
		if s := strings.ToLower(string(out)); err != nil || strings.Contains(s, "warning") ||
			strings.Contains(s, "error:") {
			t.Errorf("%s: readelf %v\n%s", name, err, out)
		}
		out, err = exec.Command(readelf, "-aW", file).CombinedOutput()
		if s := strings.ToLower(string(out)); err != nil || strings.Contains(s, "warning") ||
			strings.Contains(s, "error:") {
			t.Errorf("%s: readelf %v\n%s", name, err, out)
		}
	}
}

func TestWriteByHand(t *testing.T) {
	b, err := elftest.Write(
		&elfobj.Object{
			SONAME: "libx.so",
			Imports: elfobj.NewImports(
				elfobj.Import{Name: "pow", Version: "GLIBC_2.29", Library: "libm.so.6", Kind: elfobj.Func},
			),
			Exports: elfobj.NewExports(elfobj.Export{Name: "f", Version: "V1", Kind: elfobj.Func}),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	same(
		t,
		got,
		elftest.Object(t, "elf x86_64\nsoname libx.so\nimport pow@GLIBC_2.29 libm.so.6\nexport f@@V1\n"),
	)
}

func TestWriteRefuses(t *testing.T) {
	for want, o := range map[string]*elfobj.Object{
		"no version record": {VersionNeeds: []elfobj.VersionNeed{{"libc.so.6",
			[]elfobj.NeededVersion{{Name: "A"}}}}, Imports: elfobj.NewImports(elfobj.Import{Name: "f",
			Version: "B", Library: "libc.so.6"})},
		"NUL byte": {SONAME: "a\x00b"},
		"class 16": {Class: 16, ByteOrder: "little"},
		"type":     {Type: "ET_NONE"},
		"build ID": {BuildID: "xyz"},
	} {
		if _, err := elftest.Write(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

// agree checks that debug/elf, which reads section headers, has the same result.
func agree(t testing.TB, b []byte, o *elfobj.Object) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Errorf("debug/elf: %v", err)
		return
	}
	compare(t, f, o)
}
