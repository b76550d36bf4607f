package elfobj_test

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// atLeast is the minimum number of objects below /usr on a Debian machine that both readers
// accept.
const atLeast = 500

// TestBelowUsr compares every dynamic object below /usr of this machine with debug/elf:
// dependencies, paths, imports and exports with versions and bindings, relocations. Files
// without section headers are skipped, because debug/elf needs them; files that debug/elf
// rejects are logged.
func TestBelowUsr(t *testing.T) {
	agree, static, bare := 0, 0, 0
	err := filepath.WalkDir("/usr", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a folder that can't be read holds nothing to compare
		}
		r, err := os.Open(file)
		if err != nil {
			return nil //nolint:nilerr // nor does a file
		}
		defer r.Close()
		head := make([]byte, 18)
		if _, err := r.ReadAt(head, 0); err != nil || string(head[:4]) != elfobj.Magic ||
			head[16]+head[17] != 2 && head[16]+head[17] != 3 {
			return nil //nolint:nilerr // no ELF file, or none of ET_EXEC and ET_DYN
		}
		f, err := elf.NewFile(r)
		if err != nil {
			t.Logf("%s: not compared, because debug/elf says %v", file, err)
			return nil
		}
		st, err := r.Stat()
		if err != nil {
			t.Error(err)
			return nil
		}
		o, err := elfobj.Read(r, st.Size())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return nil
		}
		dynamic := f.Section(".dynamic")
		switch {
		case len(f.Sections) == 0:
			bare++
		case dynamic == nil || dynamic.Type == elf.SHT_NOBITS:
			if static++; o.Dynamic {
				t.Errorf("%s is dynamic, and debug/elf has no section for it", file)
			}
		default:
			agree++
			t.Run(file, func(t *testing.T) {
				compare(t, f, o)
				compareRelocs(t, f, o)
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"%d objects compared with debug/elf; %d others are static or hold debug information only, %d "+
			"have no section headers",
		agree,
		static,
		bare,
	)
	if _, err := os.Stat("/etc/debian_version"); err == nil && agree < atLeast {
		t.Errorf("only %d objects were compared; a Debian machine has at least %d", agree, atLeast)
	}
}
