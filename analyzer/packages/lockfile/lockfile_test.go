package lockfile_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"golang.org/x/tools/txtar"
)

// Each file of testdata/pins.txtar is a lock file; the next file, NAME.want, contains its pins, or
// "error: " and a part of the error.
func TestPins(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "pins.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		lock, want := a.Files[i], a.Files[i+1]
		t.Run(lock.Name, func(t *testing.T) {
			if want.Name != lock.Name+".want" {
				t.Fatalf("%s follows %s", want.Name, lock.Name)
			}
			pins, err := lockfile.Pins(lock.Name, lock.Data)
			var lines []string
			for _, p := range pins {
				line := p.Requirement
				if p.Line > 0 {
					line = fmt.Sprintf("%d: %s", p.Line, line)
				}
				lines = append(lines, line)
			}
			got := strings.Join(lines, "\n")
			if err != nil {
				got = "error: " + err.Error()
			}
			text := strings.TrimSpace(string(want.Data))
			if part, fails := strings.CutPrefix(text, "error: "); fails &&
				strings.Contains(got, part) &&
				err != nil {
				return
			}
			if got != text {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

func FuzzPins(f *testing.F) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "pins.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(a.Files); i += 2 {
		f.Add(a.Files[i].Name, a.Files[i].Data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		pins, err := lockfile.Pins(name, data)
		if err != nil {
			return
		}
		for _, p := range pins {
			if q, err := pkgmeta.ParseRequirement(p.Requirement); err != nil ||
				!strings.HasPrefix(q.Spec, "==") {
				t.Fatalf("%q of %s is not a pin: %v", p.Requirement, name, err)
			}
			if lines := bytes.Count(data, []byte("\n")) + 1; p.Line < 0 || p.Line > lines {
				t.Fatalf("%q is in line %d of %d of %s", p.Requirement, p.Line, lines, name)
			}
		}
	})
}
