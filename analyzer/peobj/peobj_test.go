package peobj

import (
	"bytes"
	"debug/pe"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sample has one of everything.
const sample = `pe amd64 dll
name libh.dll
import KERNEL32.dll Sleep #9
import python312.dll PyModule_Create2
delay concrt140.dll f #3
export - 8
export helper 7
export own 9 libb.helper
export third 11 libb.#5
assembly Microsoft.VC90.CRT
subsystem 6.1
os 10.0
linker 14.38
`

func parse(t testing.TB, text string) *Object {
	t.Helper()
	o, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func write(t testing.TB, o *Object) []byte {
	t.Helper()
	b, err := Write(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t testing.TB, b []byte) *Object {
	t.Helper()
	o, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestReadWhatWasWritten checks that a file has the contents of its text form, for every machine.
func TestReadWhatWasWritten(t *testing.T) {
	for _, first := range []string{
		"pe amd64 dll", "pe x86 exe", "pe arm64 dll", "pe arm dll", "pe arm64 dll arm64x",
		"pe arm64 dll arm64ec",
		"pe x86 dll managed",
	} {
		text := strings.Replace(sample, "pe amd64 dll", first, 1)
		o := read(t, write(t, parse(t, text)))
		got := strings.Replace(o.Text(), "export - 8\n", "", 1)
		want := strings.Replace(text, "export - 8\n", "", 1)
		if got != want {
			t.Errorf("%s:\n%s\nnot\n%s", first, got, want)
		}
		if last := o.Exports[len(o.Exports)-1]; last != (Export{Ordinal: 8}) {
			t.Errorf("%s: the export without a name is %+v", first, last)
		}
	}
}

// TestSecondReader checks that debug/pe, which supports neither ordinals nor delay imports, finds
// the same names.
func TestSecondReader(t *testing.T) {
	for _, machine := range []string{Amd64, X86} {
		o := parse(t, strings.Replace(sample, "amd64", machine, 1))
		f, err := pe.NewFile(bytes.NewReader(write(t, o)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.ImportedSymbols()
		if want := []string{"Sleep:KERNEL32.dll", "PyModule_Create2:python312.dll"}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", machine, got, err)
		}
	}
}

func TestTarget(t *testing.T) {
	for forward, want := range map[string]struct {
		dll string
		s   Symbol
	}{
		"libb.helper":               {"libb.dll", Symbol{Name: "helper"}},
		"api-ms-win-core-x.1.Sleep": {"api-ms-win-core-x.1.dll", Symbol{Name: "Sleep"}},
		"NTDLL.#8":                  {"NTDLL.dll", Symbol{Ordinal: 8}},
	} {
		dll, s, ok := Export{Forward: forward}.Target()
		if !ok || dll != want.dll || s != want.s {
			t.Errorf("%s: %s %v %v", forward, dll, s, ok)
		}
	}
	for _, forward := range []string{"", "libb", "libb.", ".helper"} {
		if dll, s, ok := (Export{Forward: forward}).Target(); ok {
			t.Errorf("%q: %s %v", forward, dll, s)
		}
	}
}

func TestRunsOn(t *testing.T) {
	for first, want := range map[string][]string{
		"pe amd64": {Amd64}, "pe x86": {X86}, "pe arm64": {ARM64}, "pe arm64 arm64x": {Amd64, ARM64},
		"pe x86 managed": {X86, Amd64, ARM64},
	} {
		o := parse(t, first)
		for _, m := range []string{X86, Amd64, ARM64} {
			if o.RunsOn(m) != slices.Contains(want, m) {
				t.Errorf("%s on %s: %v", first, m, o.RunsOn(m))
			}
		}
	}
}

// TestDamage checks that damaged files give the right kind of error and no object.
func TestDamage(t *testing.T) {
	whole := write(t, parse(t, sample))
	put := func(at int, value uint32) []byte {
		b := bytes.Clone(whole)
		little.PutUint32(b[at:], value)
		return b
	}
	const directories = dosHeader + 4 + coffHeader + 112
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":               {nil, ErrNotPE},
		"text":                {[]byte(strings.Repeat("#!/bin/sh ", 20)), ErrNotPE},
		"half a DOS header":   {whole[:40], ErrTruncated},
		"no PE header":        {whole[:dosHeader+4], ErrTruncated},
		"a DOS program":       {put(dosHeader, 0), ErrNotPE},
		"cut in the section":  {whole[:len(whole)-512], ErrTruncated},
		"imports nowhere":     {put(directories+8*dirImport, 0xffff0000), ErrDamaged},
		"exports nowhere":     {put(directories+8*dirExport, 0x7fff0000), ErrDamaged},
		"without its section": {whole[:fileHead], ErrTruncated},
	} {
		o, err := Read(bytes.NewReader(c.b), int64(len(c.b)))
		if o != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
}

// TestSharedThunks checks that descriptors that share one table can't multiply its symbols.
func TestSharedThunks(t *testing.T) {
	var text strings.Builder
	text.WriteString("pe amd64 dll\n")
	for range 300 {
		text.WriteString("import a.dll\n")
	}
	text.WriteString("import b.dll" + strings.Repeat(" some_name", 300) + "\n")
	b := write(t, parse(t, text.String()))
	at := fileHead + int(little.Uint32(b[dosHeader+4+coffHeader+112+8*dirImport:])) - first
	for i := range 300 {
		copy(b[at+20*i:at+20*i+4], b[at+20*300:])
		copy(b[at+20*i+16:at+20*i+20], b[at+20*300+16:])
	}
	if o, err := Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrDamaged) {
		t.Errorf("%d imports, %v", len(o.Imports), err)
	}
}

// FuzzRead checks that Read is deterministic, returns no more than the file can contain and only
// the documented errors, and that the text form of the result has all imports and exports.
func FuzzRead(f *testing.F) {
	f.Add(write(f, parse(f, sample)))
	f.Add(write(f, parse(f, strings.Replace(sample, "amd64", "x86", 1))))
	f.Add(write(f, parse(f, "pe arm64 dll arm64x\nexport f 1\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		last := int64(0)
		for _, r := range Unread(b[:min(len(b), 4096)]) {
			if r[0] < last || r[1] <= r[0] {
				t.Fatalf("a range at %v before %d", r, last)
			}
			last = r[1]
		}
		o, err := Read(bytes.NewReader(b), int64(len(b)))
		again, err2 := Read(bytes.NewReader(b), int64(len(b)))
		if !reflect.DeepEqual(o, again) || (err == nil) != (err2 == nil) {
			t.Fatal("two answers for the same bytes")
		}
		if err != nil {
			known := errors.Is(err, ErrNotPE) || errors.Is(err, ErrTruncated) ||
				errors.Is(err, ErrDamaged)
			if o != nil || !known && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("object %v, error %v", o, err)
			}
			return
		}
		symbols, text := len(o.Exports), 0
		for _, d := range o.Imports {
			symbols += len(d.Symbols)
		}
		for _, e := range o.Exports {
			text += len(e.Name) + len(e.Forward)
		}
		if symbols > len(b)/4 || text > textFactor*len(b)+textFree {
			t.Errorf("%d symbols, %d bytes of names in %d bytes", symbols, text, len(b))
		}
		parsed, err := Parse(o.Text())
		if err != nil {
			t.Fatalf("%v in\n%s", err, o.Text())
		}
		if !reflect.DeepEqual(parsed.Imports, o.Imports) ||
			!reflect.DeepEqual(parsed.Exports, o.Exports) {
			t.Fatalf("%+v\nnot\n%+v", parsed, o)
		}
	})
}
