package elfobj_test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// compareRelocs checks the relocation kinds of every symbol against those in debug/elf's
// relocation sections.
func compareRelocs(t *testing.T, f *elf.File, o *elfobj.Object) {
	t.Helper()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return
	}
	way := map[elf.R_X86_64]elfobj.Relocs{
		elf.R_X86_64_JMP_SLOT:  elfobj.RelocJumpSlot,
		elf.R_X86_64_GLOB_DAT:  elfobj.RelocGlobDat,
		elf.R_X86_64_64:        elfobj.RelocWord,
		elf.R_X86_64_COPY:      elfobj.RelocCopy,
		elf.R_X86_64_DTPMOD64:  elfobj.RelocTLSGD,
		elf.R_X86_64_DTPOFF64:  elfobj.RelocTLSGD,
		elf.R_X86_64_TPOFF64:   elfobj.RelocTLSIE,
		elf.R_X86_64_TLSDESC:   elfobj.RelocTLSDesc,
		elf.R_X86_64_RELATIVE:  elfobj.RelocRelative,
		elf.R_X86_64_IRELATIVE: elfobj.RelocIRelative,
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		return
	}
	want := make([]elfobj.Relocs, len(syms)+1)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		for ; len(b) >= 24; b = b[24:] {
			info := f.ByteOrder.Uint64(b[8:])
			w, ok := way[elf.R_X86_64(info&0xffffffff)]
			if !ok {
				t.Logf("%v is not compared", elf.R_X86_64(info&0xffffffff))
				return
			}
			want[info>>32] |= w
		}
	}
	if want[0] != o.Local {
		t.Errorf("relocations without a symbol are %s, debug/elf has %s", o.Local, want[0])
	}
	imports, exports := 0, 0
	for i, s := range syms {
		vis := elf.ST_VISIBILITY(s.Other)
		if bind := elf.ST_BIND(s.Info); bind == elf.STB_LOCAL || bind > elfobj.BindUnique ||
			vis == elf.STV_HIDDEN ||
			vis == elf.STV_INTERNAL {
			continue
		}
		if s.Section != elf.SHN_UNDEF {
			if got := o.Exports.At(exports).Relocs; got != want[i+1] {
				t.Errorf("export %s is used by %q, debug/elf has %q", s.Name, got, want[i+1])
			}
			exports++
			continue
		}
		w := want[i+1]
		if w == 0 {
			w = elfobj.RelocNone
		}
		if got := o.Imports.At(imports).Relocs; got != w {
			t.Errorf("import %s is used by %q, debug/elf has %q", s.Name, got, w)
		}
		imports++
	}
}

// patched is a file with some of its bytes replaced.
type patched struct {
	io.ReaderAt
	at    int64
	bytes []byte
}

func (p patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, off)
	for i, c := range p.bytes {
		if at := p.at + int64(i) - off; at >= 0 && at < int64(n) {
			b[at] = c
		}
	}
	return n, err
}

// TestFactsWithoutSections compares libraries and programs of this machine with copies without
// section headers.
func TestFactsWithoutSections(t *testing.T) {
	compared := 0
	for _, file := range systemLibraries(t, 120) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := elfobj.Read(f, st.Size())
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		bare, err := elfobj.Read(patched{f, int64(shoffAt(whole)), make([]byte, whole.Class/8)},
			st.Size())
		if err != nil {
			t.Fatalf("%s without section headers: %v", file, err)
		}
		f.Close()
		if bare.Sections != nil {
			t.Errorf("%s: sections were read without section headers", file)
		}
		whole.Comment, whole.NoSections = nil, true
		same(t, bare, whole)
		compared++
	}
	t.Logf("%d objects compared", compared)
}

// TestRelocsOnEveryMachine writes and reads each kind of relocation on each machine that has it.
func TestRelocsOnEveryMachine(t *testing.T) {
	written := 0
	for name, a := range elfobj.Archs() {
		for way := elfobj.RelocJumpSlot; way < elfobj.RelocOther; way <<= 1 {
			o := &elfobj.Object{
				Class:     a.Class,
				ByteOrder: a.ByteOrder,
				Machine:   a.Machine,
				Type:      "ET_DYN",
				Dynamic:   true,
				ExecStack: "no",
				Interp:    "/ld.so",
			}
			switch way {
			case elfobj.RelocRelative, elfobj.RelocIRelative:
				o.Local = way
			case elfobj.RelocCopy:
				o.Exports = elfobj.NewExports(elfobj.Export{Name: "e", Kind: elfobj.Data, Size: 8, Relocs: way})
			default:
				o.Imports = elfobj.NewImports(elfobj.Import{Name: "i", Kind: elfobj.Func, Relocs: way})
			}
			b, err := elftest.Write(o)
			if err != nil {
				continue // the machine has no such relocation
			}
			written++
			got, err := elfobj.Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(name, way, err)
			}
			same(t, got, elftest.Object(t, elftest.Text(o)))
		}
	}
	if written < 60 {
		t.Errorf("Write knows only %d relocations", written)
	}
}

func TestRelocsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"elf x86_64\nimport f by=copy":                "needs a definition",
		"elf mips\nimport f by=jump-slot":             "knows no type on mips",
		"elf x86_64\nimport f by=other":               "knows no type",
		"elf 0xfeed-64-big\nexport object o by=copy":  "knows no type",
		"elf riscv64\nneeded a\nimport f by=glob-dat": "knows no type on riscv64",
	} {
		_, err := elftest.Write(elftest.Object(t, text))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", text, err, says)
		}
	}
}

// TestRelocationBeyondTheSymbols checks that an invalid symbol index is an error that needs no
// memory, however large it is.
func TestRelocationBeyondTheSymbols(t *testing.T) {
	for _, name := range []string{"relocated", "lazy arm"} {
		o := elftest.Object(t, texts[name])
		b, err := elftest.Write(o)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for at := 0; at+24 < len(b); at += 4 {
			c := bytes.Clone(b)
			for i := range 8 {
				c[at+i] = 0xff
			}
			if _, err := elfobj.Read(bytes.NewReader(c), int64(len(c))); err != nil &&
				strings.Contains(err.Error(), "a relocation implies") {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s: no place of the file gives the error", name)
		}
	}
}

func TestFactsJSON(t *testing.T) {
	for name, text := range texts {
		o := elftest.Object(t, text)
		if name == "names" { // of which some are no UTF-8
			continue
		}
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		again := elfobj.Object{
			Needed:       []string{},
			VersionNeeds: []elfobj.VersionNeed{},
			VersionDefs:  []elfobj.VersionDef{},
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v in %s", name, err, b)
		}
		again.Sections = o.Sections
		if !equal(&again, o) {
			t.Errorf("%s: JSON does not come back\n%#v\n%#v\n%s", name, &again, o, b)
		}
	}
}

func TestLazy(t *testing.T) {
	for text, want := range map[string]bool{
		"elf x86_64\nimport f by=jump-slot":              true,
		"elf x86_64\nimport f by=jump-slot\nflags now":   false,
		"elf x86_64\nimport f by=jump-slot\nflags_1 now": false,
		"elf x86_64\nimport f by=glob-dat":               false,
		"elf x86_64\nexport f by=jump-slot":              true,
	} {
		if got := elftest.Object(t, text).Lazy(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestToolchain(t *testing.T) {
	for _, c := range []struct {
		text, tools, languages string
	}{
		{"comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0", "gcc 9.4.0 Ubuntu 9.4.0-1ubuntu1~20.04.2",
			""},
		{"comment GCC: (GNU) 10.2.1 20210130 (Red Hat 10.2.1-11)", "gcc 10.2.1 Red Hat 10.2.1-11", ""},
		{"comment GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)\ncomment clang version 15.0.7\nneeded " +
			"libstdc++.so.6", "gcc 4.8.5 Red Hat 4.8.5-44; clang 15.0.7", "c++"},
		{"comment GCC: (crosstool-NG 1.25.0_rc2) 12.2.0", "gcc 12.2.0 crosstool-NG 1.25.0_rc2", ""},
		{"comment Ubuntu clang version 14.0.0-1ubuntu1.1", "clang 14.0.0 Ubuntu -1ubuntu1.1", ""},
		{"comment rustc version 1.72.0 (5680fa18f 2023-08-23)\ncomment Linker: LLD 17.0.6",
			"rustc 1.72.0; lld 17.0.6", "rust"},
		{"comment mold 2.3.1 (abc; compatible with GNU ld)\nimport _gfortran_st_write", "mold 2.3.1",
			"fortran"},
		{"comment \\x7f no compiler\nimport __cudaRegisterFatBinary\nexport object " +
			"__pyx_module_is_main_a\nimport __gxx_personality_v0", "", "c++ cython cuda"},
		{"go-build-id", "", "go"},
		{"section .hip_fatbin 00\nexport _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "",
			"rust hip"},
	} {
		chain := elftest.Object(t, "elf x86_64\n"+c.text).Toolchain()
		var tools []string
		for _, u := range chain.Tools {
			if u.Name != "" {
				tools = append(tools, strings.TrimSpace(u.Name+" "+u.Version+" "+u.Detail))
			}
		}
		if got := strings.Join(tools, "; "); got != c.tools {
			t.Errorf("%q: tools %q, want %q", c.text, got, c.tools)
		}
		if got := strings.Join(chain.Languages, " "); got != c.languages {
			t.Errorf("%q: languages %q, want %q", c.text, got, c.languages)
		}
	}
}

func TestISALevel(t *testing.T) {
	for bits, want := range map[uint32]string{0: "", 1: "", 2: "x86-64-v2", 3: "x86-64-v2",
		7: "x86-64-v3", 15: "x86-64-v4", 16: "x86-64-v5 or later"} {
		if got := elfobj.ISALevel(bits); got != want {
			t.Errorf("%d: %q", bits, got)
		}
	}
}
