// Package hostilefiles generates damaged and malicious ELF, Mach-O and PE files: valid ones from the
// readers' writers with one field, table or length changed. Only tests import it.
//
//	for _, f := range hostilefiles.All() {
//		b := f.Bytes() // compare the result with f.Expect
//	}
//
// Files are generated when Bytes is called, because some have 20 MB.
package hostilefiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// Expect is the expected result for a file.
type Expect string

// Values of Expect. All files must be handled within the limits of time and memory.
const (
	Unread   Expect = "unread"   // reported as unread, and the artifact is not compatible
	Reported Expect = "reported" // reported as unread, skipped or in a finding
	Any      Expect = "any"      // a loader may accept it, so any result is correct
)

// File is one hostile file.
type File struct {
	Name   string // "macho-truncated-16"
	Format string // "elf", "macho" or "pe"
	Expect Expect
	Large  bool // reading it takes much time or memory
	Bytes  func() []byte
}

// All returns all files in a fixed order.
func All() []File { return slices.Concat(elfFiles(), machO(), pe()) }

// Path returns the path of the file in Wheel.
func (f File) Path() string {
	switch f.Format {
	case "elf":
		return "pkg/ext.cpython-312-x86_64-linux-gnu.so"
	case "pe":
		return "pkg/ext.cp312-win_amd64.pyd"
	}
	return "pkg/ext.cpython-312-darwin.so"
}

// Wheel returns a wheel for CPython 3.12 whose extension module is the file.
func (f File) Wheel() cases.Wheel {
	tag := map[string]string{
		"elf":   "cp312-cp312-manylinux_2_28_x86_64",
		"macho": "cp312-cp312-macosx_11_0_arm64",
		"pe":    "cp312-cp312-win_amd64",
	}[f.Format]
	return cases.Wheel{
		Name: "pkg", Version: "1.0", Tags: []string{tag},
		Files: map[string][]byte{f.Path(): f.Bytes()},
	}
}

// put32 returns a copy of b with a number written at an offset.
func put32(b []byte, at int, v uint32) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// mustMachO returns a Mach-O file from its text form.
func mustMachO(text string) []byte {
	objects, err := machoobj.Parse(text)
	if err != nil {
		panic(fmt.Errorf("hostilefiles: %w", err))
	}
	b, err := machoobj.Write(objects...)
	if err != nil {
		panic(fmt.Errorf("hostilefiles: %w", err))
	}
	return b
}

// mustPE returns a PE file from its text form.
func mustPE(text string) []byte {
	o, err := peobj.Parse(text)
	if err != nil {
		panic(fmt.Errorf("hostilefiles: %w", err))
	}
	b, err := peobj.Write(o)
	if err != nil {
		panic(fmt.Errorf("hostilefiles: %w", err))
	}
	return b
}

// large adds a file of which reading takes much time or memory.
func (l *list) large(e Expect, make func() []byte, name string, a ...any) {
	l.add(e, make, name, a...)
	l.files[len(l.files)-1].Large = true
}

// list collects the files of one format.
type list struct {
	format string
	files  []File
}

func (l *list) add(e Expect, make func() []byte, name string, a ...any) {
	l.files = append(l.files, File{
		Name: l.format + "-" + fmt.Sprintf(name, a...), Format: l.format, Expect: e, Bytes: make,
	})
}

// changed adds a file with one number changed.
func (l *list) changed(e Expect, b []byte, at int, v uint32, name string, a ...any) {
	l.add(e, func() []byte { return put32(b, at, v) }, name, a...)
}
