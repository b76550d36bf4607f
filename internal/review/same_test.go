package review

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/pinned"
	"golang.org/x/tools/txtar"
)

// oneFile is a commit with one file.
type oneFile struct{ path, text string }

func (f oneFile) Files(context.Context) ([]string, error) { return []string{f.path}, nil }

func (f oneFile) Read(_ context.Context, path string) (string, bool, error) {
	return f.text, path == f.path, nil
}

// noIndex is an index that is not requested anything.
type noIndex struct{ packages.Source }

func (noIndex) Comparing(map[packages.ID][]string) index.Installer { return nil }
func (noIndex) String() string                                     { return "https://index.example" }

// A review pins the same packages, at the same lines, as compat env, of every lock file in the tests.
func TestSamePins(t *testing.T) {
	read := 0
	for _, archive := range []string{
		"../../analyzer/packages/lockfile/testdata/read.txtar", "../pinned/testdata/anywhere.txtar",
	} {
		a, err := txtar.ParseFile(filepath.FromSlash(archive))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(a.Files); i += 2 {
			file := oneFile{strings.Fields(a.Files[i].Name)[0], string(a.Files[i].Data)}
			files := pinned.Files{Paths: []string{file.path}, Read: func(path string) ([]byte, error) {
				if path != file.path {
					return nil, fs.ErrNotExist
				}
				return []byte(file.text), nil
			}}
			want, wantErr := files.Pinned(packages.Target{Arch: "x86_64"})
			e := environmentReview{
				change: Change{Config: &config.Repository{}, Index: noIndex{}}, at: place{file: file.path},
			}
			got, bad, err := e.read(t.Context(), file)
			if err != nil || (bad == nil) != (wantErr == nil) {
				t.Errorf("%s in %s: unread %+v, error %v, compat env: %v", file.path, archive, bad, err, wantErr)
				continue
			}
			if bad != nil {
				continue
			}
			if read++; got.python != want.On.Python || fmt.Sprint(got.pins) != fmt.Sprint(want.Pins) {
				t.Errorf("%s in %s: Python %s, %v, compat env: Python %s, %v", file.path, archive, got.python,
					got.pins, want.On.Python, want.Pins)
			}
		}
	}
	if read < 24 {
		t.Errorf("only %d files were read", read)
	}
}
