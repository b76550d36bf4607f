package machoobj

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// texts are files in the text form, by what they contain.
var texts = map[string]string{
	"extension": `macho arm64
needed @rpath/libh.dylib compat=3.0 current=3.1
needed weak /usr/lib/libSystem.B.dylib compat=1.0 current=1319.0
rpath @loader_path/.dylibs
import _helper @rpath/libh.dylib
import _PyModule_Create2 flat
import weak _futimens /usr/lib/libSystem.B.dylib
import __ZdlPv any
export _PyInit_ext
`,
	"library": `macho x86_64
install-name /DLC/libh.dylib
version 5.1 5.0
minos 10.13
sdk 11.3
fixups opcodes
needed reexport @loader_path/liba.dylib
needed upward @loader_path/libb.dylib
needed lazy @loader_path/libc.dylib
import _a @loader_path/liba.dylib
import weak _main main
export _helper
export weak __Zw
export tlv _thread
export _other = _own @loader_path/liba.dylib
`,
	"universal": `macho x86_64
import _f flat
export _g
macho arm64
import _f flat
export _g
thread-locals
signature stale
`,
	"old": `macho i386 dylib
install-name libold.dylib
version 1.0 1.0
flat-namespace
fixups symtab
import _puts flat
export _old
`,
	"program": `macho arm64 execute
needed /usr/lib/libSystem.B.dylib
import _exit /usr/lib/libSystem.B.dylib
`,
	"object": "macho arm64 object\nsignature none\n",
}

func written(t testing.TB, text string) ([]byte, []*Object) {
	t.Helper()
	os, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Write(os...)
	if err != nil {
		t.Fatal(err)
	}
	return b, os
}

func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWriteAndRead writes each text as a file and reads it back.
func TestWriteAndRead(t *testing.T) {
	for name, text := range texts {
		b, want := written(t, text)
		f, err := read(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []*Object
		for _, s := range f.Slices {
			if s.Err != nil {
				t.Errorf("%s, %s: %v", name, s.Arch, s.Err)
				continue
			}
			if s.Object.Signature != nil && s.Object.Signature.Stale != "" {
				s.Object.Signature.Stale = "yes" // the text form does not have the reason
			}
			got = append(got, s.Object)
		}
		if name == "object" { // its tables are not read
			want[0].Platform, want[0].MinOS, want[0].SDK, want[0].Fixups = "", 0, 0, ""
		}
		if a, b := asJSON(t, got), asJSON(t, want); a != b {
			t.Errorf("%s: read\n%s\nwritten\n%s", name, a, b)
		}
		if f.Fat != (len(want) > 1) {
			t.Errorf("%s: fat is %v", name, f.Fat)
		}
	}
}

// TestEachCutIsAnError truncates a file at every length: each must give an error without a panic.
func TestEachCutIsAnError(t *testing.T) {
	for _, name := range []string{"extension", "library", "old"} {
		b, _ := written(t, texts[name])
		for n := range b {
			f, err := read(b[:n])
			if err == nil && f.Slices[0].Err == nil {
				t.Fatalf("%s: the first %d of %d bytes are read without an error", name, n, len(b))
			}
		}
	}
}

// TestJavaIsNotMachO checks that a Java class file, with the magic number of a fat file, is
// rejected.
func TestJavaIsNotMachO(t *testing.T) {
	class := []byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 1}
	if _, err := read(class); !errors.Is(err, ErrNotMachO) {
		t.Errorf("a class file: %v", err)
	}
	fat := []byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2, 0, 1}
	if _, err := read(fat); !errors.Is(err, ErrTruncated) {
		t.Errorf("a fat file of ten bytes: %v", err)
	}
}

