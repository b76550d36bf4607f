package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// If the tables are found in the head of a library, they equal those of the complete file, for
// all libraries of this system.
func TestHeadsAgreeWithFiles(t *testing.T) {
	files, err := filepath.Glob("/usr/lib/*/lib*.so.*")
	if err != nil {
		t.Fatal(err)
	}
	const enough = 150 // of some thousand
	told, silent := 0, 0
	for _, name := range files {
		if told == enough {
			break
		}
		data, err := os.ReadFile(name)
		if err != nil {
			continue // a link to nothing
		}
		whole, err := elfobj.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil || whole.Exports.Len() == 0 {
			continue
		}
		head, ok := fromHead(data[:min(len(data), headMost)])
		if !ok {
			silent++
			continue
		}
		told++
		same := slices.EqualFunc(
			head.Exports.List(),
			whole.Exports.List(),
			func(a, b elfobj.Export) bool {
				a.Relocs, b.Relocs = 0, 0 // not in the head
				return a == b
			},
		)
		if !same ||
			!slices.EqualFunc(
				head.VersionDefs,
				whole.VersionDefs,
				func(a, b elfobj.VersionDef) bool { return a.Name == b.Name && a.Base == b.Base },
			) {
			t.Errorf(
				"%s: its head tells %d exports, the file has %d",
				name,
				head.Exports.Len(),
				whole.Exports.Len(),
			)
		}
	}
	if told+silent > 0 && told < silent {
		t.Errorf("the heads of %d files tell, those of %d do not", told, silent)
	}
	t.Logf("%d heads tell, %d do not", told, silent)
}

// FuzzFromHead checks that no input makes fromHead panic, and that it finds only what is in the
// input.
func FuzzFromHead(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x00\x00\x00\x00libc.so.6\x00"))
	if self, err := filepath.Glob("/usr/lib/*/libz.so.1"); err == nil && len(self) > 0 {
		if data, err := os.ReadFile(self[0]); err == nil {
			f.Add(data[:min(len(data), 32<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		o, ok := fromHead(head)
		if !ok {
			return
		}
		for _, e := range o.Exports.All() {
			if !bytes.Contains(head, []byte(e.Name)) {
				t.Errorf("%q is exported and not in the head", e.Name)
			}
		}
	})
}
