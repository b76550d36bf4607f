// Package hostilefiles makes damaged and malicious Mach-O and PE files: sound ones of the readers'
// writers with one field, table or length changed. Only tests import it.
//
//	for _, f := range hostilefiles.All() {
//		b := f.Bytes() // what f.Expect says has to become of it
//
// A file is made when it is asked for: some have 20 MB.
package hostilefiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
)

// Expect is what has to become of a file.
type Expect string

// Values of Expect. Every file has to keep the bounds of time and memory.
const (
	Unread   Expect = "unread"   // it is named as unread, and the artifact is not compatible
	Reported Expect = "reported" // it is named as unread, skipped or in a finding
	Any      Expect = "any"      // a loader may accept it, so every answer is right
)

// File is one case.
type File struct {
	Name   string // "macho-truncated-16"
	Format string // "macho" or "pe"
	Expect Expect
	Bytes  func() []byte
}

// All lists every file, the same ones each time.
func All() []File { return slices.Concat(machO(), pe()) }

// put32 writes a number into a copy of bytes.
func put32(b []byte, at int, v uint32) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// mustMachO makes a Mach-O file of texts.
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

// mustPE makes a PE file of a text.
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

// list collects cases of one format.
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