// TestChangedBytesMakeASignatureStale changes bytes that a signature covers. Code for Intel needs no
// signature, and its pages are not compared.
func TestChangedBytesMakeASignatureStale(t *testing.T) {
	b, _ := written(t, texts["extension"])
	f, err := read(b)
	if err != nil || f.Slices[0].Object.Signature.Stale != "" {
		t.Fatal(f, err)
	}
	at := bytes.Index(b, []byte("_PyModule_Create2"))
	for end := at + 8; at < end; at++ {
		changed := bytes.Clone(b)
		changed[at] ^= 1
		f, err := read(changed)
		if err != nil || !strings.Contains(f.Slices[0].Object.Signature.Stale, "were changed") {
			t.Errorf("byte %d was changed, and the signature reads %+v, %v",
				at, f.Slices[0].Object.Signature, err)
		}
	}
	b, _ = written(t, strings.Replace(texts["extension"], "macho arm64", "macho x86_64", 1)+
		"signature adhoc\n")
	b[bytes.Index(b, []byte("_PyModule_Create2"))] ^= 1
	f, err = read(b)
	if err != nil || *f.Slices[0].Object.Signature != (Signature{AdHoc: true}) {
		t.Errorf("the signature of a slice for Intel reads %+v, %v",
			f.Slices[0].Object.Signature, err)
	}
}

// TestHashTypes checks signatures with each type of hash that codesign --digest-algorithm offers.
func TestHashTypes(t *testing.T) {
	code := bytes.Repeat([]byte("code"), 3000)
	for _, kind := range []byte{hashSHA1, hashSHA256, hashSHA384} {
		d := newDirectory(signing{identifier: "compat", kind: kind}.sign(code)[20:])
		for _, changed := range []bool{false, true} {
			in := bytes.Clone(code)
			if changed {
				in[5000]++
			}
			i := image{r: io.NewSectionReader(bytes.NewReader(in), 0, int64(len(in)))}
			stale, err := i.stale(d, uint64(len(code)))
			if err != nil || strings.Contains(stale, "from 4096 on were changed") != changed ||
				(stale == "") == changed {
				t.Errorf("hash type %d, changed %t: %q, %v", kind, changed, stale, err)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{"11": "11.0", "10.13.6": "10.13.6", "14.0": "14.0"} {
		if v, err := ParseVersion(text); err != nil || v.String() != want {
			t.Errorf("%s is %v, %v", text, v, err)
		}
	}
	for _, bad := range []string{"", "x", "1.2.3.4", "70000", "1.300"} {
		if v, err := ParseVersion(bad); err == nil {
			t.Errorf("%q is %v", bad, v)
		}
	}
	if Make(10, 9) >= Make(10, 13) || Make(10, 15) >= Make(11, 0) {
		t.Error("versions do not compare as numbers")
	}
}

// hidden is a file with ranges that must not be read.
type hidden struct {
	*bytes.Reader
	t      *testing.T
	ranges [][2]int64
}

func (h hidden) ReadAt(p []byte, off int64) (int, error) {
	for _, r := range h.ranges {
		if off < r[1] && off+int64(len(p)) > r[0] {
			h.t.Errorf("read %d bytes at %d", len(p), off)
		}
	}
	return h.Reader.ReadAt(p, off)
}

// TestUnread checks that Read does not need what Unread returns: the code of Intel slices only,
// because the pages of the others are hashed.
func TestUnread(t *testing.T) {
	const code = 100_000
	for name, text := range texts {
		objects, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := write(objects, code)
		if err != nil {
			t.Fatal(err)
		}
		ranges := Unread(b[:4096])
		if intel := objects[0].Arch == "x86_64"; len(ranges) > 1 || (len(ranges) == 1) != intel ||
			intel && ranges[0][1]-ranges[0][0] < code {
			t.Errorf("%s: %v", name, ranges)
		}
		f, err := Read(hidden{bytes.NewReader(b), t, ranges}, int64(len(b)))
		if err != nil || f.Slices[0].Err != nil || f.Slices[0].Arch != objects[0].Arch {
			t.Errorf("%s: %v, %+v", name, err, f)
		}
		if got := Unread(b[:100]); got != nil {
			t.Errorf("%s: %v without load commands", name, got)
		}
	}
}
