package elfobj_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

func TestText(t *testing.T) {
	for name, text := range texts {
		o := elftest.Object(t, text)
		again, err := elftest.Parse(elftest.Text(o))
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, elftest.Text(o))
			continue
		}
		if !equal(o, again) {
			t.Errorf("%s: Parse(Text) differs\n%#v\n%#v\n%s", name, o, again, elftest.Text(o))
		}
		if a, b := elftest.Text(o), elftest.Text(again); a != b {
			t.Errorf("%s: the canonical form is not canonical\n%s\n%s", name, a, b)
		}
	}
}

// TestCanonical checks the text form itself.
func TestCanonical(t *testing.T) {
	const want = `elf x86_64
soname libfoo.so.1
runpath $ORIGIN/../lib
needed libm.so.6
import pow@GLIBC_2.29 libm.so.6
import weak notype __gmon_start__
import dlopen
export foo@@V2 size=32
export foo@V1
flags now 0x100
execstack yes
comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
`
	if got := elftest.Text(elftest.Object(t, want)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParseImplies(t *testing.T) {
	o := elftest.Object(t, `
		# indented, with a comment and an empty line

		elf x86_64
		soname libnvJitLink.so.12
		import puts@GLIBC_2.2.5 libc.so.6
		import pow@GLIBC_2.29 libm.so.6
		import dlopen@GLIBC_2.34 libc.so.6
		export nvJitLinkCreate@@libnvJitLink.so.12
		verdef OWN
	`)
	needs := []elfobj.VersionNeed{
		{"libc.so.6", []elfobj.NeededVersion{{Name: "GLIBC_2.2.5"}, {Name: "GLIBC_2.34"}}},
		{"libm.so.6", []elfobj.NeededVersion{{Name: "GLIBC_2.29"}}},
	}
	defs := []elfobj.VersionDef{
		{Name: "libnvJitLink.so.12", Base: true},
		{Name: "OWN"},
		{Name: "libnvJitLink.so.12"},
	}
	if !reflect.DeepEqual(o.VersionNeeds, needs) || !reflect.DeepEqual(o.VersionDefs, defs) ||
		!o.HasVersym {
		t.Errorf("needs %v\ndefs %v\nversym %v", o.VersionNeeds, o.VersionDefs, o.HasVersym)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "the first one should be: elf x86_64"},
		{"needed libc.so.6", "line 1: the first line should be: elf ARCH"},
		{"elf x86-64", `line 1: unknown architecture "x86-64"; known architectures: x86_64,`},
		{"elf x86_64 shared", `"shared" is not one of dyn, exec`},
		{"elf x86_64\n\nelf x86_64", "line 3: a second elf line"},
		{"elf x86_64\nneeds libc.so.6", `line 2: unknown keyword "needs"`},
		{"elf x86_64\n# fine\nneeded", "line 3: a value is missing"},
		{"elf x86_64\nimport pow@GLIBC_2.29", "names the library of its version"},
		{"elf x86_64\nimport pow@@GLIBC_2.29 libm.so.6", "are for exports"},
		{"elf x86_64\nimport pow@ libm.so.6", "no version after @"},
		{"elf x86_64\nimport pow libm.so.6", `unexpected "libm.so.6"`},
		{"elf x86_64\nexport f@a@b", "NAME@@VERSION"},
		{"elf x86_64\nexport f 16", "only size=N"},
		{"elf x86_64\nexport weak unique f", "weak or unique"},
		{"elf x86_64\nverneed libc.so.6", "a library without a version"},
		{"elf x86_64\nexact\nexport f@@V", "no verneed or verdef line names the version of f@V"},
		{"elf x86_64\nflags nwo", `"nwo" is neither the name of a flag`},
		{"elf x86_64\nexecstack maybe", `"maybe" is not one of yes, no, unsaid`},
		{"elf x86_64\nsoname \"a", "does not end"},
		{"elf x86_64\nsoname \"a\\x00b\"", "a NUL byte"},
		{"elf x86_64\nbuild-id xy", "a build ID is"},
		{"elf x86_64\nabi-tag Linux", "is not an ABI tag"},
		{"elf x86_64\nsection .x 0", "odd length"},
		{"elf x86_64 static\nneeded libc.so.6", "no PT_DYNAMIC"},
		{"elf x86_64 rel\nbuild-id aa", "no program headers"},
	} {
		if _, err := elftest.Parse(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want an error that says %q", c.text, err, c.says)
		}
	}
}

func TestArch(t *testing.T) {
	for name, o := range elfobj.Archs() {
		var p elfobj.Object
		if err := p.SetArch(name); err != nil || o.Arch() != name || p.Machine != o.Machine ||
			p.Class != o.Class ||
			p.ByteOrder != o.ByteOrder {
			t.Errorf(
				"%s: Arch is %s, SetArch gives %v %d %s, %v",
				name,
				o.Arch(),
				p.Machine,
				p.Class,
				p.ByteOrder,
				err,
			)
		}
	}
}

func TestMachineJSON(t *testing.T) {
	for m, want := range map[elfobj.Machine]string{62: `"x86_64"`, 3: `"i686"`, 183: `"aarch64"`,
		40: `"armv7l"`, 0xfeed: `"0xfeed"`} {
		b, err := json.Marshal(m)
		if err != nil || string(b) != want {
			t.Errorf("%d: %s, %v", m, b, err)
		}
		var back elfobj.Machine
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Errorf("%s: %v, %v", b, back, err)
		}
	}
	var m elfobj.Machine
	if err := json.Unmarshal([]byte(`"z80"`), &m); err == nil ||
		!strings.Contains(fmt.Sprint(err), `"z80"`) {
		t.Errorf("z80: %v", err)
	}
}
